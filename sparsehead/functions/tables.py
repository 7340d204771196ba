"""Truth tables as arrays: 2^s entries, where bit i of the index is the value of variable i."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Bool, Shaped

MAX_S = 20  # a table has 2^s entries: at s = 20 it takes a megabyte, and every operation takes milliseconds


def check_s(s: int, what: str) -> None:
    """Raise if s > MAX_S; `what` is the start of the message, such as "the support has"."""
    if s > MAX_S:
        raise DomainError(
            f"{what} {s} positions; s is at most {MAX_S}, because a truth table has 2^s entries."
        )


def check_bits(bits: Shaped[Array, "..."] | Sequence[Any], T: int) -> Shaped[Array, "..."]:
    """Return `bits` as an array of shape (n, T) or (T,); raise unless every entry is 0 or 1."""
    try:
        array = np.asarray(bits)
    except ValueError:
        raise ShapeError(f"rows of different lengths arrived; T={T} needs (n, {T}).") from None
    if array.ndim not in (1, 2) or array.shape[-1] != T:
        raise ShapeError(
            f"bits of shape {array.shape} arrived; T={T} needs (n, {T}), or ({T},) for one sequence."
        )
    if array.dtype == np.bool_ or (array.dtype == np.uint8 and array.max(initial=0) <= 1):
        return array
    binary = (array == 0) | (array == 1)
    if not np.all(binary):
        wrong = array[~np.broadcast_to(binary, array.shape)].flat[0]
        raise DomainError(f"bits are 0 or 1, got {wrong}; map -1/+1 signs with (1 - signs) // 2 first.")
    return array


def assignments(s: int) -> Shaped[Array, "N s"]:
    """Return all 2^s bit vectors in the order of a truth table: row j holds the binary digits of j, lowest first.

    >>> assignments(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    check_s(s, "an enumeration of all inputs was asked over")
    return ((np.arange(2**s)[:, None] >> np.arange(s)) & 1).astype(np.uint8)


def ones(s: int) -> Shaped[Array, " N"]:
    """Return for each index of a truth table the number of variables that are 1."""
    return np.bitwise_count(np.arange(2**s, dtype=np.uint32))


def halves(table: Shaped[Array, " N"], i: int) -> tuple[Shaped[Array, "a b"], Shaped[Array, "a b"]]:
    """Return views of the entries where variable i is 0 and where it is 1; paired entries differ in bit i only."""
    pairs = table.reshape(-1, 2, 2**i)
    return pairs[:, 0], pairs[:, 1]


def relevant(table: Shaped[Array, " N"]) -> list[int]:
    """Return the variables on which the table depends."""
    s = len(table).bit_length() - 1
    return [i for i in range(s) if not np.array_equal(*halves(table, i))]


def restrict(table: Shaped[Array, " N"], keep: Sequence[int]) -> Shaped[Array, " M"]:
    """Return the table over the variables `keep` (ascending), with all others set to 0."""
    index = np.zeros(2 ** len(keep), dtype=np.int64)
    for place, i in enumerate(keep):
        index |= ((np.arange(len(index)) >> place) & 1) << i
    return table[index]


def moebius(table: Shaped[Array, " N"]) -> Bool[Array, " N"]:
    """Return the algebraic normal form, a xor of ANDs: entry j says whether the AND of the bits of j is a term."""
    form = table.astype(bool)
    for i in range(len(form).bit_length() - 1):
        low, high = halves(form, i)
        high ^= low
    return form
