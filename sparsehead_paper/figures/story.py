"""The README's picture: a head that attends to 3 of 50 positions, and the number of samples to learn it at each T."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt

from sparsehead._base.types import Array, Float
from sparsehead.figures.attention import position_axis
from sparsehead.figures.colours import BLACK, BLUE, GREY
from sparsehead.figures.encodings import by_name, log_axis
from sparsehead.figures.theme import Chart, Panel, finish, finite, named
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.thresholds import Threshold

WIDTH, HEIGHT = 330, 230
OURS, PAPER = "measured here (preset best), 95 % interval", "the paper, one standard deviation"


def story_chart(
    weights: Float[Array, " tokens"],
    support: Sequence[int],
    thresholds: Collection[Threshold],
    *,
    formula: str,
) -> Chart:
    """Draw one head's mean attention on each position (left) and m_80, where 80 % of trials succeed, against T (right).

    Args:
        weights: one number per position, [CLS] last.
        thresholds: measured by `law`; thresholds without a known m80 are left out.
    Paper: law-and, attention-and
    """
    T = len(weights) - 1
    bars = [
        {"position": t, "weight": float(w), "kind": "read" if t in support else "not read"}
        for t, w in enumerate(weights)
    ]
    points = [
        {"T": row.T, "m": row.m80, "low": row.low, "high": row.high, "series": OURS}
        for row in thresholds
        if finite(row.m80)
    ]
    printed = [
        {"T": p.T, "m": p.m, "low": p.m - p.bar, "high": p.m + p.bar, "series": PAPER} for p in LAW_AND
    ]
    parts = alt.hconcat(_attention(T), _law([*points, *printed]), spacing=40)
    return finish(
        parts.resolve_scale(color="independent", shape="independent"),
        title="One attention head reads 3 of T bits; finding them takes few samples, and few more as T grows",
        subtitle=f"Left: a head written down for {formula}. Right: samples with which 80 % of trials succeed.",
        data={"attention": bars, "law": [*printed, *points]},
        width=2 * WIDTH + 40,
    )


def _attention(T: int) -> Panel:
    colour = by_name(alt.Color, "kind", {"read": BLUE, "not read": GREY}, legend=None)
    x = alt.X("position:Q", **position_axis(T, "position t", margin=1))
    y = alt.Y("weight:Q", axis=alt.Axis(title="attention weight", tickCount=4), scale=alt.Scale(zero=True))
    bars = named("attention").mark_bar(size=5).encode(x=x, y=y, color=colour)
    return bars.properties(width=WIDTH, height=HEIGHT)


def _law(rows: list[dict[str, Any]]) -> Panel:
    legend = alt.Legend(title=None, columns=1)  # below each other: a reader's font may be wider than ours
    colour = by_name(alt.Color, "series", {OURS: BLUE, PAPER: BLACK}, legend=legend)
    shape = by_name(alt.Shape, "series", {OURS: "circle", PAPER: "diamond"}, legend=legend)
    x = alt.X("T:Q", **log_axis("context length T (log scale)", [row["T"] for row in rows]))
    y: dict[str, Any] = {"scale": alt.Scale(zero=True), "axis": alt.Axis(title="samples needed", tickCount=5)}
    base = named("law")
    bars = base.mark_rule(strokeWidth=2).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=colour)
    dots = base.mark_point(size=70, strokeWidth=2, filled=False, opacity=1)
    return alt.layer(bars, dots.encode(x=x, y=alt.Y("m:Q", **y), color=colour, shape=shape)).properties(
        width=WIDTH, height=HEIGHT
    )
