"""Straight lines below and above an activation on an interval."""

from collections.abc import Callable

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..heads.heads import activation
from .balls import LIBRARY, TINY, UNIT, UP

Lines = tuple[Float[Array, "*shape"], Float[Array, "*shape"]]


def lines_around(
    name: str, low: Float[Array, "*shape"], high: Float[Array, "*shape"], at: Float[Array, "*shape"]
) -> tuple[Lines, Lines]:
    """Return (slope, intercept) of a line below and of one above the activation on [low, high], close to it at `at`.

    A line of slope a is below act(x) if its intercept is at most the minimum of act(x) - a x. On a piece of width h
    this difference deviates from its linear interpolation by at most h^2 / 8 times the maximum of |act''|, which is
    below .8: sqrt(2/pi) = .798 for GELU (at 0), and 4 / (3 sqrt 3) = .770 for tanh. Any slope is valid, so several are
    tried, and the line closest to the activation at `at` is returned.
    """
    if name == "relu":
        return _around_relu(low, high)
    if name not in SLOPES:
        raise DomainError(
            f"activation {name!r} has no straight bounds; there are some for relu, {', '.join(SLOPES)}."
        )
    act = activation(name)
    pieces = 16  # into which an interval is divided; a smooth activation is interpolated on each
    share = np.linspace(0, 1, pieces + 1).reshape(-1, *([1] * low.ndim))
    points = low + share * (high - low)
    values = act(points)
    width = (high - low) / pieces
    size = np.maximum(np.abs(low), np.abs(high)) + 1
    # The points are rounded too: act and the line change by at most 2 per unit of x.
    lost = 0.8 * (width * UP) ** 2 / 8 + (LIBRARY + 32 * UNIT) * size * 2
    with np.errstate(all="ignore"):
        chord = np.where(high > low, (values[-1] - values[0]) / (high - low), 1.0)
    below = above = None
    for slope in (chord, SLOPES[name](at), SLOPES[name](low / 2 + high / 2)):
        rest = values - slope * points
        pad = lost * (1 + np.abs(slope)) * UP + TINY
        least, most = rest.min(axis=0) - pad, rest.max(axis=0) + pad
        below = _closer(below, (slope, least), at, 1.0)
        above = _closer(above, (slope, most), at, -1.0)
    assert below is not None and above is not None
    return below, above


def _closer(best: Lines | None, new: Lines, at: Array, sign: float) -> Lines:
    """Return the line that is higher at `at` (sign 1) or lower there (sign -1)."""
    if best is None:
        return new
    better = sign * (new[0] * at + new[1]) > sign * (best[0] * at + best[1])
    return np.where(better, new[0], best[0]), np.where(better, new[1], best[1])


def _around_relu(low: Array, high: Array) -> tuple[Lines, Lines]:
    on, off = low >= 0, high <= 0
    with np.errstate(all="ignore"):
        slope = np.where(on, 1.0, np.where(off, 0.0, high / (high - low)))
    # Valid for any slope from 0 to 1: the largest distance from max(x, 0) is at an end or at 0.
    over = np.maximum(np.maximum(high, 0) - slope * high, np.maximum(low, 0) - slope * low)
    over = np.where(on | off, 0.0, np.maximum(over, 0.0) + 8 * UNIT * (np.abs(low) + np.abs(high)) + TINY)
    under = np.where(on, 1.0, np.where(off, 0.0, np.where(high > -low, 1.0, 0.0)))
    return (under, np.zeros_like(low)), (slope, over)


def _gelu_slope(x: Array) -> Array:
    from scipy.special import erf  # slow to import, and only used here

    return 0.5 * (1 + erf(x / np.sqrt(2))) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


SLOPES: dict[str, Callable[[Array], Array]] = {
    "gelu": _gelu_slope,
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "identity": np.ones_like,
}
