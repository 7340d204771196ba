"""Find a formula for labelled rows with the help of a trained head.

1. Rank the columns by the share of rows in which a flip of the column changes the head's label.
2. For each subset of the first columns in this order, make a truth table: the majority label of each pattern.
3. Choose the function with the least Occam bound, which weighs errors against size.

The head decides which columns are considered, so a function that it does not learn (usually a parity) is not found.
Some labels may be wrong: a truth table is a majority vote, and no function has to fit all rows.
"""

import math
from itertools import combinations

import numpy as np

from .._base.types import Array, Shaped
from ..functions import SparseFunction, from_table
from ..functions.task import Sample
from ..heads.model import Model
from ..reading.evidence import mean_attention
from ..reading.occam import log_price, tail_inversion
from ..reading.queries import Oracle, flip_shares
from ..reading.sampling import majority_junta


def rank_columns(model: Model, bits: Shaped[Array, "m T"]) -> dict[int, float]:
    """Return the candidate columns, most important first, with the share of rows whose label a flip changes."""
    flipped_rows = 256
    oracle, rows = Oracle(model), bits[:flipped_rows]
    attention = mean_attention(model, rows)
    flipped_columns = 64  # columns with the most attention; flipping more would take longer than training
    looked_at = np.argsort(-attention, kind="stable")[:flipped_columns].tolist()
    flips = flip_shares(oracle, rows, oracle(rows), looked_at)
    ranked = sorted(looked_at, key=lambda t: (-flips[t], -attention[t]))
    most_columns = 10  # columns whose subsets are tried: 848 subsets of at most 6 columns
    return {t: flips[t] for t in ranked[:most_columns]}


def least_bound(sample: Sample, columns: list[int], *, most: int, delta: float) -> SparseFunction:
    """Return the function of at most `most` of these columns with the least Occam bound; if tied, fewer columns."""
    bits, labels = sample
    T = bits.shape[1]
    found: list[tuple[float, int, SparseFunction]] = []
    for s in range(min(most, len(columns)) + 1):
        for chosen in combinations(columns, s):
            f = majority_junta(bits, labels, list(chosen), T)
            mistakes = int((f(bits) != labels).sum())
            price = log_price(f.s, T) + math.log(2 / delta)
            found.append((tail_inversion(mistakes, len(labels), price), f.s, f))
    return min(found, key=lambda one: one[:2])[2]


def filled(f: SparseFunction, model: Model, bits: Shaped[Array, "m T"]) -> tuple[SparseFunction, int]:
    """Return f with the head's majority label at patterns that no row has, and the number of such patterns."""
    index = bits[:, list(f.support)].astype(np.int64) @ (1 << np.arange(f.s))
    unseen = np.flatnonzero(np.bincount(index, minlength=2**f.s) == 0)
    table = f.values.copy()
    filling_rows = 64  # rows on which the head votes on a pattern that no row has
    for pattern in unseen.tolist():
        rows = bits[:filling_rows].copy()
        rows[:, list(f.support)] = pattern >> np.arange(f.s) & 1
        table[pattern] = Oracle(model)(rows).mean() > 0.5
    return from_table(T=f.T, support=f.support, table=table), len(unseen)


def better_than_constants(f: SparseFunction, sample: Sample, *, delta: float) -> bool:
    """Return whether f is proved, with probability 1 - delta/2, to be right more often than the constants 0 and 1.

    f is better than a constant c iff f is right on more than half of the rows on which f and c differ. For a fixed f
    these rows are independent, so the Occam bound applies to them. Each of the two constants is compared with failure
    probability delta/4.
    """
    bits, labels = sample
    answers = f(bits)
    price = log_price(f.s, f.T) + math.log(4 / delta)
    for constant in (0, 1):
        differ = answers != constant
        wrong, n = int((answers != labels)[differ].sum()), int(differ.sum())
        if not n or tail_inversion(wrong, n, price) >= 0.5:
            return False
    return True
