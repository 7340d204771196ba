"""VC and fat-shattering dimension, and heads that shatter, by hand on small classes."""

import math
from itertools import product

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead_paper.theory.relations import (
    cover_vc_printed,
    fat_dimension,
    log_cover_fat,
    log_cover_vc,
    vc_dimension,
)
from sparsehead_paper.theory.shattering import head_outputs, shattered_inputs, shattering_head


def test_shattering_begins_at_two_tokens():
    assert shattered_inputs(2).shape == (1, 2, 3)
    assert shattered_inputs(8).shape == (3, 8, 3)
    with pytest.raises(DomainError, match="T >= 2"):
        shattered_inputs(1)
    key, value = shattering_head(8, 3)
    angle = 2 * math.pi * 3 / 8
    np.testing.assert_allclose(key, [64 * math.cos(angle), 64 * math.sin(angle), 0], atol=1e-12)
    np.testing.assert_allclose(head_outputs(shattered_inputs(8), key, value), [1, 1, 0], atol=3e-7)
    np.testing.assert_allclose(shattering_head(8, 3, scale=2.0)[0], key / 32)


def test_covers_from_dimensions_are_the_printed_formulas():
    assert log_cover_vc(m=5, d=2, eps=0.9) == pytest.approx(math.log(1 + 5 + 10))
    assert log_cover_vc(m=5, d=2, eps=1.0) == 0
    assert cover_vc_printed(m=6, d=2) == pytest.approx((math.e * 6 / 2) ** 2)
    b, y = 5, 1 + 3 * 5 + 3 * 25  # eps = 1/2: five levels; m = 3, d = 2
    assert log_cover_fat(m=3, d=2, eps=0.5) == pytest.approx(
        math.log(2) + math.ceil(math.log2(y)) * math.log(3 * b * b)
    )
    cube = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    assert vc_dimension(cube) == 2
    assert vc_dimension(cube[:3]) == 1
    rows = (np.arange(8)[:, None] >> np.arange(3) & 1).astype(float)
    assert [vc_dimension(rows), vc_dimension(rows[:7]), vc_dimension(rows[:6])] == [3, 2, 2]


def test_three_columns_are_shattered_by_eight_patterns_and_not_by_six():
    cube = np.array(list(product((0.0, 1.0), repeat=3)))
    assert fat_dimension(cube, 0.5) == 3 and fat_dimension(cube, 0.51) == 0
    six_of_eight = np.concatenate([cube[:6], cube[:2]])  # no row ends in 11.: two columns, never three
    assert fat_dimension(six_of_eight, 0.5) == 2
