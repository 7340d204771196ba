"""Covering and packing numbers of point sets: exact if affordable, otherwise a lower and an upper bound (a bracket).

Balls are closed. With D the p-norm distance between points:

    N_int(eps)  fewest points of the set whose eps-balls cover it (proper): a minimum dominating set
    N_ext(eps)  fewest eps-balls that cover the set, with centres anywhere
    P(r)        largest number of points with all pairwise distances > r

    P(2 eps) <= N_ext(eps) <= N_int(eps) <= P(eps),     N_int(2 eps) <= N_ext(eps).

Exact numbers are computed by integer programming (HiGHS). A packing and the LP relaxation give lower bounds, a greedy
cover an upper bound. N_int can decrease when points are added, N_ext and P cannot.
"""

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._base.arguments import real
from .._base.display import Card, WithChart
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.log_math import Real
from .._base.types import Array, Bool, Float
from .metrics import check_p, read_points, read_radius, within


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """A whole number that lies between `lower` and `upper`."""

    lower: int
    upper: int

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def size(self) -> int | None:
        """The number itself; None if only the bounds are known."""
        return self.upper if self.exact else None


@dataclass(frozen=True, repr=False, kw_only=True)
class Cover(WithChart, Bracket):
    """A covering number, with a cover of `upper` balls.

    rows are the indices of the centres among the points, None if centres may lie anywhere. greedy is an upper bound,
    packing and lp are lower bounds (lp only for proper covers). ties is a sentence that says how distances equal to eps
    are treated.
    """

    _CHART = "figures.covers:cover_of_points"

    centers: tuple[tuple[float, ...], ...]
    rows: tuple[int, ...] | None
    greedy: int
    packing: int
    lp: float | None
    ties: str = "the graph was given"
    points: Float[Array, "n d"] | None = field(default=None, compare=False)
    eps: float | None = field(default=None, compare=False)
    p: float = field(default=2.0, compare=False)

    @property
    def verdict(self) -> str:
        """The number, or its lower and upper bound, in one sentence."""
        number = f"{self.size}" if self.exact else f"{self.lower} to {self.upper}"
        given = "" if self.points is None else f" of {len(self.points)} points"
        return f"covering number {number}{given}" + ("" if self.eps is None else f", eps={self.eps:g}")

    def __repr__(self) -> str:
        return f"<Cover: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the cover as JSON values without the points, as printed by `sparsehead cover --json`."""
        of = ("points", "eps", "p")
        plain = {key: json_values(value) for key, value in vars(self).items() if key not in of}
        return {
            "size": self.size,
            "exact": self.exact,
            **plain,
            "points": None if self.points is None else len(self.points),
            "eps": self.eps,
            "p": "inf" if self.p == math.inf else self.p,
            "external": self.rows is None,
        }

    def to_frame(self) -> Frame:
        """Return a table with one row per centre: its index among the points (None if it is not one), coordinates."""
        rows = self.rows if self.rows is not None else (None,) * len(self.centers)
        return Frame(
            {"point": row, **{f"x{i}": x for i, x in enumerate(center)}}
            for row, center in zip(rows, self.centers, strict=True)
        )

    def _card(self) -> Card:
        facts = {"packing at 2 eps": self.packing, "linear relaxation": self.lp, "greedy": self.greedy}
        return Card("Cover", [self.verdict, self.ties], facts, self.to_frame())


def covering_number(
    points: Any, *, eps: Any, p: Real = 2, external: bool = False, time_limit: float = 30.0
) -> Cover:
    """Return the eps-covering number of a finite set of points in the p-norm, with a cover.

    Args:
        points: n rows of d numbers (or n numbers: points on a line), n <= 8000. Fractions, whole numbers, Decimals
            and texts are compared exactly, at any offset and scale, for p = inf and p = 1, 2, .., 100. Floats are
            used with their binary values, and distances up to eps (1 + 1e-12) count as within eps; the float
            123456789.1 differs from this decimal by more than that, so pass texts if ties matter.
        eps: radius of the closed balls, > 0; with exact points, a float means the decimal that it prints as.
        p: the norm, 1 <= p <= inf; for p other than those above, distances up to eps (1 + 1e-12) count as within eps.
        external: let centres lie anywhere. Exact on a line (any p) and in the plane (p = 2, up to 150
            points); otherwise the bounds P(2 eps) <= N_ext <= N_int.
        time_limit: seconds for the search; if they run out, bounds are returned and `exact` is False.
    Paper: pseudometric-cover, covering-example

    >>> covering_number([["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]], eps=0.5).size
    1
    >>> covering_number([10**17, 10**17 + 1], eps="0.5").size
    2
    """
    real("time_limit", time_limit, above=0)
    given, p = read_points(points), check_p(p)
    radius = read_radius(eps, given)
    limit = given.limit(radius, p)
    deadline = time.monotonic() + time_limit
    near = within(given, limit, p)
    apart = ~within(given, 2 * limit, p)
    if external:
        from .external import external_cover

        found = external_cover(given, limit, p, near=near, apart=apart, deadline=deadline)
    else:
        found = cover_graph(near, apart, values=given.values, deadline=deadline, ties=given.ties(p))
    return replace(found, points=given.values, eps=float(radius), p=float(p))


def cover_graph(
    near: Bool[Array, "n n"],
    apart: Bool[Array, "n n"],
    *,
    values: Array,
    deadline: float,
    ties: str = Cover.ties,
) -> Cover:
    """Return the proper cover, given which pairs are within eps (near) and which are more than 2 eps apart."""
    greedy = greedy_cover(near)
    packing = greedy_packing(apart)
    lp, best, bound, proven = _solve(near, greedy, packing, deadline)
    return Cover(
        lower=len(best) if proven else max(len(packing), round_up(bound)),
        upper=len(best),
        centers=tuple(tuple(map(float, np.atleast_1d(values[i]))) for i in best),
        rows=tuple(best),
        greedy=len(greedy),
        packing=len(packing),
        lp=lp,
        ties=ties,
    )


def _solve(
    near: Bool[Array, "n n"], greedy: list[int], packing: list[int], deadline: float
) -> tuple[float | None, list[int], float, bool]:
    """Return the LP's value, the best cover found, a lower bound, and whether the cover is proven to be minimal."""
    if len(greedy) == len(packing):
        return None, greedy, float(len(packing)), True
    lp = lp_bound(near, time_limit=max(0.01, deadline - time.monotonic()))
    bound = max(float(len(packing)), lp or 0.0)
    if round_up(bound) >= len(greedy):
        return lp, greedy, bound, True
    found, dual, proven = set_cover(near, time_limit=max(0.01, deadline - time.monotonic()))
    best = found if found is not None and len(found) < len(greedy) else greedy
    return lp, best, max(bound, dual), proven


def greedy_cover(near: Bool[Array, "n m"]) -> list[int]:
    """Return columns that cover all rows, each chosen to cover the most rows not yet covered.

    Their number is at most 1 + 1/2 + .. + 1/D times the minimum, where D is the largest number of rows covered by one
    column.
    """
    uncovered = np.ones(near.shape[0], dtype=bool)
    gains = near.sum(axis=0).astype(np.int64)
    chosen: list[int] = []
    while uncovered.any():
        best = int(gains.argmax())
        newly = near[:, best] & uncovered
        chosen.append(best)
        uncovered &= ~newly
        gains -= near[newly].sum(axis=0)
    return sorted(chosen)


def greedy_packing(apart: Bool[Array, "n n"]) -> list[int]:
    """Return points that are pairwise apart, chosen in order of fewest conflicts; their number is at most P."""
    allowed = np.ones(apart.shape[0], dtype=bool)
    chosen: list[int] = []
    for i in np.argsort(-apart.sum(axis=1), kind="stable"):
        if allowed[i]:
            chosen.append(int(i))
            allowed &= apart[i]
    return sorted(chosen)


def set_cover(near: Bool[Array, "n m"], *, time_limit: float) -> tuple[list[int] | None, float, bool]:
    """Return the fewest columns found that cover all rows (or None), a lower bound, and whether they are optimal."""
    columns, bound, proven = _choose_columns(1.0, near.astype(np.float64), lb=1.0, time_limit=time_limit)
    # the solver's tolerance may leave a row uncovered
    if columns is not None and not near[:, columns].any(axis=1).all():
        return None, 0.0, False
    return columns, max(bound, 0.0), proven


def _choose_columns(
    cost: float, A: Any, *, time_limit: float, **limits: float
) -> tuple[list[int] | None, float, bool]:
    """Minimise `cost` times the number of chosen columns of A, whose sum in each row must be within `limits` (lb, ub).

    Return the columns (None if the solver found none), a lower bound, and whether the minimum is proven.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    result = milp(
        np.full(A.shape[1], cost),
        constraints=LinearConstraint(csr_array(A), **limits),
        integrality=np.ones(A.shape[1]),
        bounds=Bounds(0, 1),
        options={"time_limit": time_limit},
    )
    columns = None if result.x is None else [int(i) for i in np.flatnonzero(result.x > 0.5)]
    dual = result.mip_dual_bound
    return columns, -math.inf if dual is None or not np.isfinite(dual) else float(dual), result.status == 0


def round_up(bound: float) -> int:
    """Return the least integer that a solver's lower bound allows: HiGHS is accurate to 1e-7, so 2.9999999 means 3."""
    return math.ceil(bound - 1e-6)


def lp_bound(near: Bool[Array, "n n"], *, time_limit: float) -> float | None:
    """Return the value of the linear relaxation of the covering program, a lower bound; None if time ran out."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    result = linprog(
        np.ones(near.shape[1]),
        A_ub=-csr_array(near.astype(np.float64)),
        b_ub=-np.ones(near.shape[0]),
        bounds=(0, 1),
        method="highs",
        options={"time_limit": time_limit},
    )
    return float(result.fun) if result.status == 0 else None


@dataclass(frozen=True, kw_only=True)
class Packing(Bracket):
    """A packing number, with `lower` points that are pairwise more than r apart."""

    rows: tuple[int, ...]


def packing_number(points: Any, *, r: Any, p: Real = 2, time_limit: float = 30.0) -> Packing:
    """Return P(r), the most points with all pairwise distances > r, r > 0. Arguments are as in `covering_number`.

    Paper: pseudometric-cover
    """
    given, p = read_points(points), check_p(p)
    return pack_graph(within(given, given.limit(read_radius(r, given), p), p), time_limit=time_limit)


def pack_graph(near: Bool[Array, "n n"], *, time_limit: float) -> Packing:
    """Return the largest set of points without a pair of distinct points in `near`."""
    from scipy.sparse import csr_array

    greedy = greedy_packing(~near)
    n = near.shape[0]
    pairs = np.argwhere(np.triu(near, k=1))
    if len(pairs) == 0:
        return Packing(lower=n, upper=n, rows=tuple(range(n)))
    at = np.repeat(np.arange(len(pairs)), 2)
    A = csr_array((np.ones(2 * len(pairs)), (at, pairs.ravel())), shape=(len(pairs), n))
    found, bound, proven = _choose_columns(-1.0, A, ub=1.0, time_limit=time_limit)
    rows = max(found or greedy, greedy, key=len)
    upper = len(rows) if proven else max(len(rows), -round_up(max(bound, -float(n))))
    return Packing(lower=len(rows), upper=upper, rows=tuple(rows))
