"""At which training step the support appears, over many runs."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from sparsehead.figures.colours import BLUE, GREEN, RED
from sparsehead.figures.encodings import by_name, linear_axis
from sparsehead.figures.theme import WIDTH, Chart, Panel, Rows, count, finish, named, number, rows_of

from ..studies.read_trained import AppearanceRun

NAMES = {
    "influence": "support leads in influence",
    "attention": "support leads in attention",
    "accuracy": "accuracy at least 3/4",
}


def appearance_chart(runs: Sequence[AppearanceRun]) -> Chart:
    """Draw by training step, for each task, the shares of runs whose support leads and whose accuracy has risen.

    Args:
        runs: for each run the step of each of these events; None if it never happened.
    Paper: support-appears
    """
    known = rows_of(runs, "support along training")
    tasks = list(dict.fromkeys((r["task"], r["T"], r["m"]) for r in known))
    rows = [
        row for task in tasks for row in _shares([r for r in known if (r["task"], r["T"], r["m"]) == task])
    ]
    led = [sum(r[name] is not None for r in known) for name in ("influence", "attention")]
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
    """Return for each event a nondecreasing step curve: the share of runs in which it has happened by each step."""
    first = runs[0]
    panel, rows = _name(first["task"], first["T"], first["m"]), []
    for quantity in NAMES:
        reached = sorted(r[quantity] for r in runs if r[quantity] is not None)
        stairs = [(0, 0.0), *((step, (i + 1) / len(runs)) for i, step in enumerate(reached))]
        stairs.append((max(r["steps"] for r in runs), len(reached) / len(runs)))
        rows += [
            {"panel": panel, "step": step, "share": share, "what": NAMES[quantity]} for step, share in stairs
        ]
    return rows


def _share_panel(panel: str, *, last: bool) -> Panel:
    colours = dict(zip(NAMES.values(), (BLUE, RED, GREEN)))
    dashes = dict(zip(NAMES.values(), ([1, 0], [6, 3], [2, 2])))
    here: Any = {"field": "panel", "equal": panel}
    return (
        named("shares")
        .transform_filter(here)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title="training step" if last else None, tickCount=8)),
            y=alt.Y("share:Q", **linear_axis("share of runs", 0, 1.02, values=[0, 0.5, 1])),
            color=by_name(alt.Color, "what", colours, legend=alt.Legend(title=None)),
            strokeDash=by_name(alt.StrokeDash, "what", dashes, legend=alt.Legend(title=None)),
            tooltip=["what:N", "step:Q", "share:Q"],
        )
        .properties(
            width=WIDTH, height=95, title=alt.TitleParams(panel, fontSize=12, anchor="start", offset=4)
        )
    )
