"""External covers: centres anywhere in the space.

On a line, sweep from the left: the interval that starts at the first uncovered point is best. In the plane
with Euclidean discs, a disc of an optimal cover can be moved until two of its points lie on its rim, or one
point is its centre; so finitely many discs suffice and the number is a set cover. Elsewhere only the bracket
is known.
"""

import math
import time
from fractions import Fraction

import numpy as np

from ..types import Array, Bool, Float
from .covers import SLACK, Cover, cover_graph, greedy_cover, greedy_packing, set_cover
from .metrics import Exact, close_matrix

PLANAR_LIMIT = 150  # n^2 candidate discs


def external_cover(
    values: Float[Array, "n d"],
    exact_values: Exact | None,
    radius: Fraction | float,
    p: float,
    *,
    near: Bool[Array, "n n"],
    apart: Bool[Array, "n n"],
    deadline: float,
) -> Cover:
    """N_ext, or P(2 eps) <= N_ext <= N_int where it is not computed.   Paper: pseudometric-cover"""
    n, d = values.shape
    packing = len(greedy_packing(apart))
    if d == 1:
        centers = _on_a_line([row[0] for row in exact_values or values.tolist()], radius)
        found = tuple((float(c),) for c in centers)
        return Cover(len(found), len(found), len(found), True, found, None, len(found), packing, None)
    if d == 2 and p == 2 and n <= PLANAR_LIMIT:
        return _in_the_plane(values, float(radius), packing, deadline)
    proper = cover_graph(near, apart, values=values, deadline=deadline)
    exact = packing == proper.upper
    return Cover(
        size=packing if exact else None,
        lower=packing,
        upper=proper.upper,
        exact=exact,
        centers=proper.centers,
        rows=proper.rows,
        greedy=proper.greedy,
        packing=packing,
        lp=None,
    )


def _on_a_line(xs: list, radius: Fraction | float) -> list:
    """Centres of the fewest intervals of half-length `radius` that contain all of xs."""
    reach = 2 * radius if isinstance(radius, Fraction) else 2 * radius * (1 + 1e-12)
    centers: list = []
    last = None
    for x in sorted(xs):
        if last is None or x - last > reach:
            last = x
            centers.append(x + radius)
    return centers


def _in_the_plane(values: Float[Array, "n 2"], eps: float, packing: int, deadline: float) -> Cover:
    """The fewest discs of radius eps: set cover over discs centred at a point or through two points."""
    discs = [values]
    for i, a in enumerate(values):
        gap = values[i + 1 :] - a
        length = np.linalg.norm(gap, axis=1)
        reachable = (length > 0) & (length <= 2 * eps * (1 + 1e-12))
        gap, length = gap[reachable], length[reachable]
        height = np.sqrt(np.maximum(eps**2 - length**2 / 4, 0.0))
        normal = np.stack([-gap[:, 1], gap[:, 0]], axis=1) / length[:, None]
        for sign in (1, -1):
            discs.append(a + gap / 2 + sign * height[:, None] * normal)
    centers = np.concatenate(discs)
    D = np.linalg.norm(values[:, None, :] - centers[None], axis=2)
    covers = close_matrix(D, eps * (1 + 1e-11))  # rim points are computed, so a few more roundings
    covers, keep = np.unique(covers, axis=1, return_index=True)
    centers = centers[keep]
    greedy = greedy_cover(covers)
    found, dual, proven = set_cover(covers, time_limit=max(0.01, deadline - time.monotonic()))
    best = found if found is not None and len(found) < len(greedy) else greedy
    lower = max(packing, math.ceil(dual - SLACK))
    exact = proven or lower == len(best)
    return Cover(
        size=len(best) if exact else None,
        lower=len(best) if exact else lower,
        upper=len(best),
        exact=exact,
        centers=tuple(tuple(map(float, centers[i])) for i in best),
        rows=None,
        greedy=len(greedy),
        packing=packing,
        lp=None,
    )
