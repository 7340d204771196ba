"""One run as it goes: loss, accuracy and attention on the support against the training step."""

from typing import Any

import altair as alt

from .data import Rows
from .theme import BLUE, GREEN, GREY, ORANGE, WIDTH, Chart, Panel, finish, named

SERIES = {"training accuracy": ORANGE, "validation accuracy": BLUE, "attention on the support": GREEN}


def training_chart(points: Rows = (), *, target: str = "one run") -> Chart:
    """The curves of one run; the dataset "points" may be empty and filled while it trains.

    Args:
        points: {step, loss, train_accuracy, val_accuracy, support_mass}; what is not known is None.
    Paper: curves-and
    """
    x = alt.X("step:Q", axis=alt.Axis(title="training step", tickCount=6), scale=alt.Scale(zero=True))
    panels = [_shares(x), _loss(x)]
    return finish(
        alt.vconcat(*panels, spacing=14),
        title=target,
        subtitle=[
            "Above: shares between 0 and 1; dashed: accuracy 0.99, where the run ends. Below: training loss."
        ],
        data={"points": list(points)},
    )


def _shares(x: alt.X) -> Panel:
    fields = {"train_accuracy": "training accuracy", "val_accuracy": "validation accuracy"}
    fields["support_mass"] = "attention on the support"
    rename = {name: f"datum.{key}" for key, name in fields.items()}
    scale: Any = alt.Scale(domain=list(SERIES), range=list(SERIES.values()))
    lines = (
        named("points").transform_calculate(**rename).transform_fold(list(SERIES), as_=["series", "share"])
    )
    curve = (
        lines.transform_filter("isValid(datum.share)")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1.03], nice=False),
                axis=alt.Axis(title="share", tickCount=5),
            ),
            color=alt.Color("series:N", scale=scale, legend=alt.Legend(title=None)),
            tooltip=["series:N", "step:Q", alt.Tooltip("share:Q", format=".4~g")],
        )
    )
    goal = alt.Chart(alt.InlineData(values=[{"level": 0.99}])).mark_rule(color=GREY, strokeDash=[4, 3])
    return alt.layer(goal.encode(y="level:Q"), curve).properties(width=WIDTH, height=170)


def _loss(x: alt.X) -> Panel:
    return (
        named("points")
        .mark_line(strokeWidth=2, color=GREY)
        .encode(
            x=x,
            y=alt.Y("loss:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="loss (nats)", tickCount=4)),
            tooltip=["step:Q", alt.Tooltip("loss:Q", format=".4~g")],
        )
        .properties(width=WIDTH, height=110)
    )
