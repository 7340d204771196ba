"""Intervals for a share of successes, percentiles of the bootstrap, and quantiles."""

from statistics import NormalDist

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float


def wilson(solved: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a probability p: all p that `solved` successes in `trials` trials do not
    reject.

    Its coverage is near `level` on average over p. Without trials it is (0, 1).

    >>> tuple(round(x, 3) for x in wilson(24, 40))
    (0.446, 0.737)
    """
    return _proportion(solved, trials, level, "wilson")


def clopper_pearson(solved: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval: for every p it contains p with probability >= `level`. Without trials it is (0, 1).

    >>> tuple(round(x, 3) for x in clopper_pearson(24, 40, 0.99))
    (0.386, 0.79)
    """
    return _proportion(solved, trials, level, "exact")


def _proportion(solved: int, trials: int, level: float, method: str) -> tuple[float, float]:
    """The interval of `scipy.stats.binomtest`, imported here because its import takes longer than a small law."""
    from scipy.stats import binomtest

    if not 0 <= solved <= trials:
        raise DomainError(f"of {trials} trials between 0 and {trials} can be solved, got {solved}.")
    if not 0 < level < 1:
        raise DomainError(f"level is a probability strictly between 0 and 1, got {level}.")
    if trials == 0:
        return 0.0, 1.0
    found = binomtest(solved, trials).proportion_ci(level, method)
    return float(found.low), float(found.high)


def percentile(resampled: Float[Array, " n_boot"], level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of bootstrap values."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def chi2_quantile(level: float) -> float:
    """Return the `level` quantile of chi-squared with 1 degree of freedom. A profile interval ends where the
    log-likelihood has dropped by half of it.
    """
    return normal_quantile((1 + level) / 2) ** 2


def normal_quantile(q: float) -> float:
    """Return the quantile q of the standard normal distribution."""
    return NormalDist().inv_cdf(q)
