"""Which points lie within eps of each other, with ties decided and not left to rounding.

A covering number jumps where a distance equals eps, and textbook examples put their distances exactly there.
Points given as whole numbers, fractions, Decimals or texts ("0.7") are compared in exact rational arithmetic
for p = 1, 2 and inf. Points given as floats carry rounding of their own, so for them D <= eps means
D <= eps (1 + 1e-12). Either way only distances within 1e-9 of eps are looked at twice.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import DomainError, ParseError, ShapeError
from ..logs import Real, check_eps
from ..types import Array, Bool, Float

TIE = 1e-12  # relative: a few roundings of a float64 distance
DOUBT = 1e-9  # relative: closer to eps than this, the distance is recomputed exactly
MOST_POINTS = 8000  # all pairs are compared: 8000 points take half a gigabyte

Exact = list[list[Fraction]]


def read_points(points: Any) -> tuple[Float[Array, "n d"], Exact | None]:
    """The points as floats and, where they were given exactly, as fractions too.

    A list of plain numbers is n points on a line. Raises ParseError for text that is no number, ShapeError
    for rows of different lengths, DomainError for NaN, infinities, or no points at all.
    """
    if isinstance(points, np.ndarray):
        rows: list[Any] = list(points)
    else:
        rows = list(points)
    if not rows:
        raise DomainError("a covering number needs at least one point, got none.")
    if len(rows) > MOST_POINTS:
        raise DomainError(
            f"all pairs are compared: at most {MOST_POINTS} points, got {len(rows)}; cover a sample."
        )
    table = [
        list(row) if isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) else [row]
        for row in rows
    ]
    width = len(table[0])
    for i, row in enumerate(table):
        if len(row) != width:
            raise ShapeError(
                f"point {i} has {len(row)} coordinates, point 0 has {width}; all need the same number."
            )
    if width == 0:
        raise ShapeError("the points have no coordinates; each needs at least one.")
    exact = all(isinstance(x, int | np.integer | Fraction | Decimal | str) for row in table for x in row)
    try:
        fractions = [[_fraction(x) for x in row] for row in table] if exact else None
        values = np.array([[float(x) for x in row] for row in fractions or table], dtype=np.float64)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ParseError(
            f"a coordinate is not a finite number ({error}); points are rows of numbers."
        ) from None
    if not np.isfinite(values).all():
        raise DomainError("a coordinate is NaN or infinite; points are rows of finite numbers.")
    return values, fractions


def _fraction(x: Any) -> Fraction:
    if isinstance(x, str):
        return fraction_of(x)
    return Fraction(int(x)) if isinstance(x, np.integer) else Fraction(x)


def fraction_of(text: str) -> Fraction:
    """The number that a text such as "0.7", "-3e-4" or "1/3" means; ValueError where it means none.

    Long texts and large exponents are refused before Python tries to write them out.
    """
    exponent = text.lower().partition("e")[2]
    if len(text) > 100 or (exponent and abs(int(exponent)) > 400):
        raise ValueError(f"{text[:20]!r}.. is out of range")
    return Fraction(text)


def check_p(p: Real) -> float:
    if not p >= 1:
        raise DomainError(f"p names a norm, so p >= 1 (or inf); got {p}.")
    return float(p)


def distances(points: Float[Array, "n d"], p: float) -> Float[Array, "n n"]:
    """All pairwise p-norm distances."""
    from scipy.spatial.distance import cdist

    if math.isinf(p):
        return cdist(points, points, "chebyshev")
    scale = float(np.abs(points).max(initial=0.0)) or 1.0  # keeps powers in range
    return cdist(points / scale, points / scale, "minkowski", p=p) * scale


def within(
    points: Float[Array, "n d"], exact: Exact | None, radius: Fraction | float, p: float
) -> Bool[Array, "n n"]:
    """D(i, j) <= radius for every pair, by the rule at the head of this file."""
    D = distances(points, p)
    r = float(radius)
    near = close_matrix(D, r)
    if exact is not None and p in (1.0, 2.0, math.inf):
        limit = Fraction(radius)
        for i, j in np.argwhere(np.abs(D - r) <= DOUBT * max(r, 1e-300)):
            if i <= j:
                near[i, j] = near[j, i] = _exactly_within(exact[i], exact[j], limit, p)
    return near


def close_matrix(D: Float[Array, "a b"], radius: float) -> Bool[Array, "a b"]:
    """D <= radius with the tolerance for floats."""
    return radius * (1 + TIE) >= D


def _exactly_within(a: list[Fraction], b: list[Fraction], limit: Fraction, p: float) -> bool:
    gaps = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if p == 2:
        return sum(g * g for g in gaps) <= limit * limit
    return (sum(gaps) if p == 1 else max(gaps)) <= limit


def exact_radius(eps: Any, exact: Exact | None) -> Fraction | float:
    """eps beside exact points: the decimal that a float prints as, since "eps = 0.05" was typed that way."""
    if isinstance(eps, Fraction | Decimal | str):
        try:
            eps = fraction_of(eps) if isinstance(eps, str) else Fraction(eps)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise ParseError(f"eps is a number > 0, got {eps!r}.") from None
        check_eps(float(eps))
        return eps if exact is not None else float(eps)
    value = check_eps(eps)
    return Fraction(repr(value)) if exact is not None else value
