"""Fresh trials drawn in magenta on the finished figures of committed results."""

import textwrap
from collections.abc import Callable
from typing import Any

import altair as alt

from sparsehead._base.jsonable import json_values, rows_by_length
from sparsehead.figures.theme import Chart, Panel, Rows, named, plain

from ..studies.attention import AttentionRecord
from ..studies.curves import CurvesRecord
from ..studies.failures import FailuresRecord
from ..studies.input_laws import InputCellsRecord, input_laws
from ..studies.law_stage import SuccessRecord
from ..studies.parity import ParityRecord, ParitySettingsRecord
from ..studies.read_trained import READ_CELL, AppearanceRecord, ReadTrialsRecord
from .failures import run_row

MAGENTA = "#A0307C"  # of no series of any chart; 6.6 : 1 on white
POINT: dict[str, Any] = {"color": MAGENTA, "filled": True, "opacity": 1, "size": 55}
LINE: dict[str, Any] = {"color": MAGENTA, "strokeWidth": 1.3, "opacity": 0.9, "clip": True}


def _add(chart: Any, panel: Any, rows: Rows, note: str, *layers: Panel) -> Chart:
    """Add layers, which show the dataset "fresh", to a panel of the chart, and a sentence to its subtitle."""
    panel.layer.extend(layers)
    chart["datasets"]["fresh"] = plain(rows)
    chart.title.subtitle = [*chart.title.subtitle, *textwrap.wrap(f"Magenta: {note}.", 88)]
    found: Chart = chart
    return found


def _y(panel: Any) -> Any:
    """Return the panel's own axis of names; a new axis would sort the names alphabetically."""
    return panel.layer[1].encoding.y


def _law(chart: Any, fresh: SuccessRecord) -> Chart:
    """Draw a cross at each (T, m) with the number solved of those run, in the main panel."""
    rows = [{**row, "solved": f"{row['solved']}/{row['trials']}"} for row in rows_by_length(fresh.cells)]
    here = named("fresh").encode(x="T:Q", y="m:Q")
    cross = here.mark_point(shape="cross", **POINT).encode(tooltip=["T:Q", "m:Q", "solved:N"])
    text = here.mark_text(color=MAGENTA, align="left", dx=8, dy=4, fontSize=11).encode(text="solved:N")
    return _add(chart, chart.vconcat[-1], rows, "fresh trials, solved of run, at their (T, m)", cross, text)


def _input_laws(chart: Any, fresh: InputCellsRecord) -> Chart:
    """Draw a cross at each (T, m) with the number solved of those run, in the panel of its law's group."""
    groups = input_laws().groups
    rows = [
        {"group": groups[law.label], "label": law.label, **row, "solved": f"{row['solved']}/{row['trials']}"}
        for law in fresh.laws
        for row in rows_by_length(law.cells)
    ]
    panels = [panel for row in chart.vconcat for panel in row.hconcat]
    for panel in panels:
        here = named("fresh").transform_filter(f"datum.group === '{panel.title}'").encode(x="T:Q", y="m:Q")
        panel.layer.append(
            here.mark_point(shape="cross", **POINT).encode(tooltip=["label:N", "T:Q", "m:Q", "solved:N"])
        )
    return _add(chart, panels[0], rows, "fresh trials of some laws, at their (T, m)")


def _curves(chart: Any, fresh: CurvesRecord) -> Chart:
    """Draw the validation curves of fresh trials, in the panel of each m (the larger m first)."""
    ms = sorted({point.m for point in fresh.curves}, reverse=True)
    for m, panel in zip(ms, chart.vconcat, strict=False):
        lines = named("fresh").transform_filter(f"datum.m == {m}").mark_line(**LINE)
        panel.layer.append(lines.encode(x="step:Q", y="accuracy:Q", detail="replicate:N"))
    counts = {m: [trial.solved for trial in fresh.trials if trial.m == m] for m in ms}
    note = ", ".join(f"{sum(won)} of {len(won)} solved at m = {m}" for m, won in counts.items())
    return _add(chart, chart.vconcat[0], [json_values(p) for p in fresh.curves], f"fresh trials, {note}")


def _attention(chart: Any, fresh: AttentionRecord) -> Chart:
    """Draw the mean weight of each fresh run on each position of the support."""
    pairs = [pair for run in fresh.runs for pair in zip(fresh.support, run.on_support, strict=True)]
    rows = [{"position": t, "mean": max(weight, 1e-9)} for t, weight in pairs]
    ticks = named("fresh").mark_tick(color=MAGENTA, thickness=2, size=14, orient="horizontal")
    note = f"mean weights of {len(fresh.runs)} fresh runs on the support"
    return _add(chart, chart.vconcat[0], rows, note, ticks.encode(x="position:Q", y="mean:Q"))


def _parity(chart: Any, fresh: ParityRecord) -> Chart:
    """Draw the losses of fresh runs, in the panel of the smallest T."""
    lines = named("fresh").mark_line(**LINE).encode(x="step:Q", y="loss:Q", detail="seed:N")
    rows = [json_values(point) for point in fresh.curves]
    return _add(chart, chart.vconcat[0], rows, f"{len(fresh.first_below)} fresh runs", lines)


def _settings(chart: Any, fresh: ParitySettingsRecord) -> Chart:
    """Draw the step at which each fresh run has learned, in the panel of the smallest T."""
    rows = [{"setting": run.setting, "step": run.learned or run.steps} for run in fresh.runs]
    points = named("fresh").mark_point(**{**POINT, "size": 40}).encode(x="step:Q", y=_y(chart.hconcat[0]))
    return _add(chart, chart.hconcat[0], rows, f"{len(rows)} fresh runs", points)


def _reading(chart: Any, fresh: ReadTrialsRecord) -> Chart:
    """Draw the share of fresh models that are read back exactly, in the panel of READ_CELL: AND, the largest T."""
    exact = [r.solved and r.found == "planted" for r in fresh.trials]
    rows = [{"m": READ_CELL[2], "share": sum(exact) / len(exact)}] if exact else []
    point = named("fresh").mark_point(**POINT).encode(x="m:Q", y="share:Q")
    note = f"{sum(exact)} of {len(exact)} fresh models are read back exactly"
    return _add(chart, chart.vconcat[0].hconcat[-1], rows, note, point)


def _appearance(chart: Any, fresh: AppearanceRecord) -> Chart:
    """Draw by step the share of fresh runs in which influence names the support, in the first panel."""
    steps = sorted(run.influence for run in fresh.runs if run.influence is not None)
    rows = [{"step": step, "share": (i + 1) / len(fresh.runs)} for i, step in enumerate(steps)]
    points = named("fresh").mark_point(**POINT).encode(x="step:Q", y="share:Q")
    panel = chart.vconcat[0] = alt.layer(chart.vconcat[0])
    return _add(chart, panel, rows, f"the support leads in influence, {len(fresh.runs)} fresh runs", points)


def _failures(chart: Any, fresh: FailuresRecord) -> Chart:
    """Draw a point for each fresh run."""
    rows = [{"lean": run.lean, "row": run_row(run.T, run.solved)} for run in fresh.runs]
    points = named("fresh").mark_point(**{**POINT, "size": 25}).encode(x="lean:Q", y=_y(chart))
    return _add(chart, chart, rows, f"points of {len(rows)} fresh runs", points)


# By figure: the type of the record of fresh trials, and the function that draws it on the figure.
FRESH: dict[str, tuple[type[Any], Callable[[Any, Any], Chart]]] = {
    **dict.fromkeys(
        (
            "law",
            "law-grid",
            "law-decades",
            "law-matched",
            "law-literal",
            "law-matched-decades",
            "law-best",
            "law-gated",
        ),
        (SuccessRecord, _law),
    ),
    **dict.fromkeys(("curves", "curves-paper"), (CurvesRecord, _curves)),
    **dict.fromkeys(("attention", "attention-paper"), (AttentionRecord, _attention)),
    "parity": (ParityRecord, _parity),
    "parity-settings": (ParitySettingsRecord, _settings),
    "reading": (ReadTrialsRecord, _reading),
    "appearance": (AppearanceRecord, _appearance),
    "failures": (FailuresRecord, _failures),
    "input-laws": (InputCellsRecord, _input_laws),
}
