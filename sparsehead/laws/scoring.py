"""Maximum likelihood for curves m_80(T): all trials as arrays, and Fisher scoring with analytic derivatives.

A curve gives ln m_80 at every T and ln slope as functions of k parameters x, with their Jacobians. Scoring solves only
k x k systems (k = 1 .. 19), so no threads are used; exp and log over the cells take most of the time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from .._base.types import Array, Float, Int
from .curves import (
    Cell,
    log_likelihood,
    merge,
    offset,
    score_and_information,
    slope_penalty,
    slope_penalty_score,
)


@dataclass(frozen=True, eq=False)
class Curve:
    """ln m_80 at every T and ln slope at one x, with their derivatives by x."""

    log_m80: Float[Array, " n_T"]
    log_m80_by_x: Float[Array, "n_T k"]
    log_slope: float
    log_slope_by_x: Float[Array, " k"]


CurveFamily = Callable[[Float[Array, " k"]], Curve]


@dataclass(frozen=True, eq=False)
class Trials:
    """Cells of all T as flat arrays; `which` is the index in Ts of a cell's T."""

    Ts: Float[Array, " n_T"]
    which: Int[Array, " cells"]
    log_m: Float[Array, " cells"]
    solved: Float[Array, " cells"]
    trials: Float[Array, " cells"]
    target: float
    largest_log_slope: ClassVar[float] = 9.0  # practically a step function

    @staticmethod
    def of(cells: Mapping[int, Sequence[Cell]], target: float) -> "Trials":
        """Flatten the cells of every T, in ascending order; a T may have no cells."""
        Ts = sorted(cells)
        flat = [(i, cell) for i, T in enumerate(Ts) for cell in merge(cells[T])]
        return Trials(
            Ts=np.array(Ts, dtype=float),
            which=np.array([i for i, _ in flat], dtype=int),
            log_m=np.log(np.array([cell.m for _, cell in flat], dtype=float)),
            solved=np.array([cell.solved for _, cell in flat], dtype=float),
            trials=np.array([cell.trials for _, cell in flat], dtype=float),
            target=target,
        )

    @cached_property
    def at(self) -> Float[Array, "cells n_T"]:
        """Return a matrix, cells by context lengths: 1 where the cell belongs to that T, else 0."""
        return np.eye(len(self.Ts))[self.which]

    def plain(self, log_m80: Float[Array, " n_T"], log_slope: float) -> float:
        """Return the log-likelihood of all trials, without the penalty on the slope."""
        slope = math.exp(min(self.largest_log_slope, log_slope))
        each = log_likelihood(self.log_m, self.solved, self.trials, log_m80[self.which], slope, self.target)
        return float(each.sum())

    def loss(self, log_m80: Float[Array, " n_T"], log_slope: float) -> float:
        """Return minus the penalised log-likelihood, for `minimise`; infinite if the curve is not finite."""
        value = -self.plain(log_m80, log_slope) - float(slope_penalty(log_slope))
        return value if math.isfinite(value) else math.inf

    def derivatives(self, curve: Curve) -> tuple[Float[Array, " k"], Float[Array, "k k"]]:
        """Return minus the gradient of `loss` by the curve's parameters x, and their expected (Fisher) information."""
        slope = math.exp(min(self.largest_log_slope, curve.log_slope))
        above = slope * (self.log_m - curve.log_m80[self.which])
        score, information = score_and_information(above + offset(self.target), self.solved, self.trials)
        by_x = np.outer(above, curve.log_slope_by_x) - slope * curve.log_m80_by_x[self.which]
        prior_score, prior_information = slope_penalty_score(curve.log_slope)
        gradient = score @ by_x + prior_score * curve.log_slope_by_x
        matrix = (by_x * information[:, None]).T @ by_x
        return gradient, matrix + prior_information * np.outer(curve.log_slope_by_x, curve.log_slope_by_x)


def minimise(trials: Trials, family: CurveFamily, start: Sequence[float]) -> tuple[Float[Array, " k"], float]:
    """Return the x of least loss near `start`, and the loss, by Fisher scoring.

    The expected information is slightly damped, so that x does not move along directions without information. Each step
    is halved until the loss decreases. Stop when the expected decrease is below 1e-9.
    """
    x = np.array(start, dtype=float)
    curve = family(x)
    loss = trials.loss(curve.log_m80, curve.log_slope)
    for _ in range(60):
        gradient, information = trials.derivatives(curve)
        step = np.linalg.solve(information + 1e-9 * np.eye(len(x)), gradient)
        promised = float(gradient @ step)
        # Limit a step to a factor of e^2 in m and in the slope: the linearisation is useless beyond.
        step *= min(1.0, 2.0 / max(1e-300, float(np.abs(step).max())))
        if promised < 1e-9:
            break
        for _ in range(30):
            nearby = family(x + step)
            value = trials.loss(nearby.log_m80, nearby.log_slope)
            if value < loss:
                break
            step = step / 2
        else:
            break
        x, curve, loss = x + step, nearby, value
    return x, loss


def least(
    trials: Trials, family: CurveFamily, starts: Sequence[Sequence[float]]
) -> tuple[Float[Array, " k"], float]:
    """Return the best result of `minimise` from several starts."""
    return min((minimise(trials, family, start) for start in starts), key=lambda found: found[1])
