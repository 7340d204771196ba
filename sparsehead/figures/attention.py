"""Where a head looks: weights per example, and the same for heads written down, with their decoder."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from ..errors import ShapeError
from ..measure.published import ATTENTION_AND, AttentionMap
from ..types import Array, Float
from .data import Rows, count, need, number
from .theme import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PAPER_POINT,
    WIDTH,
    Chart,
    Panel,
    decade_ticks,
    finish,
    named,
)

CLS = "[CLS]"
EXAMPLES = 100
SMALL = "datum.value >= 0.001 ? format(datum.value, '~g') : format(datum.value, '.0e')"
WEIGHT_FLOOR = 1e-9  # weights below are drawn at it: the axis is logarithmic


def attention_weights(
    weights: Float[Array, "n tokens"],
    support: Sequence[int],
    *,
    paper: AttentionMap | None = ATTENTION_AND,
    title: str | None = None,
) -> Chart:
    """Attention of the [CLS] query: mean weight of each position, and every example's weights below it.

    Args:
        weights: one row per example, one column per position, [CLS] last; averaged over heads if there were several.
        support: the positions that the function reads.
        paper: its mean weights, drawn where the support and T are the same.
    Paper: attention-and
    """
    n, T = weights.shape[0], weights.shape[1] - 1
    if n == 0 or T < 1 or not all(0 <= i < T for i in support):
        raise ShapeError(
            f"attention weights have shape {weights.shape} with support {tuple(support)}; "
            "one row per example and T + 1 columns are needed."
        )
    means = _mean_rows(weights, support)
    shown = weights[:EXAMPLES]
    cells = [
        {"position": t, "example": i, "weight": float(shown[i, t])}
        for i in range(len(shown))
        for t in range(T + 1)
    ]
    printed = _paper_means(paper, support, T)
    on = float(weights[:, list(support)].sum(axis=1).mean())
    places = ", ".join(map(str, support))
    rest = [m["mean"] for m in means if m["kind"] == "irrelevant"]
    seen = f"; the median irrelevant position {number(float(np.median(rest)))}" if rest else ""
    return finish(
        alt.vconcat(
            _mean_panel(T, means, bool(printed)),
            _example_panel(T, len(shown), float(shown.max())),
            spacing=18,
        ).resolve_scale(color="independent", shape="independent"),
        title=title or f"{100 * on:.4g} % of the attention lies on positions {places}{seen}",
        subtitle=["Above: mean weight and the middle 90 % of examples. Below: every example."],
        data={"means": means, "weights": cells, "paper": printed},
    )


def _mean_rows(weights: Float[Array, "n tokens"], support: Sequence[int]) -> list[dict[str, Any]]:
    low, high = np.quantile(weights, [0.05, 0.95], axis=0)
    last = weights.shape[1] - 1
    kinds = [
        CLS if t == last else "in the support" if t in support else "irrelevant" for t in range(last + 1)
    ]
    floor = WEIGHT_FLOOR
    return [
        {
            "position": t,
            "kind": kinds[t],
            "mean": max(float(weights[:, t].mean()), floor),
            "low": max(float(low[t]), floor),
            "high": max(float(high[t]), floor),
        }
        for t in range(last + 1)
    ]


def _paper_means(paper: AttentionMap | None, support: Sequence[int], T: int) -> list[dict[str, Any]]:
    if paper is None or tuple(support) != paper.support or paper.T != T:
        return []
    rows = [{"position": t, "mean": w, "kind": "the paper"} for t, w in zip(paper.support, paper.on_support)]
    return [*rows, {"position": T, "mean": paper.on_cls, "kind": "the paper"}]


def _axis(T: int, title: str | None) -> alt.Axis:
    step = 1 if T <= 16 else 5 if T <= 60 else 10 ** (len(str(T)) - 2) * 5
    ticks = [*range(0, T - step // 2, step), T]
    label = f"datum.value == {T} ? '{CLS}' : format(datum.value, 'd')"
    return alt.Axis(title=title, values=ticks, labelExpr=label, grid=False)


def _positions(T: int, title: str | None) -> alt.X:
    return alt.X("position:Q", scale=alt.Scale(domain=[-0.5, T + 0.5], nice=False), axis=_axis(T, title))


def _mean_panel(T: int, means: Rows, with_paper: bool) -> Panel:
    kinds = ["in the support", "irrelevant", CLS, "the paper"][: 4 if with_paper else 3]
    color = alt.Color(
        "kind:N", title=None, scale=alt.Scale(domain=kinds, range=[BLUE, GREY, ORANGE, "black"])
    )
    shape = alt.Shape(
        "kind:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "circle", "square", "diamond"])
    )
    least = min(row["low"] for row in means) / 2
    y: dict[str, Any] = {
        "scale": alt.Scale(type="log", domain=[least, 1.6], nice=False),
        "axis": alt.Axis(
            title="mean attention weight (log scale)", values=decade_ticks(least, 1), labelExpr=SMALL
        ),
    }
    x = _positions(T, None)
    tips = [
        "position:Q",
        "kind:N",
        alt.Tooltip("mean:Q", format=".3~g"),
        alt.Tooltip("low:Q", format=".3~g"),
        alt.Tooltip("high:Q", format=".3~g"),
    ]
    base = named("means")
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=color),
        base.mark_point(size=26, strokeWidth=3, opacity=1).encode(
            x=x, y=alt.Y("mean:Q", **y), color=color, shape=shape, tooltip=tips
        ),
    ]
    if with_paper:
        point = named("paper").mark_point(opacity=1, **{**PAPER_POINT, "size": 110})
        layers.append(point.encode(x=x, y=alt.Y("mean:Q", **y), color=color, shape=shape, tooltip=tips[:3]))
    return alt.layer(*layers).properties(width=WIDTH, height=200)


def _example_panel(T: int, n: int, top: float) -> Panel:
    scale = alt.Scale(range=["white", BLUE], domain=[0, top], interpolate="lab")
    return (
        named("weights")
        .transform_calculate(
            left="datum.position - 0.5", right="datum.position + 0.5", top="datum.example + 1"
        )
        .mark_rect()
        .encode(
            x=alt.X(
                "left:Q", scale=alt.Scale(domain=[-0.5, T + 0.5], nice=False), axis=_axis(T, "position t")
            ),
            x2="right:Q",
            y=alt.Y(
                "example:Q",
                scale=alt.Scale(domain=[0, n], nice=False),
                axis=alt.Axis(title="validation example", grid=False, tickCount=5),
            ),
            y2="top:Q",
            color=alt.Color(
                "weight:Q",
                scale=scale,
                legend=alt.Legend(
                    title="attention weight",
                    gradientLength=160,
                    tickCount=4,
                    format=".2~f",
                    gradientStrokeColor=PALE,
                    gradientStrokeWidth=1,
                ),
            ),
            tooltip=["position:Q", "example:Q", alt.Tooltip("weight:Q", format=".3~g")],
        )
        .properties(width=WIDTH, height=220)
    )


def built_head_chart(
    attention: Rows,
    *,
    decoder: Rows = (),
    intervals: Rows = (),
    support: Sequence[int],
    formula: str,
    exact: bool | None = None,
) -> Chart:
    """A head written down: its attention on a few inputs, and how the decoder turns its output into f.

    Args:
        attention: {position, weight, input}; position T is [CLS], `input` names the bits.
        decoder: {o, value}: the output as a function of the head's scalar o; () if there is no such scalar.
        intervals: {low, high, value}: where o lies over all inputs, one interval for each value of the bits read.
        exact: what the certificate says, if there is one.
    Paper: sparse-representation
    """
    rows = need(attention, "built head", "position", "weight", "input")
    T = max(r["position"] for r in rows)
    kinds = [
        {
            **r,
            "kind": CLS
            if r["position"] == T
            else "in the support"
            if r["position"] in support
            else "irrelevant",
        }
        for r in rows
    ]
    names = sorted({r["input"] for r in rows})
    leak = max(
        sum(r["weight"] for r in kinds if r["input"] == n and r["kind"] != "in the support") for n in names
    )
    color = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["in the support", "irrelevant", CLS], range=[BLUE, GREY, ORANGE]),
    )
    panels: list[Panel] = []
    for name in names:
        axis = alt.Axis(title=f"attention, {name}", tickCount=4)
        here = named("attention").transform_filter(alt.datum.input == name)
        y = alt.Y("weight:Q", scale=alt.Scale(domainMin=0), axis=axis)
        bars = here.mark_bar(width=max(2, min(14, WIDTH // (2 * T))))
        tips = ["position:Q", alt.Tooltip("weight:Q", format=".4~g")]
        panels.append(
            bars.encode(
                x=_positions(T, "position t" if name == names[-1] else None), y=y, color=color, tooltip=tips
            ).properties(width=WIDTH, height=110)
        )
    if decoder:
        panels.append(_decoder_panel(bool(intervals)))
    said = {True: "exactly, certified over all inputs", False: "but not exactly", None: ""}[exact]
    return finish(
        alt.vconcat(*panels, spacing=16),
        title=f"One head computes {formula} of T = {T} bits{', ' + said if said else ''}",
        subtitle=[
            f"At most {100 * leak:.3g} % of the attention leaves the {count(support, 'position')} read.",
            *(
                ["Bands: where the head's output o lies over all inputs; the decoder is flat on each."]
                if intervals
                else []
            ),
        ],
        data={
            "attention": kinds,
            "decoder": [dict(r) for r in decoder],
            "intervals": [dict(r) for r in intervals],
        },
    )


def _decoder_panel(bands: bool) -> Panel:
    line = (
        named("decoder")
        .mark_line(color=BLUE, strokeWidth=2.2)
        .encode(
            x=alt.X("o:Q", axis=alt.Axis(title="head output o (mixture of the bits read)")),
            y=alt.Y(
                "value:Q",
                axis=alt.Axis(title="decoder output", tickCount=4),
                scale=alt.Scale(zero=False, padding=12),
            ),
        )
    )
    if not bands:
        return alt.layer(line).properties(width=WIDTH, height=150)
    band = named("intervals").encode(x=alt.X("low:Q"), x2="high:Q", tooltip=["low:Q", "high:Q", "value:Q"])
    rects = band.mark_rect(color=PALE, opacity=0.8)
    levels = band.mark_rule(color=GREEN, strokeWidth=4).encode(y="value:Q")
    return alt.layer(rects, line, levels).properties(width=WIDTH, height=150)
