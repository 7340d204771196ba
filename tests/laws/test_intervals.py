import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta

from sparsehead._base.errors import DomainError
from sparsehead.laws.intervals import clopper_pearson, percentile, wilson


def binomial_pmf(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@cache
def every_interval(interval, n):
    return [interval(k, n) for k in range(n + 1)]


def coverage(interval, n, p):
    inside = [low - 1e-12 <= p <= high + 1e-12 for low, high in every_interval(interval, n)]
    return sum(q for q, ok in zip(binomial_pmf(n, p), inside) if ok)


@pytest.mark.parametrize("n", [5, 40])
def test_clopper_pearson_covers_at_every_p(n):
    assert min(coverage(clopper_pearson, n, p) for p in np.linspace(0.01, 0.99, 99)) >= 0.95


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("solved", "trials"), [(1, 5), (24, 40), (39, 40), (7, 1000)])
def test_clopper_pearson_leaves_half_of_what_it_may_on_either_side(solved, trials, level):
    q = (1 - level) / 2
    ends = beta.ppf(q, solved, trials - solved + 1), beta.ppf(1 - q, solved + 1, trials - solved)
    assert clopper_pearson(solved, trials, level) == pytest.approx(ends, abs=1e-9)


def test_wilson_covers_on_average_and_solves_its_equation():
    assert np.mean([coverage(wilson, 40, p) for p in np.linspace(0.05, 0.95, 91)]) == pytest.approx(
        0.95, abs=0.01
    )
    for p in wilson(24, 40):  # the ends are the p whose z-test statistic is exactly 1.96
        assert abs(24 / 40 - p) / math.sqrt(p * (1 - p) / 40) == pytest.approx(1.959964, abs=1e-5)


def test_edges_and_misuse():
    assert wilson(0, 0) == clopper_pearson(0, 0) == (0, 1)
    assert clopper_pearson(0, 10)[0] == 0 and clopper_pearson(10, 10)[1] == 1
    assert clopper_pearson(0, 10)[1] == pytest.approx(1 - 0.025**0.1)  # (1-p)^10 = 2.5 %
    with pytest.raises(DomainError, match="of 5 trials"):
        wilson(6, 5)
    with pytest.raises(DomainError, match="level"):
        clopper_pearson(1, 5, 1.0)


def test_percentile_leaves_out_the_same_share_on_both_sides():
    assert percentile(np.arange(1001.0)) == pytest.approx((25, 975))
    assert percentile(np.arange(1001.0), 0.5) == pytest.approx((250, 750))
