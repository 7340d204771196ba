"""Heads whose values lie on a line, so that the mix is determined by one scalar."""

from dataclasses import dataclass, replace

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..functions import SparseFunction
from ..heads.model import Model
from ..heads.ranges import Choices, extremes, leakage
from .balls import TINY, UNIT, UP, Ball
from .brackets import mixing_error
from .forward import tables


@dataclass(frozen=True, eq=False)
class Line:
    """Every value, and every mix of values, is start + o direction up to `aside` in each coordinate, for some scalar o.

    `aside` includes the distance of the values from the line, their error bounds, and the rounding of the float64 mix.
    The statement therefore holds for exact and for float64 evaluation, whatever the line; a small `aside` makes it
    useful.
    """

    start: Float[Array, " v"]
    direction: Float[Array, " v"]
    o: Float[Array, "n 2"]
    aside: Float[Array, " v"]

    def along(self) -> tuple["Line", float]:
        """Return (line, move). In one dimension `aside` is along the line: the returned line has `aside` 0, and o may
        change by up to `move` instead.
        """
        if self.direction.shape != (1,) or self.direction[0] != 1.0:
            return self, 0.0
        return replace(self, aside=np.zeros(1)), float(self.aside[0])


def line_of(values: Ball) -> Line | None:
    """Return the line through a head's values (n, 2, v), or None if one is off by more than 1e-10 of their spread."""
    flat = values.mid
    sizes = np.abs(flat).max(axis=-1)
    # One coordinate is the scalar itself; otherwise the line starts where numbers, and their rounding, are smallest.
    start = np.zeros(1) if flat.shape[-1] == 1 else flat[np.unravel_index(int(np.argmin(sizes)), sizes.shape)]
    moved = flat - start
    sizes = np.abs(moved).max(axis=-1)
    longest = moved[np.unravel_index(int(np.argmax(sizes)), sizes.shape)]
    spread = np.abs(longest).max()
    # o has the unit of the values, and the direction's entries are at most 1.
    direction = longest / (longest[np.abs(longest).argmax()] or 1.0)
    o = moved @ direction / (float(direction @ direction) or 1.0)
    off = np.abs(moved - o[..., None] * direction) + values.rad
    off = off + 8 * UNIT * (np.abs(flat) + np.abs(start) + np.abs(o[..., None] * direction))
    aside = off.max(axis=(0, 1)) * UP + TINY
    if not aside.max() <= 1e-10 * spread + len(flat) * UNIT * np.abs(flat).max():
        return None
    return Line(start, direction, o, aside + mixing_error(len(flat), values.size.max(axis=(0, 1))))


def line_choices(model: Model, f: SparseFunction, scores: Ball, line: Line) -> Choices:
    """Return scores and values o on the line as float64 `Choices`; [CLS] has weight 0 if it is not attended to."""
    plain, o = scores.mid[..., 0], line.o
    if not model.attends_cls:
        plain, o = np.vstack([plain, np.full((1, 2), -np.inf)]), np.vstack([o, np.zeros((1, 2))])
    return Choices.of(plain, o, f.support)


def scalar_gap(model: Model, f: SparseFunction) -> float | None:
    """Return the distance between the mixed scalar's values for f = 0 and for f = 1; None if no single scalar is
    decoded.
    """
    if model.L != 1 or model.H != 1 or f.s == 0:
        return None
    scores, values = tables(model)
    line = line_of(values[:, :, 0])
    if line is None:
        return None
    choices = line_choices(model, f, scores, line)
    try:
        low, high = extremes(choices, largest=False), extremes(choices, largest=True)
    except DomainError:
        return None
    order = np.argsort(low, kind="stable")
    change = np.flatnonzero(np.diff(f.values[order].astype(np.int64)) != 0)
    return float((low[order][change + 1] - np.maximum.accumulate(high[order])[change]).min(initial=np.inf))


def worst_leak(model: Model, f: SparseFunction) -> float:
    """Return the largest leakage of a head; NaN for models of several layers, or if scores spread too far."""
    if model.L != 1:
        return float("nan")
    scores, _ = model.cls_tables()
    try:
        return max(leakage(scores[:, :, h], f.support) for h in range(model.H))
    except DomainError:
        return float("nan")
