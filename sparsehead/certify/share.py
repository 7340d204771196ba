"""A proved bound on the share of inputs on which a model differs from f, the bits being independent.

Inputs are split as in `branches`. Over each part, `tails` bounds the heads' mixed values for all but a small share of
inputs. From that, `signed` derives a linear lower bound of the signed output, and Chernoff's bound then limits the
share of inputs on which that lower bound is not positive. The parts' bounds, weighted by their probabilities, add up to
the answer. The part that contributes most is split next; a part that stays undecided contributes its whole probability.
"""

import heapq
import time
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float, Int
from ..functions import SparseFunction
from ..heads.model import Model
from .balls import TINY
from .branches import patterns_of
from .forward import outputs
from .mixtures import FREE, Mixture, Tokens
from .signed import signed_form
from .sums import HEAVY, ROOM
from .tails import MostInputs

TARGET = 1.5e-10  # a share below which no part is split any more


@dataclass(frozen=True, eq=False)
class Part:
    """A set of inputs: those with the bits that `state` fixes.

    sign: the sign of a correct output. chance: the probability of the set. share: a bound on the share of the set's
    inputs on which the model is wrong. split: the bit by which to split the set.
    """

    state: Int[Array, " T"]
    sign: float
    chance: float
    share: float
    split: int

    @property
    def weight(self) -> float:
        """Return an upper bound of the probability of a wrong input in this part; TINY covers underflow."""
        return self.chance * self.share * ROOM + TINY


def proved_share(
    model: Model, f: SparseFunction, tokens: Tokens, chance: Float[Array, " T"], *, limit_seconds: float
) -> float:
    """Return an upper bound of the probability of an input on which model and f differ.

    `chance` has the probability of a 1 at each position. Give up after a fifth of the time if hardly any part has a
    bound by then.
    """
    start = time.process_time()
    # Bits that are always 0 or always 1 are fixed; so are those that are 1 so rarely that exponentials would underflow,
    # and the probability that one of them is 1 is added to the bound.
    rare = chance < 2.0**-900
    missed, chance = float(chance[rare].sum()), np.where(rare, 0.0, chance)
    certain = np.where(rare, 0, np.where(chance == 1, 1, FREE))
    state, signs = patterns_of(f)
    possible = ((state == FREE) | (certain == FREE) | (state == certain)).all(axis=1)
    state, signs = np.where(state == FREE, certain, state)[possible], signs[possible]
    batch = parts_at_once(tokens)
    heap: list[tuple[float, int, Part]] = []
    whole: list[float] = []  # weights of parts without free bits, which cannot be split
    count = 0
    while True:
        for i in range(0, len(state), batch):
            for part in bound_parts(model, tokens, state[i : i + batch], chance, signs[i : i + batch]):
                count += 1
                if part.split < 0:
                    whole.append(part.weight)
                else:
                    heapq.heappush(heap, (-part.weight, count, part))
        total = sum(whole) - sum(entry[0] for entry in heap)
        spent = time.process_time() - start
        hopeless = total > 0.9 and spent > limit_seconds / 5
        if total <= TARGET or not heap or hopeless or spent > limit_seconds:
            return min(1.0, (total + missed) * ROOM)
        state, signs = _split(heap, batch)


def _split(
    heap: list[tuple[float, int, Part]], batch: int
) -> tuple[Int[Array, "halves T"], Float[Array, " halves"]]:
    """Take the parts that make up most of the bound, half a batch at most, and return their halves."""
    parts: list[Part] = []
    total, taken = -sum(entry[0] for entry in heap), 0.0
    while heap and taken <= 0.9 * total and 2 * len(parts) < max(2, batch):
        parts.append(heapq.heappop(heap)[2])
        taken += parts[-1].weight
    state = np.repeat(np.stack([part.state for part in parts]), 2, axis=0)
    state[np.arange(len(state)), np.repeat([part.split for part in parts], 2)] = np.tile([0, 1], len(parts))
    return state, np.repeat([part.sign for part in parts], 2)


def parts_at_once(tokens: Tokens) -> int:
    """The number of parts that are bounded together: few enough for `tails` to bound several linear forms at once."""
    n, _, H, k = tokens.value.shape
    return max(1, min(2**22 // (2 * n * H * (k + 1)), 2**14 // (H * min(n, HEAVY))))


def bound_parts(
    model: Model,
    tokens: Tokens,
    state: Int[Array, "B T"],
    chance: Float[Array, " T"],
    sign: Float[Array, " B"],
) -> list[Part]:
    """Return the parts, each with a bound on its share of wrong inputs. `tails` is run with two different shares of
    excluded inputs, and the smaller bound is kept.
    """
    share, split = np.ones(len(state)), np.full(len(state), -1)
    left = np.arange(len(state))
    # Shares of a part's inputs that may escape the bounds on what is mixed. The smaller one is enough for most parts;
    # the larger one gives narrower bounds, for parts of which the first has proved some but not nearly all.
    for budget in (1e-10, 4e-7):
        mixture = MostInputs(tokens, state[left], chance, budget / _events(model))
        form = signed_form(model, mixture, sign[left])
        found = mixture.chance_below(form.g, -form.constant) + mixture.spent
        # A bound that does not exist is NaN and counts as all of the part's inputs.
        share[left] = np.where(found < share[left], found, share[left])
        split[left] = most_moving(model, mixture, state[left])
        left = left[(share[left] > 4 * budget) & (share[left] < 1)]
        if not len(left):
            break
    weight = np.where(state == 1, chance, np.where(state == 0, 1 - chance, 1.0)).prod(axis=1) * ROOM
    return [
        Part(state[i], float(sign[i]), min(1.0, float(weight[i])), float(share[i]), int(split[i]))
        for i in range(len(state))
    ]


def most_moving(model: Model, mixture: Mixture, state: Int[Array, "B T"]) -> Int[Array, " B"]:
    """Return the free bit that moves the attended state at [CLS] most, through sums or denominators; -1 if none is
    free.

    If one token has nearly all of the weight, its value is near the centre c, so its bit hardly changes sum w (v - c).
    But the bit changes the denominator, and thereby the mix, by about the token's share of the weight times the
    distance between values.
    """
    W = np.abs(model.layers[0].W_C)
    far = np.sqrt((mixture.offset**2).mean(axis=(1, 2)))  # (B, H, k)
    moves = np.abs(mixture.X[:, :, 1] - mixture.X[:, :, 0]) / mixture.D[:, None, :, None]
    sizes = W.sum(axis=2)
    weight = np.einsum("bnhk,hk->bn", moves[..., :-1], sizes)
    weight = weight + np.einsum("bnh,bhk,hk->bn", moves[..., -1], far, sizes)
    weight = np.where(state == FREE, weight[:, : state.shape[1]], -1.0)
    return np.where((state == FREE).any(axis=1), weight.argmax(axis=1), -1)


def _events(model: Model) -> int:
    """Estimate how many of the bounds used for one part hold only with high probability."""
    mlp = model.layers[0].mlp
    return 4 * (model.H + 1) * (model.d + 4 + (0 if mlp is None else mlp.W_1.shape[1]))


def enumerated_share(model: Model, f: SparseFunction, chance: Float[Array, " T"]) -> float:
    """Try all inputs; return the probability of those on which model and f differ, or may differ given rounding."""
    total, inputs_at_once = 0.0, 2**14
    for start in range(0, 2**f.T, inputs_at_once):
        numbers = np.arange(start, min(2**f.T, start + inputs_at_once))
        bits = ((numbers[:, None] >> np.arange(f.T)) & 1).astype(np.uint8)
        ball, labels = outputs(model, bits), f(bits)
        right = np.where(labels == 1, ball.low > model.threshold, ball.high <= model.threshold)
        factors = np.where(bits == 1, chance, 1 - chance)[~right]
        factors = factors[(factors > 0).all(axis=1)]
        # Products may underflow.
        total += float(factors.prod(axis=1).sum()) + TINY * len(factors)
    return min(1.0, total * ROOM)
