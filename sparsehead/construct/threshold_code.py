"""Is f a linear threshold function, and with which small integers?"""

import numpy as np

from ..functions import assignments
from ..types import Array, Shaped

SECONDS = 5.0  # for the integer programme; the linear one takes milliseconds


def threshold_weights(table: Shaped[Array, " N"], s: int, *, signs: bool) -> tuple[int, ...] | None:
    """Integers c, none zero, and a theta with f(b) = [c . b >= theta], or its negation; None if there are none.

    A threshold function is unate (monotone in each bit, up or down), which settles most functions at once. The
    directions known, the weights are the solution of an integer programme that minimises sum |c_i|; should that
    run out of time, weights rounded from the linear relaxation are returned if they do.
    """
    directions = unate(table, s)
    if directions is None:
        return None
    if not signs and min(directions) < max(directions):
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
        options={"time_limit": SECONDS},
    )
    sizes = [solved.x[:s]] if solved.x is not None else [relaxed.x[:s] * k for k in range(1, 200)]
    for size in sizes:
        weights = np.rint(size).astype(np.int64) * np.array(directions)
        levels = assignments(s).astype(np.int64) @ weights
        if levels[f].min() > levels[~f].max():
            return tuple(int(c) for c in weights)
    return None


def unate(table: Shaped[Array, " N"], s: int) -> tuple[int, ...] | None:
    """The direction (+1 or -1) in which each bit moves f, or None when some bit moves it both ways."""
    g = np.asarray(table).astype(np.int64).reshape((2,) * s).transpose()
    directions = []
    for i in range(s):
        steps = g.take(1, i) - g.take(0, i)
        if steps.min() < 0 < steps.max():
            return None
        directions.append(1 if steps.max() > 0 else -1)
    return tuple(directions)
