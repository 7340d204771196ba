"""Ablation: how often a model still agrees with the function read when parts of its attention are removed.

Removing positions sets their weights to 0 and rescales the others to sum to 1; removing a head sets its mixed value
to 0 before the output projection W_C, so that nothing of it reaches the residual stream. One-layer models only.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base.display import Short
from .._base.types import Array, Bool, Float, Shaped
from ..functions import SparseFunction
from ..heads.model import Model

WEIGHTS_AT_ONCE = 2**22  # attention weights held at once, which decides how many inputs are used


@dataclass(frozen=True, repr=False)
class Ablation(Short):
    """Shares of inputs on which the changed model still agrees with f.

    Args:
        whole: nothing removed.
        support_only: all attention outside the support removed; [CLS] counts as outside.
        without_position: attention to this position removed, in all heads.
        without_head: this head removed.
        carried: for every position of the support, the head whose attention to it matters most, or None if
            removing it from a single head never changes the agreement.
    """

    whole: float
    support_only: float
    without_position: dict[int, float]
    without_head: tuple[float, ...]
    carried: dict[int, int | None]

    def to_dict(self) -> dict[str, Any]:
        by_position = {
            name: {str(t): v for t, v in getattr(self, name).items()}
            for name in ("without_position", "carried")
        }
        return {**asdict(self), **by_position, "without_head": list(self.without_head)}


def ablate(model: Model, f: SparseFunction, bits: Shaped[Array, "n T"]) -> Ablation | None:
    """The ablations of a one-layer model on these inputs; None for deeper models, and if f is constant."""
    if model.L != 1 or not f.s:
        return None
    n = max(32, min(len(bits), WEIGHTS_AT_ONCE // (model.H * (model.T + 1))))
    b = bits[:n].astype(np.int64)
    labels, A = f(b), model.cls_weights(b)

    def agreement(weights: Float[Array, "n H tokens"]) -> float:
        outputs = model.read_out(model.state_from_weights(b, weights))
        return float(((outputs > model.threshold) == labels).mean())

    def without(removed: Bool[Array, " tokens"], heads: list[int]) -> float:
        """Agreement without the attention of these heads to the removed tokens, the rest rescaled to sum to 1."""
        kept = A.copy()
        part = np.where(removed, 0.0, kept[:, heads])
        total = part.sum(axis=-1, keepdims=True)
        kept[:, heads] = np.divide(part, total, out=np.zeros_like(part), where=total > 0)
        return agreement(kept)

    def without_head(h: int) -> float:
        kept = A.copy()
        kept[:, h] = 0.0
        return agreement(kept)

    whole, every, at = agreement(A), list(range(model.H)), np.arange(model.T + 1)
    losses = {t: [whole - without(at == t, [h]) for h in every] for t in f.support}
    return Ablation(
        whole=whole,
        support_only=without(~np.isin(at, f.support), every),
        without_position={t: without(at == t, every) for t in f.support},
        without_head=tuple(without_head(h) for h in every),
        carried={t: int(np.argmax(lost)) if max(lost) > 0 else None for t, lost in losses.items()},
    )
