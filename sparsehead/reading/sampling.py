"""Read a model that is nearly sparse, or sparse only on typical inputs: find the best junta under the distribution.

Trained models depend a little on every position, so exact reading fails on unusual inputs. Here

1. pairs of random inputs with different labels are bisected, each along a separate random path, which gives one
   position at which the label changes;
2. the positions found most often are ranked by influence, the share of random inputs whose label changes when the
   position is flipped;
3. for k = 0, 1, .. the k most influential positions get the table of majority labels; the smallest k is taken whose
   agreement on other inputs is within .01 of the best.

The junta's agreement is then measured on inputs that were not used to choose it.
"""

import math
from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float, Shaped
from ..functions import SparseFunction, from_table
from ..functions.task import bernoulli
from .junta import sensitive_position
from .occam import tail_inversion
from .queries import Oracle, flip_shares

PAIRS = 96  # bisected pairs of inputs
FLIPPED_INPUTS = 256  # inputs on which influences are measured


@dataclass(frozen=True)
class Agreement:
    """The share of n inputs on which model and function have the same label, with a 95 % Clopper-Pearson interval."""

    value: float
    low: float
    high: float
    n: int

    @property
    def differing(self) -> tuple[int, int]:
        """The pair (number of inputs on which model and function differ, n)."""
        return self.n - round(self.value * self.n), self.n


def inputs_for(T: int) -> int:
    """Return the number of random inputs of length T to draw: 4096, but at most 2^27 bits in all, and at least 256."""
    return max(256, min(4096, 2**27 // T))


def read_by_sampling(
    oracle: Oracle, *, most: int, rng: np.random.Generator, p: float
) -> tuple[SparseFunction, dict[int, float]]:
    """Return the best junta found, and the influences of the candidates examined."""
    bits = bernoulli(p, (inputs_for(oracle.T), oracle.T), rng).view(np.uint8)
    labels = oracle(bits)
    candidates = _candidates(oracle, bits, labels, most=2 * most, rng=rng)
    influences = flip_shares(oracle, bits[:FLIPPED_INPUTS], labels[:FLIPPED_INPUTS], candidates)
    ranked = sorted(candidates, key=lambda t: -influences[t])[:most]
    return _smallest_good(bits, labels, ranked, oracle.T), influences


def _candidates(
    oracle: Oracle,
    bits: Shaped[Array, "n T"],
    labels: Shaped[Array, " n"],
    *,
    most: int,
    rng: np.random.Generator,
) -> list[int]:
    """Return the positions found by bisecting pairs, the most frequent first, at most `most` of them."""
    ones, zeros = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    if not len(ones) or not len(zeros):
        return []
    named = [
        sensitive_position(oracle, bits[rng.choice(ones)], bits[rng.choice(zeros)], 1, rng=rng)
        for _ in range(PAIRS)
    ]
    positions, counts = np.unique(named, return_counts=True)
    return positions[np.argsort(-counts, kind="stable")][:most].tolist()


def _smallest_good(
    bits: Shaped[Array, "n T"], labels: Shaped[Array, " n"], ranked: list[int], T: int
) -> SparseFunction:
    """Return the junta on the first k ranked positions, for the least k with an agreement within .01 of the best."""
    half = len(bits) // 2
    juntas = [majority_junta(bits[:half], labels[:half], ranked[:k], T) for k in range(len(ranked) + 1)]
    rates = np.array([float((f(bits[half:]) == labels[half:]).mean()) for f in juntas])
    return juntas[int((rates >= rates.max() - 0.01).argmax())]


def majority_junta(
    bits: Shaped[Array, "n T"], labels: Shaped[Array, " n"], positions: list[int], T: int
) -> SparseFunction:
    """Return the function of these positions whose value at a pattern is the majority label of the inputs with this
    pattern, or of all inputs if no input has it.
    """
    index = bits[:, positions].astype(np.int64) @ (1 << np.arange(len(positions)))
    size = 2 ** len(positions)
    total = np.bincount(index, minlength=size)
    on = np.bincount(index, weights=labels, minlength=size)
    share: Float[Array, " N"] = np.where(total > 0, on / np.maximum(total, 1), labels.mean())
    return from_table(T=T, support=positions, table=(share > 0.5).astype(np.uint8))


def measure_agreement(
    oracle: Oracle, f: SparseFunction, *, rng: np.random.Generator, p: float, n: int | None = None
) -> Agreement:
    """Return the agreement of oracle and f on n fresh inputs with independent Bernoulli(p) bits."""
    n = inputs_for(oracle.T) if n is None else n
    bits = bernoulli(p, (n, oracle.T), rng).view(np.uint8)
    return agreement_of(int((oracle(bits) == f(bits)).sum()), n)


def agreement_of(same: int, n: int) -> Agreement:
    """Return the agreement of two labellings that are equal on `same` of n independent inputs."""
    tail = math.log(2 / 0.05)  # each end of the interval fails with probability .025
    return Agreement(same / n, 1 - tail_inversion(n - same, n, tail), tail_inversion(same, n, tail), n)
