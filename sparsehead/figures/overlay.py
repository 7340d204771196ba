"""Several laws on the same axes: thresholds of different learners or settings against T."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..laws.law import LawResult
from .data import count, finite
from .law import CONTEXT, FLOOR, SAMPLES, TIPS, threshold_row
from .theme import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    ORANGE,
    PURPLE,
    RED,
    SHAPES,
    SKY,
    WIDTH,
    Chart,
    finish,
    log_axis,
    named,
)

COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
MOST = len(COLOURS)


def overlay_chart(series: Sequence[tuple[str, LawResult]]) -> Chart:
    """m_80 against T for each series, with intervals, and the information floor where one is given.

    Args:
        series: names and laws.
    Raises:
        DomainError: more series than can be told apart, or no threshold that is known.
    Paper: law-and
    """
    if not 1 <= len(series) <= MOST:
        raise DomainError(f"an overlay shows 1 to {MOST} series; got {len(series)}.")
    names = [name for name, _ in series]
    rows = [threshold_row(row, name) for name, law in series for row in law.thresholds.values()]
    known = [row for row in rows if row["state"] == "known"]
    if not known:
        raise DomainError("an overlay: no series has a threshold that is known yet.")
    floors = {row.T: row.m for _, law in series for row in law.floor.values() if finite(row.m)}
    x = alt.X("T:Q", **log_axis(CONTEXT, [row["T"] for row in rows]))
    top = max(row[key] for row in known for key in ("m", "high") if finite(row.get(key))) * 1.08
    shown: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, top], nice=False),
        "axis": alt.Axis(title=SAMPLES, tickCount=6),
    }
    legend = alt.Legend(title=None, columns=1)
    color = alt.Color(
        "series:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])), legend=legend
    )
    shape = alt.Shape(
        "series:N", scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])), legend=legend
    )
    points = named("thresholds").transform_filter("datum.state == 'known'")
    ends = {"from": "isValid(datum.low) ? datum.low : 0", "to": f"isValid(datum.high) ? datum.high : {top}"}
    layers: list[Any] = [
        named("floor")
        .mark_line(color=GREY, strokeDash=[2, 2], clip=True)
        .encode(x=x, y=alt.Y("m:Q", **shown)),
        points.transform_calculate(**ends)
        .mark_rule(strokeWidth=1.8, clip=True)
        .encode(x=x, y=alt.Y("from:Q", **shown), y2="to:Q", color=color),
        points.mark_line(strokeWidth=1.2, opacity=0.6).encode(x=x, y=alt.Y("m:Q", **shown), color=color),
        points.mark_point(size=56, strokeWidth=1.8, opacity=1).encode(
            x=x, y=alt.Y("m:Q", **shown), color=color, shape=shape, tooltip=TIPS
        ),
    ]
    said = [
        f"Bars: 95 % intervals. {count(rows, 'threshold')}, {len(rows) - len(known)} of them not bounded yet."
    ]
    if floors:
        said.append(f"Dotted: the {FLOOR}.")
    return finish(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT),
        title=f"Samples needed, {len(names)} series",
        subtitle=said,
        data={"thresholds": rows, "floor": [{"T": T, "m": m} for T, m in sorted(floors.items())]},
    )
