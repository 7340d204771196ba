"""Axes with given ends, logarithmic axes, and colours, shapes and dashes by series name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.log_math import Real


def linear_axis(title: str | None, low: Real, high: Real, **axis: Any) -> dict[str, Any]:
    """Return scale and axis of a quantity; both end exactly at `low` and `high`."""
    return {"scale": alt.Scale(domain=[low, high], nice=False), "axis": alt.Axis(title=title, **axis)}


def by_name(channel: Any, field: str, values: Mapping[str, Any], **settings: Any) -> Any:
    """Return a `channel` encoding of a nominal field; `values` maps each name, in order, to colour, shape or dash."""
    scale = alt.Scale(domain=list(values), range=list(values.values()))
    return channel(f"{field}:N", scale=scale, **settings)


def log_axis(title: str, values: Sequence[Real]) -> dict[str, Any]:
    """Return scale and axis of a positive quantity, logarithmic, just wide enough for `values`, with few labels."""
    low, high = min(values) / 1.15, max(values) * 1.15
    form = "~s" if max(values) >= 1e4 else "~g"
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(title=title, values=decade_ticks(low, high), format=form),
    }


def decade_ticks(low: Real, high: Real) -> list[float]:
    """Return round numbers in [low, high]: 1-2-5 steps over at most two decades, 1-3 up to four, else powers of ten.

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
