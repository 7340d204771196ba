"""Covers of linear classes, by hand."""

import math

import pytest

from sparsehead_paper.theory.linear import log_cover_matrix, log_cover_maurey, log_cover_parametric


def test_covers_of_linear_classes_by_hand():
    assert log_cover_parametric(a=3, b=2, eps=0.5, d=4) == pytest.approx(4 * math.log(25), rel=1e-12)
    assert log_cover_parametric(a=1, b=1, eps=1, d=4) == 0
    # (ceil((B b/eps)^2) - 1) ln(2 n + 1), and beyond whole numbers (B b/eps)^2 ln(2 n + 1)
    assert log_cover_maurey(B=3.1, b=1, eps=1, n_entries=5) == pytest.approx(9 * math.log(11), rel=1e-12)
    huge = log_cover_maurey(B=1e140, b=1, eps=1, n_entries=5)
    assert huge == pytest.approx(1e280 * math.log(11), rel=1e-9)
    # alpha = 1/4: K = floor(3.1^2 4), k = ceil(6.2^2) - 1; a spectral bound asks for the row of every update
    for spectral, names in ((True, 2 * 5 * 4 + 1), (False, 2 * 5 + 1)):
        found = log_cover_matrix(B=3.1, b=1, eps=1, d_1=4, N=5, alpha=0.25, spectral=spectral)
        assert found == pytest.approx(math.log(math.comb(4 + 38, 4)) + 38 * math.log(names), rel=1e-12)
    by_alpha = [log_cover_matrix(B=3.1, b=1, eps=1, d_1=4, N=5, alpha=(i / 200) ** 2) for i in range(1, 200)]
    assert log_cover_matrix(B=3.1, b=1, eps=1, d_1=4, N=5) == min(by_alpha)
