"""Codes by place value: every bit order and sign at once, and mixed radix over interchangeable bits."""

from collections.abc import Iterator
from itertools import islice, permutations

import numpy as np

from ..types import Array, Shaped

ORDERS = 120  # how many orders of the classes of interchangeable bits are tried
EXACT = 12  # beyond this many bits, their order comes from their influence


def fewest_changes_in_place(table: Shaped[Array, " N"], s: int, *, signs: bool) -> tuple[int, ...]:
    """The code +-2^place with the fewest changes, over all bit orders (and signs, if asked).

    Place bits from the lowest up. Putting bit k on top of the set L already placed adds the changes between
    "k low, L at its top" and "k high, L at its bottom", summed over all settings of the bits above: a number that
    depends on L and its signs alone, not on the order inside L. So the best order of every L extends to the best
    order of every larger set: 2^s sets, or 3^s with signs.
    """
    g = table.reshape((2,) * s).transpose()  # axis i is bit i
    if s > EXACT:
        return _by_influence(g, s)
    # Signs of L -> cost, order.
    best: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {(0,) * s: (0, ())}
    for _ in range(s):
        grown: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
        for placed, (cost, order) in best.items():
            top = g[tuple(slice(None) if c == 0 else int(c > 0) for c in placed)]
            bottom = g[tuple(slice(None) if c == 0 else int(c < 0) for c in placed)]
            above = [i for i in range(s) if placed[i] == 0]
            for axis, k in enumerate(above):
                for sign in (1, -1) if signs else (1,):
                    low, high = (0, 1) if sign > 0 else (1, 0)
                    added = int(np.count_nonzero(top.take(low, axis) != bottom.take(high, axis)))
                    state = (*placed[:k], sign, *placed[k + 1 :])
                    if state not in grown or cost + added < grown[state][0]:
                        grown[state] = (cost + added, (*order, k))
        best = grown
    placed, (_, order) = min(best.items(), key=lambda item: (item[1][0], min(item[0]) < 0 < max(item[0])))
    return tuple(placed[i] * (1 << order.index(i)) for i in range(s))


def _by_influence(g: Shaped[Array, "..."], s: int) -> tuple[int, ...]:
    """The bit that flips f most often in the lowest place: its changes are met whatever stands above."""
    flips = [np.count_nonzero(g.take(0, i) != g.take(1, i)) for i in range(s)]
    order = list(np.argsort(flips, kind="stable"))
    return tuple(1 << order.index(i) for i in range(s))


def interchangeable(table: Shaped[Array, " N"], s: int) -> Iterator[tuple[int, ...]]:
    """Codes that count inside each class of bits f cannot tell apart, and use mixed radix across classes."""
    g = table.reshape((2,) * s).transpose()
    classes: list[list[int]] = []
    for i in range(s):
        for c in classes:
            if np.array_equal(g, g.swapaxes(c[0], i)):
                c.append(i)
                break
        else:
            classes.append([i])
    if len(classes) == s:
        return
    for order in islice(permutations(classes), ORDERS):
        weights, place = [0] * s, 1
        for c in order:
            for i in c:
                weights[i] = place
            place *= len(c) + 1
        yield tuple(weights)
