"""Chart of several laws on the same axes: m_80 of different learners or settings as functions of T."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..laws.law import LawResult
from .colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHAPES, SKY
from .encodings import by_name, linear_axis, log_axis
from .law import CONTEXT, FLOOR, SAMPLES, TIPS, threshold_row
from .theme import HEIGHT, WIDTH, Chart, count, finish, finite, named


def overlay_chart(series: Sequence[tuple[str, LawResult]]) -> Chart:
    """Draw m_80 as a function of T for each series, with intervals, and the information floor if one is given.

    Args:
        series: pairs of a name and a law.
    Raises:
        DomainError: there are more than six series, or no threshold is known.
    Paper: law-and
    """
    if not 1 <= len(series) <= 6:
        raise DomainError(f"an overlay shows 1 to 6 series; got {len(series)}.")
    names = [name for name, _ in series]
    rows = [threshold_row(row, name) for name, law in series for row in law.thresholds.values()]
    known = [row for row in rows if row["state"] == "known"]
    if not known:
        raise DomainError("an overlay: no series has a threshold that is known yet.")
    floors = {row.T: row.m for _, law in series for row in law.floor.values() if finite(row.m)}
    top = max(row[key] for row in known for key in ("m", "high") if finite(row.get(key))) * 1.08
    x = alt.X("T:Q", **log_axis(CONTEXT, [row["T"] for row in rows]))
    shown = linear_axis(SAMPLES, 0, top, tickCount=6)
    y = alt.Y("m:Q", **shown)
    legend = alt.Legend(title=None, columns=1)
    colours = dict(zip(names, (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)))
    color = by_name(alt.Color, "series", colours, legend=legend)
    shape = by_name(alt.Shape, "series", dict(zip(names, SHAPES)), legend=legend)
    points = named("thresholds").transform_filter("datum.state == 'known'")
    ends = {"from": "isValid(datum.low) ? datum.low : 0", "to": f"isValid(datum.high) ? datum.high : {top}"}
    bars = points.transform_calculate(**ends).mark_rule(strokeWidth=1.8, clip=True)
    layers: list[Any] = [
        named("floor").mark_line(color=GREY, strokeDash=[2, 2], clip=True).encode(x=x, y=y),
        bars.encode(x=x, y=alt.Y("from:Q", **shown), y2="to:Q", color=color),
        points.mark_line(strokeWidth=1.2, opacity=0.6).encode(x=x, y=y, color=color),
        points.mark_point(size=56, strokeWidth=1.8, opacity=1).encode(
            x=x, y=y, color=color, shape=shape, tooltip=TIPS
        ),
    ]
    thresholds = f"{count(rows, 'threshold')}, {len(rows) - len(known)} of them not bounded yet"
    return finish(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT),
        title=f"Samples needed, {len(names)} series",
        subtitle=[f"Bars: 95 % intervals. {thresholds}.", *([f"Dotted: the {FLOOR}."] if floors else [])],
        data={"thresholds": rows, "floor": [{"T": T, "m": m} for T, m in sorted(floors.items())]},
    )
