"""The support as it appears along training: in influence, in attention, beside validation accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..reading.appearance import HALFWAY, appearance
from .data import number
from .theme import BLUE, GREEN, GREY, RED, WIDTH, Chart, Panel, finish, named

QUANTITIES = ("influence", "attention")
SUPPORT, OTHERS = "support, least", "others, greatest"
SHARES = ("influence", "attention", "accuracy")


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
