"""`SparseFunction`: a Boolean function of T bits that depends on s of them."""

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, SupportsIndex

import numpy as np

from .._base.arguments import several, whole
from .._base.display import Card, WithCard, clipped
from .._base.errors import DomainError
from .._base.frame import Frame
from .._base.types import Array, Shaped
from .spelling import spell
from .tables import assignments, check_bits, check_s, relevant, restrict

# Maps rows of bits to one label per row: the interface of a `SparseFunction`, a trained model and a user's function.
Predict = Callable[[Shaped[Array, "n T"]], Shaped[Array, " n"]]


@dataclass(frozen=True, repr=False)
class SparseFunction(WithCard):
    """A function f: {0,1}^T -> {0,1} that depends on every position in `support` and on no other.

    The support is minimal, so two functions are equal as objects iff they are equal on every input. Constants have
    s = 0. `parse`, `from_table` and the families drop irrelevant positions; this constructor rejects them.

    Args:
        T: length of the input, T >= 1. Positions are numbered from 0.
        support: the s positions on which f depends, ascending; s <= 20.
        table: 2^s values, each 0 or 1. Bit i of the index is the value at support[i].
    Paper: sparse-function

    >>> SparseFunction(8, (2, 5), (0, 0, 0, 1))
    parse('x2 & x5', T=8)
    """

    T: int
    support: tuple[int, ...]
    table: tuple[int, ...]
    _longest: ClassVar[int] = 300  # characters; a repr does not show a longer expression

    def __post_init__(self) -> None:
        whole("T", self.T)
        if self.support != _positions(self.support, self.T):
            raise DomainError(f"support {self.support} is not ascending; from_table sorts it.")
        values = _values(self.table, self.s)
        if len(relevant(values)) < self.s:
            raise DomainError(
                f"the table ignores a position of {self.support}; from_table drops such positions."
            )

    @property
    def s(self) -> int:
        """The number of positions on which f depends."""
        return len(self.support)

    @cached_property
    def values(self) -> Shaped[Array, " N"]:
        """The table as a read-only array of uint8."""
        values = _values(self.table, self.s)
        values.flags.writeable = False
        return values

    def __call__(self, bits: Shaped[Array, "..."] | Sequence[Any]) -> Any:
        """Return the values of f: bits of shape (n, T) give an int array of shape (n,), one input (T,) gives an int.

        >>> SparseFunction(4, (1, 3), (0, 0, 0, 1))([[0, 1, 0, 1], [1, 1, 1, 0]])
        array([1, 0])
        """
        read = check_bits(bits, self.T)[..., list(self.support)].astype(np.int64)
        labels = self.values[read @ (1 << np.arange(self.s))]
        return int(labels) if read.ndim == 1 else labels.astype(np.int64)

    def __str__(self) -> str:
        """Return an expression from which `parse`, given the same T, makes this function."""
        return spell(self.support, self.values)

    def __repr__(self) -> str:
        text = f"parse({str(self)!r}, T={self.T})"
        if len(text) <= self._longest:
            return text
        return f"<SparseFunction of T={self.T} bits, s={self.s}; str(f) has the expression, {len(text)} characters>"

    def to_dict(self) -> dict[str, Any]:
        """Return expression, T, support and table as JSON values."""
        return {"function": str(self), "T": self.T, "support": list(self.support), "table": list(self.table)}

    def to_frame(self) -> Frame:
        """Return the truth table, with a row for each of the 2^s patterns and a column for each position and for f."""
        names = [f"x{t}" for t in self.support]
        rows = zip(assignments(self.s).tolist(), self.table)
        return Frame(({**dict(zip(names, bits)), "f": value} for bits, value in rows), (*names, "f"))

    def _card(self) -> Card:
        facts = {"T": self.T, "s": self.s, "support": ", ".join(map(str, self.support))}
        table = self.to_frame() if self.s <= 6 else None
        return Card("Sparse function", [clipped(str(self), self._longest)], facts, table)


def from_table(
    *, T: int, support: Iterable[SupportsIndex], table: Iterable[SupportsIndex] | Shaped[Array, " N"]
) -> SparseFunction:
    """Return the function whose value at b is table[sum_i b_{support[i]} 2^i].

    Args:
        support: at most 20 distinct positions of range(T) in any order; irrelevant ones are dropped.
        table: 2^s values, each 0 or 1.

    >>> from_table(T=8, support=(5, 2), table=(0, 0, 1, 1))
    parse('x2', T=8)
    """
    whole("T", T)
    given = several("support", support, "positions")
    positions = _positions(given, T)
    values = _values(table, len(positions))
    rank = {t: i for i, t in enumerate(operator.index(t) for t in given)}
    if list(rank) != list(positions):
        order = [len(positions) - 1 - rank[t] for t in reversed(positions)]  # axis 0 holds the highest bit
        values = np.ascontiguousarray(values.reshape((2,) * len(positions)).transpose(order)).reshape(-1)
    keep = relevant(values)
    if len(keep) < len(positions):
        values = restrict(values, keep)
    return SparseFunction(T, tuple(positions[i] for i in keep), tuple(values.tolist()))


def _positions(support: Iterable[SupportsIndex], T: int) -> tuple[int, ...]:
    """Return the positions in ascending order; raise unless they are distinct, in range(T) and at most 20."""
    given = several("support", support, "positions")
    try:
        positions = sorted(operator.index(t) for t in given)
    except TypeError:
        raise DomainError(f"positions are whole numbers, got {_shown(given)}.") from None
    check_s(len(positions), "the support has")
    for t, after in pairwise(positions):
        if t == after:
            raise DomainError(
                f"support {_shown(given)} repeats position {t}; a {len(positions)}-sparse function reads "
                f"{len(positions)} distinct positions of range(T={T})."
            )
    for t in positions:
        if not 0 <= t < T:
            raise DomainError(f"position {t} is outside the input; T={T} has the positions 0 to {T - 1}.")
    return tuple(positions)


def _values(table: Iterable[SupportsIndex] | Shaped[Array, " N"], s: int) -> Shaped[Array, " N"]:
    """Return the table as uint8; raise unless it has 2^s entries, each 0 or 1."""
    values = np.asarray(
        table if isinstance(table, (np.ndarray, tuple, list)) else several("table", table, "0 and 1")
    )
    if values.shape != (2**s,):
        raise DomainError(f"{s} positions need a table of 2^{s} = {2**s} values, got shape {values.shape}.")
    binary = (values == 0) | (values == 1)
    if not np.all(binary):
        raise DomainError(
            f"a table holds zeros and ones, got {values[~np.broadcast_to(binary, values.shape)][0]}."
        )
    return values.astype(np.uint8)


def _shown(given: tuple[Any, ...]) -> str:
    return f"({', '.join(str(t) for t in given)})"
