"""ReLU decoders of a scalar o that are exactly constant on given intervals.

    f(o) = g_0 + sum_k a_k ReLU(o - t_k)

`plateaus` takes two units per change of value and is constant on each interval and on a quarter of the gap on either
side, so that rounding errors of o do not change the output. `interpolation` joins points by straight lines with one
unit per change of slope; it is for values of o that are known exactly.
"""

from dataclasses import dataclass

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float, Shaped


@dataclass(frozen=True, eq=False)
class Decoder:
    """The function o -> start + sum_k slopes_k ReLU(o - kinks_k); `gap` is explained in `plateaus`."""

    start: float
    kinks: Float[Array, " units"]
    slopes: Float[Array, " units"]
    gap: float = float("inf")

    def __call__(self, o: Float[Array, "*n"]) -> Float[Array, "*n"]:
        return self.start + np.maximum(np.asarray(o)[..., None] - self.kinks, 0) @ self.slopes


def plateaus(
    low: Float[Array, " n"], high: Float[Array, " n"], values: Shaped[Array, " n"], *, flat: float = 1.0
) -> Decoder:
    """Return the decoder that equals values[j] on [low_j, high_j], with two units per change of value.

    `flat` determines the distance of each ramp from the two intervals that it joins. At 1 it is a quarter of the gap,
    at 1/2 zero; at 0 the ramp starts and ends in the middles of the intervals. Below 1/2 the output on an interval is
    only approximately values[j].

    Intervals with equal values may overlap. The decoder's `gap` is the smallest distance between intervals of different
    values. If every interval contains three points, no hidden layer has fewer units: each change needs two kinks.

    Raises:
        DomainError: intervals of different values overlap, so there is no decoder.
    Paper: exact-decoder

    >>> plateaus(np.array([0.0, 1.0]), np.array([0.2, 1.2]), np.array([0.0, 1.0]))(
    ...     np.array([0.1, 1.1])
    ... ).tolist()
    [0.0, 1.0]
    """
    order = np.argsort(low, kind="stable")
    low, high, values = low[order], high[order], np.asarray(values, dtype=np.float64)[order]
    change = np.flatnonzero(np.diff(values) != 0)
    right = np.maximum.accumulate(high)[change]  # where everything before the change has ended
    left = low[change + 1]
    gaps = left - right
    gap = float(gaps.min(initial=np.inf))
    if gap <= 0:
        raise DomainError(
            f"the head's values overlap by {-gap:.3g} where the function changes; no decoder can separate them."
        )
    guard = 0.25  # share of each gap, on either side, that is kept flat: room for rounding inside the head
    start, stop = right + guard * gaps, left - guard * gaps
    if flat < 1:
        away, into = max(0.0, 2 * flat - 1) * guard * gaps, max(0.0, 1 - 2 * flat) / 2
        start = right + away - into * (right - low[change])
        stop = left - away + into * (high[change + 1] - left)
    slope = (values[change + 1] - values[change]) / (stop - start)
    kinks = np.stack([start, stop], axis=1).ravel()
    return Decoder(float(values[0]), kinks, np.stack([slope, -slope], axis=1).ravel(), gap)


def interpolation(points: Float[Array, " n"], values: Shaped[Array, " n"]) -> Decoder:
    """Return the piecewise linear function through (points_j, values_j), points ascending and distinct; constant before
    the first point, with a kink only where the slope changes.   Paper: exact-decoder
    """
    values = np.asarray(values, dtype=np.float64)
    slopes = np.append(np.diff(values) / np.diff(points), 0.0) if len(points) > 1 else np.zeros(1)
    turns = np.diff(slopes[:-1], prepend=0.0)  # past the last point the last slope goes on
    kept = turns != 0
    gap = float(np.diff(points).min(initial=np.inf))
    return Decoder(float(values[0]), points[:-1][kept], turns[kept], gap)
