"""Codes: the integer weights with which a head sums the relevant bits, chosen so that f changes value rarely.

A head can sum the relevant bits with any weights, o = sum_i c_i b_i, and a ReLU decoder then needs two units for every
change of f along the sorted values of o. So the head with the fewest units has the code c that orders {0,1}^s such that
f changes least often: once if and only if f is a linear threshold function, s times for parity.

    s <= 5        the minimum over ALL real weights: the orders of {0,1}^s that weights can induce are enumerated
                  (1, 1, 2, 14, 516 of them up to symmetry for s = 1..5)
    s <= 8        one change iff f is a linear threshold function (linear programming); else the minimum over codes of
                  powers of two (every bit order and sign, by dynamic programming), the codes +-1, and mixed radix over
                  interchangeable bits
    beyond        the same candidates, but powers of two and ones only with positive sign; for s > 12, bits are in the
                  order of influence, and only "at least k of s" is recognised as a threshold function

Among candidates with equally few changes, one without mixed signs is preferred, then the smallest sum |c_i|, whose
inverse is the gap between neighbouring values of o. For s <= 3 this sum is the smallest of all codes with as few
changes; for larger s only one of the best orders is tried, and its sum can be twice the smallest.   Paper: best-code
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product

import numpy as np

from .._base.types import Array, Int, Shaped
from ..functions import assignments
from .candidates import fewest_changes_in_place, interchangeable, threshold_weights

# More changes than any table has: for codes that give two inputs of different value the same sum.
NEVER = 1 << 30


@dataclass(frozen=True)
class Code:
    """Non-zero integers c such that f depends only on sum_i c_i b_i; f changes `changes` times along this sum."""

    weights: tuple[int, ...]
    changes: int

    @property
    def total(self) -> int:
        """Return sum |c_i|; different values of sum_i c_i b_i / total are at least 1/total apart."""
        return sum(abs(c) for c in self.weights)

    @property
    def mixed(self) -> bool:
        """Return whether the weights have both signs."""
        return min(self.weights) < 0 < max(self.weights)

    @property
    def tilt(self) -> float:
        """Return 1/(8 sum |c_i|), an eighth of the gap. For mixed signs, bit 1 multiplies a token's weight by 1 plus
        this number.
        """
        return 1 / (8 * self.total)


def count_changes(table: Shaped[Array, " N"], weights: Int[Array, "m s"]) -> Int[Array, " m"]:
    """Return for each code how often f changes along its sum; NEVER if f differs on two inputs with the same sum."""
    levels = weights @ assignments(weights.shape[1]).T.astype(np.int64)
    order = np.argsort(levels, axis=1, kind="stable")
    changed = np.diff(table[order].astype(np.int64), axis=1) != 0
    tied = np.diff(np.take_along_axis(levels, order, axis=1), axis=1) == 0
    return np.where((changed & tied).any(axis=1), NEVER, changed.sum(axis=1))


def best_code(table: Shaped[Array, " N"], *, signs: bool = True) -> Code:
    """Return the code chosen by the rules at the top of this file, for a table of 2^s values that depends on all bits.

    With signs=False only positive weights are considered.   Paper: best-code
    """
    return _search(np.asarray(table).astype(np.uint8).tobytes(), signs)


@lru_cache(maxsize=1024)
def _search(table: bytes, signs: bool) -> Code:
    values, s = np.frombuffer(table, dtype=np.uint8), len(table).bit_length() - 1
    candidates = np.array(list(_candidates(values, s, signs)), dtype=np.int64)
    if not signs:
        candidates = candidates[(candidates > 0).all(axis=1)]
    parts = np.array_split(candidates, 1 + candidates.size * 2**s // 2**24)
    changes = np.concatenate([count_changes(values, part) for part in parts])
    mixed = (candidates.min(axis=1) < 0) & (candidates.max(axis=1) > 0)
    best = np.lexsort((np.abs(candidates).sum(axis=1), mixed, changes))[0]
    return _shrink(values, Code(tuple(int(c) for c in candidates[best]), int(changes[best])))


def _candidates(table: Shaped[Array, " N"], s: int, signs: bool) -> Iterator[tuple[int, ...]]:
    yield (1,) * s
    yield tuple(1 << i for i in range(s))  # always a code: every input has its own value
    if count_changes(table, np.ones((1, s), dtype=np.int64))[0] == 1:
        return  # at least k ones; nothing can be better
    if s < 5:
        yield from _small_weights(s, signs)  # ties among inputs make a wider gap
        yield _best_order(table, s, signs)
        return
    if s <= 12 and (weights := threshold_weights(table, s, signs=signs)) is not None:
        yield weights
        return  # one change again
    if s <= 8 and signs:
        yield from ((1, *rest) for rest in product((1, -1), repeat=s - 1))
    if s == 5:
        yield _best_order(table, s, signs)
    else:
        yield fewest_changes_in_place(table, s, signs=signs and s <= 8)
    yield from interchangeable(table, s)


@lru_cache
def _small_weights(s: int, signs: bool) -> tuple[tuple[int, ...], ...]:
    """Return every code with |c_i| <= 3, one of each pair c, -c."""
    either = (-3, -2, -1, 1, 2, 3) if signs else (1, 2, 3)
    return tuple(product((1, 2, 3), *[either] * (s - 1)))


@lru_cache
def canonical_orders(s: int) -> tuple[Int[Array, "orders N"], Int[Array, "orders s"]]:
    """Return every tie-free order of {0,1}^s by sums with ascending positive weights, and each one's least weights."""
    largest = {1: 1, 2: 2, 3: 4, 4: 10, 5: 30}[
        s
    ]  # the smallest weights that give all 1, 1, 2, 14, 516 orders
    weights = np.array(list(combinations(range(1, largest + 1), s)))
    weights = weights[np.argsort(weights.sum(axis=1), kind="stable")]
    levels = weights @ assignments(s).T.astype(np.int64)
    order = np.argsort(levels, axis=1, kind="stable")
    strict = (np.diff(np.take_along_axis(levels, order, axis=1), axis=1) > 0).all(axis=1)
    _, first = np.unique(order[strict], axis=0, return_index=True)
    return order[strict][first], weights[strict][first]


def _best_order(table: Shaped[Array, " N"], s: int, signs: bool) -> tuple[int, ...]:
    """Return the code with the fewest changes among all orders that weights induce, over all bit orders and signs."""
    orders, weights = canonical_orders(s)
    indices = np.arange(2**s)
    best, answer = (NEVER, True, NEVER), tuple(1 << i for i in range(s))
    for perm in permutations(range(s)):
        # Canonical bit i is bit perm[i] of f.
        moved = sum(((indices >> i) & 1) << p for i, p in enumerate(perm))
        for flips in range(2 ** (s - 1) if signs else 1):
            changes = (np.diff(table[moved ^ flips][orders].astype(np.int8), axis=1) != 0).sum(axis=1)
            fewest = int(changes.min())
            if (fewest, flips != 0) < best[:2]:
                code = weights[int(changes.argmin())]
                sign = [-1 if flips >> p & 1 else 1 for p in range(s)]
                placed = [0] * s
                for i, p in enumerate(perm):
                    placed[p] = sign[p] * int(code[i])
                best, answer = (fewest, flips != 0, sum(map(abs, placed))), tuple(placed)
    return answer


def _shrink(table: Shaped[Array, " N"], code: Code) -> Code:
    """Lower single weights while the number of changes does not grow; a smaller sum of weights means a larger gap."""
    while len(code.weights) <= 12:
        w = np.array(code.weights)
        smaller = [
            np.where(np.arange(len(w)) == i, np.sign(c) * size, w)
            for i, c in enumerate(w)
            for size in range(max(1, abs(int(c)) - 16), abs(int(c)))
        ]
        if not smaller:
            break
        options = np.array(smaller)
        options = options[np.argsort(np.abs(options).sum(axis=1), kind="stable")][:64]
        changes = count_changes(table, options)
        best = int(changes.argmin())
        if changes[best] > code.changes:
            break
        code = Code(tuple(int(c) for c in options[best]), int(changes[best]))
    return Code(tuple(-c for c in code.weights), code.changes) if max(code.weights) < 0 else code
