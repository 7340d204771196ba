"""Chart of the recovery of planted supports by each method: by difficulty and length, and by kind of distractor."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, GREEN, RED, SHAPES
from sparsehead.figures.encodings import by_name, linear_axis
from sparsehead.figures.theme import Chart, Panel, count, finish, named, number

from ..studies.interpreters import InterpretersRecord


def interpreters_chart(record: InterpretersRecord) -> Chart:
    """Draw for each method the share of the support among its s largest scores (recall at s), by difficulty, one line
    per T; below, the same for models with one kind of distractor, at the largest T.
    """
    if not record.cells:
        raise DomainError("methods on planted models: there is nothing to draw yet, 0 cells arrived.")
    rows: list[dict[str, Any]] = [
        {
            "T": f"T = {number(c.T)}", "method": c.method, "difficulty": c.difficulty, "kind": c.distractors,
            "recall": c.recall_at_s.mean, "low": c.recall_at_s.low, "high": c.recall_at_s.high,
            "precision": c.precision.mean, "covered": c.covered.mean, "plants": c.plants,
        }
        for c in record.cells
    ]  # fmt: skip
    dial = [row for row in rows if row["kind"] == "dial"]
    Ts = list(dict.fromkeys(row["T"] for row in rows))
    alone = [row for row in rows if row["kind"] != "dial" and row["T"] == Ts[-1]]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    columns = 2  # of panels
    lines = [methods[i : i + columns] for i in range(0, len(methods), columns)]
    panels = [
        alt.hconcat(*(_panel(m, Ts, left=m == line[0], last=line is lines[-1]) for m in line), spacing=14)
        for line in lines
    ]
    hardest = max(row["difficulty"] for row in dial)
    ends = [row["recall"] for row in dial if row["method"] == "attention" and row["difficulty"] == hardest]
    total = sum(cell.plants for cell in record.cells if cell.method == methods[0])
    return finish(
        alt.vconcat(*panels, _alone(methods), spacing=16).resolve_scale(color="shared"),
        title=f"Attention names {sum(ends) / len(ends):.0%} of the support where distractors are hardest",
        subtitle=[
            f"Share of the {record.s} relevant positions among the {record.s} largest scores; bars: 95 % intervals.",
            f"{count(total, 'planted model')}. Below: one distractor of one kind, difficulty 0.25, {Ts[-1]}.",
        ],
        data={"dial": dial, "alone": alone},
    )


def _panel(method: str, Ts: list[str], *, left: bool, last: bool) -> Panel:
    here: Any = {"field": "method", "equal": method}
    base = named("dial").transform_filter(here)
    x = alt.X("difficulty:Q", **linear_axis("difficulty" if last else None, -0.04, 1.04, values=[0, 0.5, 1]))
    y = alt.Y(
        "recall:Q", **linear_axis("recall at s" if left else None, 0, 1.03, values=[0, 0.5, 1], labels=left)
    )
    colour = by_name(alt.Color, "T", dict(zip(Ts, (BLUE, GREEN, RED))), legend=alt.Legend(title=None))
    shape = by_name(alt.Shape, "T", dict(zip(Ts, SHAPES)), legend=alt.Legend(title=None))
    tips = [
        "method:N",
        "T:N",
        "difficulty:Q",
        "recall:Q",
        "low:Q",
        "high:Q",
        "precision:Q",
        "covered:Q",
        "plants:Q",
    ]
    bars = base.mark_rule(opacity=0.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour)
    points = base.mark_point(filled=True, size=36).encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
    title = alt.TitleParams(method, fontSize=12, anchor="start", offset=4)
    return alt.layer(bars, line, points).properties(width=245, height=80, title=title)


def _alone(methods: list[str]) -> Panel:
    """Return a panel of shaded cells with numbers: recall at s for each method and each kind of distractor."""
    x = alt.X(
        "kind:N", sort=["silent", "constant", "cancel"], axis=alt.Axis(title=None, labelAngle=0, orient="top")
    )
    y = alt.Y("method:N", sort=methods, axis=alt.Axis(title=None, labelLimit=260))
    base = named("alone").encode(x=x, y=y)
    shade = alt.Scale(domain=[0, 1], range=["#D55E00", "#ffffff"])
    cells = base.mark_rect().encode(
        fill=alt.Fill("recall:Q", scale=shade, legend=None),
        tooltip=["method:N", "kind:N", "recall:Q", "low:Q", "high:Q"],
    )
    return alt.layer(
        cells, base.mark_text(fontSize=12).encode(text=alt.Text("recall:Q", format=".2f"))
    ).properties(width=300, height=22 * len(methods))
