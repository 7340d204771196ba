"""Interpretations of the paper's text: by how much the evidence for each is below that for the best."""

from typing import Any

import altair as alt

from sparsehead._base.errors import DomainError
from sparsehead.figures.theme import Chart, count, finish, named

from ..studies.interpretations import InterpretationsRecord
from ..studies.shares import compared_races, shares_by_choice


def readings_chart(record: InterpretationsRecord) -> Chart:
    """Draw by how many nats each interpretation's evidence is below the best of each race. Paper: readings"""
    cap = 12.0  # nats from which a cell has the darkest colour: e^-12 is six in a million
    rows: list[dict[str, Any]] = [
        {
            "reading": reading.name,
            "race": race,
            "behind": standing.behind,
            "shade": min(standing.behind, cap),
            "label": f"{standing.behind:.1f}" + (" out" if standing.left else ""),
            "left": standing.left or "still in the race",
        }
        for reading in record.readings
        for race, standing in reading.standings.items()
        if standing.behind is not None
    ]
    if not rows:
        raise DomainError("readings: there is nothing to draw yet, no reading has been compared.")
    order = sorted({r["reading"] for r in rows}, key=lambda name: _rank(name, rows))
    races = list(dict.fromkeys(number.race for number in record.numbers))
    x = alt.X("race:N", sort=races, axis=alt.Axis(title=None, orient="top", labelAngle=0))
    y = alt.Y("reading:N", sort=order, axis=alt.Axis(title=None, labelLimit=400, labelOverlap=False))
    colour = alt.Color(
        "shade:Q",
        scale=alt.Scale(scheme="cividis", domain=[0, cap], reverse=True),
        legend=alt.Legend(title=f"nats behind the best ({cap:g}: or more)", gradientLength=200),
    )
    tips: list[Any] = ["reading:N", "race:N", alt.Tooltip("behind:Q", format=".2f"), "left:N"]
    base = named("standings").encode(x=x, y=y)
    ink = alt.condition("datum.shade > 6", alt.value("white"), alt.value("black"))
    table = alt.layer(
        base.mark_rect().encode(color=colour, tooltip=tips),
        base.mark_text(fontSize=10).encode(text="label:N", color=ink),
    ).properties(width=130 * len(races), height=17 * len(order))
    choices = _choices(record)
    chart: Any = alt.vconcat(table, _choices_chart(choices), spacing=28) if choices else table
    state = "Run to the end." if record.complete else f"Not run to the end: {record.state}."
    return finish(
        chart,
        title=f"{count(record.readings, 'reading')} of the paper's text, by how well they foresee its numbers",
        subtitle=[
            state,
            "0 is the best reading of a race; out: it has left the race. Below: the probability of each choice, all",
            "readings being equally likely before the numbers are seen.",
        ],
        data={"standings": rows, **({"choices": choices} if choices else {})},
        width=620,
    )


def _choices(record: InterpretationsRecord) -> list[dict[str, Any]]:
    """Return each choice's share of the evidence: in every complete race, and in all complete races together."""
    races = compared_races(record)
    groups = {race: (race,) for race in races} | ({"all together": races} if len(races) > 1 else {})
    names = {"decay": "decay", "clip": "gradients", "init": "initialisation", "dropout": "dropout"}
    return [
        {"group": group, "choice": f"{names[choice]}: {chosen}", "share": share}
        for group, members in groups.items()
        for (choice, chosen), share in sorted(shares_by_choice(record, members).items())
    ]


def _choices_chart(rows: list[dict[str, Any]]) -> Any:
    groups = list(dict.fromkeys(row["group"] for row in rows))
    choices = list(dict.fromkeys(row["choice"] for row in rows))
    base = named("choices").encode(
        x=alt.X("group:N", sort=groups, axis=alt.Axis(title=None, orient="top", labelAngle=0)),
        y=alt.Y("choice:N", sort=choices, axis=alt.Axis(title=None, labelLimit=400, labelOverlap=False)),
    )
    shade = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme="blues", domain=[0, 1]),
        legend=alt.Legend(title="probability", format=".0%", gradientLength=100),
    )
    ink = alt.condition("datum.share > 0.6", alt.value("white"), alt.value("black"))
    text = alt.Text("share:Q", format=".0%")
    return (
        alt.layer(
            base.mark_rect().encode(color=shade), base.mark_text(fontSize=10).encode(text=text, color=ink)
        )
        .properties(width=130 * len(groups), height=17 * len(choices))
        .resolve_scale(color="independent")
    )


def _rank(name: str, rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the sort key of an interpretation: its deficit in the law race, then over all races."""
    own = {row["race"]: float(row["behind"]) for row in rows if row["reading"] == name}
    return own.get("law", 1e6), sum(own.values())
