"""Capacity bounds: which term dominates, and how a bound moves while a head is trained."""

import altair as alt

from .._base.log_math import Real
from ..capacity.bound import Bound
from .data import Rows, need, number
from .theme import BLUE, WIDTH, Chart, finish, named


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


def terms_figure(found: Bound) -> Chart:
    """A bound by term."""
    items = [
        {"name": t.name.replace("layer0.head0.", "W_"), "share": t.share, "c": t.c, "p": t.p}
        for t in found.items
    ]
    return bound_terms_chart(items, form=found.form, m=found.m, vacuous=found.vacuous)
