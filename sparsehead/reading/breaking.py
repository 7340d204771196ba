"""Robustness of a reading: the smallest set found of flips at irrelevant positions that change a prediction.

For one input b let the score be (output - threshold), signed so that it is positive while the label equals f(b).
Irrelevant positions are ranked by how far a single flip lowers the score. The search takes the shortest prefix of this
order whose flips change the label. Since flips interact, it then flips half of the prefix and ranks the remaining
positions again, until one flip is left; this takes a logarithmic number of rankings. In a one-layer model whose
attention does not depend on the bits and whose output is monotone in one mixed scalar, every flip shifts this scalar by
an amount independent of the other flips. In such a model, positions are ranked by the shift (a single flip may not
change the output), the first order is optimal, and `exact` is True.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.display import ShortRepr
from .._base.types import Array, Float, Shaped
from ..functions import SparseFunction
from ..heads.evaluate import evaluator
from ..heads.model import Model

STARTS = 8  # inputs from which flips are searched
MOST_FLIPS = 512  # that are tried at once from one input
MOST_BITS = 2**25  # inputs x T that one ranking may evaluate


@dataclass(frozen=True, eq=False, repr=False)
class Breaking(ShortRepr):
    """Flips of irrelevant positions that make the model disagree with the function read.

    Args:
        flips: the number of flips, for the input that needs the fewest; None if flips changed the prediction of no
            searched input.
        positions: the flipped positions.
        input: the input after the flips.
        exact: whether it is proved that fewer flips do not change the prediction of the same input.
    """

    flips: int | None
    positions: tuple[int, ...]
    input: Shaped[Array, " T"] | None
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        return {"flips": self.flips, "positions": list(self.positions), "exact": self.exact}


def fewest_flips(model: Model, f: SparseFunction, bits: Shaped[Array, "n T"]) -> Breaking:
    """Return the smallest set found of irrelevant flips after which the model's label differs from f, over the first
    inputs on which the two agree.
    """
    outputs = evaluator(model)
    free = np.setdiff1d(np.arange(model.T), f.support)
    agree = bits[model.predict(bits) == f(bits)][:STARTS] if len(bits) else bits
    best = Breaking(None, (), None, False)
    shifts = _shifts(model)
    for b in agree:
        most = MOST_FLIPS if best.flips is None else best.flips - 1
        found = _search(model, outputs, b, int(f(b)), free, most, shifts)
        if found is not None:
            best = Breaking(len(found[0]), tuple(sorted(found[0])), found[1], shifts is not None)
    return best


def _search(
    model: Model, outputs: Any, b: Shaped[Array, " T"], label: int, free: Shaped[Array, " k"], most: int,
    shifts: Float[Array, " T"] | None,
) -> tuple[list[int], Shaped[Array, " T"]] | None:  # fmt: skip
    """Return the shortest list of flips of b that was found, and the input after them; None if more than `most` flips
    are needed to change the label.
    """
    sign = 1.0 if label else -1.0
    current, flipped, best = b.copy(), np.empty(0, dtype=np.int64), None
    while len(free):
        if shifts is not None:
            order = np.argsort(sign * (shifts * (1.0 - 2.0 * current))[free], kind="stable")
            ranked = free[order[: most - len(flipped)]]
        else:
            ranked = _strongest(model, outputs, current, sign, free)[: most - len(flipped)]
        k = _breaking_prefix(model, outputs, current, sign, ranked)
        if k is None:
            break
        if best is None or len(flipped) + k < len(best):
            best = np.concatenate([flipped, ranked[:k]])
        if k < 2:
            break
        taken = ranked[: k // 2]
        flipped, free = np.concatenate([flipped, taken]), np.setdiff1d(free, taken)
        current[taken] ^= 1
    if best is None:
        return None
    broken = b.copy()
    broken[best] ^= 1
    return best.tolist(), broken


def _breaking_prefix(
    model: Model, outputs: Any, b: Shaped[Array, " T"], sign: float, ranked: Shaped[Array, " c"]
) -> int | None:
    """Return the least k such that flipping the first k ranked positions of b changes the label; None if none does."""
    if not len(ranked):
        return None
    trials = np.repeat(b[None], len(ranked), axis=0)
    for i, t in enumerate(ranked.tolist()):
        trials[i:, t] ^= 1
    excess = outputs(trials) - model.threshold
    broken = ~(excess > 0) if sign > 0 else excess > 0
    return int(broken.argmax()) + 1 if broken.any() else None


def _strongest(
    model: Model, outputs: Any, b: Shaped[Array, " T"], sign: float, free: Shaped[Array, " k"]
) -> Shaped[Array, " c"]:
    """Return the free positions whose flip lowers the score most; if there are too many, a random part is tried."""
    if len(free) * model.T > MOST_BITS:
        rng = np.random.default_rng(0)
        free = rng.choice(free, size=max(1, MOST_BITS // model.T), replace=False)
    scores = np.empty(len(free))
    step = max(1, 2**24 // model.T)
    for i in range(0, len(free), step):
        part = free[i : i + step]
        trials = np.repeat(b[None], len(part), axis=0)
        trials[np.arange(len(part)), part] ^= 1
        scores[i : i + step] = sign * (outputs(trials) - model.threshold)
    return free[np.argsort(scores, kind="stable")[:MOST_FLIPS]]


def _shifts(model: Model) -> Float[Array, " T"] | None:
    """Return, for each bit, how far changing it from 0 to 1 shifts the mixed scalar towards larger outputs; None if the
    shift depends on other bits.

    The shift is independent of other bits for one layer with one head of value width 1, scores independent of the bits,
    no LayerNorm or MLP, and one monotone activation.
    """
    layer = model.layers[0]
    if model.L != 1 or layer.H != 1 or layer.W_V.shape[-1] != 1 or layer.mlp is not None or model.decoder:
        return None
    if model.final_norm is not None or layer.project or layer.sigma.startswith("gelu"):
        return None
    scores, values = model.cls_tables()
    if not np.array_equal(scores[:, 0], scores[:, 1]):
        return None
    weight = np.exp(scores[:-1, 0, 0] - scores[:, 0, 0].max())
    return weight * (values[:-1, 1, 0, 0] - values[:-1, 0, 0, 0]) * np.sign(layer.W_C[0, 0] @ model.w)
