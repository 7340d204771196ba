"""Trained models, read: how often the planted function comes back, and certificates against true errors."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt

from sparsehead.figures.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHAPES
from sparsehead.figures.theme import (
    WIDTH,
    Chart,
    Panel,
    Rows,
    count,
    finish,
    log_axis,
    named,
    need,
    number,
    rows_of,
)
from sparsehead.laws.intervals import wilson
from sparsehead.laws.thresholds import Threshold

from ..studies.reading_records import ReadTrial

LEARNED, READ = "learned", "read back exactly"
FAMILY_COLOURS = {"and": BLUE, "or": ORANGE, "majority": GREEN, "junta": RED, "parity": PURPLE}
LEAST = 2e-5  # where a true error of 0 is drawn: below one in 20 000


def read_trained_chart(trials: Sequence[ReadTrial], *, thresholds: Collection[Threshold] = ()) -> Chart:
    """Shares of trials that were learned and that were read back exactly, against m; a row a family, a column a T.

    Args:
        trials: what was read from each model.
        thresholds: the law for AND, drawn in its panels.
    Paper: read-trained
    """
    known = rows_of(trials, "reading")
    families = [name for name in FAMILY_COLOURS if any(r["family"] == name for r in known)]
    rows = [row for key in _cells(known) for row in _shares(known, *key)]
    law = [{"family": "and", "T": t.T, "m": t.m80} for t in thresholds if t.m80 is not None]
    lines = [_row(family, rows, law, last=family == families[-1]) for family in families]
    solved = [r for r in known if r["solved"]]
    exact = sum(r["found"] == "planted" for r in solved)
    return finish(
        alt.vconcat(*lines, spacing=10).resolve_scale(color="shared"),
        title="What is learned is read back",
        subtitle=f"{number(exact)} of {count(solved, 'learned model')} are read back as exactly the planted function "
        "of three bits. Lines: shares of trials. Bars: 95 % intervals. Dotted rule: the law's m_80 for AND.",
        data={"shares": rows, "law": law},
    )


def _cells(trials: Rows) -> list[tuple[str, int, int]]:
    return sorted({(r["family"], r["T"], r["m"]) for r in trials})


def _shares(trials: Rows, family: str, T: int, m: int) -> list[dict[str, Any]]:
    cell = [r for r in trials if (r["family"], r["T"], r["m"]) == (family, T, m)]
    rows = []
    for what, k in (
        (LEARNED, sum(r["solved"] for r in cell)),
        (READ, sum(r["solved"] and r["found"] == "planted" for r in cell)),
    ):
        low, high = wilson(k, len(cell))
        row = {
            "family": family,
            "T": T,
            "m": m,
            "what": what,
            "share": k / len(cell),
            "low": low,
            "high": high,
        }
        rows.append({**row, "trials": len(cell)})
    return rows


def _row(family: str, rows: Rows, law: Rows, *, last: bool) -> Panel:
    Ts = sorted({r["T"] for r in rows if r["family"] == family})
    panels = [_panel(family, T, rows, law, left=Ts[0] == T, last=last) for T in Ts]
    return alt.hconcat(*panels, spacing=14)


def _panel(family: str, T: int, rows: Rows, law: Rows, *, left: bool, last: bool) -> Panel:
    colour: Any = alt.Scale(domain=[LEARNED, READ], range=[GREY, BLUE])
    cell: Any = {"and": [{"field": "family", "equal": family}, {"field": "T", "equal": T}]}
    samples = [r["m"] for r in rows]
    x = alt.X("m:Q", **log_axis("training samples m" if last else "", samples))
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1.03], nice=False),
        axis=alt.Axis(title=family if left else None, values=[0, 0.5, 1], labels=left),
    )
    base = named("shares").transform_filter(cell)
    hue = alt.Color(
        "what:N", scale=colour, legend=alt.Legend(title=None, symbolOpacity=1, symbolStrokeWidth=4)
    )
    layers = [
        base.mark_rule(opacity=0.35).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=hue),
        *(
            base.transform_filter({"field": "what", "equal": what})  # type: ignore[arg-type]
            .mark_line(strokeWidth=width)
            .encode(
                x=x,
                y=y,
                color=hue,
                tooltip=["family:N", "T:Q", "m:Q", "what:N", "share:Q", "low:Q", "high:Q", "trials:Q"],
            )
            for what, width in ((LEARNED, 5.0), (READ, 1.8))
        ),
    ]
    if any(r["family"] == family and r["T"] == T for r in law):
        rule = named("law").transform_filter(cell).mark_rule(strokeDash=[2, 3], color=RED, strokeWidth=1.6)
        layers.append(rule.encode(x=x))
    title = alt.TitleParams(f"T = {number(T)}", fontSize=12, anchor="middle", offset=3)
    return alt.layer(*layers).properties(width=(WIDTH - 20) // 3, height=62, title=title)


def certificate_chart(trials: Sequence[ReadTrial], *, delta: float) -> Chart:
    """The certificate of every model that was read, against the model's true error; the line is equality.

    Args:
        trials: what was read from each model; those without a bound are left out.
        delta: probability with which a certificate may fail.
    Paper: read-certificate
    """
    known = rows_of(trials, "certificates")
    rows = [
        {
            **{name: r[name] for name in ("family", "T", "m", "model_bound")},
            "model_error": max(LEAST, r["model_error"]),
        }
        for r in known
        if r["model_bound"] is not None
    ]
    need(rows, "certificates", "model_bound")
    broken = sum(r["model_error"] > r["model_bound"] for r in rows)
    families = [name for name in FAMILY_COLOURS if any(r["family"] == name for r in rows)]
    ends = [LEAST, 1.0]
    names: Any = alt.Scale(domain=families, range=[FAMILY_COLOURS[name] for name in families])
    shapes: Any = alt.Scale(domain=families, range=list(SHAPES[: len(families)]))
    x = alt.X("model_error:Q", **log_axis("true error of the model (0 drawn at 0.00002)", ends))
    bounds = [r["model_bound"] for r in rows]
    y = alt.Y("model_bound:Q", **log_axis("certified error of the model", [*bounds, 1.0]))
    points = (
        named("certificates")
        .mark_point(filled=True, size=26, opacity=0.55)
        .encode(
            x=x, y=y,
            color=alt.Color("family:N", scale=names, legend=alt.Legend(title=None, columns=5)),
            shape=alt.Shape("family:N", scale=shapes, legend=alt.Legend(title=None, columns=5)),
            tooltip=["family:N", "T:Q", "m:Q", "model_error:Q", "model_bound:Q"],
        )
    )  # fmt: skip
    low = min(bounds) / 1.15
    line = (
        named("equal")
        .mark_line(color=GREY, strokeDash=[4, 3], clip=True)
        .encode(x="model_error:Q", y="model_bound:Q")
    )
    return finish(
        alt.layer(line, points).properties(width=WIDTH, height=280),
        title="Every certificate lies above the true error"
        if not broken
        else f"{broken} certificates are exceeded",
        subtitle=f"{count(rows, 'trained model')}; {broken} true errors exceed their bound, {100 * delta:.3g} % may. "
        "Dashed: bound and error are equal.",
        data={
            "certificates": rows,
            "equal": [{"model_error": low, "model_bound": low}, {"model_error": 1.0, "model_bound": 1.0}],
        },
    )
