"""A formula for labelled rows, by way of a trained head.

1. The head ranks the columns: by the share of rows whose label a flip of the column changes.
2. For each set of the first columns in this rank, the labels of the rows give the table: the majority of each pattern.
3. Of all these functions the one with the least Occam bound is taken, which weighs mistakes against size.

The head decides which columns are looked at, so a function that it does not find (a parity, mostly) is not found here.
Labels may be wrong in part: a table is a vote, and no function has to fit them all.
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

FLIPPED_COLUMNS = 64  # those with the most attention; of more, flips would take longer than training
FLIPPED_ROWS = 256
CANDIDATES = 10  # columns whose subsets are tried: 848 of at most 6
FILLING_ROWS = 64  # rows on which the head is asked about a pattern that no row has


def rank_columns(model: Model, bits: Shaped[Array, "m T"]) -> dict[int, float]:
    """The candidates, most important first, with the share of rows whose label changes with them."""
    oracle, rows = Oracle(model), bits[:FLIPPED_ROWS]
    attention = mean_attention(model, rows)
    looked_at = np.argsort(-attention, kind="stable")[:FLIPPED_COLUMNS].tolist()
    flips = flip_shares(oracle, rows, oracle(rows), looked_at)
    ranked = sorted(looked_at, key=lambda t: (-flips[t], -attention[t]))
    return {t: flips[t] for t in ranked[:CANDIDATES]}


def least_bound(sample: Sample, columns: list[int], *, most: int, delta: float) -> SparseFunction:
    """The function of at most `most` of these columns with the least Occam bound; of equals the smaller."""
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
    """f with the head's majority label at patterns that no row has, and their number."""
    index = bits[:, list(f.support)].astype(np.int64) @ (1 << np.arange(f.s))
    unseen = np.flatnonzero(np.bincount(index, minlength=2**f.s) == 0)
    table = f.values.copy()
    for pattern in unseen.tolist():
        rows = bits[:FILLING_ROWS].copy()
        rows[:, list(f.support)] = pattern >> np.arange(f.s) & 1
        table[pattern] = Oracle(model)(rows).mean() > 0.5
    return from_table(T=f.T, support=f.support, table=table), len(unseen)


def better_than_constants(f: SparseFunction, sample: Sample, *, delta: float) -> bool:
    """Whether f is proved to be right more often than the constants 0 and 1, with probability 1 - delta/2.

    f is better than c iff it is right in more than half of the rows on which it differs from c. These are independent
    rows for any fixed f, so the Occam bound applies to them; delta/2 is shared by the two constants.
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
