"""Constructive covers of linear classes: given w (or W), the element of the cover that stands for it.

A perceptron started at zero, shown the points in a fixed order and corrected towards w whenever it errs by
more than eps, stops after fewer than (ab/eps)^2 corrections. Its result depends only on which points were
used with which signs, so the results of all such short lists form a cover, and the list is the name of the
element. `replay_vector` and `replay_matrix` turn a name back into the element without seeing w.
"""

from dataclasses import dataclass

import numpy as np

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.log_math import Real, check_eps, check_norm, ln
from sparsehead._base.types import Array, Float

from .linear import updates_allowed

ROUNDING = 1e-12  # relative; a constraint met up to rounding counts as met

Name = tuple[tuple[int, int], ...]
MatrixName = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class VectorElement:
    """The cover element v of w, its name (point, sign) per update, and the most updates there can be."""

    v: Float[Array, " d"]
    name: Name
    most: int


def cover_vector(
    w: Float[Array, " d"], X: Float[Array, "N d"], *, eps: Real, a: Real, b: Real, proper: bool = True
) -> VectorElement:
    """v with |<w - v, x_i>| <= eps for all i, in fewer than (ab/eps)^2 updates.

    v <- Proj( v + (eps/b^2) sign x_i ) for the first i that errs by more than eps. Each update lowers ||w -
    v||^2, which is at most a^2, by more than eps^2/b^2. Proj is onto the ball of radius a (proper=False
    leaves it out: v may then leave the class, and only the multiset of updates matters).

    Paper: vector-cover
    """
    eps, a, b = check_eps(eps), check_norm("a", a), check_norm("b", b)
    _check_class(float(np.linalg.norm(w)), a, "||w||", "a")
    _check_class(float(np.linalg.norm(X, axis=1).max(initial=0.0)), b, "the longest point", "b")
    most = updates_allowed(ln(a) + ln(b) - ln(eps))
    v = np.zeros_like(w, dtype=np.float64)
    name: list[tuple[int, int]] = []
    while True:
        errors = X @ (w - v)
        wrong = np.flatnonzero(np.abs(errors) > eps * (1 + ROUNDING))
        if len(wrong) == 0:
            return VectorElement(v=v, name=tuple(name), most=most)
        i = int(wrong[0])
        name.append((i, 1 if errors[i] > 0 else -1))
        v = _step(v, X, name[-1], eps=eps, a=a, b=b, proper=proper)


def replay_vector(
    name: Name, X: Float[Array, "N d"], *, eps: Real, a: Real, b: Real, proper: bool = True
) -> Float[Array, " d"]:
    """The cover element that a name stands for."""
    v = np.zeros(X.shape[1])
    for update in name:
        v = _step(v, X, update, eps=float(eps), a=float(a), b=float(b), proper=proper)
    return v


def _step(
    v: Float[Array, " d"],
    X: Float[Array, "N d"],
    update: tuple[int, int],
    *,
    eps: float,
    a: float,
    b: float,
    proper: bool,
) -> Float[Array, " d"]:
    i, sign = update
    v = v + (eps / b**2) * sign * X[i]
    length = float(np.linalg.norm(v))
    return v * (a / length) if proper and length > a else v


def _check_class(value: float, limit: float, what: str, name: str) -> None:
    if value > limit * (1 + 1e-9):
        raise DomainError(
            f"{what} is {value:.6g}, more than {name}={limit:.6g}; the cover is of the smaller class."
        )


@dataclass(frozen=True, eq=False)
class MatrixElement:
    """The cover element V of W: row budgets c_j, update names (row, point, sign), the most updates."""

    V: Float[Array, "d_1 d_2"]
    budgets: tuple[int, ...]
    name: MatrixName
    most: int


def cover_matrix(
    W: Float[Array, "d_1 d_2"],
    X: Float[Array, "N d_2"],
    *,
    eps: Real,
    B: Real,
    b: Real,
    S: Real | None = None,
    alpha: float = 0.25,
) -> MatrixElement:
    """V with ||(W - V) x_i|| <= eps for all i, rows of V adding up to <= B, ||V|| <= S if S is given.

    Row lengths are rounded down to multiples c_j of tau = alpha eps^2/(b^2 B), which costs sqrt(alpha) eps.
    Row j then gets the error e_j = (1 - sqrt alpha) eps sqrt(r_j/R), r_j = c_j tau, R = sum r_j, and
    perceptron updates (e_j/b^2) sign x_i, each followed by the projection onto the class in the norm Q(V) =
    sum_j ||V_j||^2/r_j. Q(W' - V) starts at R and falls by more than ((1 - sqrt alpha) eps)^2/(b^2 R) each
    time.

    Paper: linear-cover
    """
    eps, B, b = check_eps(eps), check_norm("B", B), check_norm("b", b)
    lengths = np.linalg.norm(W, axis=1)
    _check_class(float(lengths.sum()), B, "the sum of the rows' lengths", "B")
    _check_class(float(np.linalg.norm(X, axis=1).max(initial=0.0)), b, "the longest point", "b")
    most = updates_allowed(ln(B) + ln(b) - ln((1 - np.sqrt(alpha)) * eps))
    if B * b <= eps:
        return MatrixElement(np.zeros_like(W), (0,) * len(W), (), most)
    tau = _row_unit(eps, B, b, alpha)
    budgets = tuple(int(c) for c in np.floor(lengths / tau * (1 + ROUNDING)))
    r = tau * np.array(budgets)
    shrunk = (
        W * np.divide(np.minimum(r, lengths), lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    )
    e = _row_errors(r, eps, alpha)
    V = np.zeros_like(W, dtype=np.float64)
    name: list[tuple[int, int, int]] = []
    while True:
        errors = (shrunk - V) @ X.T
        wrong = np.argwhere(np.abs(errors) > (e * (1 + 1e-9))[:, None])
        if len(wrong) == 0:
            return MatrixElement(V=V, budgets=budgets, name=tuple(name), most=most)
        j, i = int(wrong[0][0]), int(wrong[0][1])
        name.append((j, i, 1 if errors[j, i] > 0 else -1))
        V = _matrix_step(V, X, name[-1], e=e, r=r, b=b, S=S)


def _row_unit(eps: float, B: float, b: float, alpha: float) -> float:
    """tau, of which row lengths are multiples."""
    return alpha * eps**2 / (b**2 * B)


def replay_matrix(
    budgets: tuple[int, ...],
    name: MatrixName,
    X: Float[Array, "N d_2"],
    *,
    eps: Real,
    B: Real,
    b: Real,
    S: Real | None = None,
    alpha: float = 0.25,
) -> Float[Array, "d_1 d_2"]:
    """The cover element that row budgets and a list of updates stand for."""
    r = _row_unit(float(eps), float(B), float(b), alpha) * np.array(budgets)
    e = _row_errors(r, float(eps), alpha)
    V = np.zeros((len(budgets), X.shape[1]))
    for update in name:
        if not 0 <= update[0] < len(budgets):
            raise ShapeError(f"an update names row {update[0]}, there are {len(budgets)} budgets.")
        V = _matrix_step(V, X, update, e=e, r=r, b=float(b), S=S)
    return V


def _row_errors(r: Float[Array, " d_1"], eps: float, alpha: float) -> Float[Array, " d_1"]:
    total = float(r.sum())
    return (1 - np.sqrt(alpha)) * eps * np.sqrt(r / total) if total > 0 else np.full_like(r, eps)


def _matrix_step(
    V: Float[Array, "d_1 d_2"],
    X: Float[Array, "N d_2"],
    update: tuple[int, int, int],
    *,
    e: Float[Array, " d_1"],
    r: Float[Array, " d_1"],
    b: float,
    S: Real | None,
) -> Float[Array, "d_1 d_2"]:
    j, i, sign = update
    V = V.copy()
    V[j] += (e[j] / b**2) * sign * X[i]
    return _into_rows(V, r) if S is None else _into_class(V, r, float(S))


def _into_rows(V: Float[Array, "d_1 d_2"], r: Float[Array, " d_1"]) -> Float[Array, "d_1 d_2"]:
    """The nearest matrix with row lengths at most r; rows are separate, so their weights in Q drop out."""
    lengths = np.linalg.norm(V, axis=1)
    return V * np.minimum(1.0, np.divide(r, lengths, out=np.ones_like(r), where=lengths > 0))[:, None]


def _into_class(V: Float[Array, "d_1 d_2"], r: Float[Array, " d_1"], S: float) -> Float[Array, "d_1 d_2"]:
    """The Q-nearest matrix with row lengths <= r and spectral norm <= S, by alternating directions (ADMM).

    The Q-projection with a spectral bound has no closed form: rows weigh 1/r_j. One half-step is a weighted
    mean projected row by row, the other clips singular values. A last scaling makes the result lie in the
    class exactly.
    """
    rows = _into_rows(V, r)
    if np.linalg.norm(rows, ord=2) <= S * (1 + ROUNDING):
        return rows
    live = r > 0
    # Relative 1/r_j, at most 1.
    weight = np.divide(r[live].min(), r, out=np.ones_like(r), where=live)[:, None]
    Z, dual = rows, np.zeros_like(V)
    for _ in range(2000):
        Y = _into_rows((weight * V + (Z - dual)) / (weight + 1), r)
        left, sizes, right = np.linalg.svd(Y + dual, full_matrices=False)
        Z_next = (left * np.minimum(sizes, S)) @ right
        dual += Y - Z_next
        moved = np.abs(Z_next - Z).max() + np.abs(Y - Z_next).max()
        Z = Z_next
        if moved <= 1e-11 * S:
            break
    return Y * min(1.0, S / float(np.linalg.norm(Y, ord=2)))
