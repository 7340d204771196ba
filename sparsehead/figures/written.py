"""A written model as a chart: its attention on two inputs, and its decoder."""

from typing import Any

import numpy as np

from ..functions import SparseFunction
from ..heads.model import Model
from ..heads.ranges import Choices, extremes
from .built import built_head_chart
from .theme import Chart


def written_figure(model: Model, f: SparseFunction, *, exact: bool | None) -> Chart:
    """A written model: mean attention of its heads on two inputs, and the decoder where it reads one number."""
    inputs = np.zeros((2, f.T), dtype=np.int64)
    inputs[1] = 1
    weights = model.attention(inputs).mean(axis=1)
    attention = [
        {"position": t, "weight": float(row[t]), "input": f"all bits {i}"}
        for i, row in enumerate(weights)
        for t in range(f.T + 1)
    ]
    decoder, intervals = decoder_rows(model, f)
    return built_head_chart(
        attention, decoder=decoder, intervals=intervals, support=f.support, formula=str(f), exact=exact
    )


def decoder_rows(model: Model, f: SparseFunction) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the decoder makes of the head's number o, and where o lies; nothing where the head's output is no number."""
    layer = model.layers[0]
    if not model.decoder or model.H > 1 or layer.W_V.shape[-1] > 1 or f.s == 0:
        return [], []
    intervals = head_intervals(model, f)
    o = np.linspace(min(r["low"] for r in intervals) - 0.02, max(r["high"] for r in intervals) + 0.02, 400)
    decoded = model.read_out(o[:, None] * layer.W_C[0])
    return [{"o": float(a), "value": float(b)} for a, b in zip(o, decoded)], intervals


def head_intervals(model: Model, f: SparseFunction) -> list[dict[str, Any]]:
    """Where the scalar output of a one-head model lies over all inputs, for each pattern of the bits read."""
    scores, values = model.cls_tables()
    choices = Choices.of(scores[..., 0], values[..., 0, 0], f.support)
    low, high = extremes(choices, largest=False), extremes(choices, largest=True)
    return [{"low": float(a), "high": float(b), "value": float(g)} for a, b, g in zip(low, high, f.table)]
