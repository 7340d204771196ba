"""Covariances of positions with the label; the function moved to other positions."""

from itertools import permutations

import numpy as np

from ..._base.errors import DomainError
from ..._base.types import Array, Bool, Float, Int, Shaped
from ...functions import SparseFunction, from_table, is_monotone, is_symmetric
from ...functions.task import Sample
from .named import NamedFunction
from .packed import counts


def covariances(
    columns: Shaped[Array, "bytes T"], labels: Bool[Array, " m"], among: Bool[Array, " m"]
) -> Float[Array, " T"]:
    """Return for each position the covariance of its bit with the label in the chosen samples, times their number."""
    both, ones = counts(columns, among & labels), counts(columns, among)
    return both - ones * float(labels[among].mean())


def strength(f: SparseFunction, covariance: Float[Array, " T"]) -> Float[Array, " T"]:
    """Return a score that is large at relevant positions: the covariance if f is monotone, else its absolute value.

    It is rounded, so that rounding errors do not decide between equal scores.
    """
    return np.round(covariance if is_monotone(f) else np.abs(covariance), 9)


def in_place(f: SparseFunction, positions: Int[Array, " s"], sample: Sample) -> NamedFunction:
    """Return f on these positions; if f is not symmetric, in the order with the fewest errors on the sample."""
    bits, labels = sample
    if is_symmetric(f):
        return NamedFunction(from_table(T=f.T, support=positions.tolist(), table=f.values))
    most_roles = 8  # 8! = 40,320 orders of the positions, for a function that is not symmetric
    if f.s > most_roles:
        raise DomainError(f"orders are tried for at most {most_roles} positions; {f} reads {f.s}.")
    seen = bits[:, positions].astype(np.int64)

    def errors(order: tuple[int, ...]) -> int:
        """The number of wrong labels if positions[i] takes the place of f's position order[i]."""
        return int(np.count_nonzero(f.values[seen @ (1 << np.array(order))] != labels))

    best = min(permutations(range(f.s)), key=errors)
    return NamedFunction(from_table(T=f.T, support=positions[np.argsort(best)].tolist(), table=f.values))
