"""Capacity bounds: which term dominates, and how a bound moves while a head is trained."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from sparsehead_paper.studies.records import BoundPoint

from .._base.errors import DomainError
from .._base.log_math import Real
from .data import Rows, finite, need, number, rows_of
from .theme import BLUE, HEIGHT, RED, WIDTH, Chart, finish, log_axis, named


def bound_terms_chart(
    items: Rows, *, form: str = "ours", m: Real | None = None, vacuous: bool | None = None
) -> Chart:
    """A capacity bound by term: each item's share of the log-covering number.

    Args:
        items: {name, share}, optionally {c, p}: the constant and the exponent with which the item enters.
        form: which form of the bound it is.
        m: samples at which it was evaluated; vacuous: whether it then says nothing.
    Paper: single-layer-capacity
    """
    rows = sorted(need(items, "bound by term", "name", "share"), key=lambda r: -r["share"])
    for row in rows:
        row["label"] = f"{100 * row['share']:.3g} %"
    order = [r["name"] for r in rows]
    top = max(r["share"] for r in rows)
    x = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0, top * 1.2], nice=False),
        axis=alt.Axis(title="share of the bound", format="%", tickCount=5),
    )
    y = alt.Y("name:N", sort=order, axis=alt.Axis(title=None, labelLimit=260))
    bars = (
        named("items")
        .mark_bar(color=BLUE, height={"band": 0.7})
        .encode(x=x, y=y, tooltip=["name:N", "share:Q", "c:Q", "p:Q"])
    )
    text = named("items").mark_text(align="left", dx=5, fontSize=12).encode(x=x, y=y, text="label:N")
    at = f" at m = {number(m)}" if m is not None else ""
    says = {True: " It is vacuous there.", False: " It is not vacuous there.", None: ""}[vacuous]
    return finish(
        alt.layer(bars, text).properties(width=WIDTH - 80, height=max(60, 30 * len(rows))),
        title=f"{rows[0]['name']} carries {100 * rows[0]['share']:.3g} % of the capacity bound ({form}){at}",
        subtitle=[f"Shares of the log-covering number, a proved quantity without an interval.{says}"],
        data={"items": rows},
    )


def bound_along_training(points: Sequence[BoundPoint], *, target: str = "AND of 3 bits") -> Chart:
    """The capacity bound of the weights at each recorded step, with the accuracy above it.

    Paper: bound-along-training
    """
    rows = [row for row in rows_of(points, "bound along training") if finite(row["bound"])]
    if not rows:
        raise DomainError("bound along training: no recorded step has a finite bound.")
    rows.sort(key=lambda r: r["step"])
    values = [r["bound"] for r in rows if r["bound"] > 0]
    steps = [r["step"] for r in rows]
    x: dict[str, Any] = {"scale": alt.Scale(domain=[min(steps), max(steps)], nice=False)}
    top = (
        named("training")
        .mark_line(color=BLUE, strokeWidth=2)
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title=None), **x),
            y=alt.Y(
                "accuracy:Q",
                scale=alt.Scale(domain=[0.4, 1.02], nice=False),
                axis=alt.Axis(title="validation accuracy", tickCount=5),
            ),
        )
    )
    shown = log_axis("capacity C = eps² ln N (log scale)", values)
    base = named("training").encode(x=alt.X("step:Q", axis=alt.Axis(title="training step"), **x))
    line = base.mark_line(color=RED, strokeWidth=2).encode(
        y=alt.Y("bound:Q", **shown), tooltip=["step:Q", "bound:Q", "accuracy:Q"]
    )
    first, last = rows[0], rows[-1]
    verb = "grows" if last["bound"] > first["bound"] else "falls"
    return finish(
        alt.vconcat(
            top.properties(width=WIDTH, height=150),
            alt.layer(line).properties(width=WIDTH, height=HEIGHT - 90),
            spacing=16,
        ),
        title=f"{target}: the bound {verb} from {number(first['bound'])} to {number(last['bound'])}",
        subtitle=[
            f"Meanwhile validation accuracy goes from {number(first['accuracy'])} to {number(last['accuracy'])}.",
            "One run; the bound is computed from its weights.",
        ],
        data={"training": rows},
    )
