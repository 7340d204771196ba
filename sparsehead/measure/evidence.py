"""How probable the paper's numbers are, given some trials of one reading of its text.

Every function here is a predictive probability (or density): what is not known about the reading, because its trials
are few, is averaged over, so a reading with few trials is neither favoured nor condemned. Sums of their logarithms over
the paper's numbers compare readings.   Paper: readings
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DomainError
from ..types import Array, Float
from .curves import LAPSE, Cell, log_likelihood, merge, offset, slope_penalty

KERNEL_FREEDOM = 3  # degrees of freedom of the smoothing kernel: tails that one value in 40 can reach
GRID_SHARE = 0.8
LOG_SLOPES = np.linspace(math.log(2.0), math.log(25.0), 15)
LOG_THRESHOLDS = np.linspace(math.log(10.0), math.log(800.0), 90)


def log_count(solved: int, trials: int, *, seen: int, of: int) -> float:
    """ln P(`solved` of `trials` succeed), given that `seen` of `of` did; uniform prior on the share.

    >>> round(math.exp(log_count(1, 1, seen=1, of=1)), 4)  # Laplace's rule of succession
    0.6667
    """
    from scipy.special import betaln

    if not 0 <= solved <= trials or not 0 <= seen <= of:
        raise DomainError(f"a count lies between 0 and its total, got {solved} of {trials}, {seen} of {of}.")
    ways = -math.log(trials + 1) - float(betaln(trials - solved + 1, solved + 1))
    after = float(betaln(solved + seen + 1, trials - solved + of - seen + 1))
    return ways + after - float(betaln(seen + 1, of - seen + 1))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A density from few values: the mean of Student kernels with 3 degrees of freedom around them.

    Their common width is 1.06 s n^(-1/5), s the standard deviation, but at least `least`.
    """

    values: Float[Array, " n"]
    width: float

    @staticmethod
    def of(values: Sequence[float], *, least: float) -> "Smoothed":
        """The density of these values, which are at least one."""
        if not len(values):
            raise DomainError("a density needs at least one value, got none.")
        x = np.array(values, dtype=float)
        spread = float(x.std(ddof=1)) if len(x) > 1 else 0.0
        return Smoothed(x, max(least, 1.06 * spread * len(x) ** -0.2))

    def log_density(self, x: float) -> float:
        """ln f(x)."""
        from scipy.stats import t

        return float(np.log(t.pdf((x - self.values) / self.width, KERNEL_FREEDOM).mean() / self.width))

    def share_below(self, x: float) -> float:
        """F(x)."""
        from scipy.stats import t

        return float(t.cdf((x - self.values) / self.width, KERNEL_FREEDOM).mean())


def log_order(least: float, middle: float, most: float, n: int, density: Smoothed) -> float:
    """ln of the joint density of the least, the (n/2)-th and the largest of n independent values.

    For an even n the paper's median lies between the (n/2)-th and the next; it is taken for the former.
    """
    k = n // 2
    if n < 4 or not least < middle < most:
        raise DomainError(f"n >= 4 values with least < middle < most, got {n}: {least}, {middle}, {most}.")
    below, at, above = (density.share_below(x) for x in (least, middle, most))
    ways = math.lgamma(n + 1) - math.lgamma(k - 1) - math.lgamma(n - k)
    gaps = (k - 2) * _log(at - below) + (n - k - 1) * _log(above - at)
    return ways + gaps + sum(density.log_density(x) for x in (least, middle, most))


def _log(x: float) -> float:
    return math.log(max(x, 1e-300))


def log_threshold(
    point: float, bar: float, cells: Sequence[Cell], *, grid: Sequence[int], trials: int
) -> float:
    """ln of the probability that the paper's grid gives its point, given our cells at the same T.

    The paper's point is about S, the first m of the grid at which at least 80 % of `trials` succeed. Under a success
    curve (see `curves`) the distribution of S is known; near misses count by exp(-(S - point)^2 / 2 bar^2), with a bar
    of at least one. The curve's threshold and slope are averaged over what the cells say about them, from a uniform
    prior on ln m_80 over 10 .. 800 and the usual weak prior on the slope.
    """
    from scipy.stats import binom

    merged = merge(cells)
    log_m = np.log([cell.m for cell in merged])
    solved = np.array([cell.solved for cell in merged], dtype=float)
    run = np.array([cell.trials for cell in merged], dtype=float)
    thetas, slopes = LOG_THRESHOLDS[:, None, None], np.exp(LOG_SLOPES)[None, :, None]
    known = log_likelihood(log_m, solved, run, thetas, slopes, GRID_SHARE).sum(axis=-1)
    weight = known + np.asarray(slope_penalty(LOG_SLOPES))[None, :]
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    x = slopes * (np.log(np.array(grid, dtype=float)) - thetas) + offset(GRID_SHARE)
    share = (1 - LAPSE) / (1 + np.exp(-np.clip(x, -500, 500)))
    passes = binom.sf(math.ceil(GRID_SHARE * trials - 1e-9) - 1, trials, share)
    first = passes * np.cumprod(np.concatenate([np.ones_like(passes[..., :1]), 1 - passes[..., :-1]], -1), -1)
    near = np.exp(-((np.array(grid) - point) ** 2) / (2 * max(bar, 1.0) ** 2))
    return _log(float((weight * (first * near).sum(axis=-1)).sum()))
