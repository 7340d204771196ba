"""Selections: the key vector u of one head, which determines the positions it attends to, and the value vector w, which
determines the numbers that it mixes.

The query is [CLS], so token t has the score <u, x_t>, and the head's output is o = sum_t a_t <w, x_t>. Given a code c
(positive or signed integers), each selection below makes o, on every input, a monotone function of sum_i c_i b_i up to
an error smaller than the gap between neighbouring values; `ranges` computes the range of o for each pattern of bits.
The leak is the share of attention that goes to irrelevant tokens.

u and w are dual vectors: the solutions of smallest norm of linear equations on the rows P_I, E_0, E_1, [CLS]. Scores
inside the support are therefore exact for any embeddings; embeddings that are not orthogonal change only the scores of
irrelevant tokens. Differs: the paper's key sums the positions of the support, which fails if they are not orthogonal
(errata-paper-3).
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
    """The key and value vectors of one head, and their encoding.

    Args:
        attends_cls: whether [CLS] is among the attended tokens.
        key, value: u and w; token x has the score <u, x> and the value <w, x>.
        rho: the largest <u_1, x_t> over irrelevant tokens, where u_1 is the dual vector with <u_1, P_i> = 1 on the
            support.
    """

    encoding: Encoding
    support: tuple[int, ...]
    attends_cls: bool
    key: Float[Array, " d"]
    value: Float[Array, " d"]
    rho: float = 0.0


class TooNarrow(DomainError):
    """The width d is too small to separate the relevant positions from the others; a larger d may suffice."""


def check_reach(rho: float, encoding: Encoding) -> float:
    """Return rho, the largest score outside the support if scores inside are 1; raise TooNarrow if rho >= 1."""
    if rho >= 1 - 1e-9:
        raise TooNarrow(
            f"an irrelevant position scores {rho:.3f} times as much as the relevant ones (rho >= 1): "
            f"d={encoding.d} is too small for T={encoding.T} and these positions."
        )
    return rho


def default_leak(code: Code) -> float:
    """Return delta/(2 + 2 delta) with delta = 1/sum|c_i|: a leak that keeps half of each gap between the head's
    outputs.   Paper: single-head
    """
    return 1 / (2 * (code.total + 1))


def dual(rows: Float[Array, "r d"], targets: Float[Array, "r k"]) -> Float[Array, "d k"]:
    """Return the U of smallest norm with rows U = targets: rows^T (rows rows^T)^-1 targets.

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
    """Return the matrix with rows P_i for i in the support, then E_0 and E_1 (not in a bag), then [CLS]."""
    if encoding.P is None:
        P = np.zeros((len(support), encoding.d))
        P[np.arange(len(support)), np.array(support, dtype=np.int64) + RESERVED] = 1.0
    else:
        P = encoding.P[list(support)]
    return np.vstack([P, *([encoding.E] if encoding.additive else []), encoding.cls[None]])


def additive_selection(
    encoding: Encoding, support: tuple[int, ...], code: Code, *, leak: float, attends_cls: bool
) -> Selection:
    """Return the selection for tokens E_b + P_t, which sums the relevant bits b_i with the integers c_i of the code.

    Positive code: relevant position i has the score beta + ln c_i, where beta is so large that irrelevant tokens get at
    most `leak`; the value of a token is its bit. So the output is (1 - leak) sum c_i b_i / sum c + leak * (a mean of
    irrelevant bits), up to a constant; the leak is the same on every input.

    Mixed signs: a value is a function of the bit plus a function of the position, so the bit cannot have the factor +1
    at one position and -1 at another. Instead the position's part of the value has the sign, and the bit changes the
    attention slightly. Let C = sum |c_i|, m = sum c_i / C, eps = 1/(8 C). Bit 1 multiplies a token's weight by 1 + eps;
    the value of a token is (sign c_i - m) / eps at position i, plus m / (1 + eps) for bit 1. The numerator is then,
    exactly, e^beta sum_i c_i b_i + m * (number of ones outside the support), and the denominator varies by a factor of
    at most 1 + eps.
    Differs: the paper's head sums bits with equal weights.   Paper: single-head, single-head-random
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
    """Return the score that bit 1 adds, the values of the relevant positions, and the value of bit 1."""
    if not code.mixed:
        return 0.0, np.zeros(len(code.weights)), 1.0
    eps, mean = code.tilt, sum(code.weights) / code.total
    return math.log1p(eps), (np.sign(code.weights) - mean) / eps, mean / (1 + eps)


def trainable_positions(
    T: int, support: tuple[int, ...], rows: Float[Array, "s axes"], *, d: int | None
) -> Encoding:
    """Return an encoding with position vectors `rows` on the support and 0 elsewhere; they use the axes after those of
    E_0, E_1 and [CLS].

    d is by default the smallest width with enough axes.
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
    """Return a selection together with position vectors made for it: P_i = (eta_i / max eta) e_3 on the support, 0
    elsewhere.

    eta_i = beta + ln |c_i| is the score of position i, where c_i is the code's integer and beta leaves irrelevant
    tokens the share `leak`; e_3 is a unit vector in width d = 4. The head's output is the same as with one-hot
    positions, and ||P||_F <= sqrt(s). Mixed signs need a fifth axis for the values of the relevant positions; then
    ||P||_F <= sqrt(2 s).
    Paper: single-head-trainable
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
    """Return slope and offset of each irrelevant token's score, which is beta * slope + offset, and the largest slope.

    Of a position's two tokens the one with the larger score is taken.
    """
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
    """Return the beta at which irrelevant tokens, of score beta * slope + offset, get the share `leak` of attention.

    The relevant tokens have the total weight total * e^beta. Every slope is below 1, so the share decreases in beta and
    bisection finds it; if all irrelevant scores are 0, beta = ln(n (1 - leak) / (leak * total)). Without irrelevant
    tokens beta is 0.
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
    """Return ln(total weight of irrelevant tokens / e^beta) - goal, which `scale_for_leak` sets to zero."""
    scores = beta * slope + offset
    top = scores.max()
    return float(top + np.log(np.exp(scores - top).sum())) - beta - goal


def bag_selection(
    encoding: Encoding, support: tuple[int, ...], code: Code, *, attends_cls: bool
) -> Selection:
    """Return the selection for tokens b_t P_t with orthonormal P, which has no leakage.

    Let c_i be the code's integers, C = sum |c_i|, and N the number of attended tokens. The i-th relevant token, if its
    bit is 1, has the score eta_i = ln(1 + N tau |c_i| / C) and the value sign(c_i) (1 - e^{-eta_i}) / tau. Every other
    token has score and value 0. The output is then exactly (sum_i c_i b_i / C) / (1 + tau sum_i |c_i| b_i / C). For
    positive codes tau = 1. For mixed signs tau = 1/(8 C), so that the denominator varies too little to change the order
    of the code values.
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
