"""Charts of the heads of pretrained models: maps of layers and heads, with maps of the baselines."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from .._base.errors import DomainError
from ..probing.result import Probe
from .colours import RED
from .theme import WIDTH, Chart, Rows, count, finish, finite, named, need


def probe_chart(probe: Probe) -> Chart:
    """Draw the score of every head as a map of layers and heads."""
    return head_map(probe.rows(), name=probe.name, s=probe.s)


def head_map(rows: Rows, *, name: str, s: int) -> Chart:
    """Draw a map of the scores of all heads, and one of each baseline that was measured.

    Args:
        rows: one record per head: layer, head, score, and score_<baseline> for measured baselines.
        s: the number of positions kept in the score.
    """
    records = need(rows, "map of heads", "layer", "head", "score")
    scored = [row for row in records if finite(row["score"])]
    if not scored:
        raise DomainError(
            "map of heads: no head has a score; it takes a model that is run, on at least two query rows, such as two "
            "texts or one without --queries."
        )
    best = max(scored, key=lambda row: float(row["score"]))
    fields = {
        "score": "the model",
        "score_random_weights": "random weights",
        "score_shuffled_input": "shuffled input",
        "score_uniform_attention": "uniform attention",
    }
    return maps(
        records,
        fields,
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
    """Draw one map of layers and heads per field, with values between 0 and 1 on a common scale.

    Args:
        fields: field -> title of its panel; a field that no record has is left out.
        marked: (layer, head) of a head to frame.
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
    # 16 pixels for each head and layer; a panel has at least 110.
    wide, high = (max(110, 16 * len({row[key] for row in records})) for key in ("head", "layer"))
    frame = [{"layer": marked[0], "head": marked[1]}] if marked is not None else []

    def panel(kind: str) -> Any:
        base = named("heads").transform_filter(alt.datum.kind == kind).mark_rect()
        shown: Any = base.encode(
            x=alt.X("head:O", axis=alt.Axis(title="head", labelAngle=0)),
            y=alt.Y("layer:O", axis=alt.Axis(title="layer")),
            color=alt.Color(
                "value:Q",
                scale=alt.Scale(scheme="cividis", domain=[0, 1]),
                legend=alt.Legend(title=unit, gradientLength=160),
            ),
            tooltip=["kind:N", "layer:O", "head:O", alt.Tooltip("value:Q", format=".3f")],
        )
        if frame:
            mark = named("marked").mark_rect(filled=False, stroke=RED, strokeWidth=2.5)
            shown = alt.layer(shown, mark.encode(x="head:O", y="layer:O"))
        return shown.properties(width=wide, height=high, title=alt.TitleParams(kind, fontSize=12, offset=6))

    return finish(
        alt.hconcat(*(panel(kind) for kind in kinds), spacing=18),
        title=title,
        subtitle=subtitle,
        data={"heads": cells, "marked": frame},
        width=max(WIDTH, len(kinds) * wide),
        fixed=True,
    )
