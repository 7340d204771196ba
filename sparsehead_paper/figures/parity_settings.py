"""Parity under several settings: the step at which each seed has learned, beside the paper's range."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import GREY
from sparsehead.figures.encodings import log_axis
from sparsehead.figures.theme import Chart, count, finish, named

from ..published import PARITY
from ..studies.parity import ParitySettingsRecord


def parity_settings_chart(record: ParitySettingsRecord) -> Chart:
    """Draw one point per seed at the step from which it has learned, or a cross at its last step if it never does.

    One row per setting, one panel per T; the paper's range is grey.   Paper: parity-settings
    """
    if not record.runs:
        raise DomainError("parity under several settings: there is nothing to draw yet, 0 runs arrived.")
    rows: list[dict[str, Any]] = [
        {
            "setting": run.setting, "T": run.T, "seed": run.seed, "step": run.learned or run.steps,
            "learned": "learned" if run.learned is not None else "not learned by the end of its run",
        }
        for run in record.runs
    ]  # fmt: skip
    order = list(dict.fromkeys(row["setting"] for row in rows))
    ranges = [{"T": p.T, "low": p.first_below[0], "high": p.first_below[2]} for p in PARITY]
    Ts = sorted({row["T"] for row in rows})
    steps = [float(row["step"]) for row in rows] + [float(r[key]) for r in ranges for key in ("low", "high")]
    x = alt.X("step:Q", **log_axis("training step", steps))
    colour = alt.Color("learned:N", legend=alt.Legend(title=None, orient="bottom"))
    panels, wide = [], 200  # pixels of a panel
    for T in Ts:
        first = Ts[0] == T  # the settings are named once
        y = alt.Y(
            "setting:N", sort=order, axis=alt.Axis(title=None, labelLimit=300, labels=first, ticks=first)
        )
        here = f"datum.T === {T}"
        band = named("ranges").transform_filter(here).mark_rect(color=GREY, opacity=0.25)
        points = named("runs").transform_filter(here).mark_point(filled=False, size=45)
        tips = ["setting:N", "T:Q", "seed:Q", "step:Q", "learned:N"]
        layers = [
            band.encode(x="low:Q", x2="high:Q"),
            points.encode(x=x, y=y, color=colour, shape="learned:N", tooltip=tips),
        ]
        panels.append(alt.layer(*layers).properties(width=wide, height=24 * len(order), title=f"T = {T}"))
    learned = sum(run.learned is not None for run in record.runs)
    return finish(
        alt.hconcat(*panels, spacing=12).resolve_scale(y="shared"),
        title=f"Parity is learned in {learned} of {count(record.runs, 'run')}, by setting",
        subtitle=[
            "The step from which the smoothed loss stays below .35. Grey: the range of the paper's ten seeds.",
            f"{len(record.runs)} of {record.planned} runs are done.",
        ],
        data={"runs": rows, "ranges": ranges},
        width=(wide + 30) * len(Ts) + 160,
    )
