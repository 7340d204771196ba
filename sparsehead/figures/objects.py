"""The charts of the objects that the public functions return; `display` draws them in notebooks and for `.plot()`."""

from typing import Any

import altair as alt
import numpy as np

from .._base.errors import DomainError, SparseheadError
from .._base.rng import stream
from ..capacity.bound import Bound
from ..covering.cover import Cover
from ..functions import parse
from ..heads.model import Model
from ..laws.law import LawResult
from ..probing.result import Probe
from ..reading.result import Reading
from ..train.outcome import Run
from .attention import CLS, KINDS, position_axis
from .bounds import bound_terms_chart
from .covers import cover_chart
from .data import count, number
from .heads import head_map
from .law_record import law_figure
from .theme import BLUE, GREY, ORANGE, WIDTH, Chart, finish, named

INPUTS = 64  # random inputs over which attention is averaged, fewer where they are long
WORK = 2**22  # attention weights computed for one chart, at the most
EVERY = 120  # up to this T every position has its bar; beyond, the heaviest HEAVY have one
HEAVY = 15
ITEMS = 12  # terms of a bound that are drawn
DISCS = 150  # points of a cover that are drawn


def model_chart(model: Model) -> Chart:
    """Where the [CLS] query of the last layer looks, on average over random inputs and heads."""
    inputs = _inputs(model)
    weights = model.attention(inputs).mean(axis=(0, 1))
    support = _noted_support(model)
    rows: list[dict[str, Any]] = [
        {"position": t, "weight": float(weights[t]), "label": CLS if t == model.T else f"x{t}",
         "kind": KINDS[2] if t == model.T else KINDS[0] if t in support else KINDS[1]}
        for t in range(model.T + 1)
    ]  # fmt: skip
    few = sorted(rows, key=lambda row: -row["weight"])[:HEAVY]
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    scale: Any = alt.Scale(
        domain=kinds, range=[{KINDS[0]: BLUE, KINDS[1]: GREY, CLS: ORANGE}[k] for k in kinds]
    )
    color = alt.Color("kind:N", title=None, scale=scale)
    panel = _bars(model.T, color, 1.1 * few[0]["weight"]) if model.T <= EVERY else _list(few, color)
    on = sum(row["weight"] for row in rows if row["kind"] == KINDS[0])
    seen = f"{100 * on:.3g} % of it lies on the support. " if support else ""
    most = "" if model.T <= EVERY else f"The {HEAVY} of {number(model.T)} positions with the most. "
    return finish(
        panel,
        title="Where [CLS] looks: attention by position",
        subtitle=[
            f"{seen}{most}Mean over {count(model.H, 'head')} and {count(len(inputs), 'random input')}."
        ],
        data={"attention": rows if model.T <= EVERY else few},
    )


def _noted_support(model: Model) -> set[int]:
    """The positions of the function that the model's own notes name; none where they name none."""
    try:
        return set(parse(model.meta.get("function", ""), T=model.T).support)
    except SparseheadError:
        return set()


def _inputs(model: Model) -> Any:
    """Random inputs with the model's own share of ones, as many as can be evaluated in a moment."""
    cost = model.H * (model.T + 1) * (model.T + 1 if model.L > 1 else 1)
    if cost > 16 * WORK:
        raise DomainError(f"attention at T={model.T} through L={model.L} layers takes too long to draw.")
    p = model.meta.get("p", 0.5)
    draws = stream(0, "drawn inputs").random((max(1, min(INPUTS, WORK // cost)), model.T))
    return (draws < (p if isinstance(p, float) and 0 < p < 1 else 0.5)).astype(np.uint8)


def _bars(T: int, color: alt.Color, top: float) -> Any:
    """One bar for each position; the axis reaches `top`, so that no bar seems to go on."""
    bars = named("attention").transform_calculate(
        left="datum.position - 0.3", right="datum.position + 0.3", zero="0"
    )
    x = alt.X(
        "left:Q",
        scale=alt.Scale(domain=[-0.6, T + 0.6], nice=False),
        axis=position_axis(T, "position t"),
    )
    y = alt.Y(
        "weight:Q",
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(title="attention", tickCount=4),
    )
    tips = ["label:N", alt.Tooltip("weight:Q", format=".4~g")]
    return bars.mark_rect().encode(x=x, x2="right:Q", y=y, y2="zero:Q", color=color, tooltip=tips).properties(
        width=WIDTH, height=150
    )  # fmt: skip


def _list(rows: list[dict[str, Any]], color: alt.Color) -> Any:
    y = alt.Y("label:N", sort=[row["label"] for row in rows], axis=alt.Axis(title=None))
    x = alt.X("weight:Q", axis=alt.Axis(title="attention", tickCount=5))
    return (
        named("attention").mark_bar().encode(x=x, y=y, color=color).properties(width=WIDTH - 60, height=230)
    )


def run_chart(run: Run) -> Chart:
    """Loss and accuracies against the training step, of the run that solved it or came closest."""
    rows = [row for row in run.to_frame() if row["step"] is not None]
    if not any(row.get("loss") is not None for row in rows):
        why = (
            f"the run ended at step {run.outcome.steps}, before a loss was recorded"
            if run.spec.learner == "transformer"
            else f"a {run.spec.learner} keeps no curves"
        )
        raise DomainError(f"{why}; there is nothing to draw.")
    names = {
        "train_accuracy": "training",
        "val_accuracy": "validation",
        "support_mass": "attention on support",
    }
    shares = [
        {"step": row["step"], "value": row[key], "curve": name}
        for key, name in names.items()
        for row in rows
        if row.get(key) is not None
    ]
    losses = [{"step": row["step"], "loss": row["loss"]} for row in rows if row.get("loss") is not None]
    x = alt.X("step:Q", axis=alt.Axis(title="training step", tickCount=8))
    top = named("losses").mark_line(color=BLUE, strokeWidth=2).encode(
        x=alt.X("step:Q", axis=alt.Axis(title=None, tickCount=8)),
        y=alt.Y("loss:Q", axis=alt.Axis(title="training loss", tickCount=4)),
    )  # fmt: skip
    known = [name for name in names.values() if any(row["curve"] == name for row in shares)]
    scale: Any = alt.Scale(domain=known, range=[GREY, BLUE, ORANGE][: len(known)])
    dash: Any = alt.Scale(domain=known, range=[[4, 3], [1, 0], [8, 3, 2, 3]][: len(known)])
    below = named("shares").mark_line(strokeWidth=2, point={"size": 14}).encode(
        x=x,
        y=alt.Y("value:Q", scale=alt.Scale(domain=[0, 1.02], nice=False), axis=alt.Axis(title="share", tickCount=5)),
        color=alt.Color("curve:N", title=None, scale=scale),
        strokeDash=alt.StrokeDash("curve:N", legend=None, scale=dash),
    )  # fmt: skip
    said = "learned" if run.solved else "not learned"
    return finish(
        alt.vconcat(top.properties(width=WIDTH, height=110), below.properties(width=WIDTH, height=150), spacing=14),
        title=f"{run.spec.function}: {said} by step {number(run.steps)}",
        subtitle=[f"T = {number(run.spec.T)}, m = {number(run.spec.m)}; shares of examples, and of attention."],
        data={"losses": losses, "shares": shares},
    )  # fmt: skip


def reading_chart(reading: Reading) -> Chart:
    """What attention, influence and single flips say about each position."""
    if not reading.evidence:
        raise DomainError("the function read is constant: no position has evidence to draw.")
    order = sorted(reading.evidence, key=lambda t: (t not in reading.support, t))
    names = {
        "attention": "mean attention",
        "influence": "influence (exact)",
        "flips": "labels that a flip changes",
    }
    rows: list[dict[str, Any]] = [
        {
            "position": f"x{t}",
            "measure": key,
            "value": value,
            "kind": KINDS[0] if t in reading.support else KINDS[1],
        }
        for t in order
        for key in names
        if (value := getattr(reading.evidence[t], key)) is not None
    ]
    drawn = [key for key in names if any(row["measure"] == key for row in rows)]
    scale: Any = alt.Scale(domain=list(KINDS[:2]), range=[BLUE, GREY])
    unit, labels = alt.Scale(domain=[0, 1], nice=False), [f"x{t}" for t in order]
    panels = [
        named("evidence").transform_filter(alt.datum.measure == key).mark_bar().encode(
            x=alt.X("value:Q", scale=unit, axis=alt.Axis(title=names[key], tickCount=3)),
            y=alt.Y("position:N", sort=labels, axis=alt.Axis(title=None, labels=i == 0, ticks=i == 0)),
            color=alt.Color("kind:N", title=None, scale=scale),
            tooltip=["position:N", "value:Q"],
        ).properties(width=(WIDTH - 60) // len(drawn), height=max(60, 20 * len(order)))
        for i, key in enumerate(drawn)
    ]  # fmt: skip
    return finish(
        alt.hconcat(*panels, spacing=16),
        title=f"Evidence for {count(reading.support, 'position')} of T = {number(reading.best.T)}",
        subtitle=["Shares from 0 to 1. Positions of the support first, then those with the most attention."],
        data={"evidence": rows},
    )


def bound_chart(bound: Bound) -> Chart:
    """The bound by term: each item's share of the log-covering number."""
    items = sorted(bound.items, key=lambda term: -term.share)[:ITEMS]
    rows = [{"name": term.name, "share": term.share, "c": term.c, "p": term.p} for term in items]
    return bound_terms_chart(rows, form=bound.form, m=bound.m, vacuous=bound.vacuous)


def law_result_chart(law: LawResult) -> Chart:
    """m_80 against T with intervals, fits and floor; the paper's points where it measured the same function."""
    return law_figure(law)


def cover_of_points(cover: Cover) -> Chart:
    """The points, the balls and the centres, in the plane."""
    points = cover.points
    if points is None or points.shape[1] != 2 or len(points) > DISCS:
        raise DomainError(f"a cover is drawn for up to {DISCS} points in the plane.")
    plane = [(float(x), float(y)) for x, y in points]
    size = f"{cover.size}" if cover.exact else f"{cover.lower} to {cover.upper}"
    panel = {"points": plane, "eps": cover.eps, "centers": cover.centers, "name": count(plane, "point")}
    return cover_chart([panel], title=f"Balls of radius {number(cover.eps or 0)} needed: {size}")


def probe_chart(probe: Probe) -> Chart:
    """The map of layers and heads, by score."""
    return head_map(probe.rows(), name=probe.name, s=probe.s)
