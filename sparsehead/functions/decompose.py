"""Split a truth table into parts that read different variables and are joined by one of ^, & and |."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from .._base.types import Array, Shaped

Part = tuple[tuple[int, ...], Shaped[Array, "_"]]  # the variables of a part, ascending, and its table


def decompose(table: Shaped[Array, " N"]) -> tuple[str, list[Part]] | None:
    """Return an operator and two or more parts whose combination is the table; None if there are none.

    The table must depend on all of its variables; the operator is then unique, and so are the parts up to negation.

    >>> operator, parts = decompose(np.array([0, 1, 1, 0, 0, 0, 0, 0]))  # (x0 ^ x1) & !x2
    >>> operator, [(variables, part.tolist()) for variables, part in parts]
    ('&', [((0, 1), [0, 1, 1, 0]), ((2,), [1, 0])])
    """
    for operator in "^&|":
        found = list(_parts(operator, table))
        if len(found) > 1:
            return operator, found
    return None


def _parts(operator: str, table: Shaped[Array, " N"]) -> Iterator[Part]:
    """Yield the parts: split off the smallest part with the first remaining variable, repeatedly; the rest last."""
    left, rest = tuple(range(len(table).bit_length() - 1)), table
    while (found := _split(operator, rest)) is not None:
        inside, part, rest = found
        yield tuple(left[i] for i in inside), part
        left = tuple(t for i, t in enumerate(left) if i not in inside)
    yield left, rest


def _split(
    operator: str, table: Shaped[Array, " N"]
) -> tuple[tuple[int, ...], Shaped[Array, " A"], Shaped[Array, " B"]] | None:
    """Return the variables and the table of a smallest first part, and the table of the others."""
    s = len(table).bit_length() - 1
    # with more variables, only single variables are split off: there are 2^(s-1) subsets to try
    most_subsets = 10
    for size in range(1, s if s <= most_subsets else 2):
        for inside in combinations(range(s), size):
            if 0 in inside or s > most_subsets:
                rows = _matrix(table, inside)
                if operator == "^":
                    part, rest = rows[:, 0], rows[0] ^ rows[0, 0]
                    joined = part[:, None] ^ rest
                elif operator == "&":
                    part, rest = rows.max(axis=1), rows.max(axis=0)
                    joined = part[:, None] & rest
                else:
                    part, rest = rows.min(axis=1), rows.min(axis=0)
                    joined = part[:, None] | rest
                if np.array_equal(joined, rows):
                    return inside, part, rest
    return None


def _matrix(table: Shaped[Array, " N"], inside: Sequence[int]) -> Shaped[Array, "A B"]:
    """Return the table with a row for each assignment of the variables `inside`, a column for each of the others."""
    s = len(table).bit_length() - 1
    outside = [i for i in range(s) if i not in inside]
    axes = [
        s - 1 - i for i in (*reversed(inside), *reversed(outside))
    ]  # axis 0 belongs to the highest variable
    return table.reshape((2,) * s).transpose(axes).reshape(2 ** len(inside), -1)
