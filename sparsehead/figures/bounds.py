"""Charts of the terms of a capacity bound."""

import altair as alt

from .._base.log_math import Real
from ..capacity.bound import Bound
from .colours import BLUE
from .encodings import linear_axis
from .theme import WIDTH, Chart, Rows, finish, named, need, number


def bound_chart(bound: Bound) -> Chart:
    """Draw the twelve largest items of a bound."""
    items = sorted(bound.items, key=lambda term: -term.share)[:12]
    rows = [{"name": term.name, "share": term.share, "c": term.c, "p": term.p} for term in items]
    return bound_terms_chart(rows, form=bound.form, m=bound.m, vacuous=bound.vacuous)


def terms_figure(bound: Bound) -> Chart:
    """Draw all items of the bound of one head, labelled by matrix."""
    rows = [
        {"name": t.name.replace("layer0.head0.", "W_"), "share": t.share, "c": t.c, "p": t.p}
        for t in bound.items
    ]
    return bound_terms_chart(rows, form=bound.form, m=bound.m, vacuous=bound.vacuous)


def bound_terms_chart(
    items: Rows, *, form: str = "ours", m: Real | None = None, vacuous: bool | None = None
) -> Chart:
    """Draw each item's share of the log-covering number of a capacity bound.

    Args:
        items: {name, share}, optionally {c, p}: the constant and the exponent of the item in the bound.
        form: the form of the bound.
        m: the number of samples; vacuous: whether the bound is vacuous (at least 1) for m samples.
    Paper: single-layer-capacity
    """
    rows = sorted(need(items, "bound by term", "name", "share"), key=lambda r: -r["share"])
    for row in rows:
        row["label"] = f"{100 * row['share']:.3g} %"
    largest = rows[0]
    x = alt.X(
        "share:Q", **linear_axis("share of the bound", 0, largest["share"] * 1.2, format="%", tickCount=5)
    )
    y = alt.Y("name:N", sort=[r["name"] for r in rows], axis=alt.Axis(title=None, labelLimit=260))
    bars = named("items").mark_bar(color=BLUE, height={"band": 0.7})
    text = named("items").mark_text(align="left", dx=5, fontSize=12).encode(x=x, y=y, text="label:N")
    at = f" at m = {number(m)}" if m is not None else ""
    says = {True: " It is vacuous there.", False: " It is not vacuous there.", None: ""}[vacuous]
    return finish(
        alt.layer(bars.encode(x=x, y=y, tooltip=["name:N", "share:Q", "c:Q", "p:Q"]), text).properties(
            width=WIDTH - 80, height=max(60, 30 * len(rows))
        ),
        title=f"{largest['name']} carries {largest['label']} of the capacity bound ({form}){at}",
        subtitle=f"Shares of the log-covering number, a proved quantity without an interval.{says}",
        data={"items": rows},
    )
