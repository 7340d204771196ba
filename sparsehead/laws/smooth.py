"""Estimate all thresholds together by Laplace's approximation: ln m_80 is smooth in ln T, with one slope for all T.

The success curve is that of `curves`. The prior of ln m_80 over z = ln T is a straight line plus a Gaussian process
with squared-exponential covariance. Its unknown amplitude and length are averaged over a small grid, each pair
weighted by the evidence of the trials. Trials at one T thus inform neighbouring T, if the data show a smooth curve.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from .curves import SLOPE_SPREAD, TYPICAL_SLOPE, Cell, log_likelihood, offset, score_and_information
from .scoring import Trials


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean and covariance of (ln m_80 at each T, ln slope), given the trials."""

    mean: Float[Array, " k"]
    covariance: Float[Array, "k k"]

    @property
    def spread(self) -> Float[Array, " k"]:
        """Return the standard deviations of ln m_80 at each T, and of ln slope."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def slope(self) -> float:
        """The slope in ln m."""
        return math.exp(self.mean[-1])


def posterior(cells: Mapping[int, Sequence[Cell]], *, guess: float | int, target: float = 0.8) -> Posterior:
    """Return the posterior of all thresholds given all trials; a threshold without trials is predicted from the others.

    `guess` is the prior mean of m_80, the same at every T.
    """
    data = Trials.of(cells, target)
    prior = _covariances(np.log(data.Ts))
    modes, precision, evidence = _modes(data, prior, math.log(guess))
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    mean = weights @ modes
    apart = modes - mean
    covariance = np.einsum(
        "h,hij->ij", weights, np.linalg.inv(precision) + apart[:, :, None] * apart[:, None, :]
    )
    return Posterior(mean, covariance)


def _covariances(z: Float[Array, " n_T"]) -> Float[Array, "h n_T n_T"]:
    """Return the prior covariance of ln m_80 for each amplitude (standard deviation about the straight line) and length
    in ln T.

    The level of the straight line has the standard deviation 1.5 about the guess (two of these are a factor of 20), and
    its slope d ln m_80 / d ln T the standard deviation 0.5. Every threshold has an additional independent variance of
    1e-4 (1 % of m_80), which keeps the matrix invertible.
    """
    z = z - z.mean()
    gap = (z[:, None] - z[None, :]) ** 2
    straight = 1.5**2 + 0.5**2 * np.outer(z, z) + 1e-4 * np.eye(len(z))
    return np.stack(
        [straight + a**2 * np.exp(-gap / (2 * length**2)) for a in (0.1, 0.3) for length in (0.6, 1.8)]
    )


def _modes(
    data: Trials, prior: Float[Array, "h n_T n_T"], log_guess: float
) -> tuple[Float[Array, "h k"], Float[Array, "h k k"], Float[Array, " h"]]:
    """Return, for each prior, the mode of (ln m_80, ln slope), the precision at the mode and the log evidence.

    The modes are found by Fisher scoring.
    """
    h, n = prior.shape[:2]
    centre = np.append(np.full(n, log_guess), math.log(TYPICAL_SLOPE))
    penalty = np.zeros((h, n + 1, n + 1))
    penalty[:, :n, :n] = np.linalg.inv(prior)
    penalty[:, n, n] = 1 / SLOPE_SPREAD**2
    y = np.tile(centre, (h, 1))
    value = _objective(data, y, centre, penalty)
    for _ in range(40):
        gradient, precision = _derivatives(data, y, centre, penalty)
        step = np.linalg.solve(precision, gradient[:, :, None])[:, :, 0]
        if float((gradient * step).sum(axis=1).max()) < 1e-6:
            break
        step /= np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        for _ in range(10):
            nearby = _objective(data, y + step, centre, penalty)
            worse = nearby < value
            if not worse.any():
                break
            step[worse] /= 2
        y, value = y + step, nearby
    _, precision = _derivatives(data, y, centre, penalty)
    evidence = value - 0.5 * np.linalg.slogdet(prior)[1] - 0.5 * np.linalg.slogdet(precision)[1]
    return y, precision, evidence


def _objective(
    data: Trials,
    y: Float[Array, "h k"],
    centre: Float[Array, " k"],
    penalty: Float[Array, "h k k"],
) -> Float[Array, " h"]:
    """Return the log-likelihood plus the log prior density, up to a constant for each prior."""
    apart = y - centre
    slope, log_m80 = np.exp(y[:, -1:]), y[:, :-1] @ data.at.T
    fit = log_likelihood(data.log_m, data.solved, data.trials, log_m80, slope, data.target).sum(axis=1)
    return fit - 0.5 * np.einsum("hi,hij,hj->h", apart, penalty, apart)


def _derivatives(
    data: Trials,
    y: Float[Array, "h k"],
    centre: Float[Array, " k"],
    penalty: Float[Array, "h k k"],
) -> tuple[Float[Array, "h k"], Float[Array, "h k k"]]:
    """The gradient of `_objective`, and the expected information plus the precision of the prior."""
    n = y.shape[1] - 1
    slope = np.exp(y[:, -1:])
    above = slope * (data.log_m - y[:, :-1] @ data.at.T)
    shape = above.shape
    score, information = score_and_information(
        above + offset(data.target), np.broadcast_to(data.solved, shape), np.broadcast_to(data.trials, shape)
    )
    gradient = -np.einsum("hij,hj->hi", penalty, y - centre)
    gradient[:, :n] -= slope * (score @ data.at)
    gradient[:, n] += (score * above).sum(axis=1)
    precision = penalty.copy()
    precision[:, range(n), range(n)] += slope**2 * (information @ data.at)
    across = -slope * ((information * above) @ data.at)
    precision[:, :n, n] += across
    precision[:, n, :n] += across
    precision[:, n, n] += (information * above**2).sum(axis=1)
    return gradient, precision
