"""Attention, influence and single flips of each position: shown beside a reading, never used to find it.

The three can disagree: a head may attend to a position without using it, and a position may matter through one of
sixteen heads with little of the total attention.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.types import Array, Float, Shaped
from ..functions import SparseFunction
from ..functions.tables import halves
from ..heads.model import Model
from .queries import Oracle, flip_shares

WEIGHTS_AT_ONCE = 2**23  # attention weights computed at once: 64 MB


@dataclass(frozen=True)
class Evidence:
    """Evidence about one position.

    Args:
        attention: mean attention weight on it, over inputs and heads of the last layer; None without attention.
        influence: P(a flip of it changes the function that was read) under the input distribution, exactly.
        flips: share of the sampled inputs on which a flip of it changes the model's label.
    """

    attention: float | None
    influence: float
    flips: float


def gather_evidence(
    model: Any, oracle: Oracle, f: SparseFunction, bits: Shaped[Array, "n T"], *, p: float, also: list[int]
) -> dict[int, Evidence]:
    """Evidence for f's support, for the first 8 positions in `also`, and for the 8 with the most attention."""
    attention = mean_attention(model, bits) if isinstance(model, Model) else None
    attended = [] if attention is None else np.argsort(-attention, kind="stable")[:8].tolist()
    positions = sorted({*f.support, *also[:8], *attended})
    sample = bits[:256]
    flips = flip_shares(oracle, sample, oracle(sample), positions)
    exact = dict(zip(f.support, exact_influences(f, p).tolist(), strict=True))
    return {
        t: Evidence(None if attention is None else float(attention[t]), exact.get(t, 0.0), flips[t])
        for t in positions
    }


def mean_attention(model: Model, bits: Shaped[Array, "n T"]) -> Float[Array, " T"]:
    """Mean weight on each position in the last layer, over inputs and heads; [CLS] is left out."""
    n = max(16, min(len(bits), 100, WEIGHTS_AT_ONCE // (model.H * model.T)))
    return model.attention(bits[: n if model.L == 1 else 4])[:, :, :-1].mean(axis=(0, 1))


def exact_influences(f: SparseFunction, p: float) -> Float[Array, " s"]:
    """For each relevant position, the probability under Bernoulli(p) bits that flipping it flips f."""
    index = np.arange(2**f.s, dtype=np.uint32)
    on = np.bitwise_count(index).astype(np.int64)
    weights = p**on * (1 - p) ** (f.s - on)
    found = []
    for i in range(f.s):
        low, high = halves(f.values, i)
        weight_low, weight_high = halves(weights, i)
        found.append(float(((low != high) * (weight_low + weight_high)).sum()))
    return np.array(found)


def disagreement(evidence: dict[int, Evidence], support: tuple[int, ...]) -> str | None:
    """One sentence if attention or flips name other positions than the support; None if both agree with it."""
    s = len(support)
    if not s or any(e.attention is None for e in evidence.values()):
        return None
    by_attention = sorted(evidence, key=lambda t: -(evidence[t].attention or 0.0))[:s]
    by_flips = sorted(evidence, key=lambda t: -evidence[t].flips)[:s]
    wrong = [
        f"{name} names {', '.join(f'x{t}' for t in sorted(top))}"
        for name, top in (("attention", by_attention), ("flipping single bits", by_flips))
        if set(top) != set(support)
    ]
    return f"The evidence disagrees: {'; '.join(wrong)}." if wrong else None
