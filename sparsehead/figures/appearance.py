"""The support as it appears along training: in influence, in attention, beside validation accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from sparsehead_paper.studies.reading_records import AppearanceRun

from .._base.errors import DomainError
from ..reading.appearance import HALFWAY, appearance
from .data import Rows, count, number, rows_of
from .theme import BLUE, GREEN, GREY, RED, WIDTH, Chart, Panel, finish, named

QUANTITIES = ("influence", "attention")
SUPPORT, OTHERS = "support, least", "others, greatest"
SHARES = ("influence", "attention", "accuracy")
NAMES = {
    "influence": "support leads in influence",
    "attention": "support leads in attention",
    "accuracy": "accuracy at least 3/4",
}


def support_chart(history: Mapping[str, Sequence[Any]], *, formula: str, T: int, m: int) -> Chart:
    """One run: validation accuracy, and influence and attention of the support above those of other positions.

    Args:
        history: see `Outcome.history`; it must hold looks at influence.
    Paper: support-appears
    """
    found = appearance(history)
    if found is None:
        raise DomainError(
            "along training: there was no look at attention; the run needs mass_every > 0 (`learn` has 10) and as many "
            "steps before it ends or diverges."
        )
    steps = [int(step) for step in history["mass_step"]]
    rows = [
        {"step": step, "value": value, "quantity": quantity, "positions": who}
        for quantity in QUANTITIES
        for key, who in ((f"support_{quantity}", SUPPORT), (f"other_{quantity}", OTHERS))
        for step, value in zip(steps, history[key], strict=True)
    ]
    checks = [
        {"step": int(step), "value": value}
        for step, value in zip(history["check_step"], history["val_accuracy"], strict=True)
    ]
    marks = [
        {"quantity": name, "step": getattr(found, name)}
        for name in SHARES
        if getattr(found, name) is not None
    ]
    end = max(row["step"] for row in checks)
    x = {"scale": alt.Scale(domain=[0, end], nice=False)}
    panels = [
        _accuracy(x),
        _quantity("influence", x, last=False),
        _quantity("attention", x, last=True),
    ]
    return finish(
        alt.vconcat(*panels, spacing=14).resolve_scale(color="shared"),
        title=f"Learning {formula}: the support appears",
        subtitle=f"T = {number(T)}, m = {number(m)}: {found.sentence()} (rules).",
        data={"looks": rows, "checks": checks, "appeared": marks},
    )


def _accuracy(x: dict[str, Any]) -> Panel:
    scale = alt.Scale(domain=[0.4, 1.02], nice=False)
    y = alt.Y(
        "value:Q", scale=scale, axis=alt.Axis(title="accuracy", values=[0.5, HALFWAY, 1.0], format=".2f")
    )
    line = (
        named("checks")
        .mark_line(color=GREEN, strokeWidth=2, point=alt.OverlayMarkDef(size=18, color=GREEN))
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title=None, tickCount=8), **x), y=y, tooltip=["step:Q", "value:Q"]
        )
    )
    return alt.layer(_mark("accuracy", x), line).properties(width=WIDTH, height=110)


def _quantity(quantity: str, x: dict[str, Any], *, last: bool) -> Panel:
    colour: Any = alt.Scale(domain=[SUPPORT, OTHERS], range=[BLUE, RED])
    dash: Any = alt.Scale(domain=[SUPPORT, OTHERS], range=[[1, 0], [5, 3]])
    line = (
        named("looks")
        .transform_filter(f"datum.quantity == '{quantity}'")
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title="training step" if last else None, tickCount=8), **x),
            y=alt.Y("value:Q", axis=alt.Axis(title=quantity, tickCount=4), scale=alt.Scale(domainMin=0)),
            color=alt.Color("positions:N", scale=colour, legend=alt.Legend(title=None)),
            strokeDash=alt.StrokeDash("positions:N", scale=dash, legend=alt.Legend(title=None)),
            tooltip=["positions:N", "step:Q", "value:Q"],
        )
    )
    return alt.layer(_mark(quantity, x), line).properties(width=WIDTH, height=110)


def _mark(quantity: str, x: dict[str, Any]) -> Panel:
    """A rule at the step from which it holds."""
    return (
        named("appeared")
        .transform_filter(f"datum.quantity == '{quantity}'")
        .mark_rule(color=GREY, strokeDash=[3, 3])
        .encode(x=alt.X("step:Q", **x))
    )


def appearance_chart(runs: Sequence[AppearanceRun]) -> Chart:
    """For each task, the share of runs in which the support leads, and in which accuracy has risen, by each step.

    Args:
        runs: the steps of each; None where one never came.
    Paper: support-appears
    """
    known = rows_of(runs, "support along training")
    tasks = list(dict.fromkeys((r["task"], r["T"], r["m"]) for r in known))
    rows = [
        row for task in tasks for row in _shares([r for r in known if (r["task"], r["T"], r["m"]) == task])
    ]
    led = [sum(r[name] is not None for r in known) for name in QUANTITIES]
    panels = [_share_panel(_name(*task), last=task == tasks[-1]) for task in tasks]
    return finish(
        alt.vconcat(*panels, spacing=12).resolve_scale(color="shared"),
        title=f"Influence names the support in {led[0]} of {count(known, 'run')}, attention in {led[1]}",
        subtitle="Share of runs in which each holds from that step to the end, by task.",
        data={"shares": rows},
    )


def _name(task: str, T: int, m: int) -> str:
    return f"{task}, T = {number(T)}, m = {number(m)}"


def _shares(runs: Rows) -> list[dict[str, Any]]:
    """A rising staircase for each quantity: the share of runs that had it by each step."""
    first = runs[0]
    panel, rows = _name(first["task"], first["T"], first["m"]), []
    for quantity in SHARES:
        reached = sorted(r[quantity] for r in runs if r[quantity] is not None)
        stairs = [(0, 0.0), *((step, (i + 1) / len(runs)) for i, step in enumerate(reached))]
        stairs.append((max(r["steps"] for r in runs), len(reached) / len(runs)))
        rows += [
            {"panel": panel, "step": step, "share": share, "what": NAMES[quantity]} for step, share in stairs
        ]
    return rows


def _share_panel(panel: str, *, last: bool) -> Panel:
    names = list(NAMES.values())
    colour: Any = alt.Scale(domain=names, range=[BLUE, RED, GREEN])
    dash: Any = alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]])
    here: Any = {"field": "panel", "equal": panel}
    return (
        named("shares")
        .transform_filter(here)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title="training step" if last else None, tickCount=8)),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1.02], nice=False),
                axis=alt.Axis(title="share of runs", values=[0, 0.5, 1]),
            ),
            color=alt.Color("what:N", scale=colour, legend=alt.Legend(title=None)),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=alt.Legend(title=None)),
            tooltip=["what:N", "step:Q", "share:Q"],
        )
        .properties(
            width=WIDTH, height=95, title=alt.TitleParams(panel, fontSize=12, anchor="start", offset=4)
        )
    )
