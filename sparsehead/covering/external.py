"""External covers: centres may lie anywhere in the space.

On a line, sweep from the left: the interval that starts at the first uncovered point is best. In the plane
with Euclidean discs, a disc of an optimal cover can be moved until two of its points lie on its rim, or one
point is its centre; so it is enough to consider finitely many discs, and a set cover chooses the fewest of them. In
other spaces only a lower and an upper bound are computed. Whether a point lies in a disc is decided exactly, although
centres have irrational coordinates.
"""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .._base.types import Array, Bool
from .cover import Cover, cover_graph, greedy_cover, greedy_packing, round_up, set_cover
from .metrics import ULP, Points

Pair = tuple[int, int]


def external_cover(
    points: Points,
    limit: Fraction,
    p: float,
    *,
    near: Bool[Array, "n n"],
    apart: Bool[Array, "n n"],
    deadline: float,
) -> Cover:
    """Return N_ext, or the bounds P(2 eps) <= N_ext <= N_int if it is not computed.   Paper: pseudometric-cover"""
    n, d = points.values.shape
    packing, ties = len(greedy_packing(apart)), points.ties(p)
    if d == 1:
        found = tuple((float(c),) for c in _on_a_line([points.row(i)[0] for i in range(n)], limit))
        size = len(found)
        return Cover(
            lower=size, upper=size, centers=found, rows=None, greedy=size, packing=packing, lp=None, ties=ties
        )
    # beyond 150 points there are too many discs through two of them
    if d == 2 and p == 2 and n <= 150:
        return _in_the_plane(points, limit, near=near, apart=apart, packing=packing, deadline=deadline)
    proper = cover_graph(near, apart, values=points.values, deadline=deadline)
    return replace(proper, lower=packing, lp=None, ties=ties)


def _on_a_line(xs: list[Fraction], radius: Fraction) -> list[Fraction]:
    """Return the centres of the fewest intervals of half-length `radius` that contain all of xs."""
    centers: list[Fraction] = []
    last = None
    for x in sorted(xs):
        if last is None or x - last > 2 * radius:
            last = x
            centers.append(x + radius)
    return centers


def _in_the_plane(
    points: Points,
    limit: Fraction,
    *,
    near: Bool[Array, "n n"],
    apart: Bool[Array, "n n"],
    packing: int,
    deadline: float,
) -> Cover:
    """Return a cover by the fewest discs of radius `limit`, chosen among discs centred at a point or through two."""
    fractions = [points.row(i) for i in range(len(points.values))]
    # this factor makes the coordinates and the limit whole numbers
    factor = math.lcm(limit.denominator, *(x.denominator for row in fractions for x in row))
    rows = [(int(x * factor), int(y * factor)) for x, y in fractions]
    radius = int(limit * factor)
    discs, covers = [(i, i, 0) for i in range(len(rows))], [near]
    for i, (x_i, y_i) in enumerate(rows):
        local = [(x - x_i, y - y_i) for x, y in rows]
        for j in range(i + 1, len(rows)):
            if not apart[i, j] and local[j] != (0, 0):
                covers.append(_members(local, j, radius, candidates=~apart[i] & ~apart[j]))
                discs += [(i, j, 1), (i, j, -1)]
    columns, keep = np.unique(np.concatenate(covers, axis=1), axis=1, return_index=True)
    greedy = greedy_cover(columns)
    found, dual, proven = set_cover(columns, time_limit=max(0.01, deadline - time.monotonic()))
    best = found if found is not None and len(found) < len(greedy) else greedy
    return Cover(
        lower=len(best) if proven else max(packing, round_up(dual)),
        upper=len(best),
        centers=tuple(_center(points, *discs[keep[i]], limit=limit) for i in best),
        rows=None,
        greedy=len(greedy),
        packing=packing,
        lp=None,
        ties=points.ties(2.0),
    )


def _members(local: list[Pair], j: int, radius: int, *, candidates: Bool[Array, " n"]) -> Bool[Array, "n 2"]:
    """Return which points lie in the two discs of this radius that have the origin and point j on their rims.

    In units of the radius, with g the point j, t = sqrt(1/|g|^2 - 1/4) and g' = (-g_y, g_x), the centres are
    g/2 +- t g', and a point w is inside iff

        |w - g/2 -+ t g'|^2 <= 1   <=>   |w|^2 - <w, g> <= +- 2 t <w, g'>.

    Only `candidates`, points within 2 of the origin and of g, are tested. Floats are used if they can decide;
    coordinates are relative to a point of the disc, so that offsets do not matter.
    """
    at = np.flatnonzero(candidates)
    w = np.array([(local[k][0] / radius, local[k][1] / radius) for k in at.tolist()])
    g = w[np.searchsorted(at, j)]
    left = (w * w).sum(axis=1) - w @ g
    right = 2 * (w @ np.array([-g[1], g[0]]))
    size = float(g @ g)
    inside = np.zeros((len(local), 2), dtype=bool)
    # Coordinates up to 2 are off by 2 ULP, so products of two by 8 ULP; t^2 by the same relative to |g|^3.
    # Rim points closer than 1e-6 leave every decision to exact arithmetic.
    error, t = 64 * ULP, math.sqrt(max(0.0, 1 / size - 1 / 4)) if size > 1e-12 else math.inf
    error_t = 0.0 if math.isinf(t) else math.sqrt(error / size**1.5)
    if 0 < t < math.inf:
        error_t = min(error_t, error / size**1.5 / t)
    for column, side in enumerate((1, -1)):
        with np.errstate(invalid="ignore"):
            gap = left - side * t * right
            sure = np.abs(gap) > error * (1 + t) + np.abs(right) * error_t
        inside[at, column] = gap < 0
        for k in at[~sure].tolist():
            inside[k, column] = _inside(local[k], local[j], side, radius)
    return inside


def _inside(w: Pair, g: Pair, side: int, radius: int) -> bool:
    """Return whether |w|^2 - <w, g> <= 2 side t <w, g'>, decided in integers; t and g' are those of `_members`."""
    left = w[0] * (w[0] - g[0]) + w[1] * (w[1] - g[1])
    right = side * (w[1] * g[0] - w[0] * g[1])
    size = g[0] ** 2 + g[1] ** 2
    left_squared, right_squared = left * left * size, right * right * (4 * radius * radius - size)
    if right >= 0:
        return left <= 0 or left_squared <= right_squared
    return left <= 0 and left_squared >= right_squared


def _center(points: Points, i: int, j: int, side: int, *, limit: Fraction) -> tuple[float, float]:
    """Return the centre of the disc through points i and j as floats; if j = i, of the disc centred at i."""
    (x, y), other = points.row(i), points.row(j)
    g_x, g_y = other[0] - x, other[1] - y
    largest = max(abs(g_x), abs(g_y)) or Fraction(1)
    along_x, along_y = float(g_x / largest), float(g_y / largest)
    away = side * math.sqrt(1 - (g_x**2 + g_y**2) / (4 * limit**2)) / (math.hypot(along_x, along_y) or 1.0)
    return (
        float(x + g_x / 2 - limit * Fraction(away * along_y)),
        float(y + g_y / 2 + limit * Fraction(away * along_x)),
    )
