"""Charts of attention by position: of a model, of single examples, and in the result of `read`."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol, runtime_checkable

import altair as alt
import numpy as np

from .._base.errors import DomainError, ShapeError, SparseheadError
from .._base.log_math import Real
from .._base.rng import stream
from .._base.types import Array, Float
from ..functions import parse
from ..heads.model import Model
from ..reading.result import Reading
from .colours import BLUE, GREY, ORANGE, PALE, PAPER_POINT
from .encodings import by_name, decade_ticks, linear_axis
from .theme import WIDTH, Chart, Panel, Rows, count, finish, named, number

TOKEN_COLOURS = {"in the support": BLUE, "irrelevant": GREY, "[CLS]": ORANGE}


def token_kind(t: int, support: Collection[int], T: int) -> str:
    """Return the kind of token at position t, a key of TOKEN_COLOURS; t = T is [CLS]."""
    return "[CLS]" if t == T else "in the support" if t in support else "irrelevant"


def position_axis(T: int, title: str | None, *, margin: Real = 0.5) -> dict[str, Any]:
    """Return scale and axis for positions 0 .. T - 1 and for [CLS] at T."""
    step = 1 if T <= 16 else 5 if T <= 60 else 10 ** (len(str(T)) - 2) * 5
    ticks = [*range(0, T - step // 2, step), T]
    label = f"datum.value == {T} ? '[CLS]' : format(datum.value, 'd')"
    return linear_axis(title, -margin, T + margin, values=ticks, labelExpr=label, grid=False)


@runtime_checkable
class PrintedAttention(Protocol):
    """Published mean attention weights for one task: on each position of the support, and on [CLS]."""

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
    """Draw the [CLS] query's mean attention on each position, and below it the weights of the first 100 examples.

    Args:
        weights: one row per example, one column per position, [CLS] last; averaged over heads if there were several.
        support: the positions that the function reads.
        paper: the paper's mean weights, drawn if its support and T are the same.
    Paper: attention-and
    """
    n, T = weights.shape[0], weights.shape[1] - 1
    if n == 0 or T < 1 or not all(0 <= i < T for i in support):
        raise ShapeError(
            f"attention weights have shape {weights.shape} with support {tuple(support)}; "
            "one row per example and T + 1 columns are needed."
        )
    means = _mean_rows(weights, support)
    shown = weights[:100]
    cells = [
        {"position": t, "example": i, "weight": float(shown[i, t])}
        for i in range(len(shown))
        for t in range(T + 1)
    ]
    printed: list[dict[str, Any]] = []
    if paper is not None and tuple(support) == paper.support and paper.T == T:
        pairs = [*zip(paper.support, paper.on_support), (T, paper.on_cls)]
        printed = [{"position": t, "mean": w, "kind": "the paper"} for t, w in pairs]
    on = float(weights[:, list(support)].sum(axis=1).mean())
    rest = [m["mean"] for m in means if m["kind"] == "irrelevant"]
    seen = f"; the median irrelevant position {number(float(np.median(rest)))}" if rest else ""
    return finish(
        alt.vconcat(
            _mean_panel(T, means, bool(printed)),
            _example_panel(T, len(shown), float(shown.max())),
            spacing=18,
        ).resolve_scale(color="independent", shape="independent"),
        title=title or f"{100 * on:.4g} % of the attention lies on positions {', '.join(map(str, support))}",
        subtitle=f"Above: mean weight and the middle 90 % of examples{seen}. Below: every example.",
        data={"means": means, "weights": cells, "paper": printed},
    )


def _mean_rows(weights: Float[Array, "n tokens"], support: Sequence[int]) -> list[dict[str, Any]]:
    """Return each position's mean weight and 5 % and 95 % quantiles, raised to 1e-9 for the logarithmic axis."""
    T = weights.shape[1] - 1
    low, high = np.quantile(weights, [0.05, 0.95], axis=0)
    return [
        {
            "position": t,
            "kind": token_kind(t, support, T),
            "mean": max(float(weights[:, t].mean()), 1e-9),
            "low": max(float(low[t]), 1e-9),
            "high": max(float(high[t]), 1e-9),
        }
        for t in range(T + 1)
    ]


def _mean_panel(T: int, means: Rows, with_paper: bool) -> Panel:
    colours = {**TOKEN_COLOURS, "the paper": "black"}
    shapes = dict(zip(colours, ("circle", "circle", "square", "diamond")))
    kinds = list(colours)[: 4 if with_paper else 3]
    # Not `by_name`: the ranges keep the paper's entry, which a chart without it does not use.
    color, shape = (
        channel("kind:N", title=None, scale=alt.Scale(domain=kinds, range=list(values.values())))
        for channel, values in ((alt.Color, colours), (alt.Shape, shapes))
    )
    least = min(row["low"] for row in means) / 2
    label = "datum.value >= 0.001 ? format(datum.value, '~g') : format(datum.value, '.0e')"
    y: dict[str, Any] = {
        "scale": alt.Scale(type="log", domain=[least, 1.6], nice=False),
        "axis": alt.Axis(
            title="mean attention weight (log scale)", values=decade_ticks(least, 1), labelExpr=label
        ),
    }
    x = alt.X("position:Q", **position_axis(T, None))
    numbers = [alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("mean", "low", "high")]
    tips: list[Any] = ["position:Q", "kind:N", *numbers]
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
    legend = alt.Legend(
        title="attention weight", gradientLength=160, tickCount=4, format=".2~f",
        gradientStrokeColor=PALE, gradientStrokeWidth=1,
    )  # fmt: skip
    shade = alt.Scale(range=["white", BLUE], domain=[0, top], interpolate="lab")
    cells = named("weights").transform_calculate(
        left="datum.position - 0.5", right="datum.position + 0.5", top="datum.example + 1"
    )
    chart = cells.mark_rect().encode(
        x=alt.X("left:Q", **position_axis(T, "position t")),
        x2="right:Q",
        y=alt.Y("example:Q", **linear_axis("validation example", 0, n, grid=False, tickCount=5)),
        y2="top:Q",
        color=alt.Color("weight:Q", scale=shade, legend=legend),
        tooltip=["position:Q", "example:Q", alt.Tooltip("weight:Q", format=".3~g")],
    )
    return chart.properties(width=WIDTH, height=220)


def model_chart(model: Model) -> Chart:
    """Draw the mean attention of the [CLS] query in the last layer, over random inputs and heads.

    Up to T = 120 there is a bar for every position; beyond, only for the 15 positions with the most attention.
    """
    inputs = _random_inputs(model)
    weights = model.attention(inputs).mean(axis=(0, 1))
    try:
        support = set(parse(model.meta.get("function", ""), T=model.T).support)
    except SparseheadError:  # the model's notes name no function
        support = set()
    names = [*(f"x{t}" for t in range(model.T)), "[CLS]"]
    rows: list[dict[str, Any]] = [
        {"position": t, "weight": float(weights[t]), "label": name, "kind": token_kind(t, support, model.T)}
        for t, name in enumerate(names)
    ]
    few = sorted(rows, key=lambda row: -row["weight"])[:15]
    drawn = {k: c for k, c in TOKEN_COLOURS.items() if any(row["kind"] == k for row in rows)}
    color = by_name(alt.Color, "kind", drawn, title=None)
    on = sum(row["weight"] for row in rows if row["kind"] == "in the support")
    said = f"{100 * on:.3g} % of it lies on the support. " if support else ""
    if model.T <= 120:
        shown, panel = rows, _bars(model.T, color, 1.1 * few[0]["weight"])
    else:
        shown, panel = few, _list(few, color)
        said += f"The 15 of {number(model.T)} positions with the most. "
    return finish(
        panel,
        title="Where [CLS] looks: attention by position",
        subtitle=f"{said}Mean over {count(model.H, 'head')} and {count(len(inputs), 'random input')}.",
        data={"attention": shown},
    )


def _random_inputs(model: Model) -> Any:
    """Return 64 random inputs with the model's share of ones; fewer for long inputs, to limit the time."""
    cost = model.H * (model.T + 1) * (model.T + 1 if model.L > 1 else 1)
    if cost > 2**26:
        raise DomainError(f"attention at T={model.T} through L={model.L} layers takes too long to draw.")
    p = model.meta.get("p", 0.5)
    draws = stream(0, "drawn inputs").random((max(1, min(64, 2**22 // cost)), model.T))
    return (draws < (p if isinstance(p, float) and 0 < p < 1 else 0.5)).astype(np.uint8)


def _bars(T: int, color: alt.Color, top: float) -> Panel:
    """Return one bar per position; the axis ends at `top`, so that no bar is cut off."""
    bars = named("attention").transform_calculate(
        left="datum.position - 0.3", right="datum.position + 0.3", zero="0"
    )
    x = alt.X("left:Q", **position_axis(T, "position t", margin=0.6))
    y = alt.Y("weight:Q", **linear_axis("attention", 0, top, tickCount=4))
    tips = ["label:N", alt.Tooltip("weight:Q", format=".4~g")]
    chart = bars.mark_rect().encode(x=x, x2="right:Q", y=y, y2="zero:Q", color=color, tooltip=tips)
    return chart.properties(width=WIDTH, height=150)


def _list(rows: Rows, color: alt.Color) -> Panel:
    y = alt.Y("label:N", sort=[row["label"] for row in rows], axis=alt.Axis(title=None))
    x = alt.X("weight:Q", axis=alt.Axis(title="attention", tickCount=5))
    bars = named("attention").mark_bar().encode(x=x, y=y, color=color)
    return bars.properties(width=WIDTH - 60, height=230)


def reading_chart(reading: Reading) -> Chart:
    """Draw attention, influence and the effect of flipping single bits, for each position with evidence."""
    if not reading.evidence:
        raise DomainError("the function read is constant: no position has evidence to draw.")
    order = sorted(reading.evidence, key=lambda t: (t not in reading.support, t))
    titles = {
        "attention": "mean attention",
        "influence": "influence (exact)",
        "flips": "labels that a flip changes",
    }
    kinds = {t: "in the support" if t in reading.support else "irrelevant" for t in order}
    rows: list[dict[str, Any]] = [
        {"position": f"x{t}", "measure": key, "value": value, "kind": kinds[t]}
        for t in order
        for key in titles
        if (value := getattr(reading.evidence[t], key)) is not None
    ]
    drawn = [key for key in titles if any(row["measure"] == key for row in rows)]
    color = by_name(alt.Color, "kind", {"in the support": BLUE, "irrelevant": GREY}, title=None)
    labels = [f"x{t}" for t in order]
    panels = [
        named("evidence").transform_filter(alt.datum.measure == key).mark_bar().encode(
            x=alt.X("value:Q", **linear_axis(titles[key], 0, 1, tickCount=3)),
            y=alt.Y("position:N", sort=labels, axis=alt.Axis(title=None, labels=i == 0, ticks=i == 0)),
            color=color,
            tooltip=["position:N", "value:Q"],
        ).properties(width=(WIDTH - 60) // len(drawn), height=max(60, 20 * len(order)))
        for i, key in enumerate(drawn)
    ]  # fmt: skip
    return finish(
        alt.hconcat(*panels, spacing=16),
        title=f"Evidence for {count(reading.support, 'position')} of T = {number(reading.best.T)}",
        subtitle="Shares from 0 to 1. Positions of the support first, then those with the most attention.",
        data={"evidence": rows},
    )
