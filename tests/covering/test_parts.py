"""The parts of a covering number one by one: bounds, searches that end early, files, and the norms that are exact."""

import math
import types
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sparsehead._base.errors import ParseError, ShapeError
from sparsehead.covering import cover, covering_number, external, metrics
from sparsehead.covering.cover import greedy_cover, greedy_packing, packing_number, set_cover
from sparsehead.covering.external import _inside, _members
from sparsehead.covering.points_file import points_of
from sparsehead_paper.theory.function_classes import class_covering_number


def apart_at(xs, r):
    x = np.array(xs, dtype=float)
    return np.abs(x[:, None] - x[None]) > r


def test_packings_beside_a_cover_are_at_twice_the_radius():
    """On 0, 2.5, 5, 6.5: three points are more than 2 apart, two more than 3, four more than 1."""
    line = [0.0, 2.5, 5.0, 6.5]
    for found in (
        covering_number(line, eps=1.0),
        covering_number(line, eps=1.0, external=True),
        class_covering_number(np.array(line).reshape(4, 1, 1), eps=1.0),
    ):
        assert found.packing == 3
    assert [packing_number(line, r=r).size for r in (1.0, 2.0, 3.0)] == [4, 3, 2]


def test_greedy_choices_are_those_of_their_definition():
    """Of a chain 0-1-2-3 and a point apart: ends have fewer conflicts, and a point inside covers three."""
    apart = apart_at([0, 1, 2, 3, 10], 1)
    assert greedy_packing(apart) == [0, 3, 4]
    assert greedy_cover(~apart) == [1, 2, 4]
    assert greedy_cover(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 1]], dtype=bool)) == [0, 1]


def test_bounds_of_a_solver_are_rounded_by_less_than_its_tolerance(monkeypatch):
    """A bound of 2 + 1e-7 means 2, one of 2.1 means 3."""
    near = ~apart_at(range(9), 1)
    for bound, lower in ((2 + 1e-7, 2), (2.1, 3)):
        monkeypatch.setattr(cover, "_solve", lambda *a, b=bound: (None, [1, 4, 6, 7], b, False))
        found = cover.cover_graph(near, apart_at(range(9), 100), values=np.zeros((9, 1)), deadline=0.0)
        assert (found.lower, found.upper, found.exact, found.size) == (lower, 4, False, None)


def answer(**fields):
    return lambda *arguments, **options: types.SimpleNamespace(**fields)


def test_what_a_solver_says_is_checked_and_what_it_does_not_say_is_not_used(monkeypatch):
    near = ~apart_at(range(6), 1)
    solution = np.array([0.0, 1.0, 0, 0, 1, 0])
    for fields, found in [
        ({"x": solution, "mip_dual_bound": 2.0, "status": 0}, ([1, 4], 2.0, True)),
        ({"x": solution, "mip_dual_bound": None, "status": 1}, ([1, 4], 0.0, False)),
        ({"x": None, "mip_dual_bound": 1.5, "status": 1}, (None, 1.5, False)),
        ({"x": 0 * solution, "mip_dual_bound": 2.0, "status": 0}, (None, 0.0, False)),  # covers nothing
        ({"x": solution, "mip_dual_bound": -math.inf, "status": 1}, ([1, 4], 0.0, False)),
    ]:
        monkeypatch.setattr("scipy.optimize.milp", answer(**fields))  # type: ignore[arg-type]
        assert set_cover(near, time_limit=1.0) == found


def test_the_greedy_cover_is_kept_where_the_solver_finds_none(monkeypatch):
    square = [[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [3.0, 3.0], [1.5, 1.4]]
    whole = covering_number(square, eps=1.6, external=True)
    assert whole.exact and whole.size == 2
    monkeypatch.setattr(external, "set_cover", lambda *a, **k: (None, 0.0, False))
    found = covering_number(square, eps=1.6, external=True)
    assert found.lower == found.packing and found.upper == found.greedy == len(found.centers)
    line = covering_number([0, 2, 4, 6], eps=1, external=True)
    assert line.exact and line.centers == ((1.0,), (5.0,)) and (line.lower, line.upper) == (2, 2)


def test_centres_of_discs_hold_their_points_at_any_shape():
    """Two points 7 apart in every direction, far from the origin: one disc of radius 3.6 with both on its rim."""
    for angle in np.linspace(0, 2 * math.pi, 17):
        a = np.array([1000.0, -77.0])
        b = a + 7 * np.array([math.cos(angle), math.sin(angle)])
        found = covering_number(np.stack([a, b]), eps=3.6, external=True)
        assert found.size == 1
        distances = [math.dist(found.centers[0], q) for q in (a, b)]
        np.testing.assert_allclose(distances, 3.6, rtol=1e-9)


def test_powers_up_to_a_hundred_are_exact():
    for p, ties in ((100, metrics.Ties.EXACT), (101, metrics.Ties.POWER), (2.5, metrics.Ties.POWER)):
        assert covering_number([[0, 0], [1, 0]], eps=1, p=p).ties == ties
    tight = 1 + Fraction(1, 10**20)
    assert covering_number([[0, 0], [tight, 0]], eps=1, p=100).size == 2  # nearer to a tie than the tolerance
    assert covering_number([[0, 0], [tight, 0]], eps=1, p=101).size == 1


def test_whole_numbers_of_numpy_are_exact():
    """At 10^17 floats are 16 apart; the four points lie on a circle of radius 5."""
    circle = np.array([[5, 0], [-3, 4], [-3, -4], [0, 5]], dtype=np.int64) + 10**17
    assert covering_number(circle, eps=5, external=True).size == 1
    assert covering_number(circle, eps=5 - Fraction(1, 10**30), external=True).size == 2
    rows = metrics.read_points(circle).fractions
    assert {type(x) for row in rows for x in row} == {Fraction}  # whole numbers would divide to floats
    assert metrics.read_points([[np.True_], [np.False_]]).fractions == [[Fraction(1)], [Fraction(0)]]


@pytest.mark.parametrize("points", ["[[0, 1]]", 7, {"a": [0, 1]}])
def test_points_are_rows(points):
    with pytest.raises(ShapeError, match="points are rows of numbers"):
        covering_number(points, eps=1)


def test_files_of_points_may_have_a_header():
    assert points_of(b"x,y\n1,2\n\n3, 4\n", "f") == [["1", "2"], ["3", "4"]]
    with pytest.raises(ParseError, match="line 1: 'x' is not a finite number"):
        points_of(b"x,y\n", "f")
    with pytest.raises(ParseError, match="line 2: 'nan' is not a finite number"):
        points_of(b"1,2\nnan,3\n", "f")
    with pytest.raises(ParseError, match="line 3: 1 numbers where the rows above have 2"):
        points_of(b"x,y\n1,2\n3\n", "f")
    with pytest.raises(ParseError, match="no rows"):
        points_of(b"\n , \n", "f")


@pytest.mark.parametrize("offset", [0, 10**17])
def test_three_points_on_a_circle_none_opposite_another(offset):
    """(5, 0), (-3, 4), (-3, -4) have the circumradius 5 exactly, and no two of them a disc that is centred midway."""
    points = [[offset + 5, 0], [offset - 3, 4], [offset - 3, -4]]
    assert covering_number(points, eps=5, external=True).size == 1
    assert covering_number(points, eps=5 - Fraction(1, 10**40), external=True).size == 2


def test_discs_on_a_diameter_are_decided_exactly():
    """Two points a diameter apart: t = 0 up to rounding, and the other points lie on the rim itself."""
    for a, b, c in (
        (3, 4, 5),
        (5, 12, 13),
        (8, 15, 17),
        (7, 24, 25),
        (20, 21, 29),
        (12, 35, 37),
        (9, 40, 41),
    ):
        rim = [(a, b), (-a, b), (a, -b), (-a, -b), (b, a), (-b, a), (b, -a), (c, 0), (0, c), (-c, 0)]
        local = [
            (0, 0),
            (2 * a, 2 * b),
            *((x + a, y + b) for x, y in rim if (x, y) not in ((a, b), (-a, -b))),
        ]
        exact = [[_inside(w, local[1], side, c) for side in (1, -1)] for w in local]
        assert np.array(exact).all()
        found = _members(local, 1, c, candidates=np.ones(len(local), dtype=bool))
        assert found.tolist() == exact


def test_discs_around_a_lattice_circle_hold_the_lattice_points_of_its_radius():
    """Any two of the 12 lattice points at distance 5 from the origin, unless opposite, have it as one centre."""
    grid = list(product(range(-7, 8), repeat=2))
    rim = [(x, y) for x, y in grid if x * x + y * y == 25]
    for (a, b), (c, d) in product(rim, repeat=2):
        if (
            turn := a * d - b * c
        ) != 0:  # the origin lies to the left of the way from (a, b) to (c, d), or right
            g, side = (c - a, d - b), 1 if turn > 0 else -1
            inside = [(x, y) for x, y in grid if _inside((x - a, y - b), g, side, 5)]
            assert inside == [(x, y) for x, y in grid if x * x + y * y <= 25]


def test_a_choice_that_leaves_a_row_uncovered_is_no_cover(monkeypatch):
    """The solver works to a tolerance, so its choice is looked at."""
    near = np.array([[True, False], [False, True]])
    assert set_cover(near, time_limit=5.0)[0] == [0, 1]
    monkeypatch.setattr(cover, "_choose_columns", lambda *_, **__: ([0], 1.0, True))
    assert set_cover(near, time_limit=5.0) == (None, 0.0, False)


def test_covers_are_equal_by_their_balls():
    """Points, eps and p are kept for the chart alone."""
    line = [[0.0], [1.0], [5.0]]
    assert covering_number(line, eps=1.0, p=2) == covering_number(line, eps=1.0, p=1)
