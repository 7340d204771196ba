"""Selections: a key vector u, which says where a head looks, and a value vector w, which says what it reads there.

The query is [CLS], so a head's score is <u, x_t> and its output o = sum_t a_t <w, x_t>. Given a code c (positive or
signed integers), each selection below makes o a monotone image of sum_i c_i b_i up to an error smaller than the gap
between neighbouring code values, on every input; `ranges` computes which values each pattern reaches.

u and w are dual vectors: the solutions of smallest norm of linear equations on the rows P_I, E_0, E_1, [CLS]. Scores
inside the support are therefore exact for any embeddings; only irrelevant tokens notice that positions are not
orthogonal.   Differs: the paper adds up the positions of the support, which fails for Delta > 0 (errata-paper-3).
"""

import math
from dataclasses import dataclass

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..heads.encoding import RESERVED, Encoding, trainable
from .code import Code


@dataclass(frozen=True, eq=False)
class Selection:
    """One head on an encoding.

    Args:
        attends_cls: whether [CLS] is among the attended tokens.
        key, value: u and w.
        rho: max <u_1, x_t> over irrelevant tokens, for the dual u_1 that is 1 on the support.
    """

    encoding: Encoding
    support: tuple[int, ...]
    attends_cls: bool
    key: Float[Array, " d"]
    value: Float[Array, " d"]
    rho: float = 0.0


class TooNarrow(DomainError):
    """The width d is too small to separate the relevant positions from the others; a larger one may do."""


def check_reach(rho: float, encoding: Encoding) -> float:
    """rho, the largest score outside the support for scores of 1 inside; at 1 or more no scale selects the support."""
    if rho >= 1 - 1e-9:
        raise TooNarrow(
            f"an irrelevant position scores {rho:.3f} times as much as the relevant ones (rho >= 1): "
            f"d={encoding.d} is too small for T={encoding.T} and these positions."
        )
    return rho


def default_leak(code: Code) -> float:
    """lam = delta / (2 (1 + delta)) with delta = 1 / sum|c_i|: leaves half of each gap.   Paper: single-head"""
    return 1 / (2 * (code.total + 1))


def dual(rows: Float[Array, "r d"], targets: Float[Array, "r k"]) -> Float[Array, "d k"]:
    """The smallest U with rows U = targets: rows^T (rows rows^T)^-1 targets.

    Raises:
        TooNarrow: the rows are linearly dependent.
    Paper: single-head-random, dual-keys
    """
    gram = rows @ rows.T
    if np.linalg.cond(gram) > 1e12:
        raise TooNarrow(
            f"the {len(rows)} vectors of the support, E_0, E_1 and [CLS] are linearly dependent in d={rows.shape[1]} "
            f"dimensions; d >= {len(rows)} and distinct positions are needed."
        )
    return rows.T @ np.linalg.solve(gram, targets)


def support_rows(encoding: Encoding, support: tuple[int, ...]) -> Float[Array, "r d"]:
    """P_I, then E_0 and E_1 (not in a bag), then [CLS]."""
    if encoding.P is None:
        P = np.zeros((len(support), encoding.d))
        P[np.arange(len(support)), np.array(support, dtype=np.int64) + RESERVED] = 1.0
    else:
        P = encoding.P[list(support)]
    return np.vstack([P, *([encoding.E] if encoding.additive else []), encoding.cls[None]])


def additive_selection(
    encoding: Encoding, support: tuple[int, ...], code: Code, *, leak: float, attends_cls: bool
) -> Selection:
    """u and w for tokens E_b + P_t.

    Positive code: <u, P_i> = beta + ln c_i and w reads the bit, so o = (1 - leak) sum c_i b_i / sum c + leak * (a mean
    of irrelevant bits), up to a constant; the leak is the same on every input.

    Mixed signs: a value can only be (something of the bit) + (something of the position), so no position can read
    its bit negated. Instead the position carries the sign and the bit moves attention a little: with
    C = sum |c_i|, m = sum c_i / C, eps = 1/(8 C), bit 1 multiplies a token's weight by 1 + eps, position i has value
    (sign c_i - m) / eps and bit 1 the value m / (1 + eps). The numerator is then, exactly,
    e^beta sum_i c_i b_i + m * (ones outside), and the denominator varies by a factor of at most 1 + eps.
    Differs: F1 of the theory has positive weights only.   Paper: single-head, single-head-random
    """
    sizes = np.abs(np.array(code.weights, dtype=np.float64))
    move, at_support, at_one = _bit_and_position(code)
    rows = support_rows(encoding, support)
    targets = np.zeros((len(rows), 3))
    inside, one = slice(0, len(sizes)), len(sizes) + 1
    targets[inside] = np.stack([np.ones_like(sizes), np.log(sizes), at_support], axis=1)
    targets[one] = (0.0, move, at_one)
    U = dual(rows, targets)
    slope, offset, rho = _irrelevant_scores(encoding, support, U[:, :2], attends_cls)
    beta = scale_for_leak(slope, offset, total=code.total, leak=leak)
    return Selection(encoding, support, attends_cls, beta * U[:, 0] + U[:, 1], U[:, 2], rho)


def _bit_and_position(code: Code) -> tuple[float, Float[Array, " s"], float]:
    """The score that bit 1 adds, the values of the relevant positions, and the value of bit 1."""
    if not code.mixed:
        return 0.0, np.zeros(len(code.weights)), 1.0
    eps, mean = code.tilt, sum(code.weights) / code.total
    return math.log1p(eps), (np.sign(code.weights) - mean) / eps, mean / (1 + eps)


def trainable_positions(
    T: int, support: tuple[int, ...], rows: Float[Array, "s axes"], *, d: int | None
) -> Encoding:
    """Positions chosen for the head: `rows` on the support, on the axes after E_0, E_1 and [CLS]; 0 elsewhere.

    d is the smallest width that holds them unless it is given.
    """
    needed = RESERVED + rows.shape[1]
    d = needed if d is None else d
    if d < needed:
        raise DomainError(f"trainable positions for this function need d >= {needed}, got d={d}.")
    P = np.zeros((T, d))
    P[list(support), RESERVED:needed] = rows
    return trainable(P, np.eye(2, d), np.eye(3, d)[2])


def trainable_selection(
    T: int, support: tuple[int, ...], code: Code, *, leak: float, attends_cls: bool, d: int | None = None
) -> Selection:
    """Positions chosen together with the head: P_i = (eta_i / max eta) e_3 on the support, 0 elsewhere; d = 4.

    o is that of one-hot positions, and ||P||_F <= sqrt(s). Mixed signs need a fifth axis, which carries the values of
    the relevant positions; then ||P||_F <= sqrt(2 s).   Paper: single-head-trainable
    """
    move, at_support, at_one = _bit_and_position(code)
    n = T - len(support) + attends_cls
    beta = scale_for_leak(np.zeros(n), np.full(n, move), total=code.total, leak=leak)
    eta = beta + np.log(np.abs(np.array(code.weights, dtype=np.float64)))
    rows = np.zeros((len(eta), 1 + code.mixed))
    if eta.max() > 0:
        rows[:, 0] = eta / eta.max()
    if code.mixed:
        rows[:, 1] = at_support / np.abs(at_support).max()
    encoding = trainable_positions(T, support, rows, d=d)
    u, w = np.zeros(encoding.d), np.zeros(encoding.d)
    u[3], u[1], w[1] = eta.max(), move, at_one
    if code.mixed:
        w[4] = np.abs(at_support).max()
    return Selection(encoding, support, attends_cls, key=u, value=w)


def _irrelevant_scores(
    encoding: Encoding, support: tuple[int, ...], U: Float[Array, "d 2"], attends_cls: bool
) -> tuple[Float[Array, " n"], Float[Array, " n"], float]:
    """Scores beta * slope + offset of the irrelevant tokens, at their larger bit, and the largest slope."""
    tokens, cls = encoding.project(U)
    outside = np.delete(tokens, list(support), axis=0)
    rho = check_reach(float(outside[..., 0].max(initial=-np.inf)), encoding)
    worst = np.take_along_axis(outside, outside.argmax(axis=1, keepdims=True), axis=1)[:, 0]
    if attends_cls:
        worst = np.vstack([worst, cls])
    return worst[:, 0], worst[:, 1], rho


def scale_for_leak(
    slope: Float[Array, " n"], offset: Float[Array, " n"], *, total: int, leak: float
) -> float:
    """beta at which tokens of score beta * slope + offset hold `leak` of the attention against total * e^beta.

    Decreasing in beta because every slope is below 1, so bisection finds it; where all of them score 0 it is
    ln(n (1 - leak) / (leak * total)). Without irrelevant tokens there is nothing to suppress and beta is 0.
    Paper: bounded-scores
    """
    if len(slope) == 0:
        return 0.0
    goal = math.log(leak / (1 - leak)) + math.log(total)
    if not (slope.any() or offset.any()):
        return math.log(len(slope)) - goal
    low, high = 0.0, 1.0
    while _excess(high, slope, offset, goal) > 0:
        low, high = high, 2 * high
    while _excess(low, slope, offset, goal) < 0:
        low, high = low - 1.0, low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _excess(middle, slope, offset, goal) > 0 else (low, middle)
    return high


def _excess(beta: float, slope: Float[Array, " n"], offset: Float[Array, " n"], goal: float) -> float:
    """ln(weight outside / e^beta) beyond its goal."""
    scores = beta * slope + offset
    top = scores.max()
    return float(top + np.log(np.exp(scores - top).sum())) - beta - goal


def bag_selection(
    encoding: Encoding, support: tuple[int, ...], code: Code, *, attends_cls: bool
) -> Selection:
    """u and w for tokens b_t P_t with orthonormal P: no leakage at all.

    With N = T (+ 1 for [CLS]) tokens, score eta_i = ln(1 + N tau |c_i| / C) and value sign c_i (1 - e^{-eta_i}) / tau,
    the output is  (sum_i c_i b_i / C) / (1 + tau sum_i |c_i| b_i / C)  exactly: absent tokens have score and value 0,
    so every present one takes the place of a 1 in the denominator. tau = 1 for positive codes; for mixed signs
    tau = 1/(8 C), which keeps the denominator from moving one code value past the next.
    Paper: single-head-bag, beyond-boolean
    """
    c = np.array(code.weights, dtype=np.float64)
    tau = code.tilt if code.mixed else 1.0
    eta = np.log1p((encoding.T + attends_cls) * tau * np.abs(c) / code.total)
    rows = support_rows(encoding, support)
    targets = np.zeros((len(rows), 2))
    targets[: len(c)] = np.stack([eta, np.sign(c) * -np.expm1(-eta) / tau], axis=1)
    U = dual(rows, targets)
    return Selection(encoding, support, attends_cls, key=U[:, 0], value=U[:, 1])
