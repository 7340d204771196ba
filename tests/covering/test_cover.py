"""Covering numbers at the edges: sizes, time, ties, bad input."""

import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, ParseError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.covering import covering_number
from sparsehead.covering.cover import packing_number


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_200_points_exactly_in_seconds(d):
    points = stream(d, "points").normal(size=(200, d))
    started = time.process_time()
    found = covering_number(points, eps=0.5 * math.sqrt(d))
    assert found.exact and found.lower == found.size == found.upper == len(found.centers)
    assert time.process_time() - started < 10  # processor time, of which it takes 0.05 s
    centers = np.array(found.centers)
    assert (
        np.linalg.norm(points[:, None] - centers[None], axis=2).min(axis=1).max()
        <= 0.5 * math.sqrt(d) + 1e-12
    )
    assert np.array_equal(points[list(found.rows)], centers)


def test_a_bracket_when_time_is_up_and_it_says_so():
    """60x60 grid points with balls of radius 2: the program is hard for a solver given a hundredth of a second."""
    grid = np.stack(np.meshgrid(np.arange(60), np.arange(60)), axis=-1).reshape(-1, 2).astype(float)
    found = covering_number(grid, eps=2.0, time_limit=0.01)
    assert not found.exact and found.size is None
    assert 1 < found.lower < found.upper == len(found.centers) <= 3600
    assert np.linalg.norm(grid[:, None] - np.array(found.centers)[None], axis=2).min(axis=1).max() <= 2


def test_exact_ties_in_every_exact_type():
    for cast in (str, Fraction, Decimal):
        line = [[cast("0.1")], [cast("0.3")]]
        assert covering_number(line, eps=cast("0.2")).size == 1
        assert covering_number(line, eps=Fraction(1999999999999999, 10**16)).size == 2
    assert covering_number([0.1, 0.3], eps=0.2).size == 1  # floats: 0.3 - 0.1 is 0.19999999999999998
    assert covering_number([0.1, 0.4], eps=0.3).size == 1  # and 0.4 - 0.1 is 0.30000000000000004


def test_ties_beyond_float_resolution_are_still_decided():
    a, b = Fraction(1), Fraction(1) + Fraction(1, 10**30)
    assert covering_number([[0], [b]], eps=a).size == 2
    assert covering_number([[0], [a]], eps=a).size == 1
    assert packing_number([[0], [b]], r=a).size == 2


def test_repeated_points_count_once():
    assert covering_number([[1, 2]] * 5 + [[9, 9]], eps=1).size == 2


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales_do_not_matter(scale):
    points = stream(1, "scale").normal(size=(30, 2))
    assert covering_number(points * scale, eps=0.4 * scale).size == covering_number(points, eps=0.4).size


def test_external_covers():
    """On a line: centres midway. In the plane: an equilateral triangle fits a disc of its circumradius."""
    assert covering_number([0, 2, 4, 6], eps=1, external=True).size == 2
    triangle = [[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]]
    assert covering_number(triangle, eps=0.58, external=True).size == 1  # 1/sqrt 3 = .577
    assert covering_number(triangle, eps=0.57, external=True).size == 2
    assert covering_number(triangle, eps=0.58).size == 3
    simplex = np.eye(4)
    bracket = covering_number(simplex, eps=0.9, external=True)  # pairwise sqrt 2: between 1 and 4
    assert (bracket.size, bracket.lower, bracket.upper, bracket.exact) == (None, 1, 4, False)


@pytest.mark.parametrize(
    ("points", "eps", "error", "match"),
    [
        ([], 1, DomainError, "at least one point"),
        ([[]], 1, ShapeError, "no coordinates"),
        ([[1, 2], [3]], 1, ShapeError, "point 1 has 1 coordinates, point 0 has 2"),
        ([["a"]], 1, ParseError, "not a finite number"),
        ([["1e999999999"]], 1, ParseError, "out of range"),
        ([[math.nan]], 1, DomainError, "NaN"),
        ([[1.0]], 0, DomainError, "eps is a finite number > 0"),
        ([[1.0]], -1, DomainError, "eps is a finite number > 0"),
        ([[1.0]], math.nan, DomainError, "eps is a finite number > 0"),
        ([[1.0]], math.inf, DomainError, "eps is a finite number > 0"),
        ([[1.0]], "x", ParseError, "eps is a number"),
        ([[0.0]] * 8001, 1, DomainError, "at most 8000"),
    ],
)
def test_bad_input_is_one_clear_line(points, eps, error, match):
    with pytest.raises(error, match=match) as caught:
        covering_number(points, eps=eps)
    assert "\n" not in str(caught.value)


def test_bad_norms_and_times():
    with pytest.raises(DomainError, match="p >= 1"):
        covering_number([1, 2], eps=1, p=0.5)
    with pytest.raises(DomainError, match="time_limit"):
        covering_number([1, 2], eps=1, time_limit=0.0)
