"""Several laws on the same axes, one panel for each group."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLACK, GREY
from sparsehead.figures.encodings import log_axis
from sparsehead.figures.theme import Chart, Panel, finish, finite, named, number

from ..studies.law_stage import LawsRecord

PANEL_WIDTH = 230  # pixels


def laws_chart(record: LawsRecord, *, title: str) -> Chart:
    """Draw m_80 against T with 95 % intervals: one panel per group, one line per law, the information floor in grey.

    Paper: law-slope, law-functions
    """
    points: list[dict[str, Any]] = [
        {
            "group": law.group, "label": law.label, "T": row.T, "m": row.m80,
            "low": row.low if finite(row.low) else row.m80, "high": row.high if finite(row.high) else row.m80,
            "trials": row.trials,
        }
        for law in record.laws
        for row in law.thresholds.values()
        if row.m80 is not None and row.trials
    ]  # fmt: skip
    if not points:
        raise DomainError(f"{title}: there is nothing to draw yet, 0 thresholds arrived.")
    baseline = "preset best"  # drawn in every panel of the study of settings
    reference = [{**row, "label": baseline} for row in points if row["label"] == baseline]
    compared = [p for p in points if p["label"] != baseline] or points
    labels = {
        group: {p["label"] for p in compared if p["group"] == group}
        for group in (p["group"] for p in compared)
    }
    floor: list[dict[str, Any]] = [
        {"group": law.group, "T": row.T, "m": row.m, "label": f"floor of {law.label}"}
        for law in record.laws
        for row in law.floor.values()
        if any(p["label"] == law.label for p in points)
    ]
    Ts = [float(p["T"]) for p in points]
    ms = [
        float(row[key]) for row in [*points, *floor] for key in ("m", "low", "high") if finite(row.get(key))
    ]
    x = alt.X("T:Q", **log_axis("context length T", Ts))
    y = alt.Y("m:Q", **log_axis("samples m_80", ms))
    panels = [_panel(group, names, x, y, with_reference=bool(reference)) for group, names in labels.items()]
    pairs = [panels[i : i + 2] for i in range(0, len(panels), 2)]
    rows = [alt.hconcat(*pair).resolve_scale(color="independent") for pair in pairs]
    dashed = f" Dashed: {baseline}." if reference else ""
    slopes = _slopes(record)
    return finish(
        alt.vconcat(*rows).resolve_scale(color="independent"),
        title=f"{title}: {slopes or _ends(points)}",
        subtitle=[
            record.state + ".",
            f"Bars: 95 % intervals. Grey: the information floor.{dashed}",
            *(
                ["The title leaves out laws whose slope is uncertain by a factor of ten or more."]
                if slopes
                else []
            ),
        ],
        data={"points": points, "reference": reference, "floor": floor},
        width=2 * PANEL_WIDTH + 80,
    )


def _panel(group: str, labels: set[str], x: alt.X, y: alt.Y, *, with_reference: bool) -> Panel:
    here = f"datum.group === '{group.replace(chr(39), chr(92) + chr(39))}'"
    # Two labels of up to 18 letters fit side by side below a panel.
    columns = 1 if max(map(len, labels)) > 18 else 2
    legend = alt.Legend(title=None, orient="bottom", columns=columns, labelLimit=PANEL_WIDTH)
    colour = alt.Color("label:N", legend=legend)
    tips = ["label:N", "T:Q", "m:Q", "low:Q", "high:Q", "trials:Q"]
    points = named("points").transform_filter(here)
    layers = [
        named("floor")
        .transform_filter(here)
        .mark_line(color=GREY, strokeDash=[2, 2])
        .encode(x=x, y=y, detail="label:N"),
        points.mark_rule().encode(x=x, y="low:Q", y2="high:Q", color=colour),
        points.mark_line(point=True).encode(x=x, y=y, color=colour, tooltip=tips),
    ]
    if with_reference:
        layers.append(named("reference").mark_line(color=BLACK, strokeDash=[6, 3]).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=PANEL_WIDTH, height=170, title=group)


def _slopes(record: LawsRecord) -> str:
    """Describe the steepest and the flattest law, without laws whose slope is uncertain by a factor above ten."""
    fits = {law.label: law.fits["log"] for law in record.laws if "log" in law.fits}
    ends = {label: fit.intervals.get("b", (None, None)) for label, fit in fits.items()}
    known = [label for label, (low, high) in ends.items() if low and high and 0 < high < 10 * low]
    if len(known) < 2:
        return ""
    ordered = sorted(known, key=lambda label: fits[label].params["b"])
    ends_text = [f"{number(fits[label].params['b'])} ({label})" for label in (ordered[0], ordered[-1])]
    return f"{ends_text[0]} to {ends_text[1]} samples per ln T"


def _ends(points: list[dict[str, Any]]) -> str:
    """Return the smallest and the largest m_80 at the largest T, as text."""
    T = max(p["T"] for p in points)
    ms = sorted(p["m"] for p in points if p["T"] == T)
    return f"m_80 at T = {number(T)} from {number(ms[0])} to {number(ms[-1])}"
