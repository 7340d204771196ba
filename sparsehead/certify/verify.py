"""`verify`: does a model compute f on all 2^T inputs?

    T <= 20            every input is tried
    one layer          the 2^T inputs are covered by the 2^s patterns of relevant bits:
        scalar         all values lie on a line, so the head mixes one scalar o; its exact range per pattern is known
                       (`ranges`), and a piecewise linear tail attains its extremes at ends and kinks
        ReLU chain     linear bounds over the box of mixed values, or over the zonotope if no bit moves attention
        anything else  interval arithmetic
    otherwise          a search for counterexamples, and the admission that nothing was proved

A model that does not compute f gets a counterexample, never a certificate: `correct` is True only where every input
was tried or bounded, and False only together with an input, checked by running the model on it.
"""

import numpy as np

from ..errors import DomainError
from ..functions import MAX_S, SparseFunction
from ..model import Model
from ..types import Array, Shaped
from .certificate import TOLERANCE, Certificate
from .patterns import certify_by_patterns, judge, scalar_gap, searched, worst_leak

EXHAUSTIVE = {1: 18, 2: 10}  # largest T that is enumerated, for one layer and for more
WORK = 2**33  # patterns x tokens beyond which a proof by patterns would take too long
METHODS = ("exhaustive", "patterns", "search")


def verify(model: Model, f: SparseFunction, *, method: str | None = None) -> Certificate:
    """What is true of |model - f| over all inputs.

    Args:
        method: "exhaustive" (T <= 20), "patterns" (one layer, any T), or "search" (no proof); chosen by T if left out.
    Raises:
        DomainError: f and the model have different T, or the method does not apply.
    Paper: exact-certificate, sparse-representation
    """
    if model.T != f.T:
        raise DomainError(f"the model reads T={model.T} bits, the function T={f.T}; they must agree.")
    if method not in (None, *METHODS):
        raise DomainError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}.")
    if method is None:
        largest = EXHAUSTIVE[min(model.L, 2)]
        method = "exhaustive" if largest >= f.T else "patterns" if model.L == 1 else "search"
    if method == "exhaustive":
        return _exhaustive(model, f)
    if method == "patterns" and 2**f.s * f.T <= WORK:
        if model.L != 1:
            raise DomainError(f"a proof by patterns needs one layer, this model has L={model.L}.")
        try:
            return certify_by_patterns(model, f)
        except DomainError as error:  # scores that spread too far for float64
            return searched(model, f, np.inf, -np.inf, str(error))
    return searched(model, f, np.inf, -np.inf, "only chosen inputs were tried; nothing is proved.")


def _exhaustive(model: Model, f: SparseFunction) -> Certificate:
    if f.T > MAX_S:
        raise DomainError(
            f"all 2^T inputs are tried up to T={MAX_S}, got T={f.T}; method='patterns' takes any T."
        )
    worst, margin, worst_at, margin_at = -1.0, np.inf, 0, 0
    for start in range(0, 2**f.T, 2**14):
        bits = _inputs(np.arange(start, min(2**f.T, start + 2**14)), f.T)
        error, signed = judge(model, f, bits)
        if error.max() > worst:
            worst, worst_at = float(error.max()), start + int(error.argmax())
        if signed.min() < margin:
            margin, margin_at = float(signed.min()), start + int(signed.argmin())
    correct = margin > 0
    return Certificate(
        max_error=worst,
        exact=worst < TOLERANCE,
        correct=correct,
        margin=margin,
        leakage=worst_leak(model, f),
        gap=scalar_gap(model, f),
        method="exhaustive",
        attained=True,
        worst_input=_inputs(np.array([worst_at]), f.T)[0],
        counterexample=None if correct else _inputs(np.array([margin_at]), f.T)[0],
        note=f"all 2^{f.T} inputs were tried.",
    )


def _inputs(numbers: Shaped[Array, " n"], T: int) -> Shaped[Array, "n T"]:
    return ((numbers[:, None] >> np.arange(T)) & 1).astype(np.uint8)
