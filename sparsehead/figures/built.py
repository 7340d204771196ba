"""Chart of a constructed head: its attention on two inputs, and its decoder from head output to function value."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from ..functions import SparseFunction
from ..heads.model import Model
from ..heads.ranges import Choices, extremes
from .attention import TOKEN_COLOURS, position_axis, token_kind
from .colours import BLUE, GREEN, PALE
from .encodings import by_name, linear_axis
from .theme import WIDTH, Chart, Panel, Rows, count, finish, named, need


def written_figure(model: Model, f: SparseFunction, *, exact: bool | None) -> Chart:
    """Draw a constructed model: mean attention of its heads on two inputs, and its decoder if that reads a scalar."""
    inputs = np.zeros((2, f.T), dtype=np.int64)
    inputs[1] = 1
    weights = model.attention(inputs).mean(axis=1)
    attention = [
        {"position": t, "weight": float(row[t]), "input": f"all bits {i}"}
        for i, row in enumerate(weights)
        for t in range(f.T + 1)
    ]
    decoder: list[dict[str, Any]] = []
    intervals: list[dict[str, Any]] = []
    layer = model.layers[0]
    if model.decoder and model.H == 1 and layer.W_V.shape[-1] == 1 and f.s > 0:
        intervals = _head_intervals(model, f)
        ends = min(r["low"] for r in intervals) - 0.02, max(r["high"] for r in intervals) + 0.02
        o = np.linspace(*ends, 400)
        decoded = model.read_out(o[:, None] * layer.W_C[0])
        decoder = [{"o": float(a), "value": float(b)} for a, b in zip(o, decoded)]
    return built_head_chart(
        attention, decoder=decoder, intervals=intervals, support=f.support, formula=str(f), exact=exact
    )


def _head_intervals(model: Model, f: SparseFunction) -> list[dict[str, Any]]:
    """Return the range of a one-head model's scalar output over all inputs, for each pattern of the relevant bits."""
    scores, values = model.cls_tables()
    choices = Choices.of(scores[..., 0], values[..., 0, 0], f.support)
    low, high = extremes(choices, largest=False), extremes(choices, largest=True)
    return [{"low": float(a), "high": float(b), "value": float(g)} for a, b, g in zip(low, high, f.table)]


def built_head_chart(
    attention: Rows,
    *,
    decoder: Rows = (),
    intervals: Rows = (),
    support: Sequence[int],
    formula: str,
    exact: bool | None = None,
) -> Chart:
    """Draw a constructed head's attention on a few inputs, and its decoder.

    Args:
        attention: {position, weight, input}; position T is [CLS], `input` names the bits.
        decoder: {o, value}: the output as a function of the head's scalar o; () if there is no such scalar.
        intervals: {low, high, value}: the range of o over all inputs, for each pattern of the relevant bits.
        exact: whether the certificate proves the head exact; None without a certificate.
    Paper: sparse-representation
    """
    rows = need(attention, "built head", "position", "weight", "input")
    T = max(row["position"] for row in rows)
    for row in rows:
        row["kind"] = token_kind(row["position"], support, T)
    inputs = list(dict.fromkeys(row["input"] for row in rows))
    leaks = [
        sum(r["weight"] for r in rows if r["input"] == bits and r["kind"] != "in the support")
        for bits in inputs
    ]
    # above the highest bar, which would otherwise end at the edge of its panel as if it went on
    top = 1.1 * max(row["weight"] for row in rows)
    panels = [_attention_panel(T, bits, top, last=bits == inputs[-1]) for bits in inputs]
    if decoder:
        panels.append(_decoder_panel())
    adverb = {True: " exactly", False: " nearly", None: ""}[exact]
    lines = ["Certified over all inputs."] if exact else []
    lines.append(
        f"At most {100 * max(leaks):.3g} % of the attention leaves the {count(support, 'position')} read."
    )
    if intervals:
        lines.append("Bands: where the head's output o lies over all inputs; the decoder is flat on each.")
    return finish(
        alt.vconcat(*panels, spacing=16),
        title=f"One head computes {formula} of T = {T} bits{adverb}",
        subtitle=lines,
        data={"attention": rows, "decoder": decoder, "intervals": intervals},
    )


def _attention_panel(T: int, bits: str, top: float, *, last: bool) -> Panel:
    """Return a bar chart of attention by position; each bar is half a position wide at any panel width."""
    bars = named("attention").transform_filter(alt.datum.input == bits)
    bars = bars.transform_calculate(left="datum.position - 0.25", right="datum.position + 0.25", zero="0")
    chart = bars.mark_rect().encode(
        x=alt.X("left:Q", **position_axis(T, "position t" if last else None)),
        x2="right:Q",
        y=alt.Y("weight:Q", **linear_axis(f"attention, {bits}", 0, top, tickCount=4)),
        y2="zero:Q",
        color=by_name(alt.Color, "kind", TOKEN_COLOURS, title=None),
        tooltip=["position:Q", alt.Tooltip("weight:Q", format=".4~g")],
    )
    return chart.properties(width=WIDTH, height=110)


def _decoder_panel() -> Panel:
    axis = alt.Axis(title="head output o (mixture of the bits read)")
    x = alt.X("o:Q", axis=axis, scale=alt.Scale(zero=False))
    level = alt.Scale(zero=False, padding=12)
    y = alt.Y("value:Q", axis=alt.Axis(title="decoder output", tickCount=4), scale=level)
    line = named("decoder").mark_line(color=BLUE, strokeWidth=2.2).encode(x=x, y=y)
    band = named("intervals").encode(x=alt.X("low:Q"), x2="high:Q", tooltip=["low:Q", "high:Q", "value:Q"])
    rects = band.mark_rect(color=PALE, opacity=0.8)
    levels = band.mark_rule(color=GREEN, strokeWidth=4).encode(y="value:Q")
    return alt.layer(rects, line, levels).properties(width=WIDTH, height=150)
