"""A head written down: where it looks, and how its decoder turns what it sees into the function's value."""

from collections.abc import Sequence

import altair as alt

from .attention import CLS, KINDS, position_axis
from .data import Rows, count, need
from .theme import BLUE, GREEN, GREY, ORANGE, PALE, WIDTH, Chart, Panel, finish, named


def built_head_chart(
    attention: Rows,
    *,
    decoder: Rows = (),
    intervals: Rows = (),
    support: Sequence[int],
    formula: str,
    exact: bool | None = None,
) -> Chart:
    """A written head's attention on a few inputs, and its decoder.

    Args:
        attention: {position, weight, input}; position T is [CLS], `input` names the bits.
        decoder: {o, value}: the output as a function of the head's scalar o; () if there is no such scalar.
        intervals: {low, high, value}: where o lies over all inputs, one interval for each value of the bits read.
        exact: what the certificate says, if there is one.
    Paper: sparse-representation
    """
    rows = need(attention, "built head", "position", "weight", "input")
    T = max(row["position"] for row in rows)
    for row in rows:
        row["kind"] = CLS if row["position"] == T else KINDS[0] if row["position"] in support else KINDS[1]
    names = list(dict.fromkeys(row["input"] for row in rows))
    leaks = [sum(r["weight"] for r in rows if r["input"] == n and r["kind"] != KINDS[0]) for n in names]
    # above the highest bar, which would otherwise end at the edge of its panel as if it went on
    top = 1.1 * max(row["weight"] for row in rows)
    panels = [_attention_panel(T, name, top, last=name == names[-1]) for name in names]
    if decoder:
        panels.append(_decoder_panel())
    said = {True: " exactly", False: " nearly", None: ""}[exact]
    lines = [
        f"At most {100 * max(leaks):.3g} % of the attention leaves the {count(support, 'position')} read."
    ]
    if exact:
        lines.insert(0, "Certified over all inputs.")
    if intervals:
        lines.append("Bands: where the head's output o lies over all inputs; the decoder is flat on each.")
    return finish(
        alt.vconcat(*panels, spacing=16),
        title=f"One head computes {formula} of T = {T} bits{said}",
        subtitle=lines,
        data={"attention": rows, "decoder": decoder, "intervals": intervals},
    )


def _attention_panel(T: int, name: str, top: float, *, last: bool) -> Panel:
    """Bars one half of a position wide, whatever the width of the panel."""
    scale = alt.Scale(domain=[-0.5, T + 0.5], nice=False)
    color = alt.Color("kind:N", title=None, scale=alt.Scale(domain=KINDS, range=[BLUE, GREY, ORANGE]))
    bars = named("attention").transform_filter(alt.datum.input == name)
    bars = bars.transform_calculate(left="datum.position - 0.25", right="datum.position + 0.25", zero="0")
    return (
        bars.mark_rect()
        .encode(
            x=alt.X("left:Q", scale=scale, axis=position_axis(T, "position t" if last else None)),
            x2="right:Q",
            y=alt.Y(
                "weight:Q",
                scale=alt.Scale(domain=[0, top], nice=False),
                axis=alt.Axis(title=f"attention, {name}", tickCount=4),
            ),
            y2="zero:Q",
            color=color,
            tooltip=["position:Q", alt.Tooltip("weight:Q", format=".4~g")],
        )
        .properties(width=WIDTH, height=110)
    )


def _decoder_panel() -> Panel:
    level = alt.Scale(zero=False, padding=12)
    x = alt.X(
        "o:Q", axis=alt.Axis(title="head output o (mixture of the bits read)"), scale=alt.Scale(zero=False)
    )
    y = alt.Y("value:Q", axis=alt.Axis(title="decoder output", tickCount=4), scale=level)
    line = named("decoder").mark_line(color=BLUE, strokeWidth=2.2).encode(x=x, y=y)
    band = named("intervals").encode(x=alt.X("low:Q"), x2="high:Q", tooltip=["low:Q", "high:Q", "value:Q"])
    rects = band.mark_rect(color=PALE, opacity=0.8)
    levels = band.mark_rule(color=GREEN, strokeWidth=4).encode(y="value:Q")
    return alt.layer(rects, line, levels).properties(width=WIDTH, height=150)
