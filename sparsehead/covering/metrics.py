"""Decide exactly which points lie within eps of each other.

A covering number jumps where a distance equals eps, and textbook examples put their distances exactly there. So
every comparison D <= eps is made between the given rational numbers. Floats are only a filter: they decide a pair if
its computed distance differs from eps by more than the possible rounding error, for any offset and scale of the points;
all other pairs are decided in rational arithmetic.

Whole numbers, fractions, Decimals and texts ("0.7") are taken exactly. A float has its binary value, which
is rarely the decimal that was meant, so for floats D <= eps means D <= eps (1 + 1e-12). The same tolerance applies to
norms with p other than inf and 1, 2, .., 100, whose distances are not rational.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np

from .._base.errors import DomainError, ParseError, ShapeError
from .._base.log_math import Real, check_eps
from .._base.types import Array, Bool, Float

ULP = 2.0**-53  # half the distance of 1 to the next float: the relative error of one rounding


class Ties(StrEnum):
    """Rule for distances equal to eps."""

    EXACT = "exact: points and eps are compared as the numbers that were given"
    FLOAT = (
        "floats are taken as the binary numbers they are, and distances up to eps (1 + 1e-12) as within eps"
    )
    POWER = "distances in this norm are not rational; up to eps (1 + 1e-12) they count as within eps"


@dataclass(frozen=True)
class Points:
    """n points. The coordinates form `blocks` equal groups, by default one; the distance is the largest p-norm of a
    group.

    values are the coordinates as floats, perhaps rounded; fractions the exact numbers, None for an array of floats,
    which are exact themselves. tolerant says whether any coordinate was a float.
    """

    values: Float[Array, "n d"]
    fractions: list[list[Fraction]] | None
    tolerant: bool
    blocks: int = 1

    def row(self, i: int) -> list[Fraction]:
        """Return the coordinates of point i as rational numbers."""
        return [Fraction(x) for x in self.values[i].tolist()] if self.fractions is None else self.fractions[i]

    def ties(self, p: float) -> Ties:
        if self.tolerant:
            return Ties.FLOAT
        plain = self.values.shape[1] == self.blocks  # numbers: every norm is the absolute value
        return Ties.EXACT if plain or _has_exact_powers(p) else Ties.POWER

    def limit(self, radius: Fraction, p: float) -> Fraction:
        """Return the limit for distances: the radius, enlarged by the tolerance if there is one."""
        return radius if self.ties(p) == Ties.EXACT else radius * (1 + Fraction(1, 10**12))


def read_points(points: Any) -> Points:
    """Convert rows of numbers to points; n single numbers are n points on a line.

    Raises:
        ParseError: a text is not a number. ShapeError: rows have different lengths. DomainError: a number is NaN or
        infinite, or there are no points.
    """
    # iterating a DataFrame would give the names of its columns
    if hasattr(points, "__array__") and not isinstance(points, np.ndarray):
        points = np.asarray(points)
    if isinstance(points, np.ndarray) and points.dtype.kind == "f" and points.ndim in (1, 2):
        values = (points[:, None] if points.ndim == 1 else points).astype(np.float64)
        _check_table([values.shape[1]] * len(values), finite=bool(np.isfinite(values).all()))
        return Points(values, None, True)
    if isinstance(points, str | Mapping) or not isinstance(points, Iterable):
        raise ShapeError(f"points are rows of numbers, such as [[0, 1], [2, 3]]; got {str(points)[:40]!r}.")
    table = [
        list(row) if isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) else [row]
        for row in points
    ]
    cells = [x for row in table for x in row]
    finite = all(math.isfinite(x) for x in cells if isinstance(x, float | np.floating))
    _check_table([len(row) for row in table], finite=finite)
    tolerant = not all(isinstance(x, int | np.integer | Fraction | Decimal | str) for x in cells)
    try:
        fractions = [[_fraction(x) for x in row] for row in table]
        values = np.array([[float(x) for x in row] for row in fractions], dtype=np.float64)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ParseError(
            f"a coordinate is not a finite number ({error}); points are rows of numbers."
        ) from None
    return Points(values, fractions, tolerant)


def _check_table(widths: list[int], *, finite: bool) -> None:
    n, most = len(widths), 8000  # all pairs are compared: for 8000 points the answer alone takes 64 MB
    if n == 0:
        raise DomainError("a covering number needs at least one point, got none.")
    if n > most:
        raise DomainError(f"all pairs are compared: at most {most} points, got {n}; cover a sample.")
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise ShapeError(
                f"point {i} has {width} coordinates, point 0 has {widths[0]}; all need the same number."
            )
    if widths[0] == 0:
        raise ShapeError("the points have no coordinates; each needs at least one.")
    if not finite:
        raise DomainError("a coordinate is NaN or infinite; points are rows of finite numbers.")


def _fraction(x: Any) -> Fraction:
    if isinstance(x, str):
        return fraction_of(x)
    if isinstance(x, np.integer | np.bool_):
        return Fraction(int(x))
    if isinstance(x, complex | np.complexfloating):  # float() would drop the imaginary part of NumPy's
        raise TypeError(f"{x} is complex")
    return Fraction(x if isinstance(x, int | Fraction | Decimal) else float(x))


def fraction_of(text: str) -> Fraction:
    """Return the number that a text such as "0.7", "-3e-4" or "1/3" means; raise ValueError if it means none."""
    # refused before Python writes out its digits
    exponent = text.lower().partition("e")[2]
    if len(text) > 100 or (exponent and abs(int(exponent)) > 400):
        raise ValueError(f"{text[:20]!r}.. is out of range")
    return Fraction(text)


def read_radius(eps: Any, points: Points) -> Fraction:
    """Return eps as a rational number; with exact points, a float means the decimal that it prints as (eps = 0.05).

    Raises:
        ParseError: a text is not a number. DomainError: eps is not > 0, or beyond the range of a float.
    """
    try:
        if isinstance(eps, float | np.floating):
            value = check_eps(float(eps))
            return Fraction(value) if points.tolerant else Fraction(repr(value))
        radius = _fraction(eps)
        check_eps(float(radius))
    except OverflowError:
        raise DomainError(f"eps is a number > 0 up to 1.7e308, got {str(eps)[:40]}.") from None
    except DomainError:
        raise
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParseError(f"eps is a number > 0, got {str(eps)[:40]!r}.") from None
    return radius


def check_p(p: Real) -> float:
    if isinstance(p, str | bytes) or not hasattr(p, "__float__") or not p >= 1:
        raise DomainError(f"p names a norm, so p >= 1 (or inf); got {p}.")
    return float(p)


def within(points: Points, limit: Fraction, p: float) -> Bool[Array, "n n"]:
    """Return whether D(i, j) <= limit for every pair; decided exactly for p = inf and whole p <= 100."""
    n, d = points.values.shape
    if d == points.blocks:  # numbers, not vectors: every norm is the absolute value
        points, p = replace(points, blocks=1), math.inf
    near = np.zeros((n, n), dtype=bool)
    screen = _prepare(points, limit, p)
    step = max(1, 2_000_000 // n)  # two million pairs at a time
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        if screen is None:
            doubtful = np.ones((rows.stop - rows.start, n), dtype=bool)
        else:
            near[rows], doubtful = screen.decide(rows)
        for i, j in (np.argwhere(doubtful) + [start, 0]).tolist():
            if i == j:
                near[i, j] = True
            elif i < j:
                near[i, j] = _exactly_within(points.row(i), points.row(j), limit, p, points.blocks)
            else:
                near[i, j] = near[j, i]
    return near


@dataclass(frozen=True)
class _Screen:
    """A filter in floats: x = high + low (low is None if all are 0); points are near if sum |x - y|^p <= limit.

    `doubt` bounds the error of a computed power relative to max(limit, power); 0 if the arithmetic is exact.
    """

    high: Float[Array, "n d"]
    low: Float[Array, "n d"] | None
    limit: float
    p: float
    blocks: int
    doubt: float

    def decide(self, rows: slice) -> tuple[Bool[Array, "rows n"], Bool[Array, "rows n"]]:
        """Return for each pair whether it is near, and whether exact arithmetic is needed to decide this."""
        width = self.high.shape[1] // self.blocks
        near = np.ones((rows.stop - rows.start, len(self.high)), dtype=bool)
        doubtful = np.zeros_like(near)
        for start in range(0, self.high.shape[1], width):
            power = self._powers(rows, slice(start, start + width))
            near &= power <= self.limit
            if self.doubt > 0:
                doubtful |= (power >= self.limit * (1 - self.doubt)) & (
                    power <= self.limit / (1 - self.doubt)
                )
        return near, doubtful

    def _powers(self, rows: slice, columns: slice) -> Float[Array, "rows n"]:
        """Return sum |x - y|^p over the columns, or the largest |x - y| for p = inf."""
        from scipy.spatial.distance import cdist

        high = self.high[:, columns]
        if self.low is None and self.p in (1, 2, math.inf):
            name = {1.0: "cityblock", 2.0: "sqeuclidean"}.get(self.p, "chebyshev")
            return cdist(high[rows], high, name)
        total = np.zeros((rows.stop - rows.start, len(high)))
        for c in range(high.shape[1]):
            gap = np.abs(self._gap(rows, columns.start + c))
            with np.errstate(over="ignore"):  # inf is far away, as it should be
                total = np.maximum(total, gap) if math.isinf(self.p) else total + gap**self.p
        return total

    def _gap(self, rows: slice, c: int) -> Float[Array, "rows n"]:
        """Return x - y in coordinate c; the error is at most ULP times the result + 8 ULP^2 times the coordinates."""
        a, b = self.high[rows, c, None], self.high[None, :, c]
        gap = a - b
        if self.low is None:
            return gap
        # what the rounding of a - b left out, exactly (Knuth's two-sum)
        shifted = gap - a
        lost = (a - (gap - shifted)) - (b + shifted)
        return gap + (lost + (self.low[rows, c, None] - self.low[None, :, c]))


def _prepare(points: Points, limit: Fraction, p: float) -> _Screen | None:
    """Return the filter for these points; None if floats cannot decide any pair."""
    d = points.values.shape[1]
    power = 1.0 if math.isinf(p) else p
    # each |x - y| is within 3 ULP (difference, scaling, limit), its power within 2 more, and d of them are added
    doubt = 4 * ULP * (5 * power + d + 5)
    high, low, size = points.values, None, float(np.abs(points.values).max())
    large = 1e290  # numbers between 1/large and large neither overflow nor underflow below
    moderate = 1 / large < limit < large and size < large and size / limit < large
    if moderate and points.fractions is None:
        unit = float(limit)
    else:
        origin = points.row(0)
        whole = _as_whole_numbers(points, origin, limit, p)
        if whole is not None:
            return _Screen(whole[0], None, whole[1], p, points.blocks, 0.0)
        pairs = _two_floats(points, origin, limit)
        if pairs is None:
            return None
        high, low, size, unit = *pairs, float(np.abs(pairs[0]).max()), 1.0
        doubt += 64 * ULP**2 * power * d * size
    if doubt > 0.01:  # the bound on the error is one of first order
        return None
    scale = 2.0 ** -math.frexp(unit)[1]  # a power of two: nothing rounds
    with np.errstate(under="ignore"):
        low = None if low is None else low * scale
        return _Screen(high * scale, low, (unit * scale) ** power, p, points.blocks, doubt)


def _two_floats(
    points: Points, origin: list[Fraction], limit: Fraction
) -> tuple[Float[Array, "n d"], Float[Array, "n d"]] | None:
    """Return (x - origin) / limit as high + low, a sum of two floats; None beyond the range of a float."""
    high, low = np.empty_like(points.values), np.empty_like(points.values)
    try:
        for i in range(len(high)):
            for c, (x, o) in enumerate(zip(points.row(i), origin)):
                y = (x - o) / limit
                high[i, c] = float(y)
                low[i, c] = float(y - Fraction(high[i, c]))
    except OverflowError:
        return None
    return high, low


def _as_whole_numbers(
    points: Points, origin: list[Fraction], limit: Fraction, p: float
) -> tuple[Float[Array, "n d"], float] | None:
    """Return coordinates and limit^p, scaled to integers whose sums are exact in floats; None if they are too large."""
    if points.fractions is None or not _has_exact_powers(p):
        return None
    power = 1 if math.isinf(p) else int(p)
    factor = 1
    for x in (x for row in points.fractions for x in row):
        factor = math.lcm(factor, x.denominator)
        if factor > 2**53:
            return None
    factor *= limit.denominator
    rows = [[int((x - o) * factor) for x, o in zip(row, origin)] for row in points.fractions]
    largest = max(abs(x) for row in rows for x in row)
    bound = int(limit * factor) ** power
    if len(origin) * (2 * largest) ** power >= 2**53 or bound >= 2**53:
        return None
    return np.array(rows, dtype=np.float64), float(bound)


def _exactly_within(a: list[Fraction], b: list[Fraction], limit: Fraction, p: float, blocks: int) -> bool:
    gaps = [abs(x - y) / limit for x, y in zip(a, b, strict=True)]
    width = len(gaps) // blocks
    return all(_norm_at_most_1(gaps[i : i + width], p) for i in range(0, len(gaps), width))


def _norm_at_most_1(gaps: list[Fraction], p: float) -> bool:
    """Return whether the p-norm of `gaps`, given in units of the limit, is <= 1; in floats if powers are not exact."""
    largest = max(gaps)
    if math.isinf(p) or largest > 1 or largest == 0:
        return largest <= 1
    if _has_exact_powers(p):
        return sum(g ** int(p) for g in gaps) <= 1
    return float(largest) * sum(float(g / largest) ** p for g in gaps) ** (1 / p) <= 1


def _has_exact_powers(p: float) -> bool:
    """Return whether p-th powers of distances are computed exactly: for p = inf and integers p up to 100."""
    return math.isinf(p) or (p == int(p) and p <= 100)
