"""Which theoretical learner needs as many samples as gradient descent: measured over predicted thresholds."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, GREY, ORANGE
from sparsehead.figures.encodings import by_name, log_axis
from sparsehead.figures.theme import WIDTH, Chart, finish, named

from ..studies.law_stage import LawsRecord
from ..studies.predicted import ALONE, nearness, ratios


def which_line_chart(record: LawsRecord) -> Chart:
    """Draw one row per theoretical learner: m_80 of preset `best` over the learner's, one point per p, s and T."""
    every = ratios(record)
    colours = {"best": BLUE, ALONE: ORANGE}
    found = [row for row in every if row.preset in colours]
    if not found:
        raise DomainError("which line: there is nothing to draw yet, 0 pairs of thresholds arrived.")
    names = {
        "floor": "floor",
        "scomp": "SCOMP",
        "greedy": "greedy",
        "dd": "DD",
        "comp": "COMP",
        "one-step": "one step",
    }
    rows: list[dict[str, Any]] = [
        {
            "learner": names[row.learner], "preset": row.preset, "setting": f"{row.group}, T = {row.T}",
            "ratio": row.ratio, "measured": row.measured, "predicted": row.predicted,
        }
        for row in found
    ]  # fmt: skip
    nearest = {preset: near[0] for preset in colours if (near := nearness(every, preset))}
    order = [names[name] for name in names if any(row["learner"] == names[name] for row in rows)]
    x = alt.X("ratio:Q", **log_axis("m_80 of the preset / m_80 of the learner",
                                    [row["ratio"] for row in rows]))  # fmt: skip
    points = named("points").mark_point(filled=True, size=45, opacity=0.6)
    y = alt.Y("learner:N", sort=order, axis=alt.Axis(title=None, labelLimit=300))
    dots = points.encode(
        x=x,
        y=y,
        yOffset=alt.YOffset("preset:N"),
        color=by_name(alt.Color, "preset", colours, legend=alt.Legend(title=None, orient="top")),
        tooltip=["preset:N", "learner:N", "setting:N", "measured:Q", "predicted:Q", "ratio:Q"],
    )
    equal = named("equal").mark_rule(color=GREY, strokeDash=[3, 3]).encode(x="ratio:Q")
    said = "; ".join(f"{preset} is nearest to {names[near.learner]}" for preset, near in nearest.items())
    return finish(
        alt.layer(equal, dots).properties(width=WIDTH, height=46 * len(order)),
        title=f"Which line does gradient descent follow? {said}",
        subtitle=[
            f"AND of s bits; one point for each p, s and T: {len({row['setting'] for row in rows})} settings.",
            "On the dashed line both need the same number of samples. With five runs the best one counts.",
            "COMP eliminates; DD adds definite positions; SCOMP covers the rest; greedy and one step use covariances.",
        ],
        data={"points": rows, "equal": [{"ratio": 1.0}]},
    )
