"""Properties of a function: sparse, symmetric, bounded and close as the paper defines them; monotone; influences."""

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from .families import labels
from .sparse import SparseFunction
from .tables import assignments, halves, ones

# The families that `kind` recognises: `explanations` and the information floor are exact for them.
EXPLAINED = ("and", "or", "parity")


def is_sparse(f: SparseFunction, s: int) -> bool:
    """Return whether some set I of s positions determines f:  b_i = b'_i for all i in I  =>  f(b) = f(b').

    A function that needs fewer positions is s-sparse too; for s > T the answer is False.
    Paper: sparse-function
    """
    return f.s <= s <= f.T


def is_symmetric(f: SparseFunction) -> bool:
    """Return whether the number of ones among the relevant positions determines f.

    Differs: the definition in the lecture notes omits the conclusion "=> f(b) = f(b')".
    Paper: symmetric
    """
    by_count = f.values[2 ** np.arange(f.s + 1) - 1]
    return bool(np.array_equal(f.values, by_count[ones(f.s)]))


def is_monotone(f: SparseFunction) -> bool:
    """Return whether f never changes from 1 to 0 when a bit changes from 0 to 1.   Paper: symmetric"""
    pairs = [halves(f.values, i) for i in range(f.s)]
    return all(bool((low <= high).all()) for low, high in pairs)


def sup_norm(f: SparseFunction) -> float:
    """Return max_b |f(b)|, which is 1 for every function but the constant 0.   Paper: bounded-function"""
    return float(f.values.max())


def uniform_distance(f: SparseFunction, g: SparseFunction) -> float:
    """Return sup_b |f(b) - g(b)| over all 2^T inputs: 0 if f and g are the same function, else 1.

    Supports are minimal, so comparing supports and tables is enough. `certify.verify` bounds the distance between a
    function and the real-valued output of a model.
    Paper: uniform-approximation
    """
    _check_same_T(f, g)
    return 0.0 if f == g else 1.0


def _check_same_T(f: SparseFunction, g: SparseFunction) -> None:
    if f.T != g.T:
        raise DomainError(
            f"functions of T={f.T} and T={g.T} bits have no common inputs; give both the same T."
        )


def disagreement(f: SparseFunction, g: SparseFunction, *, p: float) -> float:
    """Return P(f(b) != g(b)) for independent Bernoulli(p) bits, as the exact sum over all patterns of both supports.

    >>> from sparsehead.functions import parse
    >>> disagreement(parse("x0", T=3), parse("x0 & x2", T=3), p=0.5)
    0.25
    """
    _check_same_T(f, g)
    positions = sorted({*f.support, *g.support})
    patterns = assignments(len(positions)).astype(np.int64)
    on = patterns.sum(axis=1)
    weights = p**on * (1 - p) ** (len(positions) - on)
    values = [
        h.values[patterns[:, np.searchsorted(positions, h.support)] @ (1 << np.arange(h.s))] for h in (f, g)
    ]
    return float(weights[values[0] != values[1]].sum())


def influences(f: SparseFunction, *, p: float = 0.5) -> Float[Array, " s"]:
    """Return for each relevant position the probability, in (0, 1], that flipping this Bernoulli(p) bit changes f.

    At p = 1/2 it equals the sum of coefficient(S)^2 over the sets S that contain the position, where coefficient(S) is
    the mean of (-1)^{f(b) + sum_{i in S} b_i} over all b. Their sum is the average sensitivity.
    Paper: head-sensitivity
    """
    on = ones(f.s).astype(np.int64)
    weights = p**on * (1 - p) ** (f.s - on)
    pairs = [(halves(f.values, i), halves(weights, i)) for i in range(f.s)]
    flipped = [((low != high) * (of_low + of_high)).sum() for (low, high), (of_low, of_high) in pairs]
    return np.array(flipped, dtype=float)


def kind(f: SparseFunction) -> str | None:
    """Return "and", "or" or "parity" if f is that function of its s >= 1 positions, else None; x3 alone is "and"."""
    if f.s == 0:
        return None
    count = ones(f.s)
    return next((name for name in EXPLAINED if np.array_equal(f.values, labels(name, f.s)[count])), None)
