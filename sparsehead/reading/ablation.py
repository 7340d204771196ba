"""Which head carries which position: accuracy against the function read when parts of the attention are removed.

Removing positions sets their weights to 0 and rescales the others to sum to 1; removing a head sets its mixed value
to 0 before the output projection W_C, so that nothing of it reaches the residual stream. One-layer models only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.display import Short
from .._base.types import Array, Bool, Float, Int, Shaped
from ..functions import SparseFunction
from ..heads.model import Model

NUMBERS = 2**22  # attention weights held at once; decides how many inputs are used


@dataclass(frozen=True, repr=False)
class Ablation(Short):
    """Shares of inputs on which the changed model still agrees with f.

    Args:
        whole: nothing removed.
        support_only: all attention outside the support removed; [CLS] counts as outside.
        without_position: attention to this position removed, in all heads.
        without_head: this head removed.
        carried: for every position of the support, the head whose attention to it matters most, or None where
            removing it from any single head changes nothing.
    """

    whole: float
    support_only: float
    without_position: dict[int, float]
    without_head: tuple[float, ...]
    carried: dict[int, int | None]

    def to_dict(self) -> dict[str, Any]:
        return {
            "whole": self.whole,
            "support_only": self.support_only,
            "without_position": {str(t): v for t, v in self.without_position.items()},
            "without_head": list(self.without_head),
            "carried": {str(t): h for t, h in self.carried.items()},
        }


def ablate(model: Model, f: SparseFunction, bits: Shaped[Array, "n T"]) -> Ablation | None:
    """The table above on these inputs; None for models of more than one layer, and where f is constant."""
    if model.L != 1 or not f.s:
        return None
    n = max(32, min(len(bits), NUMBERS // (model.H * (model.T + 1))))
    b = bits[:n].astype(np.int64)
    labels, A = f(b), model.cls_weights(b)

    def agreement(weights: Float[Array, "n H tokens"]) -> float:
        outputs = model.read_out(model.state_from_weights(b, weights))
        return float(((outputs > model.threshold) == labels).mean())

    outside = np.ones(model.T + 1, dtype=bool)
    outside[list(f.support)] = False
    whole = agreement(A)
    carried = {t: _carrier(A, t, whole, agreement, model.H) for t in f.support}
    return Ablation(
        whole=whole,
        support_only=agreement(_without(A, outside)),
        without_position={t: agreement(_without(A, np.arange(model.T + 1) == t)) for t in f.support},
        without_head=tuple(agreement(_without_head(A, h)) for h in range(model.H)),
        carried=carried,
    )


def _without(
    A: Float[Array, "n H tokens"], removed: Bool[Array, " tokens"], head: int | None = None
) -> Float[Array, "n H tokens"]:
    """The weights without those tokens, rescaled; a row that had nothing else keeps nothing."""
    kept = A.copy()
    heads: Int[Array, " h"] = np.arange(A.shape[1]) if head is None else np.array([head])
    part = np.where(removed, 0.0, kept[:, heads])
    total = part.sum(axis=-1, keepdims=True)
    kept[:, heads] = np.divide(part, total, out=np.zeros_like(part), where=total > 0)
    return kept


def _without_head(A: Float[Array, "n H tokens"], h: int) -> Float[Array, "n H tokens"]:
    kept = A.copy()
    kept[:, h] = 0.0
    return kept


def _carrier(A: Float[Array, "n H tokens"], t: int, whole: float, agreement: Any, H: int) -> int | None:
    """The head in which removing the attention to position t costs most agreement."""
    removed = np.arange(A.shape[-1]) == t
    losses = [whole - agreement(_without(A, removed, h)) for h in range(H)]
    return int(np.argmax(losses)) if max(losses) > 0 else None
