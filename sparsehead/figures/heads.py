"""Heads of a pretrained model: a map of layers and heads, with the baselines' maps beside it."""

from typing import Any

import altair as alt

from .data import Rows, count, finite, need
from .theme import SEQUENTIAL, Chart, finish, named

KINDS = {
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
    cells: list[dict[str, Any]] = [
        {"kind": words, "layer": row["layer"], "head": row["head"], "score": row[key]}
        for key, words in KINDS.items()
        for row in records
        if finite(row.get(key))
    ]
    cells = need(cells, "map of heads: scores", "score")
    best = max((row for row in records if finite(row["score"])), key=lambda row: float(row["score"]))
    layers, heads = ({row[key] for row in records} for key in ("layer", "head"))
    size = {"width": max(LEAST, CELL * len(heads)), "height": max(LEAST, CELL * len(layers))}
    kinds = [words for words in KINDS.values() if any(cell["kind"] == words for cell in cells)]
    panel = (
        named("heads")
        .mark_rect()
        .encode(
            x=alt.X("head:O", axis=alt.Axis(title="head", labelAngle=0)),
            y=alt.Y("layer:O", axis=alt.Axis(title="layer")),
            color=alt.Color(
                "score:Q",
                scale=alt.Scale(scheme=SEQUENTIAL, domain=[0, 1]),
                legend=alt.Legend(title=f"score({s})", gradientLength=160),
            ),
            tooltip=["kind:N", "layer:O", "head:O", alt.Tooltip("score:Q", format=".3f")],
        )
        .properties(**size)
    )
    column = alt.Column("kind:N", sort=kinds, header=alt.Header(title=None))
    return finish(
        panel.encode(column=column),
        title=f"{name}: layer {best['layer']} head {best['head']} is the sparsest variable of "
        f"{count(records, 'head')}, score {best['score']:.2f}",
        subtitle=f"Share of a head's output variance that its {s} largest attention weights reproduce",
        data={"heads": cells},
        width=max(520, len(kinds) * size["width"]),
        fixed=True,
    )
