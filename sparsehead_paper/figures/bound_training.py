"""The capacity bound along the training of one head."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.colours import BLUE, RED
from sparsehead.figures.encodings import linear_axis, log_axis
from sparsehead.figures.theme import HEIGHT, WIDTH, Chart, finish, finite, named, number, rows_of

from ..studies.norms import BoundPoint


def bound_along_training(points: Sequence[BoundPoint]) -> Chart:
    """Draw the capacity bound of the weights at each recorded step, with the accuracy in a panel above.

    Paper: bound-along-training
    """
    rows = [row for row in rows_of(points, "bound along training") if finite(row["bound"])]
    if not rows:
        raise DomainError("bound along training: no recorded step has a finite bound.")
    rows.sort(key=lambda r: r["step"])
    values = [r["bound"] for r in rows if r["bound"] > 0]
    steps = [r["step"] for r in rows]
    x: dict[str, Any] = {"scale": alt.Scale(domain=[min(steps), max(steps)], nice=False)}
    top = named("training").mark_line(color=BLUE, strokeWidth=2).encode(
        x=alt.X("step:Q", axis=alt.Axis(title=None), **x),
        y=alt.Y("accuracy:Q", **linear_axis("validation accuracy", 0.4, 1.02, tickCount=5)),
    )  # fmt: skip
    shown = log_axis("capacity C = eps² ln N (log scale)", values)
    base = named("training").encode(x=alt.X("step:Q", axis=alt.Axis(title="training step"), **x))
    line = base.mark_line(color=RED, strokeWidth=2).encode(
        y=alt.Y("bound:Q", **shown), tooltip=["step:Q", "bound:Q", "accuracy:Q"]
    )
    first, last = rows[0], rows[-1]
    verb = "grows" if last["bound"] > first["bound"] else "falls"
    return finish(
        alt.vconcat(
            top.properties(width=WIDTH, height=150),
            alt.layer(line).properties(width=WIDTH, height=HEIGHT - 90),
            spacing=16,
        ),
        title=f"AND of 3 bits: the bound {verb} from {number(first['bound'])} to {number(last['bound'])}",
        subtitle=[
            f"Meanwhile validation accuracy goes from {number(first['accuracy'])} to {number(last['accuracy'])}.",
            "One run; the bound is computed from its weights.",
        ],
        data={"training": rows},
    )
