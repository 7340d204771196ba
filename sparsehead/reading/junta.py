"""Exact reading of a junta by membership queries.

Let R be the relevant positions found so far. Inputs that agree on R but get different labels differ in a further
relevant position; bisection over the positions in which they differ finds one with at most ceil(log2 T) queries.
If no such pair is found among K backgrounds (settings of the other positions) for each of the 2^|R| patterns on R, the
labels by pattern are the table of the function. A function of s positions therefore takes at most

    s ceil(log2 T)  +  sum_{r <= s} 2^r K(r)   =   O(s log T + 2^s)

queries, with K(r) backgrounds for r known positions. The backgrounds are all zeros, all ones, and random inputs with
several rates of ones, so that functions that are rarely 1 (a long AND) are found too. On these backgrounds no other
position changes a label, but that is not a proof for all inputs; `verify` gives one.
"""

import math

import numpy as np

from .._base.types import Array, Shaped
from ..functions import SparseFunction, assignments, from_table
from ..functions.task import bernoulli
from .queries import Oracle


def backgrounds_for(r: int) -> int:
    """Return K(r), the number of backgrounds per pattern if r positions are known: 256/2^r, at least 8."""
    return max(8, 256 >> r)


def query_bound(s: int, T: int) -> int:
    """Return the maximal number of queries for reading a function of s out of T positions.   Paper: read-junta

    >>> query_bound(3, 1000)
    1054
    """
    return s * math.ceil(math.log2(max(2, T))) + sum(2**r * backgrounds_for(r) for r in range(s + 1))


def read_junta(oracle: Oracle, *, most: int, rng: np.random.Generator, p: float) -> SparseFunction | None:
    """Return the function of at most `most` positions that agrees with the oracle on all inputs tried.

    Args:
        most: the search stops if there are more relevant positions than this.
        p: rate of ones in the model's usual inputs, which is also used for backgrounds.
    Returns:
        None if more than `most` positions matter on the inputs tried.   Paper: read-junta
    """
    found: list[int] = []
    while True:
        backgrounds = _backgrounds(oracle.T, backgrounds_for(len(found)), rng, p)
        patterns = assignments(len(found))
        labels = np.array([oracle(_with_pattern(backgrounds, found, row)) for row in patterns])
        differs = labels != labels[:, :1]
        if not differs.any():
            return from_table(T=oracle.T, support=found, table=labels[:, 0])
        if len(found) == most:
            return None
        pattern = int(differs.any(axis=1).argmax())
        x, y = _with_pattern(backgrounds[[0, int(differs[pattern].argmax())]], found, patterns[pattern])
        found.append(sensitive_position(oracle, x, y, int(labels[pattern, 0])))


def _backgrounds(T: int, K: int, rng: np.random.Generator, p: float) -> Shaped[Array, "K T"]:
    """Return all zeros, all ones, and K - 2 random inputs with several rates of ones in turn."""
    rates = np.resize([0.5, 0.1, 0.9, 0.5, p], K - 2)
    drawn = [bernoulli(rate, (1, T), rng).view(np.uint8) for rate in rates]
    return np.vstack([np.zeros((1, T), np.uint8), np.ones((1, T), np.uint8), *drawn])


def _with_pattern(
    backgrounds: Shaped[Array, "K T"], found: list[int], pattern: Shaped[Array, " r"]
) -> Shaped[Array, "K T"]:
    inputs = backgrounds.copy()
    inputs[:, found] = pattern
    return inputs


def sensitive_position(
    oracle: Oracle,
    x: Shaped[Array, " T"],
    y: Shaped[Array, " T"],
    label: int,
    *,
    rng: np.random.Generator | None = None,
) -> int:
    """Return a position whose flip changes the label on a path from x, which has `label`, to y, which does not.

    The path flips the positions in which x and y differ, in ascending order or, given a generator, in random order.
    """
    differ = np.flatnonzero(x != y)
    if rng is not None:
        rng.shuffle(differ)
    low, high = 0, len(differ)
    while high - low > 1:
        middle = (low + high) // 2
        between = x.copy()
        between[differ[:middle]] = y[differ[:middle]]
        low, high = (middle, high) if oracle(between[None])[0] == label else (low, middle)
    return int(differ[low])
