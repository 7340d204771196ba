"""The success curve and its likelihood: P(trial succeeds) is a logistic function of ln m, times 1 - LAPSE.

Both the threshold at one T and the law over many T use this formula.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float

TYPICAL_SLOPE = 7.0  # measured: T=300 goes from 60 % at m=50 to 94 % at m=70, and the floor's curve has 7.1
SLOPE_SPREAD = 0.7  # standard deviation of ln slope in the penalty: two of them are a factor of 4 either way
LAPSE = 0.003  # share of trials that fail at any m, so that a single failure at large m does not flatten the curve


@dataclass(frozen=True, order=True)
class Cell:
    """The numbers of trials, and of solved trials, at one m."""

    m: int
    solved: int
    trials: int

    def __post_init__(self) -> None:
        if self.m < 1 or not 0 <= self.solved <= self.trials:
            raise DomainError(f"a cell needs m >= 1 and 0 <= solved <= trials, got {self}.")


def merge(cells: Iterable[Cell]) -> list[Cell]:
    """Merge cells with equal m; sort by m and drop cells without trials."""
    solved: Counter[int] = Counter()
    trials: Counter[int] = Counter()
    for cell in cells:
        solved[cell.m] += cell.solved
        trials[cell.m] += cell.trials
    return [Cell(m, solved[m], trials[m]) for m in sorted(trials) if trials[m]]


def agree(cells: Iterable[Cell]) -> bool:
    """Return whether all trials were solved, all trials failed, or there are no trials."""
    kept = list(cells)
    return sum(cell.solved for cell in kept) in (0, sum(cell.trials for cell in kept))


def log_likelihood(
    log_m: Float[Array, "*cells"],
    solved: Float[Array, "*cells"],
    trials: Float[Array, "*cells"],
    log_threshold: Float[Array, "..."] | float,
    slope: Float[Array, "..."] | float,
    target: float,
) -> Float[Array, "..."]:
    """The log-likelihood of each cell (up to a constant) under

        P(success at m) = (1 - LAPSE) / (1 + exp(-x)),   x = slope (ln m - log_threshold) + offset,

    with the offset such that a share `target` succeeds at m = exp(log_threshold). Arguments broadcast.
    """
    x = slope * (log_m - log_threshold) + offset(target)
    below = np.logaddexp(0, -x)
    return solved * (math.log1p(-LAPSE) - below) + (trials - solved) * (
        np.logaddexp(-x, math.log(LAPSE)) - below
    )


def score_and_information(
    x: Float[Array, "*cells"], solved: Float[Array, "*cells"], trials: Float[Array, "*cells"]
) -> tuple[Float[Array, "*cells"], Float[Array, "*cells"]]:
    """Return the derivative of each cell's log-likelihood by x, and its expected (Fisher) information about x.

    With P = (1 - LAPSE) / (1 + exp(-x)) the information of one trial is P'^2 / (P (1 - P)), and P' = P / (1 + exp(x)).
    """
    x = np.clip(x, -500, 500)
    miss = 1 / (1 + np.exp(x))
    share = (1 - LAPSE) * (1 - miss)
    score = trials * miss - (trials - solved) / (1 + LAPSE * np.exp(x))
    return score, trials * share * miss**2 / (1 - share)


def offset(share: float) -> float:
    """Return the x at which this share of trials succeeds; x is that of `log_likelihood`."""
    if not 0 < share < 1 - LAPSE:
        raise DomainError(
            f"a success curve with lapse {LAPSE} has shares of success in (0, {1 - LAPSE}); got {share}."
        )
    return math.log(share / (1 - LAPSE - share))


def slope_penalty_score(log_slope: float) -> tuple[float, float]:
    """Return the first derivative of `slope_penalty`, and minus its second derivative."""
    return (math.log(TYPICAL_SLOPE) - log_slope) / SLOPE_SPREAD**2, 1 / SLOPE_SPREAD**2


def slope_penalty(log_slope: Float[Array, "..."] | float) -> Float[Array, "..."] | float:
    """Return the log-density of a weak prior on ln slope. Without it, a fit to few trials could be a step function."""
    return -0.5 * ((log_slope - math.log(TYPICAL_SLOPE)) / SLOPE_SPREAD) ** 2
