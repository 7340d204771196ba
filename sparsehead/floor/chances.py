"""Binomial and Poisson probabilities from `scipy.special`.

`scipy.stats` has them too, but importing it takes longer than computing all floors that `law` prints.
"""

from typing import Any

import numpy as np

from .._base.types import Array, Float, Int, Shaped


def log_choose(n: Shaped[Array, "..."] | int, k: Shaped[Array, "..."] | int) -> Any:
    """Return ln C(n, k), from logarithms of factorials; 0 <= k <= n."""
    from scipy.special import gammaln

    return gammaln(np.add(n, 1)) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1)


def binomial(k: Shaped[Array, "..."], n: int, p: float) -> Any:
    """Return P(k successes among n), k in 0 .. n.

    >>> binomial(np.arange(3), 2, 0.5).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.special import xlog1py, xlogy

    return np.exp(log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p))


def poisson(k: Shaped[Array, "..."] | int, mean: float) -> Any:
    """Return P(a Poisson count with this mean is k), k >= 0."""
    from scipy.special import gammaln, xlogy

    return np.exp(xlogy(k, mean) - mean - gammaln(np.add(k, 1)))


def likely_counts(n: int, p: float, *, tail: float) -> Int[Array, " k"]:
    """Return all numbers of successes in n trials between the quantiles `tail` and 1 - `tail`."""
    from scipy.special import bdtr

    below: Float[Array, " counts"] = bdtr(np.arange(n + 1), n, p)
    low, high = (int(np.searchsorted(below, level)) for level in (tail, 1 - tail))
    return np.arange(low, min(high, n) + 1)
