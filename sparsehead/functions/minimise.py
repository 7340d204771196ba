"""The shortest OR of ANDs of a truth table: prime implicants, then an exact choice among them.

A cube is an AND of literals; an implicant is a cube on which the function is 1, and it is prime if no literal can be
dropped. Some shortest OR of ANDs consists of primes (Quine), so the choice is a set cover: every input with value 1
lies in a chosen prime. `shortest_cubes` takes the fewest literals, and among those the fewest cubes.
"""

import numpy as np

from .._base.types import Array, Shaped
from .cover import Cube

MAX_EXACT_S = 8  # with more variables the primes become too many for an exact choice while one waits
NODES = 20_000  # branch-and-bound nodes; beyond them the caller takes an irredundant cover instead


def prime_implicants(table: Shaped[Array, " N"]) -> list[Cube]:
    """All prime implicants, by merging cubes that differ in one literal.

    >>> prime_implicants(np.array([0, 0, 0, 1]))
    [(3, 0)]
    """
    s = len(table).bit_length() - 1
    full = (1 << s) - 1
    # A cube is (care, value): the variables that it fixes, and to what.
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
    """Cubes whose union is where the table is 1, with the fewest literals.

    None beyond MAX_EXACT_S variables or NODES nodes.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    if len(table) > 2**MAX_EXACT_S:
        return None
    if not table.any():
        return []
    primes = prime_implicants(table)
    index = np.flatnonzero(table)
    positive, negative = np.array(primes).T
    inside = (index[:, None] & positive == positive) & (index[:, None] & negative == 0)
    # A literal costs 1. The extra per cube only decides between covers with equally many literals.
    cost = np.bitwise_count(positive | negative) + 1 / (len(index) + 1)
    found = milp(
        cost,
        constraints=LinearConstraint(csr_array(inside.astype(float)), lb=1),
        integrality=np.ones(len(primes)),
        bounds=Bounds(0, 1),
        options={"node_limit": NODES},
    )
    if found.status != 0:
        return None
    return [cube for cube, chosen in zip(primes, found.x > 0.5, strict=True) if chosen]
