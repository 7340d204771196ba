"""Charts of one training run: its curves, and the step at which the support appears in influence and attention."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..reading.appearance import HALFWAY, appearance
from ..train.outcome import Run
from .colours import BLUE, GREEN, GREY, ORANGE, RED
from .encodings import by_name, linear_axis
from .theme import WIDTH, Chart, Panel, finish, named, number


def training_chart() -> Chart:
    """Return the chart of one run's curves with an empty dataset "points", to be filled during training.

    A point is {step, loss, train_accuracy, val_accuracy, support_mass}; unknown values are None.   Paper: curves-and
    """
    x = alt.X("step:Q", axis=alt.Axis(title="training step", tickCount=6), scale=alt.Scale(zero=True))
    series = {
        "training accuracy": ("train_accuracy", ORANGE),
        "validation accuracy": ("val_accuracy", BLUE),
        "attention on the support": ("support_mass", GREEN),
    }
    colours = {name: colour for name, (_, colour) in series.items()}
    shares = (
        named("points")
        .transform_calculate(**{name: f"datum.{field}" for name, (field, _) in series.items()})
        .transform_fold(list(series), as_=["series", "share"])
        .transform_filter("isValid(datum.share)")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=alt.Y("share:Q", **linear_axis("share", 0, 1.03, tickCount=5)),
            color=by_name(alt.Color, "series", colours, legend=alt.Legend(title=None)),
            tooltip=["series:N", "step:Q", alt.Tooltip("share:Q", format=".4~g")],
        )
    )
    goal = alt.Chart(alt.InlineData(values=[{"level": 0.99}])).mark_rule(color=GREY, strokeDash=[4, 3])
    loss = alt.Y("loss:Q", scale=alt.Scale(domainMin=0), axis=alt.Axis(title="loss (nats)", tickCount=4))
    losses = named("points").mark_line(strokeWidth=2, color=GREY)
    panels = [
        alt.layer(goal.encode(y="level:Q"), shares).properties(width=WIDTH, height=170),
        losses.encode(x=x, y=loss, tooltip=["step:Q", alt.Tooltip("loss:Q", format=".4~g")]).properties(
            width=WIDTH, height=110
        ),
    ]
    return finish(
        alt.vconcat(*panels, spacing=14),
        title="one run",
        subtitle="Above: shares between 0 and 1; dashed: accuracy 0.99, where the run ends. Below: training loss.",
        data={"points": []},
    )


def run_chart(run: Run) -> Chart:
    """Draw loss and accuracies by training step, for the restart that succeeded or came closest."""
    rows = [row for row in run.to_frame() if row["step"] is not None]
    if not any(row.get("loss") is not None for row in rows):
        why = (
            f"the run ended at step {run.outcome.steps}, before a loss was recorded"
            if run.spec.learner == "transformer"
            else f"a {run.spec.learner} keeps no curves"
        )
        raise DomainError(f"{why}; there is nothing to draw.")
    styles = {
        "train_accuracy": ("training", GREY, [4, 3]),
        "val_accuracy": ("validation", BLUE, [1, 0]),
        "support_mass": ("attention on support", ORANGE, [8, 3, 2, 3]),
    }
    shares = [
        {"step": row["step"], "value": row[key], "curve": name}
        for key, (name, _, _) in styles.items()
        for row in rows
        if row.get(key) is not None
    ]
    losses = [{"step": row["step"], "loss": row["loss"]} for row in rows if row.get("loss") is not None]
    drawn = [style for style in styles.values() if any(row["curve"] == style[0] for row in shares)]
    top = named("losses").mark_line(color=BLUE, strokeWidth=2).encode(
        x=alt.X("step:Q", axis=alt.Axis(title=None, tickCount=8)),
        y=alt.Y("loss:Q", axis=alt.Axis(title="training loss", tickCount=4)),
    )  # fmt: skip
    below = named("shares").mark_line(strokeWidth=2, point={"size": 14}).encode(
        x=alt.X("step:Q", axis=alt.Axis(title="training step", tickCount=8)),
        y=alt.Y("value:Q", **linear_axis("share", 0, 1.02, tickCount=5)),
        color=by_name(alt.Color, "curve", {name: colour for name, colour, _ in drawn}, title=None),
        strokeDash=by_name(alt.StrokeDash, "curve", {name: dash for name, _, dash in drawn}, legend=None),
    )  # fmt: skip
    panels = top.properties(width=WIDTH, height=110), below.properties(width=WIDTH, height=150)
    return finish(
        alt.vconcat(*panels, spacing=14),
        title=f"{run.spec.function}: {'learned' if run.solved else 'not learned'} by step {number(run.steps)}",
        subtitle=f"T = {number(run.spec.T)}, m = {number(run.spec.m)}; shares of examples, and of attention.",
        data={"losses": losses, "shares": shares},
    )


def support_chart(history: Mapping[str, Sequence[Any]], *, formula: str, T: int, m: int) -> Chart:
    """Draw validation accuracy, influence and attention of one run, with curves for the support and other positions.

    Args:
        history: `Outcome.history` of a run with mass_every > 0.
    Paper: support-appears
    """
    found = appearance(history)
    if found is None:
        raise DomainError(
            "along training: there was no look at attention; the run needs mass_every > 0 (`learn` has 10) and as many "
            "steps before it ends or diverges."
        )
    looks = [
        {"step": int(step), "value": value, "quantity": quantity, "positions": positions}
        for quantity in ("influence", "attention")
        for key, positions in (("support", "support, least"), ("other", "others, greatest"))
        for step, value in zip(history["mass_step"], history[f"{key}_{quantity}"], strict=True)
    ]
    checks = [
        {"step": int(step), "value": value}
        for step, value in zip(history["check_step"], history["val_accuracy"], strict=True)
    ]
    marks = [
        {"quantity": name, "step": getattr(found, name)}
        for name in ("influence", "attention", "accuracy")
        if getattr(found, name) is not None
    ]
    x = {"scale": alt.Scale(domain=[0, max(row["step"] for row in checks)], nice=False)}
    panels = [_accuracy(x), _quantity("influence", None, x), _quantity("attention", "training step", x)]
    return finish(
        alt.vconcat(*panels, spacing=14).resolve_scale(color="shared"),
        title=f"Learning {formula}: the support appears",
        subtitle=f"T = {number(T)}, m = {number(m)}: {found.sentence()} (rules).",
        data={"looks": looks, "checks": checks, "appeared": marks},
    )


def _accuracy(x: dict[str, Any]) -> Panel:
    line = named("checks").mark_line(
        color=GREEN, strokeWidth=2, point=alt.OverlayMarkDef(size=18, color=GREEN)
    )
    accuracy = line.encode(
        x=alt.X("step:Q", axis=alt.Axis(title=None, tickCount=8), **x),
        y=alt.Y("value:Q", **linear_axis("accuracy", 0.4, 1.02, values=[0.5, HALFWAY, 1.0], format=".2f")),
        tooltip=["step:Q", "value:Q"],
    )
    return alt.layer(_mark("accuracy", x), accuracy).properties(width=WIDTH, height=110)


def _quantity(quantity: str, title: str | None, x: dict[str, Any]) -> Panel:
    colours, dashes = (
        dict(zip(("support, least", "others, greatest"), values)) for values in ((BLUE, RED), ([1, 0], [5, 3]))
    )  # fmt: skip
    line = (
        named("looks")
        .transform_filter(f"datum.quantity == '{quantity}'")
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("step:Q", axis=alt.Axis(title=title, tickCount=8), **x),
            y=alt.Y("value:Q", axis=alt.Axis(title=quantity, tickCount=4), scale=alt.Scale(domainMin=0)),
            color=by_name(alt.Color, "positions", colours, legend=alt.Legend(title=None)),
            strokeDash=by_name(alt.StrokeDash, "positions", dashes, legend=alt.Legend(title=None)),
            tooltip=["positions:N", "step:Q", "value:Q"],
        )
    )
    return alt.layer(_mark(quantity, x), line).properties(width=WIDTH, height=110)


def _mark(quantity: str, x: dict[str, Any]) -> Panel:
    """Draw a line at the first step after which the support always leads in `quantity`, or accuracy stays high."""
    appeared = named("appeared").transform_filter(f"datum.quantity == '{quantity}'")
    return appeared.mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=alt.X("step:Q", **x))
