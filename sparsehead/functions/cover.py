"""Two-level forms: a truth table as an irredundant OR of ANDs."""

import numpy as np

from .._base.types import Array, Shaped

Cube = tuple[int, int]  # the variables that must be 1 and those that must be 0, as bit masks


class _TooMany(Exception):
    """The cover has more than `most` cubes."""


def cubes(table: Shaped[Array, " N"], *, most: int) -> list[Cube] | None:
    """Cubes whose union is where the table is 1, none of them superfluous; None if there are over `most`.

    Minato and Morreale's recursion on tables held as integers of 2^s bits. The cover is irredundant, which is
    not always the fewest cubes possible. Work is bounded by `most`, since every leaf of the recursion is a cube.
    """
    whole = int.from_bytes(np.packbits(table, bitorder="little").tobytes(), "little")
    budget = [most]
    try:
        return _cover(whole, whole, len(table).bit_length() - 1, budget)[0]
    except _TooMany:
        return None


def _cover(lower: int, upper: int, s: int, budget: list[int]) -> tuple[list[Cube], int]:
    """Cubes over s variables, and the table of their union, which contains `lower` and stays inside `upper`."""
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
    # What only the side x_s = 0 can hold, then what only x_s = 1 can hold, then what needs no literal of x_s.
    cubes_0, union_0 = _cover(lower_0 & ~upper_1, upper_0, s, budget)
    cubes_1, union_1 = _cover(lower_1 & ~upper_0, upper_1, s, budget)
    rest = (lower_0 & ~union_0) | (lower_1 & ~union_1)
    cubes_b, union_b = _cover(rest, upper_0 & upper_1, s, budget)
    found = [(p, n | half) for p, n in cubes_0] + [(p | half, n) for p, n in cubes_1] + cubes_b
    return found, (union_0 | union_b) | ((union_1 | union_b) << half)
