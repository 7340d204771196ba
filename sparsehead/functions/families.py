"""Families of functions of T bits that depend on s of them (`support`): conjunctions, parities, random functions, .."""

from collections.abc import Callable, Iterable
from typing import SupportsIndex

import numpy as np

from .._base.arguments import instance, several, whole
from .._base.errors import DomainError
from .._base.types import Array, Shaped
from .sparse import SparseFunction, from_table
from .tables import check_s, ones, relevant

Positions = Iterable[SupportsIndex]


def symmetric(
    support: Positions, values: Iterable[SupportsIndex] | Shaped[Array, " n"], *, T: int
) -> SparseFunction:
    """Return the function that is values[j] if j of the s positions are 1, for j = 0 .. s.   Paper: symmetric

    >>> symmetric((1, 4, 6), [0, 1, 1, 0], T=8)([0, 1, 0, 0, 1, 0, 0, 0])
    1
    """
    positions = several("support", support, "positions")
    s = len(positions)
    check_s(s, "the support has")
    by_count = np.asarray(values if isinstance(values, np.ndarray) else several("values", values, "0 and 1"))
    if by_count.shape != (s + 1,):
        raise DomainError(
            f"a symmetric function of {s} bits has {s + 1} values, one for each count from 0 to {s}, "
            f"got {by_count.size}."
        )
    return from_table(T=T, support=positions, table=by_count[ones(s)])


def threshold(support: Positions, k: int, *, T: int) -> SparseFunction:
    """Return the function that is 1 iff at least k positions are 1; it is constant 1 for k <= 0 and 0 for k > s.

    >>> threshold((1, 4, 6), 2, T=8)
    parse('maj(x1, x4, x6)', T=8)
    """
    positions = several("support", support, "positions")
    level = whole("k", k, least=-(2**62))
    return symmetric(positions, [int(j >= level) for j in range(len(positions) + 1)], T=T)


def conjunction(support: Positions, *, T: int) -> SparseFunction:
    """Return the function that is 1 iff all positions are 1; the empty conjunction is 1.

    >>> conjunction((2, 5), T=8)
    parse('x2 & x5', T=8)
    """
    return _labelled("and", support, T)


def disjunction(support: Positions, *, T: int) -> SparseFunction:
    """Return the function that is 1 iff some position is 1; the empty disjunction is 0.

    >>> disjunction((2, 5), T=8)
    parse('x2 | x5', T=8)
    """
    return _labelled("or", support, T)


def majority(support: Positions, *, T: int) -> SparseFunction:
    """Return the function that is 1 iff more than half of the positions are 1; for even s a tie gives 0.

    >>> majority((1, 4, 6), T=8)([0, 1, 0, 0, 0, 0, 1, 0])
    1
    """
    return _labelled("majority", support, T)


def parity(support: Positions, *, T: int) -> SparseFunction:
    """Return the function that is 1 iff an odd number of positions are 1.

    >>> parity((2, 5), T=8)
    parse('x2 ^ x5', T=8)
    """
    return _labelled("parity", support, T)


def junta(support: Positions, *, T: int, rng: np.random.Generator) -> SparseFunction:
    """Draw a function of these positions, uniformly from those that depend on every one of them."""
    positions = several("support", support, "positions")
    s = len(positions)
    check_s(s, "the support has")
    while True:  # half of the tables qualify at s = 1, and a larger share at larger s
        table = rng.integers(0, 2, size=2**s, dtype=np.uint8)
        if len(relevant(table)) == s:
            return from_table(T=T, support=positions, table=table)


def random_support(*, T: int, s: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw s positions of range(T), every subset equally likely; in ascending order."""
    whole("T", T)
    instance("rng", rng, np.random.Generator, "such as numpy.random.default_rng(0)")
    if not 0 <= whole("s", s, least=0) <= T:
        raise DomainError(f"a support has between 0 and T={T} positions, got s={s}.")
    return tuple(sorted(rng.choice(T, size=s, replace=False).tolist()))


def random_function(*, T: int, s: int, rng: np.random.Generator) -> SparseFunction:
    """Draw a function that depends on exactly s positions: first its support, then its table.

    >>> f = random_function(T=100, s=3, rng=np.random.default_rng(0))
    >>> f.s, len(f.table)
    (3, 8)
    """
    return junta(random_support(T=T, s=s, rng=rng), T=T, rng=rng)


def labels(name: str, s: int) -> Shaped[Array, " n"]:
    """Return for each number 0 .. s of ones among s bits whether the function of the family `name` is 1."""
    by_count: dict[str, Callable[[Shaped[Array, " n"], int], Shaped[Array, " n"]]] = {
        "and": lambda count, s: count == s,
        "or": lambda count, s: count > 0,
        "parity": lambda count, s: count % 2 == 1,
        "majority": lambda count, s: 2 * count > s,
    }
    if name not in by_count:
        raise DomainError(f"kind is one of {', '.join(by_count)}, got {name!r}.")
    return by_count[name](np.arange(s + 1), s)


def _labelled(name: str, support: Positions, T: int) -> SparseFunction:
    positions = several("support", support, "positions")
    return symmetric(positions, labels(name, len(positions)), T=T)


Family = Callable[[Positions, int, np.random.Generator], SparseFunction]
_FAMILIES: dict[str, Family] = {
    "and": lambda support, T, rng: conjunction(support, T=T),
    "or": lambda support, T, rng: disjunction(support, T=T),
    "parity": lambda support, T, rng: parity(support, T=T),
    "majority": lambda support, T, rng: majority(support, T=T),
    "junta": lambda support, T, rng: junta(support, T=T, rng=rng),
}
FAMILIES = tuple(_FAMILIES)


def family(name: str) -> Family:
    """Return a family's constructor, which maps (support, T, rng) to a function; only that of `junta` uses rng."""
    if name not in _FAMILIES:
        raise DomainError(f"family {name!r} is unknown; the families are {', '.join(FAMILIES)}.")
    return _FAMILIES[name]
