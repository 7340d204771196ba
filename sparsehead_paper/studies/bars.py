"""Use the paper's error bars as data: estimate the steepness of the success curve that they imply, and test how well a
measured law explains them.

The paper's point at T is the mean, and its bar the standard deviation, over bootstrap resamples of one estimate: the
first m of its grid at which 32 of 40 trials succeed. The bar is therefore large where the success curve is flat. A
curve is described by m_80 and by its slope in ln m (`sparsehead.laws.curves`).

Given 40 trials per m, the resamples' mean and standard deviation have a closed form (`bootstrap`). Their distribution
over the trials is simulated on a grid of curves, and its density at the paper's 17 points with bars (`PointsAndBars`)
is the likelihood of the curves at these T.   Paper: law-bars
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.laws.curves import LAPSE, Cell, offset
from sparsehead.laws.published import GRID_M, GRID_TRIALS, LAW_AND, PrintedThreshold
from sparsehead.laws.smooth import posterior

POINTS = tuple(point for point in LAW_AND if point.bar > 0)
LOG_M80 = np.linspace(math.log(35), math.log(180), 42)  # steps of 4 %
LOG_SLOPES = np.linspace(math.log(1.5), math.log(20), 14)


@cache
def _passes() -> Float[Array, " n"]:
    """Return, for k = 0 .. 40 solved trials, the probability that a resample of the 40 has at least 32 solved."""
    from scipy.stats import binom

    passing = math.ceil(0.8 * GRID_TRIALS)
    return np.asarray(binom.sf(passing - 1, GRID_TRIALS, np.arange(GRID_TRIALS + 1) / GRID_TRIALS))


def bootstrap(solved: Array) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return mean and standard deviation of the resampled estimates, for solved trials of 40 at every m of the grid.

    A resample in which no m passes counts as the grid's last m.

    >>> mean, deviation = bootstrap(np.array([0, 0, *[40] * 14]))
    >>> float(mean), float(deviation)
    (70.0, 0.0)
    """
    passes = _passes()[solved].copy()
    passes[..., -1] = 1
    missed = np.cumprod(1 - passes, axis=-1)
    first = passes * np.concatenate([np.ones_like(missed[..., :1]), missed[..., :-1]], axis=-1)
    mean = first @ np.array(GRID_M, dtype=float)
    square = first @ np.array(GRID_M, dtype=float) ** 2
    return mean, np.sqrt(np.maximum(square - mean**2, 0))


def simulate(log_m80: float, slope: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return points and bars of 2000 experiments whose success curve has this threshold and slope."""
    x = slope * (np.log(GRID_M) - log_m80) + offset(0.8)
    shares = (1 - LAPSE) / (1 + np.exp(-x))
    draws = 2000  # simulated experiments per curve
    return bootstrap(rng.binomial(GRID_TRIALS, shares, size=(draws, len(GRID_M))))


@cache
def _experiments(
    seed: int = 0,
) -> tuple[Float[Array, "levels slopes draws"], Float[Array, "levels slopes draws"]]:
    """Simulate points and bars for every curve of the grid LOG_M80 x LOG_SLOPES; a few seconds."""
    rng = stream(seed, "points and bars")
    pairs = [[simulate(float(x), math.exp(y), rng) for y in LOG_SLOPES] for x in LOG_M80]
    return np.array([[p[0] for p in row] for row in pairs]), np.array([[p[1] for p in row] for row in pairs])


@dataclass(frozen=True, eq=False)
class PointsAndBars:
    """ln of the density of a printed point and its bar at each T, on the grid LOG_M80 x LOG_SLOPES."""

    log_density: Float[Array, "points levels slopes"]
    Ts: tuple[int, ...]

    @staticmethod
    def of(points: Sequence[PrintedThreshold]) -> "PointsAndBars":
        """Compare simulated experiments with these points.

        With n resamples, the mean has the standard error deviation / sqrt n, and the standard deviation has deviation /
        sqrt(2n).
        """
        mean, deviation = _experiments()
        resamples = 100  # that the paper seems to use
        # samples by which simulated points and bars are blurred, beside the noise of 100 resamples
        kernel = 0.5
        blur = np.hypot(deviation / math.sqrt(resamples), kernel)
        blur_bar = np.hypot(deviation / math.sqrt(2 * resamples), kernel)
        near = [
            (_normal(point.m - mean, blur) * _normal(point.bar - deviation, blur_bar)).mean(axis=-1)
            for point in points
        ]
        return PointsAndBars(np.log(np.array(near) + 1e-30), tuple(point.T for point in points))

    def at(self, log_m80: Float[Array, "n points"], log_slope: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the sum over all T for n laws, interpolated linearly; a curve off the grid is moved to it."""
        i, u = _position(log_m80, LOG_M80)
        j, v = _position(log_slope, LOG_SLOPES)
        j, v = j[:, None], v[:, None]
        t, table = np.arange(len(self.Ts)), self.log_density
        low = (1 - u) * table[t, i, j] + u * table[t, i + 1, j]
        high = (1 - u) * table[t, i, j + 1] + u * table[t, i + 1, j + 1]
        return np.asarray(((1 - v) * low + v * high).sum(axis=1))


def _position(x: Array, nodes: Array) -> tuple[Array, Array]:
    """Return the index of the node below x, and the fraction of the way to the next."""
    steps = np.clip((x - nodes[0]) / (nodes[1] - nodes[0]), 0, len(nodes) - 1)
    below = np.minimum(steps.astype(int), len(nodes) - 2)
    return below, steps - below


def _normal(x: Array, sd: Array) -> Array:
    return np.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


@cache
def printed() -> PointsAndBars:
    """The density of the paper's points with bars."""
    return PointsAndBars.of(POINTS)


def _posterior(cells: Mapping[int, Sequence[Cell]]) -> tuple[Float[Array, " k"], Float[Array, "k k"]]:
    """Return mean and covariance of (ln m_80 at the paper's T with bars, ln slope), given trials at any T."""
    trials = {T: cells.get(T, ()) for T in sorted({*cells, *(point.T for point in POINTS)})}
    known, Ts = posterior(trials, guess=60), list(trials)
    kept = [*(Ts.index(point.T) for point in POINTS), -1]
    return known.mean[kept], known.covariance[np.ix_(kept, kept)]


def log_evidence(cells: Mapping[int, Sequence[Cell]], *, draws: int = 20_000, seed: int = 0) -> float:
    """Return ln of the density of the paper's points and bars, averaged over the posterior of laws given the trials.

    Importance sampling: laws are drawn from a normal distribution that is moved in steps from the trials' posterior to
    where the posterior times the likelihood is large.
    """
    from scipy.stats import multivariate_normal

    mean, covariance = _posterior(cells)
    known = multivariate_normal(mean, covariance)
    rng, table = stream(seed, "laws"), printed()
    for power in (0.1, 0.3, 0.6, 1.0, 1.0):
        proposal = multivariate_normal(mean, covariance)
        laws = proposal.rvs(draws, random_state=rng)
        log_likelihood = table.at(laws[:, :-1], laws[:, -1])
        log_ratio = known.logpdf(laws) - proposal.logpdf(laws)
        weight = np.exp((found := power * log_likelihood + log_ratio) - found.max())
        mean = weight @ laws / weight.sum()
        # Wider than the weighted laws, so that few weights are large; never singular.
        covariance = 1.3 * np.cov(laws, rowvar=False, aweights=weight) + 1e-6 * np.eye(len(mean))
    return log_mean(log_likelihood + log_ratio)


def expected_points(cells: Mapping[int, Sequence[Cell]], *, seed: int = 0) -> dict[int, tuple[float, float]]:
    """Return by T the m_80 of a measured law, and the mean of the paper's estimate on its success curve."""
    mean, _ = _posterior(cells)
    rng, slope = stream(seed, "expected points"), math.exp(mean[-1])
    return {
        point.T: (math.exp(level), float(simulate(float(level), slope, rng)[0].mean()))
        for point, level in zip(POINTS, mean, strict=False)
    }


@dataclass(frozen=True)
class ImpliedSlope:
    """The slope that the paper's points and bars imply: its posterior median and 95 % interval, and the evidence."""

    slope: float
    low: float
    high: float
    log_evidence: float


def implied_slope(points: PointsAndBars | None = None) -> ImpliedSlope:
    """Return the slope and the evidence averaged over all smooth laws: the alternative that none of the interpretations
    examined is right.

    ln m_80 is a quadratic function of ln T; its values at the least, the middle and the largest T are uniform over
    LOG_M80 and do not decrease with T. The logarithm of the slope is uniform over LOG_SLOPES. By default the points are
    the paper's.
    """
    table = printed() if points is None else points
    z = np.log(table.Ts)
    ends = np.array([z[0], (z[0] + z[-1]) / 2, z[-1]])
    to_levels = np.linalg.solve(np.vander(ends, 3).T, np.vander(z, 3).T)
    values = np.array([(a, b, c) for a in LOG_M80 for b in LOG_M80 for c in LOG_M80 if a <= b <= c])
    levels = values @ to_levels
    by_slope = np.array([log_mean(table.at(levels, np.full(len(values), y))) for y in LOG_SLOPES])
    fine = np.linspace(LOG_SLOPES[0], LOG_SLOPES[-1], 400)
    weight = np.exp(np.interp(fine, LOG_SLOPES, by_slope) - by_slope.max())
    share = np.cumsum(weight) / weight.sum()
    median, low, high = (math.exp(fine[np.searchsorted(share, q)]) for q in (0.5, 0.025, 0.975))
    return ImpliedSlope(median, low, high, log_mean(by_slope))


def log_mean(logs: Array) -> float:
    """Return ln of the mean of numbers, given their logarithms."""
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).mean()))
