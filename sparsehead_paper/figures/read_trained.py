"""Functions read from trained models: how often the planted function is found, and certificates against true errors."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt

from sparsehead.figures.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHAPES
from sparsehead.figures.encodings import by_name, linear_axis, log_axis
from sparsehead.figures.theme import WIDTH, Chart, Panel, Rows, count, finish, named, need, number, rows_of
from sparsehead.laws.intervals import wilson
from sparsehead.laws.thresholds import Threshold

from ..studies.read_trained import ReadTrial

LEARNED, READ = "learned", "read back exactly"
FAMILY_COLOURS = {"and": BLUE, "or": ORANGE, "majority": GREEN, "junta": RED, "parity": PURPLE}


def read_trained_chart(trials: Sequence[ReadTrial], *, thresholds: Collection[Threshold] = ()) -> Chart:
    """Draw against m the shares of trials learned and of trials read back exactly: a row per family, a column per T.

    Args:
        trials: the result of reading each model.
        thresholds: the law for AND, drawn in the panels of AND.
    Paper: read-trained
    """
    known = rows_of(trials, "reading")
    families = [name for name in FAMILY_COLOURS if any(r["family"] == name for r in known)]
    rows = [
        row for key in sorted({(r["family"], r["T"], r["m"]) for r in known}) for row in _shares(known, *key)
    ]
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


def _shares(trials: Rows, family: str, T: int, m: int) -> list[dict[str, Any]]:
    cell = [r for r in trials if (r["family"], r["T"], r["m"]) == (family, T, m)]
    solved = [r for r in cell if r["solved"]]
    rows, n = [], len(cell)
    for what, k in ((LEARNED, len(solved)), (READ, sum(r["found"] == "planted" for r in solved))):
        low, high = wilson(k, n)
        row = {"family": family, "T": T, "m": m, "what": what, "share": k / n, "low": low, "high": high}
        rows.append({**row, "trials": n})
    return rows


def _row(family: str, rows: Rows, law: Rows, *, last: bool) -> Panel:
    Ts = sorted({r["T"] for r in rows if r["family"] == family})
    panels = [_panel(family, T, rows, law, left=Ts[0] == T, last=last) for T in Ts]
    return alt.hconcat(*panels, spacing=14)


def _panel(family: str, T: int, rows: Rows, law: Rows, *, left: bool, last: bool) -> Panel:
    cell: Any = {"and": [{"field": "family", "equal": family}, {"field": "T", "equal": T}]}
    samples = [r["m"] for r in rows]
    x = alt.X("m:Q", **log_axis("training samples m" if last else "", samples))
    share = linear_axis(family if left else None, 0, 1.03, values=[0, 0.5, 1], labels=left)
    y = alt.Y("share:Q", **share)
    base = named("shares").transform_filter(cell)
    legend = alt.Legend(title=None, symbolOpacity=1, symbolStrokeWidth=4)
    hue = by_name(alt.Color, "what", {LEARNED: GREY, READ: BLUE}, legend=legend)
    tips = ["family:N", "T:Q", "m:Q", "what:N", "share:Q", "low:Q", "high:Q", "trials:Q"]
    layers = [base.mark_rule(opacity=0.35).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=hue)]
    for what, width in ((LEARNED, 5.0), (READ, 1.8)):
        these: Any = {"field": "what", "equal": what}
        line = base.transform_filter(these).mark_line(strokeWidth=width)
        layers.append(line.encode(x=x, y=y, color=hue, tooltip=tips))
    if any(r["family"] == family and r["T"] == T for r in law):
        rule = named("law").transform_filter(cell).mark_rule(strokeDash=[2, 3], color=RED, strokeWidth=1.6)
        layers.append(rule.encode(x=x))
    title = alt.TitleParams(f"T = {number(T)}", fontSize=12, anchor="middle", offset=3)
    return alt.layer(*layers).properties(width=(WIDTH - 20) // 3, height=62, title=title)


def certificate_chart(trials: Sequence[ReadTrial], *, delta: float) -> Chart:
    """Draw the certified bound of every model against its true error, with the line of equality.

    Args:
        trials: the result of reading each model; models without a bound are left out.
        delta: probability with which a certificate may fail.
    Paper: read-certificate
    """
    known = rows_of(trials, "certificates")
    least = 2e-5  # where a true error of 0 is drawn: below one in 20 000
    rows = [
        {
            **{name: r[name] for name in ("family", "T", "m", "model_bound")},
            "model_error": max(least, r["model_error"]),
        }
        for r in known
        if r["model_bound"] is not None
    ]
    need(rows, "certificates", "model_bound")
    broken = sum(r["model_error"] > r["model_bound"] for r in rows)
    colours = {n: c for n, c in FAMILY_COLOURS.items() if any(r["family"] == n for r in rows)}
    legend = alt.Legend(title=None, columns=5)
    x = alt.X("model_error:Q", **log_axis("true error of the model (0 drawn at 0.00002)", [least, 1.0]))
    bounds = [r["model_bound"] for r in rows]
    y = alt.Y("model_bound:Q", **log_axis("certified error of the model", [*bounds, 1.0]))
    points = named("certificates").mark_point(filled=True, size=26, opacity=0.55).encode(
        x=x, y=y,
        color=by_name(alt.Color, "family", colours, legend=legend),
        shape=by_name(alt.Shape, "family", dict(zip(colours, SHAPES)), legend=legend),
        tooltip=["family:N", "T:Q", "m:Q", "model_error:Q", "model_bound:Q"],
    )  # fmt: skip
    low = min(bounds) / 1.15
    line = named("equal").mark_line(color=GREY, strokeDash=[4, 3], clip=True)
    layers = line.encode(x="model_error:Q", y="model_bound:Q"), points
    above = "Every certificate lies above the true error"
    return finish(
        alt.layer(*layers).properties(width=WIDTH, height=280),
        title=f"{broken} certificates are exceeded" if broken else above,
        subtitle=f"{count(rows, 'trained model')}; {broken} true errors exceed their bound, {100 * delta:.3g} % may. "
        "Dashed: bound and error are equal.",
        data={
            "certificates": rows,
            "equal": [{"model_error": low, "model_bound": low}, {"model_error": 1.0, "model_bound": 1.0}],
        },
    )
