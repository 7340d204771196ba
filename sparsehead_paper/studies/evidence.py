"""Predictive probability of the paper's numbers, given trials under one interpretation (reading) of its text.

Every function here returns the logarithm of a predictive probability or density. It averages over the uncertainty that
remains after few trials, so that few trials neither favour nor exclude an interpretation. Sums of these logarithms over
the paper's numbers compare interpretations.   Paper: readings
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Float
from sparsehead.laws.curves import LAPSE, Cell, log_likelihood, merge, offset, slope_penalty

LOG_SLOPES = np.linspace(math.log(2.0), math.log(25.0), 15)


def log_count(solved: int, trials: int, *, seen: int, of: int) -> float:
    """Return ln P(`solved` of `trials` succeed) after `seen` of `of` trials succeeded; the rate has a uniform prior.

    >>> round(math.exp(log_count(1, 1, seen=1, of=1)), 4)  # Laplace's rule of succession
    0.6667
    """
    from scipy.special import betaln

    if not 0 <= solved <= trials or not 0 <= seen <= of:
        raise DomainError(f"a count lies between 0 and its total, got {solved} of {trials}, {seen} of {of}.")
    ways = -math.log(trials + 1) - float(betaln(trials - solved + 1, solved + 1))
    after = float(betaln(solved + seen + 1, trials - solved + of - seen + 1))
    return ways + after - float(betaln(seen + 1, of - seen + 1))


@dataclass(frozen=True)
class Shapes:
    """The family of densities for observed values: Student's t (5 degrees of freedom), with two widths.

    f(x) = 2/(a + b) t((x - c)/a) left of the centre c and 2/(a + b) t((x - c)/b) right of it, so one
    tail may be longer. The prior is uniform: c over `centres`, ln a and ln b over the logarithms of `widths`.

    Args:
        centres, widths: (least, largest) value of c, and of a and b.
    """

    centres: tuple[float, float]
    widths: tuple[float, float]

    def grid(self) -> tuple[Float[Array, " g"], Float[Array, " g"], Float[Array, " g"]]:
        """Return centre, left and right width of every density on a grid with steps of at most half the least width."""
        span, least = self.centres[1] - self.centres[0], self.widths[0]
        c = np.linspace(*self.centres, math.ceil(2 * span / least) + 1)
        w = np.geomspace(*self.widths, 13)
        centre, left, right = (x.ravel() for x in np.meshgrid(c, w, w, indexing="ij"))
        return centre, left, right


@dataclass(frozen=True, eq=False)
class Values:
    """Posterior over a grid of densities, given observed values; it predicts the next values.

    Few values leave many densities possible, and predictions average over all of them; one density fitted to four
    values would make a fifth value just outside their range all but impossible.
    """

    freedom: ClassVar[int] = 5  # degrees of freedom of each density: tails that one value in 40 can reach

    centre: Float[Array, " g"]
    left: Float[Array, " g"]
    right: Float[Array, " g"]
    log_weight: Float[Array, " g"]

    @staticmethod
    def seen(values: Sequence[float], shapes: Shapes) -> "Values":
        """Return the posterior given `values`, which may be empty."""
        from scipy.special import logsumexp

        start = Values(*(grid := shapes.grid()), np.zeros(len(grid[0])))
        known = sum((start._log_density(x) for x in values), start.log_weight)
        return Values(*grid, known - logsumexp(known))

    def log_density(self, x: float) -> float:
        """Return ln of the predictive density of the next value."""
        from scipy.special import logsumexp

        return float(logsumexp(self.log_weight + self._log_density(x)))

    def log_order(self, least: float, middle: float, most: float, n: int) -> float:
        """Return ln of the joint density of the least, the (n/2)-th and the largest of the next n values.

        For even n the paper's median lies between the (n/2)-th and the next value; here it is taken as the (n/2)-th.
        """
        from scipy.special import logsumexp

        k = n // 2
        if n < 4 or not least < middle < most:
            raise DomainError(
                f"n >= 4 values with least < middle < most, got {n}: {least}, {middle}, {most}."
            )
        below, at, above = (self._share_below(x) for x in (least, middle, most))
        ways = math.lgamma(n + 1) - math.lgamma(k - 1) - math.lgamma(n - k)
        gaps = (k - 2) * _log(at - below) + (n - k - 1) * _log(above - at)
        three = sum(self._log_density(x) for x in (least, middle, most))
        return ways + float(logsumexp(self.log_weight + gaps + three))

    def _log_density(self, x: float) -> Float[Array, " g"]:
        from scipy.stats import t

        scaled = (x - self.centre) / np.where(x < self.centre, self.left, self.right)
        return np.asarray(math.log(2) - np.log(self.left + self.right) + t.logpdf(scaled, self.freedom))

    def _share_below(self, x: float) -> Float[Array, " g"]:
        from scipy.stats import t

        low, high = (t.cdf((x - self.centre) / w, self.freedom) for w in (self.left, self.right))
        both = self.left + self.right
        return np.where(
            x < self.centre, 2 * self.left * low / both, (self.left + self.right * (2 * high - 1)) / both
        )


def log_threshold(
    point: float, bar: float, cells: Sequence[Cell], *, grid: Sequence[int], trials: int
) -> float:
    """Return ln of the probability that the paper's grid search gives its point, given our cells at the same T.

    Let S be the first m of the grid at which at least 80 % of `trials` succeed. A success curve (see `curves`) gives
    the distribution of S; a value S near the point counts with weight exp(-(S - point)^2 / 2 bar^2), bar >= 1. The
    result is averaged over the posterior of the curve's threshold and slope given the cells, with a uniform prior on ln
    m_80 over 10 .. 800 and the usual weak prior on the slope.
    """
    from scipy.stats import binom

    merged = merge(cells)
    log_m = np.log([cell.m for cell in merged])
    solved = np.array([cell.solved for cell in merged], dtype=float)
    run = np.array([cell.trials for cell in merged], dtype=float)
    thetas = np.linspace(math.log(10.0), math.log(800.0), 90)[:, None, None]
    slopes = np.exp(LOG_SLOPES)[None, :, None]
    grid_share = 0.8
    known = log_likelihood(log_m, solved, run, thetas, slopes, grid_share).sum(axis=-1)
    weight = known + np.asarray(slope_penalty(LOG_SLOPES))[None, :]
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    x = slopes * (np.log(np.array(grid, dtype=float)) - thetas) + offset(grid_share)
    share = (1 - LAPSE) / (1 + np.exp(-np.clip(x, -500, 500)))
    passes = binom.sf(math.ceil(grid_share * trials - 1e-9) - 1, trials, share)
    first = passes * np.cumprod(np.concatenate([np.ones_like(passes[..., :1]), 1 - passes[..., :-1]], -1), -1)
    near = np.exp(-((np.array(grid) - point) ** 2) / (2 * max(bar, 1.0) ** 2))
    return float(_log((weight * (first * near).sum(axis=-1)).sum()))


def _log(x: Any) -> Any:
    """Return ln of a probability or of an array of probabilities; a finite value also for 0."""
    return np.log(np.maximum(x, 1e-300))
