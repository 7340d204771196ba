"""Tokens with pointers: the error of too few heads beside the floor, and the samples that three learners need."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, GREEN, GREY, RED, SHAPES
from sparsehead.figures.encodings import by_name, linear_axis, log_axis
from sparsehead.figures.theme import Chart, Panel, count, finish, named

from ..studies.pointers import LEARNED, PointersRecord
from ..theory.pointers import share_missed


def pointers_chart(record: PointersRecord) -> Chart:
    """Draw relative errors by number of heads with the floor in grey; and m against N (q = 1) and q (N = 8).

    A bar leads from the largest m that fails to the least from which all m tried are learned.
    """
    listing = [run for run in record.runs if run.ordered]
    if not listing:
        raise DomainError("tokens with pointers: there is nothing to draw yet, 0 runs arrived.")
    q, d = listing[0].q, listing[0].d
    points: list[dict[str, Any]] = [{"H": run.heads, "error": run.error, "seed": run.seed} for run in listing]
    Hs = sorted({run.heads for run in listing})
    floor = [{"H": H, "error": share_missed(H, d, q=q, d=d)} for H in Hs]
    cells = sorted({(run.learner, run.N, run.q) for run in record.runs if not run.ordered})
    ends = [
        {"learner": name, "N": N, "q": pointers, "low": end[0] or end[1], "m": end[1]}
        for name, N, pointers in cells
        if (end := record.threshold(name, N, pointers)) is not None
    ]
    x = alt.X("H:Q", **linear_axis("heads", Hs[0] - 0.3, Hs[-1] + 0.3, values=Hs))
    y = alt.Y(
        "error:Q", **linear_axis("relative error", -0.03, 1, values=[0, 0.25, 0.5, 0.75, 1], format=".2f")
    )
    heads = alt.layer(
        named("floor").mark_line(color=GREY, strokeDash=[4, 3]).encode(x=x, y=y),
        named("points")
        .mark_point(filled=True, size=40, color=BLUE)
        .encode(x=x, y=y, tooltip=["H:Q", "error:Q"]),
    ).properties(width=220, height=200, title=f"Listing {q} tokens")
    panels = [heads]
    off = max(abs(run.error - share_missed(run.heads, d, q=q, d=d)) for run in listing)
    if ends:
        panels += [
            _law(ends, "N", "tokens N, q = 1", "datum.q === 1"),
            _law(ends, "q", "pointers q, N = 8", "datum.N === 8"),
        ]
    return finish(
        alt.hconcat(*panels, spacing=16),
        title=f"Errors of heads that list {q} tokens are within {off:.2f} of the share that must be missed",
        subtitle=[
            f"Left: fresh samples, {count(listing, 'run')}; grey: theory. Right: averages of q of N numbers.",
            f"A point: the m from which the median of five runs is below {LEARNED}; its bar starts at the m below.",
        ],
        data={"points": points, "floor": floor, "ends": ends},
        width=760,
    )


def _law(ends: list[dict[str, Any]], field: str, title: str, here: str) -> Panel:
    x = alt.X(f"{field}:Q", **log_axis(title, [row[field] for row in ends]))
    y = alt.Y("m:Q", **log_axis("samples m", [row[key] for row in ends for key in ("low", "m")]))
    legend = alt.Legend(title=None, orient="bottom")
    colours = {"heads": BLUE, "feed-forward": RED, "recurrent": GREEN}
    colour = by_name(alt.Color, "learner", colours, legend=legend)
    shape = by_name(alt.Shape, "learner", dict(zip(colours, SHAPES)), legend=legend)
    base = named("ends").transform_filter(here)
    tips = ["learner:N", "N:Q", "q:Q", "low:Q", "m:Q"]
    return alt.layer(
        base.mark_rule().encode(x=x, y=alt.Y("low:Q"), y2="m:Q", color=colour),
        base.mark_line().encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=45).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips),
    ).properties(width=220, height=200)
