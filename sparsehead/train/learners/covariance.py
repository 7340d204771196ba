"""Covariances of positions with the label, and the function with given positions in place of its own."""

from itertools import permutations

import numpy as np

from ..._base.errors import DomainError
from ..._base.types import Array, Bool, Float, Int, Shaped
from ...functions import SparseFunction, from_table, is_monotone, is_symmetric
from ...functions.task import Sample
from .named import NamedFunction
from .packed import counts

MOST_ROLES = 8  # 8! = 40,320 ways to give the positions their roles in a function that is not symmetric


def covariances(
    columns: Shaped[Array, "bytes T"], labels: Bool[Array, " m"], among: Bool[Array, " m"]
) -> Float[Array, " T"]:
    """For each position, the covariance of its bit with the label among the chosen samples, times their number."""
    both, ones = counts(columns, among & labels), counts(columns, among)
    return both - ones * float(labels[among].mean())


def strength(f: SparseFunction, covariance: Float[Array, " T"]) -> Float[Array, " T"]:
    """What a relevant position has much of: covariance if f is monotone, which the learner is told; else its modulus.

    Rounded, so that the last bits of the arithmetic break no ties.
    """
    return np.round(covariance if is_monotone(f) else np.abs(covariance), 9)


def in_place(f: SparseFunction, positions: Int[Array, " s"], sample: Sample) -> NamedFunction:
    """f with these positions; if roles differ, with the assignment that makes the fewest errors on the sample."""
    bits, labels = sample
    if is_symmetric(f):
        return NamedFunction(from_table(T=f.T, support=positions.tolist(), table=f.values))
    if f.s > MOST_ROLES:
        raise DomainError(f"roles are tried for at most {MOST_ROLES} positions; {f} reads {f.s}.")
    seen = bits[:, positions].astype(np.int64)

    def errors(order: tuple[int, ...]) -> int:
        """Wrong labels if positions[i] has role order[i]."""
        return int(np.count_nonzero(f.values[seen @ (1 << np.array(order))] != labels))

    best = min(permutations(range(f.s)), key=errors)
    return NamedFunction(from_table(T=f.T, support=positions[np.argsort(best)].tolist(), table=f.values))
