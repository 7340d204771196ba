"""Parts of the floor against their definitions in rational arithmetic, and at the limits of what is computed."""

import math
from fractions import Fraction
from typing import Any

import pytest

from sparsehead.floor.bracket import MOST_SAMPLES, identification_bounds
from sparsehead.floor.floor import fano, parity_bounds


@pytest.mark.parametrize(
    ("s", "T", "m"), [(2, 5, 2), (2, 5, 5), (3, 20, 12), (3, 20, 8), (1, 3, 1), (3, 3, 4)]
)
def test_parity_brackets_are_those_of_the_first_two_moments(s, T, m):
    sets, cases = math.comb(T, s), 2**m
    mu = Fraction(sets - 1, cases)
    mu_2 = mu * Fraction(max(0, sets - 2), cases)
    found = parity_bounds(s=s, T=T, m=m)
    opt: list[Any] = [1, Fraction(cases, sets)] + ([1 - mu / 2 + mu_2 / 6] if mu < 4 else [])
    unique = [1 / (1 + mu)] + ([1 - mu + mu_2 / 2] if mu < 4 else [])
    x = float(mu)
    assert found.mu == pytest.approx(x, rel=1e-12)
    assert found.opt_low == pytest.approx(float(max(1 / (1 + mu), 1 - mu / 2)), rel=1e-12)
    assert found.opt == pytest.approx((1 - math.exp(-x)) / x if mu else 1.0, rel=1e-9)
    assert found.opt_high == pytest.approx(float(min(opt)), rel=1e-12)
    assert found.unique_low == pytest.approx(float(max(0, 1 - mu)), abs=1e-12)  # type: ignore[arg-type]
    assert found.unique == pytest.approx(math.exp(-x), rel=1e-12)
    assert found.unique_high == pytest.approx(float(min(unique)), rel=1e-12)


def test_beyond_the_samples_that_are_summed_the_bound_is_one():
    assert identification_bounds(s=2, T=50, m=MOST_SAMPLES + 1, p=0.5) == (1.0, 1.0)


def test_fano_is_not_a_sample_too_high_at_a_tie():
    """One fair bit of 2^8 positions, target 1/2: (8/2 - h(1/2)) / h(1/2) is 3 exactly."""
    assert [fano("and", s=1, T=T, p=0.5, target=0.5) for T in (256, 257, 255)] == [3, 4, 3]
