"""Where a head looks: the mean weight of each position, and the weights of every example."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import altair as alt
import numpy as np

from .._base.errors import ShapeError
from .._base.types import Array, Float
from .data import Rows, number
from .theme import BLUE, GREY, ORANGE, PALE, PAPER_POINT, WIDTH, Chart, Panel, decade_ticks, finish, named

CLS = "[CLS]"
KINDS = ("in the support", "irrelevant", CLS)  # of tokens
EXAMPLES = 100
SMALL = "datum.value >= 0.001 ? format(datum.value, '~g') : format(datum.value, '.0e')"
WEIGHT_FLOOR = 1e-9  # weights below are drawn at it: the axis is logarithmic


@runtime_checkable
class PrintedAttention(Protocol):
    """Mean weights that were published for one task: on each position of the support, and on [CLS]."""

    @property
    def T(self) -> int: ...
    @property
    def support(self) -> tuple[int, ...]: ...
    @property
    def on_support(self) -> tuple[float, ...]: ...
    @property
    def on_cls(self) -> float: ...


def attention_weights(
    weights: Float[Array, "n tokens"],
    support: Sequence[int],
    *,
    paper: PrintedAttention | None = None,
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
        title=title or f"{100 * on:.4g} % of the attention lies on positions {places}",
        subtitle=[f"Above: mean weight and the middle 90 % of examples{seen}. Below: every example."],
        data={"means": means, "weights": cells, "paper": printed},
    )


def _mean_rows(weights: Float[Array, "n tokens"], support: Sequence[int]) -> list[dict[str, Any]]:
    low, high = np.quantile(weights, [0.05, 0.95], axis=0)
    last = weights.shape[1] - 1
    kinds = [KINDS[2] if t == last else KINDS[0] if t in support else KINDS[1] for t in range(last + 1)]
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


def _paper_means(paper: PrintedAttention | None, support: Sequence[int], T: int) -> list[dict[str, Any]]:
    if paper is None or tuple(support) != paper.support or paper.T != T:
        return []
    rows = [{"position": t, "mean": w, "kind": "the paper"} for t, w in zip(paper.support, paper.on_support)]
    return [*rows, {"position": T, "mean": paper.on_cls, "kind": "the paper"}]


def position_axis(T: int, title: str | None) -> alt.Axis:
    """Positions 0 .. T - 1 and, at T, [CLS]."""
    step = 1 if T <= 16 else 5 if T <= 60 else 10 ** (len(str(T)) - 2) * 5
    ticks = [*range(0, T - step // 2, step), T]
    label = f"datum.value == {T} ? '{CLS}' : format(datum.value, 'd')"
    return alt.Axis(title=title, values=ticks, labelExpr=label, grid=False)


def _positions(T: int, title: str | None) -> alt.X:
    return alt.X(
        "position:Q", scale=alt.Scale(domain=[-0.5, T + 0.5], nice=False), axis=position_axis(T, title)
    )


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
                "left:Q",
                scale=alt.Scale(domain=[-0.5, T + 0.5], nice=False),
                axis=position_axis(T, "position t"),
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
