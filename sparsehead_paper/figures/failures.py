"""Chart of the correlation with the label of the positions that a run has moved far, for solved and failed runs."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, GREY, RED
from sparsehead.figures.encodings import by_name, linear_axis
from sparsehead.figures.theme import WIDTH, Chart, count, finish, named, number

from ..studies.failures import FailuresRecord


def failures_chart(record: FailuresRecord) -> Chart:
    """Draw one tick per run at the mean correlation of its moved positions' bits with the label; two rows per T.

    Paper: failures-sign
    """
    if not record.runs:
        raise DomainError("why runs fail: there is nothing to draw yet, 0 runs arrived.")
    rows: list[dict[str, Any]] = [
        {
            "T": run.T, "m": run.m, "seed": run.seed, "lean": run.lean, "steps": run.steps, "ahead": run.ahead,
            "ended": "solved" if run.solved else "failed", "row": run_row(run.T, run.solved),
        }
        for run in record.runs
    ]  # fmt: skip
    sizes = sorted({(run.T, run.m) for run in record.runs})
    order = [run_row(T, solved) for T, _ in sizes for solved in (True, False)]
    with_it, against = record.solved_by_sign()
    sizes_text = ", ".join(f"m = {m} at T = {number(T)}" for T, m in sizes)
    reach = 1.1 * max(abs(run.lean) for run in record.runs)
    x = alt.X("lean:Q", **linear_axis("mean correlation with the label", -reach, reach, format=".1f"))
    ticks = named("runs").mark_tick(thickness=2, size=18, opacity=0.6)
    runs = ticks.encode(
        x=x,
        y=alt.Y("row:N", sort=order, axis=alt.Axis(title=None, labelLimit=300)),
        color=by_name(alt.Color, "ended", {"solved": BLUE, "failed": RED}, legend=None),
        tooltip=["T:Q", "m:Q", "seed:N", "ended:N", "lean:Q", "steps:Q", "ahead:Q"],
    )
    middle = named("zero").mark_rule(color=GREY, strokeDash=[3, 3]).encode(x="lean:Q")
    return finish(
        alt.layer(middle, runs).properties(width=WIDTH, height=26 * len(order)),
        title=f"Moved with the label: {sum(with_it)} of {count(with_it, 'run')} solved; "
        f"against it: {sum(against)} of {len(against)}",
        subtitle=[
            f"Single runs of preset best, {sizes_text}; {len(record.runs)} of {record.planned} are done.",
            "One tick for each run: how the positions that it moved most correlate with the label.",
        ],
        data={"runs": rows, "zero": [{"lean": 0.0}]},
    )


def run_row(T: int, solved: bool) -> str:
    """Return the name of the row in which a run is drawn."""
    return f"T = {number(T)} {'solved' if solved else 'failed'}"
