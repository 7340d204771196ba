"""Covering numbers of function classes on a sample: definitions 2.1 and 2.2.

A function counts only through its values on z_1 .. z_m, taken together: the distance of f and g is
max_i ||f(z_i) - g(z_i)||. Covering the values at one z_i at a time is not the same thing (all +-1 functions
on m points have the two values +-1, and covering number 2^m).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import DomainError, ShapeError
from ..logs import Real, check_eps
from ..types import Array, Float
from .covers import Cover, Packing, cover_graph, pack_graph
from .metrics import MOST_POINTS, check_p, close_matrix


def evaluate(functions: Iterable[Callable[[Any], Any]], sample: Sequence[Any]) -> Float[Array, "n m out"]:
    """f(z) for every function and every sample point, as one array (definition 2.1).   Paper: covering-number"""
    table = [[np.atleast_1d(np.asarray(f(z), dtype=np.float64)) for z in sample] for f in functions]
    try:
        values = np.array(table, dtype=np.float64)
    except ValueError:
        raise ShapeError(
            "the functions return vectors of different lengths; a class has one output space."
        ) from None
    if values.size == 0:
        raise DomainError("a class on a sample needs at least one function and one sample point.")
    return values.reshape(values.shape[0], values.shape[1], -1)


def evaluate_parameters(
    f: Callable[[Any, Any], Any], parameters: Iterable[Any], sample: Sequence[Any]
) -> Float[Array, "n m out"]:
    """f(z; theta) for every parameter and every sample point (definition 2.2).

    Paper: parameterized-covering-number
    """
    return evaluate([partial(_at, f, theta) for theta in parameters], sample)


def _at(f: Callable[[Any, Any], Any], theta: Any, z: Any) -> Any:
    return f(z, theta)


def sup_distances(values: Float[Array, "n m out"], p: Real = 2) -> Float[Array, "n n"]:
    """max_i ||f_a(z_i) - f_b(z_i)||_p for every pair of functions.   Paper: token-aggregation"""
    if len(values) > MOST_POINTS:
        raise DomainError(f"all pairs are compared: at most {MOST_POINTS} functions, got {len(values)}.")
    D = np.zeros((len(values), len(values)))
    for at_z in values.transpose(1, 0, 2):
        if at_z.shape[1] == 1:
            gaps = np.abs(at_z - at_z.T)
        else:
            gaps = np.linalg.norm(at_z[:, None] - at_z[None], ord=check_p(p), axis=2)
        np.maximum(D, gaps, out=D)
    return D


def class_covering_number(
    values: Float[Array, "n m out"], *, eps: Real, p: Real = 2, time_limit: float = 30.0
) -> Cover:
    """N_inf(F; eps; z_1..z_m; ||.||_p) of the n functions whose values are given; proper.

    When the n functions are a sample of a larger class F, this is no lower bound for N_inf(F; eps): a class
    may be cheaper to cover than a part of it. `class_packing_number` at 2 eps is one.
    The centres' rows index the functions; coordinates are left out.   Paper: covering-number
    """
    eps = check_eps(eps)
    D = sup_distances(values, p)
    deadline = time.monotonic() + time_limit
    return cover_graph(
        close_matrix(D, eps), ~close_matrix(D, 2 * eps), values=np.empty((len(D), 0)), deadline=deadline
    )


def class_packing_number(
    values: Float[Array, "n m out"], *, r: Real, p: Real = 2, time_limit: float = 30.0
) -> Packing:
    """Most functions pairwise more than r apart on the sample.

    For any sample F_n of a class F:  P(F_n, 2 eps) <= N_ext(F, eps) <= N_int(F, eps).

    Paper: covering-number
    """
    return pack_graph(close_matrix(sup_distances(values, p), check_eps(r, "r")), time_limit=time_limit)
