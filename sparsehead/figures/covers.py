"""Chart of a cover in the plane: the points, the balls of radius eps, the chosen centres."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..covering.cover import Cover
from .colours import BLUE, GREY, ORANGE
from .encodings import linear_axis
from .theme import Chart, Panel, Rows, count, finish, named, number

SIDE = 250  # pixels of a panel's longer side
# The example of the lecture notes, in the two forms that they print.
NOTES_SETS = {
    "set as first printed": [("0.5", "0.7"), ("0.2", "3"), ("0.6", "2.5")],
    "set as later used": [("0.5", "0.7"), ("0.2", "0.3"), ("0.6", "0.65")],
}


def cover_of_points(cover: Cover) -> Chart:
    """Draw the points, balls and centres of a cover in the plane."""
    points = cover.points
    if points is None or points.shape[1] != 2 or len(points) > 150:
        raise DomainError("a cover is drawn for up to 150 points in the plane.")
    plane = [(float(x), float(y)) for x, y in points]
    size = f"{cover.size}" if cover.exact else f"{cover.lower} to {cover.upper}"
    panel = {"points": plane, "eps": cover.eps, "centers": cover.centers, "name": count(plane, "point")}
    return cover_chart([panel], title=f"Balls of radius {number(cover.eps or 0)} needed: {size}")


def cover_chart(panels: Sequence[Mapping[str, Any]], *, title: str = "", note: str = "") -> Chart:
    """Draw covers of point sets in the plane, side by side, each with its own eps.

    Args:
        panels: {points, eps, centers, name}: points and chosen centres as pairs, and the name of the set.
        title: by default, the number of balls for each set.
        note: a second line, for example with the number that a source gives.
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
    corners = 72  # of the polygon drawn for a circle
    every = [*centers, *(p for p in points if p not in centers)]
    balls = [
        {
            "panel": i, "ball": j, "corner": c, "chosen": j < len(centers),
            "x": x + panel["eps"] * math.cos(2 * math.pi * c / corners),
            "y": y + panel["eps"] * math.sin(2 * math.pi * c / corners),
        }
        for j, (x, y) in enumerate(every)
        for c in range(corners + 1)
    ]  # fmt: skip
    at = [
        {
            "panel": i, "x": x, "y": y, "label": f"({number(x)}, {number(y)})",
            "above": _label_above((x, y), points),
        }
        for x, y in points
    ]  # fmt: skip
    return {"points": at, "balls": balls, "centers": [{"panel": i, "x": x, "y": y} for x, y in centers]}


def _label_above(point: tuple[float, ...], points: Sequence[tuple[float, ...]]) -> bool:
    """Return whether to put a label above its point: False if the nearest other point is above."""
    others = [q for q in points if q != point]
    return not others or min(others, key=lambda q: math.dist(point, q))[1] <= point[1]


def _spans(rows: Mapping[str, Rows]) -> dict[str, tuple[float, float]]:
    """Return the ends of both axes; raise DomainError if the coordinates are too large to draw."""
    spans = {}
    for axis in ("x", "y"):
        values = [r[axis] for r in [*rows["balls"], *rows["points"]]]
        # Labels need room above and below.
        margin = (0.06 if axis == "x" else 0.13) * (max(values) - min(values))
        spans[axis] = (min(values) - margin, max(values) + margin)
    sizes = [high - low for low, high in spans.values()]
    # Within these limits the number of pixels to the unit is finite.
    if not all(map(math.isfinite, sizes)) or not 1e-300 <= max(sizes) <= 1e300:
        raise DomainError(
            f"a cover is drawn from 1e-300 to 1e+300 across; this one is {sizes[0]:g} by {sizes[1]:g}: "
            "scale points and eps."
        )
    least = max(sizes) * 0.6  # a narrow set still gets a panel wide enough for its labels
    for axis, (low, high) in spans.items():
        grow = max(0.0, least - (high - low)) / 2
        spans[axis] = (low - grow, high + grow)
    return spans


def _panel(i: int, panel: Mapping[str, Any], rows: Mapping[str, Rows]) -> Panel:
    """Draw one point set, with equal units on both axes, so that balls are round."""
    spans = _spans(rows)
    unit = SIDE / max(high - low for low, high in spans.values())
    radius = unit * panel["eps"]
    away = 13 if radius > 50 else radius + 11  # inside a large ball, outside a small one
    x = alt.X("x:Q", **linear_axis("first coordinate", *spans["x"], tickCount=5))
    y = alt.Y("y:Q", **linear_axis("second coordinate", *spans["y"], tickCount=5))
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
