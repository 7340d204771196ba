"""Heads of pretrained models: maps of layers and heads with baselines beside them, and strips of several models."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from .._base.errors import DomainError
from .data import Rows, count, finite, need
from .theme import BLUE, GREY, ORANGE, RED, SEQUENTIAL, WIDTH, Chart, finish, named

BASELINES = {
    "score": "the model",
    "score_random_weights": "random weights",
    "score_shuffled_input": "shuffled input",
    "score_uniform_attention": "uniform attention",
}
CELL, LEAST = 16, 110  # pixels per head, and of the smallest panel


def head_map(rows: Rows, *, name: str, s: int) -> Chart:
    """The score of every head by layer and head, and the same for each baseline that was measured.

    Args:
        rows: one record per head: layer, head, score, and score_<baseline> where there is one.
        s: positions kept in the score.
    """
    records = need(rows, "map of heads", "layer", "head", "score")
    scored = [row for row in records if finite(row["score"])]
    if not scored:
        raise DomainError(
            "map of heads: no head has a score; it takes a model that is run, on at least two query rows, such as two "
            "texts or one without --queries."
        )
    best = max(scored, key=lambda row: float(row["score"]))
    return maps(
        records,
        BASELINES,
        unit=f"score({s})",
        title=f"{name}: layer {best['layer']} head {best['head']} is the sparsest variable of "
        f"{count(records, 'head')}, score {best['score']:.2f}",
        subtitle=f"Share of a head's output variance that its {s} largest attention weights reproduce",
    )


def maps(
    rows: Rows,
    fields: Mapping[str, str],
    *,
    unit: str,
    title: str,
    subtitle: str,
    marked: tuple[int, int] | None = None,
) -> Chart:
    """One map of layers and heads per field, values between 0 and 1 on one scale; `marked` frames one head.

    Args:
        fields: the fields to draw and the words above their panels; those that no record has are left out.
    """
    records = need(rows, "map of heads", "layer", "head")
    cells: list[dict[str, Any]] = [
        {"kind": words, "layer": row["layer"], "head": row["head"], "value": row[key]}
        for key, words in fields.items()
        for row in records
        if finite(row.get(key))
    ]
    cells = need(cells, "map of heads: values", "value")
    kinds = [words for words in fields.values() if any(cell["kind"] == words for cell in cells)]
    layers, heads = ({row[key] for row in records} for key in ("layer", "head"))
    wide, high = max(LEAST, CELL * len(heads)), max(LEAST, CELL * len(layers))
    frame = [{"layer": marked[0], "head": marked[1]}] if marked is not None else []

    def panel(kind: str) -> Any:
        base = (
            named("heads")
            .transform_filter(alt.datum.kind == kind)
            .mark_rect()
            .encode(
                x=alt.X("head:O", axis=alt.Axis(title="head", labelAngle=0)),
                y=alt.Y("layer:O", axis=alt.Axis(title="layer")),
                color=alt.Color(
                    "value:Q",
                    scale=alt.Scale(scheme=SEQUENTIAL, domain=[0, 1]),
                    legend=alt.Legend(title=unit, gradientLength=160),
                ),
                tooltip=["kind:N", "layer:O", "head:O", alt.Tooltip("value:Q", format=".3f")],
            )
        )
        mark = (
            named("marked")
            .mark_rect(filled=False, stroke=RED, strokeWidth=2.5)
            .encode(x="head:O", y="layer:O")
        )
        shown = alt.layer(base, mark) if frame else base
        return shown.properties(width=wide, height=high, title=alt.TitleParams(kind, fontSize=12, offset=6))

    return finish(
        alt.hconcat(*(panel(kind) for kind in kinds), spacing=18),
        title=title,
        subtitle=subtitle,
        data={"heads": cells, "marked": frame},
        width=max(WIDTH, len(kinds) * wide),
        fixed=True,
    )


def head_strips(
    rows: Rows, *, field: str, baseline: str, controls: tuple[str, ...], unit: str, title: str, subtitle: str
) -> Chart:
    """One strip per model: a tick for every head, and the medians of the model and of its random weights.

    Args:
        rows: one record per head with `variant`, `field` and `baseline`.
        controls: variants that were trained on controls; they are drawn in another colour.
    """
    records = need(rows, "strips of heads", "variant", field, baseline)
    ticks = [
        {
            "variant": row["variant"],
            "kind": "control" if row["variant"] in controls else "model",
            "value": row[field],
        }
        for row in records
        if finite(row[field])
    ]
    names = sorted({row["variant"] for row in records}, key=lambda name: (name in controls, name))
    medians = [
        {
            "variant": name,
            "kind": kind,
            "value": float(np.median([r[key] for r in records if r["variant"] == name])),
        }
        for name in names
        for key, kind in ((field, "median"), (baseline, "median, random weights"))
    ]
    y = alt.Y("variant:N", sort=names, axis=alt.Axis(title=None))
    x = alt.X("value:Q", axis=alt.Axis(title=unit), scale=alt.Scale(zero=False))
    colors = alt.Scale(
        domain=["model", "control", "median", "median, random weights"], range=[BLUE, ORANGE, RED, GREY]
    )
    color = alt.Color("kind:N", scale=colors, legend=alt.Legend(title=None))
    tick = named("heads").mark_tick(thickness=1.4, size=12).encode(x=x, y=y, color=color)
    point = (
        named("medians")
        .mark_point(filled=True, size=60, shape="diamond", opacity=1)
        .encode(x=x, y=y, color=color)
    )
    return finish(
        alt.layer(tick, point).properties(width=WIDTH, height=20 * len(names)),
        title=title,
        subtitle=subtitle,
        data={"heads": ticks, "medians": medians},
    )
