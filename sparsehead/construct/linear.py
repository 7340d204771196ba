"""AND and OR within epsilon by a linear head: softmax alone, no ReLU anywhere."""

import math

import numpy as np

from ..block import Layer
from ..encoding import Encoding
from ..errors import DomainError
from ..functions import SparseFunction
from ..model import Model
from .assemble import intervals, query_and_key
from .attention import Selection, TooCoherent, dual, support_rows

TRIES = 40


def linear_kind(f: SparseFunction) -> tuple[int, bool] | None:
    """(the bit that decides, whether the head's output is negated) for AND, OR, NAND, NOR; None otherwise."""
    ones = int(f.values.astype(np.int64).sum())
    rare = 1 if ones == 1 else 0 if ones == len(f.values) - 1 else None
    if rare is None:
        return None
    where = int(np.flatnonzero(f.values == rare)[0])
    if where == len(f.values) - 1:  # AND (rare 1) or NAND: a single 0 decides
        return 0, rare == 0
    if where == 0:  # NOR (rare 1) or OR: a single 1 decides
        return 1, rare == 1
    return None


def linear_head(f: SparseFunction, encoding: Encoding, *, epsilon: int | float, attends_cls: bool) -> Model:
    """o within epsilon of f, with sigma the identity.

    Scores b_1 on the support plus b_2 on the deciding bit, value = the bit: one deciding bit inside the support
    outweighs everything. b_2 = ln(2 (s - 1) / eps), b_1 = b_2 + ln(2 (T - s + 1) / (s eps)) for orthonormal positions;
    otherwise b_1 grows until the exact range of o is within epsilon. Interior thresholds cannot be had this way:
    o is then a Moebius function of the number of ones.   Paper: linear-head
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
    rho = float(np.delete(encoding.project(U[:, :1])[0], list(f.support), axis=0).max(initial=0.0))
    if rho >= 1 - 1e-9:
        raise TooCoherent(
            f"an irrelevant position scores rho = {rho:.3f} >= 1; d={encoding.d} is too small.", rho
        )
    b_1 = (b_2 + max(0.0, _log_ratio(2 * (f.T - f.s + 1), f.s * epsilon))) / (1 - rho)
    target = 1 - f.values.astype(np.float64) if negated else f.values.astype(np.float64)
    for _ in range(TRIES):
        selection = Selection(b_1 * U[:, 0] + b_2 * U[:, 1], U[:, 2], rho)
        low, high = intervals(encoding, selection, f.support, attends_cls=attends_cls)
        if max(np.abs(low - target).max(), np.abs(high - target).max()) <= epsilon:
            return _read_linearly(encoding, selection, negated, attends_cls=attends_cls)
        b_1 += 1.0
    raise TooCoherent(
        f"no linear head within epsilon={epsilon} was found at d={encoding.d}; epsilon=None builds an exact one.",
        rho,
    )


def _log_ratio(a: int | float, b: int | float) -> float:
    """ln(a/b) for positive numbers, also where a/b is too large for a float."""
    return math.log(a / b) if math.isfinite(a / b) else math.log(a) - math.log(b)


def _read_linearly(encoding: Encoding, selection: Selection, negated: bool, *, attends_cls: bool) -> Model:
    W_Q, W_K = query_and_key(encoding, selection.key)
    axis = np.eye(1, encoding.d)
    layer = Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=selection.value[None, :, None], W_C=axis[None])
    sign, bias = (-1.0, 1.0) if negated else (1.0, 0.0)
    return Model(encoding, (layer,), w=sign * axis[0], bias=bias, attends_cls=attends_cls)
