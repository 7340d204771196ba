"""Branch and bound over bits: prove all inputs, or find an input on which the model is wrong.

The inputs are split by the s bits that f reads. A part that the linear bound (`signed`) does not decide is split again,
by the free bit that changes the attended values most. The parts are disjoint and cover all inputs, so a positive bound
over each of them is a proof. The model is also run on one input of each split part, the worst one for its linear bound.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float, Int, Shaped
from ..functions import SparseFunction, assignments
from ..heads.model import Model
from .balls import UNIT
from .mixtures import FREE, AllInputs, Mixture, Tokens
from .search import judge
from .signed import signed_form

Progress = Callable[[float, int], None]


@dataclass(frozen=True, eq=False)
class Decision:
    """The result: a margin if every part is proved, a wrong input if one was found, None for both if time ran out.

    `parts` is the number of parts that were bounded, `covered` the share of all 2^T inputs in proved parts.
    """

    margin: float | None
    wrong: Shaped[Array, " T"] | None
    parts: int
    covered: float


@dataclass(frozen=True, eq=False)
class Bounded:
    """For each part: a lower bound of the outputs' signed distance from the threshold, the worst input for that bound,
    and the bit by which to split.
    """

    low: Float[Array, " B"]
    worst: Int[Array, "B T"]
    split: Int[Array, " B"]


def patterns_of(f: SparseFunction) -> tuple[Int[Array, "parts T"], Float[Array, " parts"]]:
    """Return the parts that fix the bits f reads, and the sign that a correct output has in each."""
    state = np.full((2**f.s, f.T), FREE)
    state[:, list(f.support)] = assignments(f.s)
    return state, 2.0 * f.values.astype(np.float64) - 1


def heaviest(model: Model, mixture: Mixture, state: Int[Array, "B T"]) -> Int[Array, " B"]:
    """Return for each part the free bit that changes the attended state at [CLS] most; -1 if no bit is free."""
    W = model.layers[0].W_C
    moves = (mixture.X[:, :, 1] - mixture.X[:, :, 0])[..., :-1] / mixture.D[:, None, :, None]
    steps = moves.reshape(*moves.shape[:2], -1) @ W.reshape(-1, W.shape[2])
    weight = np.where(state == FREE, np.abs(steps).sum(axis=2)[:, : state.shape[1]], -1.0)
    return np.where((state == FREE).any(axis=1), weight.argmax(axis=1), -1)


def bound_parts(model: Model, tokens: Tokens, state: Int[Array, "B T"], sign: Float[Array, " B"]) -> Bounded:
    """Bound the model over all inputs of each part."""
    mixture = AllInputs(tokens, state, np.full(state.shape[1], 0.5))
    form = signed_form(model, mixture, sign)
    moved = mixture.lower(form.g[..., None])[:, 0]
    low = form.constant + moved - 2 * UNIT * (np.abs(form.constant) + np.abs(moved))
    low = np.where(low > 0, low / form.largest_scale * (1 - 2 * UNIT), low)
    difference = (mixture.X[:, :, 1] - mixture.X[:, :, 0])[..., :-1]
    effect = np.einsum("bnhk,bhk,bh->bn", difference, form.g, 1 / mixture.D)[:, : state.shape[1]]
    worst = np.where(state == FREE, effect < 0, state)
    return Bounded(low, worst, heaviest(model, mixture, state))


def decide(
    model: Model, f: SparseFunction, tokens: Tokens, *, limit_seconds: float, progress: Progress | None = None
) -> Decision:
    """Split until every part is proved, an input is wrong, or `limit_seconds` of processor time are spent.

    Give up after a tenth of the time if nothing is proved yet, or if at this rate less than a fifth of the inputs would
    be proved in the end.
    """
    state, signs = patterns_of(f)
    share = np.full(len(state), 1 / len(state))
    width = model.d if model.layers[0].mlp is None else model.layers[0].mlp.W_1.shape[1]
    # about 2^22 numbers at once: parts x heads x tokens x linear forms
    batch = max(1, 2**22 // (2 * tokens.positions * model.H * max(width, model.d)))
    start, parts, covered, margin = time.process_time(), 0, 0.0, np.inf
    easy: float | None = None  # the share of inputs proved without a split
    while len(state):
        now, here = slice(-batch, None), slice(None, -batch)
        found = bound_parts(model, tokens, state[now], signs[now])
        proved = found.low > 0
        parts += len(proved)
        covered += float(share[now][proved].sum())
        margin = min(margin, found.low[proved].min(initial=np.inf))
        wrong = _wrong(model, f, found.worst[~proved])
        if wrong is not None or (found.split[~proved] < 0).any():
            return Decision(None, wrong, parts, covered)
        open_parts = zip(state[now][~proved], found.split[~proved], found.worst[~proved])
        state = np.concatenate(
            [state[here], *(_halves(row, int(t), int(bits[t])) for row, t, bits in open_parts)]
        )
        signs = np.concatenate([signs[here], np.repeat(signs[now][~proved], 2)])
        share = np.concatenate([share[here], np.repeat(share[now][~proved] / 2, 2)])
        if progress is not None:
            progress(covered, parts)
        spent = time.process_time() - start
        easy = covered if easy is None and parts >= 2**f.s else easy
        rate = (
            1.0
            if (easy is None and covered > 0) or easy == 1
            else (covered - (easy or 0)) / (1 - (easy or 0)) * limit_seconds / max(spent, 1e-9)
        )
        if len(state) and (spent > limit_seconds or (spent > limit_seconds / 10 and rate < 0.2)):
            return Decision(None, None, parts, covered)
    return Decision(float(margin), None, parts, 1.0)


def _halves(row: Int[Array, " T"], t: int, likely: int) -> Int[Array, "2 T"]:
    """Return both halves of a part, bit t being 0 in one and 1 in the other. The half that is likely to be worse comes
    last, since the search takes parts from the end.
    """
    pair = np.stack([row, row])
    pair[:, t] = 1 - likely, likely
    return pair


def _wrong(model: Model, f: SparseFunction, inputs: Shaped[Array, "n T"]) -> Shaped[Array, " T"] | None:
    """Return one of the inputs on which the model, run on it alone, is wrong; None if there is none."""
    if not len(inputs):
        return None
    bits = inputs.astype(np.uint8)
    signed = judge(model, f, bits)[1]
    worst = bits[int(signed.argmin())]
    return worst if judge(model, f, worst[None])[1][0] <= 0 else None
