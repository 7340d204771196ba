"""Parity with intermediate labels: the gap of the gradient at zero scores, and the samples that one step needs."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, GREEN, RED, SHAPES
from sparsehead.figures.encodings import by_name, linear_axis, log_axis
from sparsehead.figures.theme import Chart, Panel, finish, named, number

from ..studies.taught_parity import TaughtParityRecord


def taught_parity_chart(record: TaughtParityRecord) -> Chart:
    """Draw the gradient at children and at other tokens against d, exact and sampled; below, the share of trials solved
    by one step against the samples per bit, one panel per k.
    """
    if not record.gaps:
        raise DomainError("parity with intermediate labels: there is nothing to draw yet, 0 cells arrived.")
    gaps: list[dict[str, Any]] = [
        {"d": c.d, "k": f"k = {c.k}", "where": where, "exact": exact, "sampled": sampled, "n": c.n}
        for c in record.gaps
        for where, exact, sampled in (
            ("children", c.child, c.sampled_child), ("largest elsewhere", c.other, c.sampled_other)
        )
    ]  # fmt: skip
    steps: list[dict[str, Any]] = [
        {
            "d": f"d = {number(c.d)}", "k": c.k, "samples": c.n / c.d, "solved": c.solved / c.trials,
            "rounded": c.rounded / c.trials, "n": c.n, "trials": c.trials,
        }
        for c in record.steps
    ]  # fmt: skip
    ks = sorted({row["k"] for row in steps})
    panels = alt.hconcat(*(_solved(k, steps, first=k == ks[0]) for k in ks), spacing=12)
    direct = [a for c in record.direct if c.k > 2 for a in c.accuracies]
    return finish(
        alt.vconcat(_gaps(gaps), panels.resolve_scale(color="shared"), spacing=18).resolve_scale(
            color="independent", shape="independent"
        ),
        title="With labels of the intermediate products one gradient step finds the tree of a parity",
        subtitle=[
            "Above: gradient at zero scores, in units of pi^2/N^2; lines exact, points from samples.",
            "Below: share of trials solved by one step, against samples per bit. Without intermediate labels:",
            f"accuracy {min(direct):.2f} to {max(direct):.2f} in all {len(direct)} runs."
            if direct
            else "no runs.",
        ],
        data={"gaps": gaps, "steps": steps},
    )


def _gaps(rows: list[dict[str, Any]]) -> Panel:
    colours = {"children": BLUE, "largest elsewhere": RED}
    values = [row[name] for row in rows for name in ("exact", "sampled")]
    x = alt.X("d:Q", **log_axis("bits d", [float(row["d"]) for row in rows]))
    colour = by_name(alt.Color, "where", colours, legend=alt.Legend(title=None))
    base = named("gaps")
    y = log_axis("gradient", values)
    lines = base.mark_line().encode(x=x, y=alt.Y("exact:Q", **y), color=colour, detail="k:N")
    tips = ["d:Q", "k:N", "where:N", "exact:Q", "sampled:Q", "n:Q"]
    points = base.mark_point().encode(
        x=x,
        y=alt.Y("sampled:Q", **y),
        color=colour,
        shape=alt.Shape("k:N", legend=alt.Legend(title=None)),
        tooltip=tips,
    )
    return alt.layer(lines, points).properties(width=520, height=150)


def _solved(k: int, rows: list[dict[str, Any]], *, first: bool) -> Panel:
    names = list(dict.fromkeys(row["d"] for row in rows))
    colours = dict(zip(names, (BLUE, GREEN, RED, "#000000"), strict=False))
    x = alt.X("samples:Q", **log_axis("samples per bit", [row["samples"] for row in rows]))
    y = alt.Y(
        "solved:Q", **linear_axis("solved" if first else None, 0, 1.03, values=[0, 0.5, 1], labels=first)
    )
    colour = by_name(alt.Color, "d", colours, legend=alt.Legend(title=None))
    shape = by_name(alt.Shape, "d", dict(zip(names, SHAPES, strict=False)), legend=alt.Legend(title=None))
    base = named("steps").transform_filter(f"datum.k === {k}")
    tips = ["d:N", "k:Q", "n:Q", "trials:Q", "solved:Q", "rounded:Q"]
    layers = (
        base.mark_line().encode(x=x, y=y, color=colour),
        base.mark_point(filled=True).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips),
    )
    title = alt.TitleParams(f"k = {k}", fontSize=12, anchor="start", offset=4)
    return alt.layer(*layers).properties(width=165, height=120, title=title)
