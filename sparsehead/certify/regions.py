"""Proved bounds of a ReLU chain's output over a set of mixed values, by linear bounds.

A set (`Box`, `Zonotope`) gives bounds of any affine function over it. A ReLU whose input keeps its sign on the set is
the identity or zero there. If all units keep their sign, the chain is one affine map, and its range is exact up to
rounding; other ReLUs are enclosed between two lines.

Rounding. The linear bounds come with a slack, one number per unit: the model's pre-activation, in exact arithmetic or
in float64, lies in [A_low x + b_low - slack, A_high x + b_high + slack] for every x of the set. An affine map takes
the slack to slack W_size and adds its allowance (`chain.Step`) and the rounding of the new bounds; a line of slope at
most 1 does not raise it.
"""

from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from ..heads.heads import additions, token_sum
from .balls import TINY, UNIT, UP
from .chain import Step


@dataclass(frozen=True, eq=False)
class Box:
    """All x with low <= x <= high in every coordinate."""

    low: Float[Array, " m"]
    high: Float[Array, " m"]

    @property
    def size(self) -> Float[Array, " m"]:
        """The largest absolute value of each coordinate."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def lowest(self, A: Float[Array, "m c"]) -> Float[Array, " c"]:
        """A lower bound of x A over the set, column by column; the upper one is -lowest(-A)."""
        rounding = (len(A) + 3) * UNIT * (self.size @ np.abs(A)) * UP + TINY
        return self.low @ np.maximum(A, 0) + self.high @ np.minimum(A, 0) - rounding


@dataclass(frozen=True, eq=False)
class Zonotope:
    """All sums of base and any of the steps, up to `error` in each coordinate."""

    base: Float[Array, " m"]
    steps: Float[Array, "n m"]
    error: Float[Array, " m"]

    @property
    def size(self) -> Float[Array, " m"]:
        return (np.abs(self.base) + np.abs(self.steps).sum(axis=0) + self.error) * UP

    def lowest(self, A: Float[Array, "m c"]) -> Float[Array, " c"]:
        moved = self.steps @ A
        if len(moved) == 0:
            moved = np.zeros((1, A.shape[1]))
        rounding = (additions(len(moved)) + len(A) + 4) * UNIT * (self.size @ np.abs(A))
        lost = (rounding + self.error @ np.abs(A)) * UP + TINY
        return self.base @ A + token_sum(np.minimum(moved, 0).T)[:, 0] - lost


Region = Box | Zonotope


def output_range(chain: tuple[Step, ...], region: Region) -> tuple[float, float, float]:
    """Bound the chain's output over the region; return also the part of each bound that allows for rounding."""
    m = chain[0].W.shape[0]
    A_low = A_high = np.eye(m)
    b_low = b_high = slack = np.zeros(m)
    size = region.size
    lost = TINY * size.sum()  # for entries of A_low and A_high that underflow
    for step in chain:
        sizes = region.size @ np.maximum(np.abs(A_low), np.abs(A_high)) + np.abs(b_low) + np.abs(b_high)
        of_bounds = (len(step.W) + 4) * UNIT * (2 * sizes @ step.W_size + step.b_size) + lost
        slack = (slack @ step.W_size + step.allowance(size) + of_bounds) * UP + TINY
        plus, minus = np.maximum(step.W, 0), np.minimum(step.W, 0)
        A_low, A_high = A_low @ plus + A_high @ minus, A_high @ plus + A_low @ minus
        b_low, b_high = b_low @ plus + b_high @ minus + step.b, b_high @ plus + b_low @ minus + step.b
        low, high = _ends(region, A_low, A_high, b_low, b_high, slack)
        if step.relu:
            on, off = low >= 0, high <= 0
            slope = np.where(high > low, high / (high - low), 1.0)
            up = np.where(on, 1.0, np.where(off, 0.0, slope))
            shift = np.where(on | off, 0.0, -slope * low)
            # The lower line of a unit that changes sign is x or 0.
            down = np.where(on, 1.0, np.where(off, 0.0, np.where(high > -low, 1.0, 0.0)))
            A_low, b_low = A_low * down, b_low * down
            A_high, b_high = A_high * up, b_high * up + shift
            rounded = 4 * UNIT * (region.size @ np.abs(A_high) + np.abs(b_high) + 2 * np.abs(shift))
            slack = np.where(off, 0.0, (slack + rounded + lost) * UP + TINY)
            size = np.maximum(high, 0)
    return float(low[0]), float(high[0]), float(slack[0])


def _ends(
    region: Region, A_low: Array, A_high: Array, b_low: Array, b_high: Array, slack: Array
) -> tuple[Float[Array, " c"], Float[Array, " c"]]:
    """Return the least and the largest pre-activation, including the slack."""
    below, above = region.lowest(A_low), -region.lowest(-A_high)
    low = below + b_low - slack - 2 * UNIT * (np.abs(below) + np.abs(b_low) + slack)
    high = above + b_high + slack + 2 * UNIT * (np.abs(above) + np.abs(b_high) + slack)
    return low, high
