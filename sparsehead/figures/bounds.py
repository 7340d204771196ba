"""Charts of the terms of a capacity bound."""

from itertools import cycle
from typing import Any

import altair as alt

from .._base.log_math import Real
from ..capacity.atlas import Atlas
from ..capacity.bound import Bound
from .colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHAPES, SKY
from .encodings import by_name, linear_axis, log_axis
from .theme import WIDTH, Chart, Panel, Rows, count, finish, named, need, number


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


def atlas_chart(atlas: Atlas) -> Chart:
    """Draw ln N by every form of an atlas, smallest first, and how it grows with m, and with T or depth."""
    drawn = [row for row in atlas.rows if row.log_covering]
    rows = need(
        [
            {
                "form": row.form,
                "status": row.status.partition(",")[0],
                "log_covering": row.log_covering,
                "gap": row.gap,
            }
            for row in sorted(drawn, key=lambda row: row.log_covering or 0.0)
        ],
        "atlas of bounds",
    )
    growth: list[dict[str, Any]] = [
        {"axis": point.axis, "at": point.at, "form": form, "log_covering": value}
        for point in atlas.growth
        for form, value in point.log_covering.items()
        if value
    ]
    axes = list(dict.fromkeys(row["axis"] for row in growth))
    palette = (BLUE, GREY, GREEN, PURPLE, BLACK, RED, ORANGE, SKY)  # of forms, in their order
    colours = dict(zip(dict.fromkeys(row["form"] for row in growth), cycle(palette), strict=False))
    lines = [_growth_panel([row for row in growth if row["axis"] == axis], axis, colours) for axis in axes]
    missing = len(atlas.rows) - len(rows)
    smallest = next((row["form"] for row in rows if row["status"].startswith("proved")), "no form")
    return finish(
        alt.vconcat(_forms_panel(rows, atlas.eps), alt.hconcat(*lines)).resolve_scale(
            color="independent", shape="independent"
        ),
        title=f"{smallest} has the smallest proved ln N at T = {number(atlas.T)}, m = {number(atlas.m)}",
        subtitle="ln of the covering number by every form, without intervals: these are computed, not measured."
        + (f" Not drawn: {count(missing, 'form')} without a covering number." if missing else ""),
        data={"forms": rows, "growth": growth},
    )


def _forms_panel(rows: Rows, eps: float) -> Panel:
    """Return a panel with one point per form, coloured by its status: proved, proved by us, proxy, or yours."""
    statuses = {"proved": GREEN, "proved by us": BLUE, "proxy": GREY, "yours": ORANGE}
    used = [status for status in statuses if any(row["status"] == status for row in rows)]
    shapes = dict(zip(statuses, SHAPES, strict=False))
    x = alt.X(
        "log_covering:Q", **log_axis(f"ln N at resolution {eps:.3g}", [r["log_covering"] for r in rows])
    )
    y = alt.Y(
        "form:N", sort=[row["form"] for row in rows], axis=alt.Axis(title=None, labelLimit=260, grid=True)
    )
    points = named("forms").mark_point(filled=True, size=110, opacity=1)
    return points.encode(
        x=x,
        y=y,
        color=by_name(alt.Color, "status", {s: statuses[s] for s in used}, title=None),
        shape=by_name(alt.Shape, "status", {s: shapes[s] for s in used}, title=None),
        tooltip=["form:N", "status:N", "log_covering:Q", "gap:Q"],
    ).properties(width=WIDTH - 80, height=max(60, 30 * len(rows)))


def _growth_panel(rows: list[dict[str, Any]], axis: str, colours: dict[str, str]) -> Panel:
    """Return a panel with one line per form: ln N along one axis."""
    at = sorted({row["at"] for row in rows})
    values = [row["log_covering"] for row in rows]
    x = linear_axis(axis, at[0], at[-1], values=at, format="d") if axis == "depth" else log_axis(axis, at)
    y = log_axis("ln N", values)
    if max(values) > 1e12:
        y["axis"].format = ".0e"
    return (
        named("growth")
        .transform_filter(alt.datum.axis == axis)
        .mark_line(point=True, strokeWidth=1.5)
        .encode(
            x=alt.X("at:Q", **x),
            y=alt.Y("log_covering:Q", **y),
            color=by_name(alt.Color, "form", colours, title=None),
            shape=by_name(alt.Shape, "form", dict(zip(colours, cycle(SHAPES), strict=False)), title=None),
            tooltip=["form:N", "at:Q", "log_covering:Q"],
        )
        .properties(width=(WIDTH - 150) // 2, height=180)
    )
