"""Compute AND and OR within epsilon by a linear head, which has a softmax but no ReLU."""

import math

import numpy as np

from .._base.errors import DomainError
from ..functions import SparseFunction
from ..heads.encoding import Encoding
from ..heads.model import Model
from .assemble import intervals, one_head
from .attention import Selection, TooNarrow, check_reach, dual, support_rows


def linear_kind(f: SparseFunction) -> tuple[int, bool] | None:
    """Return for AND, OR, NAND, NOR the bit value that alone decides f, and whether f is NAND or NOR; else None."""
    for rare in (1, 0):
        where = np.flatnonzero(f.values == rare).tolist()
        if where == [len(f.values) - 1]:  # AND (rare 1) or NAND: a single 0 decides
            return 0, rare == 0
        if where == [0]:  # NOR (rare 1) or OR: a single 1 decides
            return 1, rare == 1
    return None


def linear_head(f: SparseFunction, encoding: Encoding, *, epsilon: int | float, attends_cls: bool) -> Model:
    """Return a model with sigma = identity whose output is within epsilon of f on every input.

    A token's score is b_1 on the support, plus b_2 if it has the deciding bit; its value is the bit. One deciding bit
    inside the support thus outweighs all other tokens. For orthonormal positions b_2 = ln(2 (s - 1) / eps) and b_1 =
    b_2 + ln(2 (T - s + 1) / (s eps)); otherwise b_1 grows until the exact range of the head's output o is within
    epsilon. "At least k of s" with 1 < k < s has no such head, because o is a ratio of two linear functions of the
    number of ones.
      Paper: linear-head
    """
    kind = linear_kind(f)
    if kind is None or not encoding.additive:
        raise DomainError("a linear head approximates AND, OR, NAND and NOR, on additive encodings.")
    decides, negated = kind
    b_2 = max(0.0, _log_ratio(2 * (f.s - 1), epsilon)) if f.s > 1 else 0.0
    rows = support_rows(encoding, f.support)
    targets = np.zeros((len(rows), 3))
    targets[: f.s, 0] = 1.0
    targets[f.s + decides, 1] = 1.0
    targets[f.s + 1, 2] = 1.0
    U = dual(rows, targets)
    outside = np.delete(encoding.project(U[:, :1])[0], list(f.support), axis=0)
    rho = check_reach(float(outside.max(initial=0.0)), encoding)
    b_1 = (b_2 + max(0.0, _log_ratio(2 * (f.T - f.s + 1), f.s * epsilon))) / (1 - rho)
    target = f.values.astype(np.float64)
    target = 1 - target if negated else target
    sign, bias = (-1.0, 1.0) if negated else (1.0, 0.0)
    for _ in range(40):
        key = b_1 * U[:, 0] + b_2 * U[:, 1]
        selection = Selection(encoding, f.support, attends_cls, key, U[:, 2], rho)
        low, high = intervals(selection)
        if max(np.abs(low - target).max(), np.abs(high - target).max()) <= epsilon:
            w = sign * np.eye(1, encoding.d)[0]
            return Model(encoding, (one_head(selection),), w=w, bias=bias, attends_cls=attends_cls)
        b_1 += 1.0
    raise TooNarrow(
        f"no linear head within epsilon={epsilon} was found at d={encoding.d}; epsilon=None builds an exact one."
    )


def _log_ratio(a: int | float, b: int | float) -> float:
    """Return ln(a/b) for positive numbers, even if a/b is too large for a float."""
    return math.log(a / b) if math.isfinite(a / b) else math.log(a) - math.log(b)
