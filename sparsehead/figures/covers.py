"""A cover in the plane: the points, the balls of radius eps, the chosen centres."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from .data import Rows, number
from .theme import BLUE, GREY, ORANGE, Chart, Panel, finish, named

CORNERS = 72  # of the polygon that stands for a circle
SIDE = 250  # pixels of a panel's longer side
LEAST, MOST = 1e-300, 1e300  # across what is drawn: pixels to the unit are a finite number then

FIRST = [("0.5", "0.7"), ("0.2", "3"), ("0.6", "2.5")]  # the notes' set as first printed
LATER = [("0.5", "0.7"), ("0.2", "0.3"), ("0.6", "0.65")]  # the set that their text and figure then use


def cover_chart(panels: Sequence[Mapping[str, Any]], *, title: str = "", note: str = "") -> Chart:
    """Covers of point sets in the plane, side by side, each at its own eps.

    Args:
        panels: {points, eps, centers, name}: points and chosen centres as pairs, `name` says which set it is.
        title: what is seen; by default, how many balls each set needs.
        note: a second line, such as what a source says.
    Paper: covering-example
    """
    if not panels:
        raise DomainError("a cover: there is nothing to draw yet, 0 point sets arrived.")
    if any(len(p) != 2 for panel in panels for p in [*panel["points"], *panel["centers"]]):
        raise DomainError("a cover is drawn in the plane: points need exactly two coordinates.")
    sets = [_rows(i, panel) for i, panel in enumerate(panels)]
    counts = "; ".join(f"{panel['name']}: N({panel['eps']:g}) = {len(panel['centers'])}" for panel in panels)
    data: dict[str, Rows] = {
        name: [row for one in sets for row in one[name]] for name in ("points", "balls", "centers")
    }
    drawn = [_panel(i, panel, one) for i, (panel, one) in enumerate(zip(panels, sets))]
    return finish(
        alt.concat(*drawn, columns=len(drawn), spacing=40),
        title=title or counts,
        subtitle=[
            *([counts[:1].upper() + counts[1:] + "."] if title else []),
            "Filled balls: a smallest cover. Dashed: the balls around the other points.",
            *([note] if note else []),
        ],
        data=data,
        width=max(420, (SIDE + 40) * len(drawn)),
        fixed=True,
    )


def _rows(i: int, panel: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    centers = [tuple(map(float, c)) for c in panel["centers"]]
    points = [tuple(map(float, p)) for p in panel["points"]]
    every = [*centers, *(p for p in points if p not in centers)]
    balls = [
        {
            "panel": i,
            "ball": j,
            "corner": c,
            "chosen": j < len(centers),
            "x": x + panel["eps"] * math.cos(2 * math.pi * c / CORNERS),
            "y": y + panel["eps"] * math.sin(2 * math.pi * c / CORNERS),
        }
        for j, (x, y) in enumerate(every)
        for c in range(CORNERS + 1)
    ]
    at = [
        {"panel": i, "x": x, "y": y, "label": f"({number(x)}, {number(y)})", "above": _above((x, y), points)}
        for x, y in points
    ]
    return {"points": at, "balls": balls, "centers": [{"panel": i, "x": x, "y": y} for x, y in centers]}


def _above(point: tuple[float, ...], points: Sequence[tuple[float, ...]]) -> bool:
    """Whether a label belongs above its point: unless the nearest other point is there."""
    others = [q for q in points if q != point]
    return not others or min(others, key=lambda q: math.dist(point, q))[1] <= point[1]


def _spans(rows: Mapping[str, Rows]) -> dict[str, tuple[float, float]]:
    """From where to where the axes go; refused where numbers of this size leave no finite extent to draw."""
    spans = {}
    for axis in ("x", "y"):
        values = [r[axis] for r in [*rows["balls"], *rows["points"]]]
        # Labels need room above and below.
        margin = (0.06 if axis == "x" else 0.13) * (max(values) - min(values))
        spans[axis] = (min(values) - margin, max(values) + margin)
    sizes = [high - low for low, high in spans.values()]
    if not all(map(math.isfinite, sizes)) or not LEAST <= max(sizes) <= MOST:
        raise DomainError(
            f"a cover is drawn from {LEAST:g} to {MOST:g} across; this one is {sizes[0]:g} by {sizes[1]:g}: "
            "scale points and eps."
        )
    least = max(sizes) * 0.6  # a narrow set still gets a panel wide enough for its labels
    for axis, (low, high) in spans.items():
        grow = max(0.0, least - (high - low)) / 2
        spans[axis] = (low - grow, high + grow)
    return spans


def _panel(i: int, panel: Mapping[str, Any], rows: Mapping[str, Rows]) -> Panel:
    """One set, with the same number of pixels to the unit on both axes, so that balls are round."""
    spans = _spans(rows)
    unit = SIDE / max(high - low for low, high in spans.values())
    radius = unit * panel["eps"]
    away = 13 if radius > 50 else radius + 11  # inside a large ball, outside a small one
    channels: dict[str, dict[str, Any]] = {
        axis: {
            "scale": alt.Scale(domain=list(spans[axis]), nice=False),
            "axis": alt.Axis(title=name, tickCount=5),
        }
        for axis, name in (("x", "first coordinate"), ("y", "second coordinate"))
    }
    x, y = alt.X("x:Q", **channels["x"]), alt.Y("y:Q", **channels["y"])
    here = f"datum.panel == {i}"
    ball = named("balls").encode(x=x, y=y, order="corner:O", detail="ball:N")
    layers = [
        ball.transform_filter(f"{here} && datum.chosen").mark_line(
            filled=True, fill=BLUE, fillOpacity=0.18, stroke=BLUE, strokeWidth=1.5),
        ball.transform_filter(f"{here} && !datum.chosen").mark_line(
            filled=False, stroke=GREY, strokeWidth=1, strokeDash=[4, 3]),
        named("centers").transform_filter(here).mark_point(
            shape="cross", size=110, filled=True, color=ORANGE, opacity=1).encode(x=x, y=y),
        named("points").transform_filter(here).mark_point(
            shape="circle", size=26, filled=True, color="black", opacity=1).encode(x=x, y=y, tooltip=["label:N"]),
        *(named("points").transform_filter(f"{here} && {'' if dy < 0 else '!'}datum.above").mark_text(
            dy=dy, fontSize=11).encode(x=x, y=y, text="label:N") for dy in (-away, away + 2)),
    ]  # fmt: skip
    width, height = (unit * (high - low) for low, high in spans.values())
    header = alt.TitleParams(
        f"{panel['name']}, eps = {panel['eps']:g}", fontSize=12, fontWeight="normal", anchor="middle"
    )
    return alt.layer(*layers).properties(width=round(width), height=round(height), title=header)
