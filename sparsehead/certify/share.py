"""A proved bound on the share of inputs on which a model differs from f, the bits being independent.

Inputs are split as in `branches`. Over a part, `tails` bounds what the heads mix for all but a small share of its
inputs, `signed` gives the linear lower bound of the output that follows from it, and Chernoff's bound says how rarely
that is not above zero. The parts' bounds, weighted by their probabilities, add up to the answer. The part that
contributes most is split next; a part that stays undecided contributes its whole probability.
"""

import heapq
import time
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float, Int
from ..functions import SparseFunction
from ..heads.model import Model
from .branches import heaviest, patterns_of
from .forward import outputs
from .mixtures import FREE, Tokens
from .signed import signed_form
from .tails import ROOM, MostInputs

BUDGETS = (
    1e-11,
    4e-7,
)  # share of a part's inputs that may escape the bounds on what is mixed; a larger one narrows them
TARGET = 2e-11  # a share below which no part is split any more
INPUTS_AT_ONCE = 2**14  # in an enumeration


@dataclass(frozen=True, eq=False)
class Part:
    """A set of inputs: what it fixes, its sign and probability, the bound of its wrong share, the bit to split by."""

    state: Int[Array, " T"]
    sign: float
    chance: float
    share: float
    split: int

    @property
    def weight(self) -> float:
        """An upper bound of the probability of a wrong input in this part."""
        return self.chance * self.share * ROOM


def proved_share(
    model: Model, f: SparseFunction, tokens: Tokens, chance: Float[Array, " T"], *, limit_seconds: float
) -> float:
    """An upper bound of the probability of an input on which model and f differ; `chance` is that of a 1."""
    start = time.process_time()

    def look(state: Int[Array, " T"], sign: float) -> Part:
        return bound_part(model, tokens, state, chance, sign)

    # Bits that are always 0 or always 1 are fixed.
    certain = np.where(chance == 0, 0, np.where(chance == 1, 1, FREE))
    parts = []
    for state, sign in zip(*patterns_of(f)):
        if ((state == FREE) | (certain == FREE) | (state == certain)).all():
            parts.append(look(np.where(state == FREE, certain, state), sign))
    heap = [(-part.weight, i, part) for i, part in enumerate(parts)]
    heapq.heapify(heap)
    count = len(heap)
    while time.process_time() - start < limit_seconds and -sum(entry[0] for entry in heap) > TARGET:
        part = heap[0][2]
        if part.split < 0:
            break
        heapq.heappop(heap)
        for bit in (0, 1):
            state = part.state.copy()
            state[part.split] = bit
            half = look(state, part.sign)
            count += 1
            heapq.heappush(heap, (-half.weight, count, half))
    return min(1.0, -sum(entry[0] for entry in heap) * ROOM)


def bound_part(
    model: Model, tokens: Tokens, state: Int[Array, " T"], chance: Float[Array, " T"], sign: float
) -> Part:
    """The bound for one part, from the first budget that is of use."""
    share = 1.0
    for budget in BUDGETS:
        mixture = MostInputs(tokens, state[None], chance, budget / _events(model))
        form = signed_form(model, mixture, np.array([sign]))
        below = float(mixture.chance_below(form.g, -form.constant)[0])
        # A bound that does not exist is NaN and counts as all of the part's inputs.
        share = below + mixture.spent if below + mixture.spent < share else share
        if share < 4 * BUDGETS[-1]:
            break
    weight = float(np.prod(np.where(state == 1, chance, np.where(state == 0, 1 - chance, 1.0))))
    return Part(state, sign, min(1.0, weight * ROOM), share, int(heaviest(model, mixture, state[None])[0]))


def _events(model: Model) -> int:
    """About how many events a part's bounds rest on; they are counted when they are used."""
    mlp = model.layers[0].mlp
    return 4 * (model.H + 1) * (model.d + 4 + (0 if mlp is None else mlp.W_1.shape[1]))


def enumerated_share(model: Model, f: SparseFunction, chance: Float[Array, " T"]) -> float:
    """The probability of the inputs on which model and f differ, or on which rounding leaves it open: all are tried."""
    total = 0.0
    for start in range(0, 2**f.T, INPUTS_AT_ONCE):
        numbers = np.arange(start, min(2**f.T, start + INPUTS_AT_ONCE))
        bits = ((numbers[:, None] >> np.arange(f.T)) & 1).astype(np.uint8)
        ball, labels = outputs(model, bits), f(bits)
        right = np.where(labels == 1, ball.low > model.threshold, ball.high <= model.threshold)
        total += float(np.where(bits == 1, chance, 1 - chance).prod(axis=1)[~right].sum())
    return min(1.0, total * ROOM)
