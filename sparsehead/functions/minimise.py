"""Write a truth table as an OR of ANDs: the shortest, or an irredundant one if the shortest takes too long to find.

A cube is an AND of literals, stored as two bit masks: variables that must be 1, and variables that must be 0. An
implicant is a cube on which the function is 1; it is prime if no literal can be dropped. Some shortest OR of ANDs
consists of primes (Quine), so finding it is a set cover problem: choose primes that together contain every input with
value 1. `shortest_cubes` minimises the number of literals, then that of cubes.
"""

import numpy as np

from .._base.types import Array, Shaped

Cube = tuple[int, int]  # the variables that must be 1 and those that must be 0, as bit masks


def prime_implicants(table: Shaped[Array, " N"]) -> list[Cube]:
    """Return all prime implicants, found by merging cubes that differ in one literal.

    >>> prime_implicants(np.array([0, 0, 0, 1]))
    [(3, 0)]
    """
    s = len(table).bit_length() - 1
    full = (1 << s) - 1
    # Here a cube is (care, value): a mask of the variables that it fixes, and their values.
    level = {(full, j) for j in np.flatnonzero(table).tolist()}
    primes: set[tuple[int, int]] = set()
    while level:
        merged: set[tuple[int, int]] = set()
        used: set[tuple[int, int]] = set()
        for care, value in level:
            for i in range(s):
                bit = 1 << i
                if care & bit and not value & bit and (care, value | bit) in level:
                    merged.add((care & ~bit, value))
                    used |= {(care, value), (care, value | bit)}
        primes |= level - used
        level = merged
    return sorted((value, care & ~value) for care, value in primes)


def shortest_cubes(table: Shaped[Array, " N"]) -> list[Cube] | None:
    """Return cubes whose union is the set where the table is 1, with the fewest literals.

    Return None for more than 8 variables, which have too many primes, or if the search exceeds 20,000 nodes.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    if len(table) > 2**8:
        return None
    if not table.any():
        return []
    primes = prime_implicants(table)
    index = np.flatnonzero(table)
    positive, negative = np.array(primes).T
    inside = (index[:, None] & positive == positive) & (index[:, None] & negative == 0)
    # A literal costs 1. The small cost per cube only decides between covers with equally many literals.
    cost = np.bitwise_count(positive | negative) + 1 / (len(index) + 1)
    found = milp(
        cost,
        constraints=LinearConstraint(csr_array(inside.astype(float)), lb=1),
        integrality=np.ones(len(primes)),
        bounds=Bounds(0, 1),
        options={"node_limit": 20_000},
    )
    if found.status != 0:
        return None
    return [cube for cube, chosen in zip(primes, found.x > 0.5, strict=True) if chosen]


class _TooMany(Exception):
    """The cover has more than `most` cubes."""


def cubes(table: Shaped[Array, " N"], *, most: int) -> list[Cube] | None:
    """Return cubes whose union is the set where the table is 1; None if there are more than `most`.

    Uses Minato and Morreale's recursion, on tables held as integers of 2^s bits. Each of the returned cubes is needed,
    but another choice may consist of fewer cubes. Every leaf of the recursion is a cube, so `most` bounds the work.
    """
    whole = int.from_bytes(np.packbits(table, bitorder="little").tobytes(), "little")
    budget = [most]
    try:
        return _cover(whole, whole, len(table).bit_length() - 1, budget)[0]
    except _TooMany:
        return None


def _cover(lower: int, upper: int, s: int, budget: list[int]) -> tuple[list[Cube], int]:
    """Return cubes over s variables, and the table of their union, which contains `lower` and is inside `upper`."""
    if lower == 0:
        return [], 0
    full = (1 << (1 << s)) - 1
    if upper == full:
        budget[0] -= 1
        if budget[0] < 0:
            raise _TooMany
        return [(0, 0)], full
    s -= 1
    half = 1 << s
    low = (1 << half) - 1
    lower_0, lower_1, upper_0, upper_1 = lower & low, lower >> half, upper & low, upper >> half
    # Cubes that need the literal x_s = 0, then those that need x_s = 1, then those without a literal of x_s.
    cubes_0, union_0 = _cover(lower_0 & ~upper_1, upper_0, s, budget)
    cubes_1, union_1 = _cover(lower_1 & ~upper_0, upper_1, s, budget)
    rest = (lower_0 & ~union_0) | (lower_1 & ~union_1)
    cubes_b, union_b = _cover(rest, upper_0 & upper_1, s, budget)
    found = [(p, n | half) for p, n in cubes_0] + [(p | half, n) for p, n in cubes_1] + cubes_b
    return found, (union_0 | union_b) | ((union_1 | union_b) << half)
