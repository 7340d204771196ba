"""The heads of several pretrained models as strips, one tick per head."""

import altair as alt
import numpy as np

from sparsehead.figures.colours import BLUE, GREY, ORANGE, RED
from sparsehead.figures.encodings import by_name
from sparsehead.figures.theme import WIDTH, Chart, Rows, finish, finite, named, need


def head_strips(
    rows: Rows, *, field: str, baseline: str, controls: tuple[str, ...], unit: str, title: str, subtitle: str
) -> Chart:
    """Draw one strip per model: a tick for every head, and the medians over trained and over random weights.

    Args:
        rows: one record per head with `variant` (its model), `field` and `baseline`.
        controls: variants trained on control data; they are drawn in another colour.
    """
    records = need(rows, "strips of heads", "variant", field, baseline)
    kinds = {row["variant"]: "control" if row["variant"] in controls else "model" for row in records}
    ticks = [
        {"variant": row["variant"], "kind": kinds[row["variant"]], "value": row[field]}
        for row in records
        if finite(row[field])
    ]
    names = sorted(kinds, key=lambda name: (name in controls, name))

    def median(name: str, key: str) -> float:
        return float(np.median([row[key] for row in records if row["variant"] == name]))

    medians = [
        {"variant": name, "kind": kind, "value": median(name, key)}
        for name in names
        for key, kind in ((field, "median"), (baseline, "median, random weights"))
    ]
    y = alt.Y("variant:N", sort=names, axis=alt.Axis(title=None))
    x = alt.X("value:Q", axis=alt.Axis(title=unit), scale=alt.Scale(zero=False))
    colours = {"model": BLUE, "control": ORANGE, "median": RED, "median, random weights": GREY}
    color = by_name(alt.Color, "kind", colours, legend=alt.Legend(title=None))
    tick = named("heads").mark_tick(thickness=1.4, size=12)
    point = named("medians").mark_point(filled=True, size=60, shape="diamond", opacity=1)
    marks = [mark.encode(x=x, y=y, color=color) for mark in (tick, point)]
    return finish(
        alt.layer(*marks).properties(width=WIDTH, height=20 * len(names)),
        title=title,
        subtitle=subtitle,
        data={"heads": ticks, "medians": medians},
    )
