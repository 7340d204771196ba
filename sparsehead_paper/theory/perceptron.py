"""Constructive covers of linear classes: given w (or W), find an element of the cover within eps of it.

A perceptron that starts at zero, visits the points in a fixed order and is corrected towards w whenever it errs by
more than eps, stops after fewer than (ab/eps)^2 corrections. Its result depends only on the list of points and signs
of the corrections. So the results of all such short lists form a cover, and the list is the name of its element.
`replay` computes the element from its name, without w.
"""

from dataclasses import dataclass
from functools import reduce

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
    """The cover element v for w, its name (point and sign of each update), and the maximal number of updates."""

    v: Float[Array, " d"]
    name: Name
    most: int


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorCover:
    """The cover at eps of the maps x -> <w, x> with ||w|| <= a, on points X of length at most b.

    `element` starts at v = 0 and repeats v <- Proj( v + (eps/b^2) sigma x_i ), where i is the first point with an error
    <w - v, x_i> above eps, and sigma = +-1 its sign. ||w - v||^2 is at most a^2 at first, and each update lowers it by
    more than eps^2/b^2, so there are fewer than (ab/eps)^2 updates. Proj projects onto the ball of radius a;
    proper=False omits it: v may then leave the class, and only the multiset of updates matters.

    Paper: vector-cover
    """

    X: Float[Array, "N d"]
    eps: Real
    a: Real
    b: Real
    proper: bool = True

    def element(self, w: Float[Array, " d"]) -> VectorElement:
        """Return v with |<w - v, x_i>| <= eps for all i."""
        _check_scales(self.X, self.eps, self.b)
        _check_class(float(np.linalg.norm(w)), check_norm("a", self.a), "||w||", "a")
        most = updates_allowed(ln(self.a) + ln(self.b) - ln(self.eps))
        v = np.zeros_like(w, dtype=np.float64)
        name: list[tuple[int, int]] = []
        while True:
            errors = self.X @ (w - v)
            wrong = np.flatnonzero(np.abs(errors) > self.eps * (1 + ROUNDING))
            if len(wrong) == 0:
                return VectorElement(v=v, name=tuple(name), most=most)
            i = int(wrong[0])
            name.append((i, 1 if errors[i] > 0 else -1))
            v = self._step(v, name[-1])

    def replay(self, name: Name) -> Float[Array, " d"]:
        """Return the cover element with this name."""
        return reduce(self._step, name, np.zeros(self.X.shape[1]))

    def _step(self, v: Float[Array, " d"], update: tuple[int, int]) -> Float[Array, " d"]:
        i, sign = update
        v = v + (self.eps / self.b**2) * sign * self.X[i]
        length = float(np.linalg.norm(v))
        return v * (self.a / length) if self.proper and length > self.a else v


def _check_scales(X: Float[Array, "N d"], eps: Real, b: Real) -> None:
    check_eps(eps)
    longest = float(np.linalg.norm(X, axis=1).max(initial=0.0))
    _check_class(longest, check_norm("b", b), "the longest point", "b")


def _check_class(value: float, limit: float, what: str, name: str) -> None:
    if value > limit * (1 + 1e-9):
        raise DomainError(
            f"{what} is {value:.6g}, more than {name}={limit:.6g}; the cover is of the smaller class."
        )


@dataclass(frozen=True, eq=False)
class MatrixElement:
    """The cover element V for W, its row budgets c_j, its updates (row, point, sign), and their maximal number."""

    V: Float[Array, "d_1 d_2"]
    budgets: tuple[int, ...]
    name: MatrixName
    most: int


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixCover:
    """The cover at eps of x -> W x on points ||x|| <= b: row lengths of W add up to <= B, ||W|| <= S if S is given.

    Row lengths are rounded down to multiples c_j of tau = alpha eps^2/(b^2 B), which costs sqrt(alpha) eps. Row j then
    gets the error e_j = (1 - sqrt alpha) eps sqrt(r_j/R), r_j = c_j tau, R = sum r_j, and perceptron updates (e_j/b^2)
    sigma x_i, sigma = +-1, each followed by the projection onto the class in the norm Q(V) = sum_j ||V_j||^2/r_j. With
    W' for W with rounded row lengths, Q(W' - V) starts at R and falls by more than ((1 - sqrt alpha) eps)^2/(b^2 R)
    each time.

    Paper: linear-cover
    """

    X: Float[Array, "N d_2"]
    eps: Real
    B: Real
    b: Real
    S: Real | None = None
    alpha: float = 0.25

    def element(self, W: Float[Array, "d_1 d_2"]) -> MatrixElement:
        """Return V with ||(W - V) x_i|| <= eps for all i."""
        _check_scales(self.X, self.eps, self.b)
        lengths = np.linalg.norm(W, axis=1)
        _check_class(float(lengths.sum()), check_norm("B", self.B), "the sum of the rows' lengths", "B")
        most = updates_allowed(ln(self.B) + ln(self.b) - ln((1 - np.sqrt(self.alpha)) * self.eps))
        if self.B * self.b <= self.eps:
            return MatrixElement(np.zeros_like(W), (0,) * len(W), (), most)
        budgets = tuple(int(c) for c in np.floor(lengths / self._tau * (1 + ROUNDING)))
        r, e = self._rows(budgets)
        kept = np.divide(np.minimum(r, lengths), lengths, out=np.zeros_like(lengths), where=lengths > 0)
        shrunk = W * kept[:, None]
        V = np.zeros_like(W, dtype=np.float64)
        name: list[tuple[int, int, int]] = []
        while True:
            errors = (shrunk - V) @ self.X.T
            wrong = np.argwhere(np.abs(errors) > (e * (1 + 1e-9))[:, None])
            if len(wrong) == 0:
                return MatrixElement(V=V, budgets=budgets, name=tuple(name), most=most)
            j, i = int(wrong[0][0]), int(wrong[0][1])
            name.append((j, i, 1 if errors[j, i] > 0 else -1))
            V = self._step(V, name[-1], r, e)

    def replay(self, budgets: tuple[int, ...], name: MatrixName) -> Float[Array, "d_1 d_2"]:
        """Return the cover element with these row budgets and updates."""
        r, e = self._rows(budgets)
        V = np.zeros((len(budgets), self.X.shape[1]))
        for update in name:
            if not 0 <= update[0] < len(budgets):
                raise ShapeError(f"an update names row {update[0]}, there are {len(budgets)} budgets.")
            V = self._step(V, update, r, e)
        return V

    @property
    def _tau(self) -> float:
        """The unit tau of the row budgets: row lengths are rounded down to multiples of tau."""
        return self.alpha * self.eps**2 / (self.b**2 * self.B)

    def _rows(self, budgets: tuple[int, ...]) -> tuple[Float[Array, " d_1"], Float[Array, " d_1"]]:
        """Return the rounded length r_j and the allowed error e_j of each row."""
        r = self._tau * np.array(budgets)
        total = float(r.sum())
        if total == 0:
            return r, np.full_like(r, self.eps)
        return r, (1 - np.sqrt(self.alpha)) * self.eps * np.sqrt(r / total)

    def _step(
        self,
        V: Float[Array, "d_1 d_2"],
        update: tuple[int, int, int],
        r: Float[Array, " d_1"],
        e: Float[Array, " d_1"],
    ) -> Float[Array, "d_1 d_2"]:
        j, i, sign = update
        V = V.copy()
        V[j] += (e[j] / self.b**2) * sign * self.X[i]
        return _into_rows(V, r) if self.S is None else _into_class(V, r, float(self.S))


def _into_rows(V: Float[Array, "d_1 d_2"], r: Float[Array, " d_1"]) -> Float[Array, "d_1 d_2"]:
    """Return the matrix with row lengths at most r that is nearest to V in the norm sum_j ||V_j||^2/r_j (or in any
    other norm that weights whole rows).
    """
    lengths = np.linalg.norm(V, axis=1)
    return V * np.minimum(1.0, np.divide(r, lengths, out=np.ones_like(r), where=lengths > 0))[:, None]


def _into_class(V: Float[Array, "d_1 d_2"], r: Float[Array, " d_1"], S: float) -> Float[Array, "d_1 d_2"]:
    """Return the matrix with row lengths <= r and spectral norm <= S that is nearest to V in the norm Q(V) = sum_j
    ||V_j||^2/r_j, by alternating directions (ADMM).

    This projection has no closed form, because Q weights row j by 1/r_j. One half-step projects a weighted mean row by
    row, the other clips singular values. A final scaling puts the result exactly into the class.
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
