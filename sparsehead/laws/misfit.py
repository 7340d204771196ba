"""Score tests of whether trials follow the success curve, against several kinds of departure.

Each test adds a parameter g to the fitted probabilities, with g = 0 for no departure. U is the derivative of the
log-likelihood by g at 0, and V its variance given the fitted parameters. Without a departure, U^2 / V is chi-squared
with one degree of freedom. The departure itself is not fitted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from .curves import LAPSE, SLOPE_SPREAD, Cell, merge, offset
from .intervals import chi2_quantile


@dataclass(frozen=True)
class Misfit:
    """A departure from the fitted curve: its name and the statistic U^2 / V."""

    name: str
    statistic: float

    @property
    def words(self) -> str:
        """The departure, described in a sentence."""
        found = {
            "lapse": "trials fail at large m more often than the fitted curve predicts",
            "floor": "below some m trials fail more often than the fitted curve predicts",
            "plateau": "the success curve has another shape than the fitted curve",
            "slope": "the success curve's slope changes with T",
        }[self.name]
        return f"misfit: {found} (chi2 = {self.statistic:.1f} on 1)"


def misfits(
    cells: Mapping[int, Sequence[Cell]], log_m80: Mapping[int, float], slope: float, target: float = 0.8
) -> list[Misfit]:
    """Return the departures, significant at level .99, from curves with thresholds exp(log_m80[T]) and one slope."""
    found = statistics(cells, log_m80, slope, target)
    level = 0.99  # confidence level of each test
    return [Misfit(name, value) for name, value in found.items() if value > chi2_quantile(level)]


def statistics(
    cells: Mapping[int, Sequence[Cell]], log_m80: Mapping[int, float], slope: float, target: float = 0.8
) -> dict[str, float]:
    """Return U^2 / V for each departure that the trials could show. P and x are those of `curves.log_likelihood`.

    lapse    P (1 - g): a share g of trials fails at any m
    floor    x - g max(0, -x)^2: far below the threshold fewer (or more) trials succeed than the curve predicts
    plateau  x + g x^2: the curve is flatter on one side
    slope    x (1 + g ln T): the slope changes with T; only with three or more T
    """
    rows = [(T, cell) for T in cells for cell in merge(cells[T])]
    Ts = sorted({T for T, _ in rows})
    log_T = np.log([float(max(T, 1)) for T, _ in rows])
    n = np.array([cell.trials for _, cell in rows], dtype=float)
    above = slope * np.array([math.log(cell.m) - log_m80[T] for T, cell in rows])
    x = np.clip(above + offset(target), -30, 30)
    share = (1 - LAPSE) / (1 + np.exp(-x))
    by_x = share / (1 + np.exp(x))
    excess = np.array([cell.solved for _, cell in rows], dtype=float) - n * share
    nuisance = [-slope * by_x * np.array([own == T for own, _ in rows]) for T in Ts]
    design = np.array([*nuisance, by_x * above])
    departures = {"lapse": -share, "floor": -by_x * np.minimum(0, x) ** 2, "plateau": by_x * x**2}
    if len(Ts) > 2:
        departures["slope"] = by_x * above * (log_T - log_T.mean())
    weight = n / (share * (1 - share))
    prior = np.zeros(len(design))
    prior[-1] = 1 / SLOPE_SPREAD**2
    return {name: _score(along, excess, weight, n, design, prior) for name, along in departures.items()}


def _score(
    along: Float[Array, " cells"],
    excess: Float[Array, " cells"],
    weight: Float[Array, " cells"],
    n: Float[Array, " cells"],
    design: Float[Array, "k cells"],
    prior: Float[Array, " k"],
) -> float:
    """Return U^2 / V for the departure with derivative `along`, after projecting out the fitted parameters, whose
    derivatives are `design`.
    """
    matrix = (design * weight) @ design.T + np.diag(prior) + 1e-9 * np.eye(len(design))
    left = along - np.linalg.solve(matrix, (design * weight) @ along) @ design
    variance = float((left**2 * weight).sum())
    if variance < 1e-6 * float((along**2 * weight).sum()) + 1e-12:
        return 0.0
    return float((left * weight / n * excess).sum()) ** 2 / variance
