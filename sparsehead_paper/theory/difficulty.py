"""Two degrees of difficulty of a function for learners that take small steps, and all functions of s bits.

Both degrees depend only on which Fourier coefficients are not 0. The coefficient of a set S of positions is the mean of
(-1)^f(b) times the product over i in S of (b_i - p) / sqrt(p (1 - p)), for independent bits with P(b_i = 1) = p.
"""

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from sparsehead._base.types import Array, Float
from sparsehead.functions.sparse import SparseFunction, from_table
from sparsehead.functions.tables import assignments, halves, relevant


def coefficients(f: SparseFunction, *, p: float = 0.5) -> Float[Array, " N"]:
    """Return the Fourier coefficients of (-1)^f; bit i of the index says whether f.support[i] is in the set.

    >>> from sparsehead.functions import parse
    >>> coefficients(parse("x0 & x1", T=2))
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    found = 1.0 - 2.0 * f.values
    for i in range(f.s):
        zero, one = (half.copy() for half in halves(found, i))
        low, high = halves(found, i)
        low[...] = (1 - p) * zero + p * one
        high[...] = (one - zero) * np.sqrt(p * (1 - p))
    return found


def _sets(f: SparseFunction, p: float) -> list[int]:
    """Return the non-empty sets whose coefficient is not 0, as bit masks."""
    nonzero = np.abs(coefficients(f, p=p)) > 1e-12  # those that cancel leave rounding errors at p != 1/2
    return [S for S in range(1, 2**f.s) if nonzero[S]]


def globality(f: SparseFunction, *, p: float = 0.5) -> int:
    """Return the least number of positions whose bits together are not independent of the label; 0 for constants.

    Source: Abbe et al., arXiv 2406.06467, for a fixed function of s bits.   Paper: difficulty-order

    >>> from sparsehead.functions import parse
    >>> [globality(parse(text, T=3)) for text in ("x0 & x1 & x2", "x0 ^ x1 ^ x2")]
    [1, 3]
    """
    return min((S.bit_count() for S in _sets(f, p)), default=0)


def leap(f: SparseFunction, *, p: float = 0.5) -> int:
    """Return the least L such that the support is found by steps, each of which adds at most L new positions.

    A step adds a whole set S with a nonzero coefficient. Source: Abbe, Boix-Adsera and Misiakiewicz, COLT 2023.

    >>> from sparsehead.functions import parse
    >>> leap(parse("x2 & (x0 ^ x1)", T=3)), leap(parse("x2 ^ x0 & x1", T=3))
    (2, 1)
    """
    sets = _sets(f, p)
    for L in range(1, f.s + 1):
        found, before = 0, -1
        while found != before:
            before = found
            for S in sets:
                if (S & ~found).bit_count() <= L:
                    found |= S
        if found.bit_count() == f.s:
            return L
    return 0


def inequivalent(s: int, T: int | None = None) -> Iterator[SparseFunction]:
    """Yield one function of positions 0 .. s - 1 from each class of functions that depend on s bits; s is at most 4.

    Functions of a class become equal when positions are permuted, and bits or labels are negated. The order is fixed.

    >>> [len(list(inequivalent(s))) for s in (1, 2, 3)]
    [1, 2, 10]
    """
    bits = assignments(s).astype(np.int64)
    powers = 1 << np.arange(s)
    orders = [bits[:, list(order)] @ powers for order in permutations(range(s))]
    changes = [order ^ flips for order in orders for flips in range(2**s)]
    weights = 1 << np.arange(2**s, dtype=np.int64)
    seen = np.zeros(2 ** (2**s), dtype=bool)
    for number in range(2 ** (2**s)):
        if seen[number]:
            continue
        table = (number >> np.arange(2**s)) & 1
        for same in (table, 1 - table):
            seen[[int(same[change] @ weights) for change in changes]] = True
        if len(relevant(table)) == s:
            yield from_table(T=T or s, support=range(s), table=table[::-1].tolist())
