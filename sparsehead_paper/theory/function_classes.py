"""Covering numbers of function classes on a sample: definitions 2.1 and 2.2.

A function is represented by the vector of its values on z_1 .. z_m; the distance of f and g is
max_i ||f(z_i) - g(z_i)||. Covering the values at each z_i separately is not equivalent: the functions from m points to
{-1, 1} have two values at each point, but covering number 2^m.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.log_math import Real
from sparsehead._base.types import Array, Shaped
from sparsehead.covering.cover import Cover, Packing, cover_graph, pack_graph
from sparsehead.covering.metrics import Points, check_p, read_points, read_radius, within


def evaluate(functions: Iterable[Callable[[Any], Any]], sample: Sequence[Any]) -> Shaped[Array, "n m out"]:
    """Return f(z) for every function and every sample point as one array (definition 2.1).

    If all values are integers, fractions or Decimals, they stay exact, in an array of objects; otherwise all
    become floats.   Paper: covering-number
    """
    table = [[_values(f(z)) for z in sample] for f in functions]
    if len({len(values) for row in table for values in row}) > 1:
        raise ShapeError("the functions return vectors of different lengths; a class has one output space.")
    cells = [x for row in table for values in row for x in values]
    if not cells:
        raise DomainError("a class on a sample needs at least one function and one sample point.")
    exact = all(isinstance(x, int | np.integer | Fraction | Decimal) for x in cells)
    return np.array(table, dtype=object if exact else np.float64)


def _values(y: Any) -> list[Any]:
    """Return a function's value as a flat list of numbers."""
    return np.ravel(np.asarray(y)).tolist() if not isinstance(y, Fraction | Decimal) else [y]


def evaluate_parameters(
    f: Callable[[Any, Any], Any], parameters: Iterable[Any], sample: Sequence[Any]
) -> Shaped[Array, "n m out"]:
    """Return f(z; theta) for every parameter and every sample point (definition 2.2).

    Paper: parameterized-covering-number
    """

    def at(theta: Any) -> Callable[[Any], Any]:
        return lambda z: f(z, theta)

    return evaluate(map(at, parameters), sample)


def class_covering_number(
    values: Shaped[Array, "n m out"], *, eps: Any, p: Real = 2, time_limit: float = 30.0
) -> Cover:
    """Return a smallest proper cover, N_inf(F; eps; z_1..z_m; ||.||_p), of the n functions with these values.

    If the n functions are a sample of a larger class F, this is not a lower bound for N_inf(F; eps), since a class can
    have a smaller cover than a part of it; `class_packing_number` at 2 eps is a lower bound. Values and eps are
    compared as in `covering_number`. `rows` of the result index the functions; centres have no coordinates.

    Paper: covering-number
    """
    points, p = _read(values), check_p(p)
    limit = points.limit(read_radius(eps, points), p)
    deadline = time.monotonic() + time_limit
    near, apart = within(points, limit, p), ~within(points, 2 * limit, p)
    no_coordinates = np.empty((len(values), 0))
    return cover_graph(near, apart, values=no_coordinates, deadline=deadline, ties=points.ties(p))


def class_packing_number(
    values: Shaped[Array, "n m out"], *, r: Any, p: Real = 2, time_limit: float = 30.0
) -> Packing:
    """Return a largest set of functions that are pairwise more than r apart on the sample.

    For any sample F_n of a class F:  P(F_n, 2 eps) <= N_ext(F, eps) <= N_int(F, eps).

    Paper: covering-number
    """
    points, p = _read(values), check_p(p)
    return pack_graph(within(points, points.limit(read_radius(r, points), p), p), time_limit=time_limit)


def _read(values: Shaped[Array, "n m out"]) -> Points:
    """Return one point per function, with coordinates in m blocks; the distance is the maximum over blocks."""
    n, m, _ = values.shape
    return replace(read_points(values.reshape(n, -1)), blocks=m)
