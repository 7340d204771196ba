"""Axes with given ends, logarithmic axes, and encodings by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.log_math import Real


def linear_axis(title: str | None, low: Real, high: Real, **axis: Any) -> dict[str, Any]:
    """Scale and axis of a quantity from `low` to `high`, drawn to these ends exactly."""
    return {"scale": alt.Scale(domain=[low, high], nice=False), "axis": alt.Axis(title=title, **axis)}


def by_name(channel: Any, field: str, values: Mapping[str, Any], **settings: Any) -> Any:
    """An encoding (`channel`) of a nominal field by the colour, shape or dash of each name, in this order."""
    scale = alt.Scale(domain=list(values), range=list(values.values()))
    return channel(f"{field}:N", scale=scale, **settings)


def log_axis(title: str, values: Sequence[Real]) -> dict[str, Any]:
    """Scale and axis of a positive quantity over decades, just wide enough for `values`, labelled without clutter."""
    low, high = min(values) / 1.15, max(values) * 1.15
    form = "~s" if max(values) >= 1e4 else "~g"
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(title=title, values=decade_ticks(low, high), format=form),
    }


def decade_ticks(low: Real, high: Real) -> list[float]:
    """Round numbers within [low, high]: 1-2-5 steps over up to two decades, 1-3 up to four, else powers of ten.

    >>> decade_ticks(90, 1200)
    [100.0, 200.0, 500.0, 1000.0]
    """
    decades = 0 if low <= 0 else len(str(int(high / low))) - 1
    steps = (1, 2, 5) if decades < 2 else (1, 3) if decades < 4 else (1,)
    power, ticks = -12, []
    while 10.0**power <= high:
        ticks += [s * 10.0**power for s in steps if low <= s * 10.0**power <= high]
        power += 1
    return ticks[:: max(1, len(ticks) // 9)]
