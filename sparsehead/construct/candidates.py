"""Candidate codes for a truth table: threshold weights, powers of two, mixed radix over interchangeable bits."""

from collections.abc import Iterator
from itertools import islice, permutations

import numpy as np

from .._base.types import Array, Shaped
from ..functions import assignments


def threshold_weights(table: Shaped[Array, " N"], s: int, *, signs: bool) -> tuple[int, ...] | None:
    """Return non-zero integers c with f(b) = [c . b >= theta] for some theta; None if f is no threshold function.

    A threshold function is unate (increasing or decreasing in each bit), which rules out most functions at once. Given
    the directions, an integer programme finds the weights that minimise sum |c_i|. If it runs out of time, multiples of
    the linear relaxation's solution are rounded until one works; None if none does.
    """
    directions = unate(table, s)
    if directions is None or (not signs and min(directions) < max(directions)):
        return None
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    f = np.asarray(table).astype(bool)
    side = np.where(f, 1.0, -1.0)
    # c_i = directions_i * size_i with size_i >= 1: rows side * (c . b - theta) >= 1/2
    rows = side[:, None] * np.hstack([assignments(s) * np.array(directions), -np.ones((2**s, 1))])
    objective, lower = np.append(np.ones(s), 0.0), np.append(np.ones(s), -np.inf)
    relaxed = linprog(
        objective,
        A_ub=-rows,
        b_ub=np.full(2**s, -0.5),
        bounds=[(1, None)] * s + [(None, None)],
        method="highs",
    )
    if relaxed.status == 2:
        return None
    solved = milp(
        objective,
        constraints=LinearConstraint(rows, np.full(2**s, 0.5), np.inf),
        integrality=np.append(np.ones(s), 0),
        bounds=Bounds(lower, np.inf),
        options={"time_limit": 5.0},  # seconds; the linear programme takes milliseconds
    )
    sizes = [solved.x[:s]] if solved.x is not None else [relaxed.x[:s] * k for k in range(1, 200)]
    for size in sizes:
        weights = np.rint(size).astype(np.int64) * np.array(directions)
        levels = assignments(s).astype(np.int64) @ weights
        if levels[f].min() > levels[~f].max():
            return tuple(int(c) for c in weights)
    return None


def unate(table: Shaped[Array, " N"], s: int) -> tuple[int, ...] | None:
    """Return +1 for each bit in which f is increasing, -1 if decreasing; None if some bit is neither."""
    g = np.asarray(table).astype(np.int64).reshape((2,) * s).transpose()
    directions = []
    for i in range(s):
        steps = g.take(1, i) - g.take(0, i)
        if steps.min() < 0 < steps.max():
            return None
        directions.append(1 if steps.max() > 0 else -1)
    return tuple(directions)


def fewest_changes_in_place(table: Shaped[Array, " N"], s: int, *, signs: bool) -> tuple[int, ...]:
    """Return the code +-2^place for which f changes value least often, over all bit orders and, with `signs`, signs.

    Dynamic programming over sets L of bits in the lowest places. Placing bit k next adds the changes of f from (k = 0,
    the code value of L at its largest) to (k = 1, the code value of L at its smallest), summed over all values of the
    higher bits. This number depends on L and its signs, not on the order inside L, so only the best order of each set L
    is kept: 2^s sets, or 3^s with signs. For s > 12, bits are ordered by influence instead.
    """
    g = table.reshape((2,) * s).transpose()  # axis i is bit i
    if s > 12:
        # The bit that flips f most often gets the lowest place: its changes are met whatever the higher bits are.
        flips = [np.count_nonzero(g.take(0, i) != g.take(1, i)) for i in range(s)]
        influence_order = list(np.argsort(flips, kind="stable"))
        return tuple(1 << influence_order.index(i) for i in range(s))
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


def interchangeable(table: Shaped[Array, " N"], s: int) -> Iterator[tuple[int, ...]]:
    """Yield codes with equal weights in each class of interchangeable bits; a class is one digit of a mixed radix."""
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
    for order in islice(permutations(classes), 120):
        weights, place = [0] * s, 1
        for c in order:
            for i in c:
                weights[i] = place
            place *= len(c) + 1
        yield tuple(weights)
