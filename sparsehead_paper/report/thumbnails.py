"""The story's small charts: the data of a figure, in a picture the size of a stamp, as SVG that needs no script."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from sparsehead._base.errors import SparseheadError
from sparsehead.figures.data import plain
from sparsehead.figures.render import render, specification
from sparsehead.figures.theme import BLACK, BLUE, FONT, GREY, RED, Chart, named

from ..studies.studies import MATCHED_READING
from .catalogue import Drawn

WIDE, HIGH = 216, 84
Sets = Mapping[str, Sequence[Mapping[str, Any]]]
SMALL: dict[str, Any] = {
    "labelFontSize": 10,
    "titleFontSize": 10,
    "titlePadding": 2,
    "tickSize": 3,
    "grid": False,
}


def _axis(title: str, **settings: Any) -> alt.Axis:
    return alt.Axis(title=title, tickCount=3, **settings)


def _x(field: str, title: str, *, log: bool = False, **axis: Any) -> alt.X:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(nice=False)
    return alt.X(f"{field}:Q", scale=scale, axis=_axis(title, format="~s", **axis))


def _y(field: str, title: str, **scale: Any) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=alt.Scale(nice=False, **scale), axis=_axis(title))


def _law(sets: Sets) -> tuple[Any, Sets]:
    x, y = _x("T", "T", log=True), _y("m", "m_80", zero=False)
    bars = named("thresholds").mark_rule(color=BLUE, opacity=0.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    ours = named("thresholds").mark_point(color=BLUE, filled=True, size=22, opacity=1).encode(x=x, y=y)
    paper = named("paper").mark_point(color=BLACK, shape="diamond", size=24, strokeWidth=1.2).encode(x=x, y=y)
    return alt.layer(paper, bars, ours), {name: sets.get(name, ()) for name in ("thresholds", "paper")}


def _curves(sets: Sets) -> tuple[Any, Sets]:
    """The share of replicates that have been above the level by a step, for each m."""
    level = sets["level"][0]["level"]
    steps = sorted({row["step"] for row in sets["curves"]})
    rows: list[dict[str, Any]] = []
    for m in sorted({row["m"] for row in sets["curves"]}):
        here = [row for row in sets["curves"] if row["m"] == m]
        replicates = {row["replicate"] for row in here}
        first = {
            r: min(
                (row["step"] for row in here if row["replicate"] == r and row["accuracy"] > level),
                default=None,
            )
            for r in replicates
        }
        for step in steps:
            by_now = sum(at is not None and at <= step for at in first.values())
            rows.append({"m": m, "step": step, "share": by_now / len(replicates)})
    colour: Any = alt.Scale(range=[RED, BLUE])
    lines = named("shares").mark_line(strokeWidth=2, clip=True)
    chart = lines.encode(
        x=_x("step", "step"),
        y=_y("share", "share solved", domain=[0, 1.04]),
        color=alt.Color("m:O", scale=colour, legend=alt.Legend(title="m", orient="right", symbolSize=30)),
    )
    return chart, {"shares": rows}


def _attention(sets: Sets) -> tuple[Any, Sets]:
    bars = named("means").mark_bar(width=2, color=BLUE)
    theirs = named("paper").mark_point(color=BLACK, shape="diamond", size=24, strokeWidth=1.2)
    highest = max((row["mean"] for part in ("means", "paper") for row in sets.get(part, ())), default=1)
    x, y = _x("position", "position"), _y("mean", "attention", domain=[0, 1.15 * highest])
    return alt.layer(bars.encode(x=x, y=y), theirs.encode(x=x, y=y)), {
        name: sets.get(name, ()) for name in ("means", "paper")
    }


def _parity(sets: Sets) -> tuple[Any, Sets]:
    rows = [row for row in sets["curves"] if row["step"] % 25 == 1]
    chart = (
        named("curves")
        .mark_line(strokeWidth=1, opacity=0.7)
        .encode(
            x=_x("step", "step"),
            y=_y("loss", "loss", domain=[0, 0.8]),
            detail="seed:N",
            color=alt.Color(
                "T:O",
                scale=alt.Scale(range=[BLUE, RED]),
                legend=alt.Legend(title="T", orient="right", symbolSize=30),
            ),
        )
    )
    return chart, {"curves": rows}


def _parity_settings(sets: Sets) -> tuple[Any, Sets]:
    """The paper's reading at the paper's context lengths: a point for each seed, over the paper's range."""
    ranges = list(sets["ranges"])
    Ts = {row["T"] for row in ranges}
    runs = [row for row in sets["runs"] if row["setting"] == MATCHED_READING and row["T"] in Ts]
    x, y = _x("step", "step", log=True), alt.Y("T:O", axis=_axis("T"))
    band = named("ranges").mark_rule(color=GREY, strokeWidth=12, opacity=0.45)
    seeds = named("runs").mark_point(size=22, strokeWidth=1.2)
    colour: Any = alt.Scale(domain=["learned"], range=[BLUE, RED])
    return alt.layer(
        band.encode(x=alt.X("low:Q"), x2="high:Q", y=y),
        seeds.encode(x=x, y=y, color=alt.Color("learned:N", scale=colour, legend=None)),
    ), {"runs": runs, "ranges": ranges}


def _norms(sets: Sets) -> tuple[Any, Sets]:
    order = list(dict.fromkeys(row["builder"] for row in sets["norms"]))
    chart = (
        named("norms")
        .mark_line(strokeWidth=2)
        .encode(
            x=_x("T", "T", log=True),
            y=alt.Y("norm:Q", scale=alt.Scale(type="log", nice=False), axis=_axis("norm")),
            color=alt.Color(
                "builder:N",
                scale=alt.Scale(domain=order, range=[BLUE, BLACK, RED][: len(order)]),
                legend=alt.Legend(title=None, orient="right", symbolSize=30),
            ),
        )
    )
    return chart, {"norms": sets["norms"]}


def _terms(sets: Sets) -> tuple[Any, Sets]:
    bars = named("items").mark_bar(color=BLUE)
    chart = bars.encode(
        x=alt.X("share:Q", axis=_axis("share of the bound", format=".0%")),
        y=alt.Y("name:N", sort=None, axis=alt.Axis(title=None)),
    )
    return chart, {"items": sets["items"]}


def _reading(sets: Sets) -> tuple[Any, Sets]:
    """AND at the largest T: learned, and read back."""
    cells = [row for row in sets["shares"] if row["family"] == "and"]
    T = max((row["T"] for row in cells), default=0)
    colour: Any = alt.Scale(range=[GREY, BLUE])
    chart = (
        named("shares")
        .mark_line(strokeWidth=2)
        .encode(
            x=_x("m", f"m (AND, T = {T})", log=True),
            y=_y("share", "share", domain=[0, 1.03]),
            color=alt.Color(
                "what:N", scale=colour, legend=alt.Legend(title=None, orient="right", symbolSize=30)
            ),
            strokeDash=alt.StrokeDash("what:N", legend=None),
        )
    )
    return chart, {"shares": [row for row in cells if row["T"] == T]}


THUMBNAILS: dict[str, Callable[[Sets], tuple[Any, Sets]]] = {
    "law": _law,
    "law-matched": _law,
    "curves": _curves,
    "curves-paper": _curves,
    "attention": _attention,
    "attention-paper": _attention,
    "parity": _parity,
    "parity-settings": _parity_settings,
    "norms": _norms,
    "bound-terms": _terms,
    "reading": _reading,
}


def thumbnail_chart(name: str, chart: Chart) -> Chart:
    """The small form of a figure, from the data of its full form."""
    small, sets = THUMBNAILS[name](specification(chart)["datasets"])
    made: Any = small.properties(width=WIDE, height=HIGH)
    made["datasets"] = {key: plain(rows) for key, rows in sets.items()}
    made["config"] = {
        "font": FONT, "background": "#ffffff", "padding": 2, "view": {"stroke": None}, "axis": SMALL,
        "legend": {"labelFontSize": 10, "titleFontSize": 10, "offset": 4, "rowPadding": 1, "labelLimit": 90},
    }  # fmt: skip
    return made


def thumbnail(name: str, figures: Sequence[Drawn]) -> Markup | None:
    """The figure's small form as inline SVG; None where the figure could not be drawn."""
    chart = next((figure.chart for figure in figures if figure.name == name), None)
    if chart is None or name not in THUMBNAILS:
        return None
    try:
        svg = render(thumbnail_chart(name, chart), "svg").decode()
    except (
        SparseheadError,
        KeyError,
        ValueError,
        TypeError,
    ):  # the figure itself says what is wrong with its data
        return None
    # The text of the chart comes from its data and is escaped by the renderer.
    return Markup(svg[svg.index("<svg") :].replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
