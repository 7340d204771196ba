"""Covering numbers of exact input at any offset and scale, against brute force in rational arithmetic."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sparsehead._base.errors import ParseError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.covering import covering_number, metrics
from sparsehead.covering.cover import packing_number
from sparsehead.covering.metrics import read_points, within
from sparsehead_paper.theory.function_classes import class_covering_number, evaluate

FAST, ALL = 300, 10_000


def power_of_distance(a, b, p):
    gaps = [abs(x - y) for x, y in zip(a, b)]
    return max(gaps) if math.isinf(p) else sum(g ** int(p) for g in gaps)


def brute_near(rows, eps, p, blocks=1):
    limit = eps if math.isinf(p) else eps ** int(p)
    width = len(rows[0]) // blocks
    groups = [[row[i : i + width] for i in range(0, len(row), width)] for row in rows]
    return [[all(power_of_distance(x, y, p) <= limit for x, y in zip(a, b)) for b in groups] for a in groups]


def brute_cover(near):
    """The size of the smallest set of points whose balls cover all, by trying every subset, smallest first."""
    n = len(near)
    return next(
        k
        for k in range(1, n + 1)
        for chosen in itertools.combinations(range(n), k)
        if all(any(near[c][i] for c in chosen) for i in range(n))
    )


def brute_packing(near):
    n = len(near)
    return max(
        k
        for k in range(1, n + 1)
        if any(
            not any(near[i][j] for i, j in itertools.combinations(chosen, 2))
            for chosen in itertools.combinations(range(n), k)
        )
    )


def fits_one_ball(rows, eps):
    """Whether some ball of radius eps contains all: on a line, or in the plane by the smallest enclosing circle."""
    if len(rows[0]) == 1:
        return max(rows)[0] - min(rows)[0] <= 2 * eps
    candidates = list(rows) + [
        [(a + b) / 2 for a, b in zip(p, q)] for p, q in itertools.combinations(rows, 2)
    ]
    for (ax, ay), (bx, by), (cx, cy) in itertools.combinations(rows, 3):
        area = 2 * ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))
        if area:
            b2, c2 = (bx - ax) ** 2 + (by - ay) ** 2, (cx - ax) ** 2 + (cy - ay) ** 2
            candidates.append(
                [
                    ax + ((cy - ay) * b2 - (by - ay) * c2) / area,
                    ay + ((bx - ax) * c2 - (cx - ax) * b2) / area,
                ]
            )
    return any(all(power_of_distance(c, row, 2) <= eps**2 for row in rows) for c in candidates)


def brute_external(rows, eps):
    """Fewest balls with centres anywhere: the cheapest way to split the points into groups that fit one ball."""
    n = len(rows)
    groups = [
        s for s in range(1, 1 << n) if fits_one_ball([r for i, r in enumerate(rows) if s >> i & 1], eps)
    ]
    best = [0] + [n] * ((1 << n) - 1)
    for covered in range(1, 1 << n):
        best[covered] = 1 + min(best[covered & ~g] for g in groups if g & covered)
    return best[-1]


def random_case(trial):
    """Rows of rational numbers with offsets up to 10^17, and an eps that is often a tie."""
    rng = stream(trial, "exact")
    n, d, p = int(rng.integers(1, 7)), int(rng.integers(1, 4)), float(rng.choice([1, 2, 3, math.inf]))
    unit = Fraction(int(rng.choice([1, 3, 10])), int(rng.choice([1, 2, 10, 1000, 10**6])))
    offsets = [int(rng.integers(-(10**17), 10**17)) if rng.random() < 0.8 else 0 for _ in range(d)]
    cells = rng.integers(0, 6, size=(n, d)).tolist()
    rows = [[o + x * unit for o, x in zip(offsets, row)] for row in cells]
    if rng.random() < 0.3:  # one point far away: the rest are close relative to the spread
        rows[0] = [x + 10**17 for x in rows[0]]
    eps = unit * int(rng.integers(1, 6))
    if rng.random() < 0.4:
        eps += unit * Fraction(int(rng.choice([-1, 1])), int(rng.choice([7, 10**9, 10**30])))
    return rows, eps, p


def written(rows, trial):
    """The rows as Fractions, texts or Decimals: decimals throughout, since random_case divides by 2 and 10 only."""
    if trial % 3 == 0:
        return rows
    text = [[f"{x.numerator}/{x.denominator}" for x in row] for row in rows]
    if trial % 3 == 1:
        return text
    return [[Decimal(int(x * 10**6)).scaleb(-6) for x in row] for row in rows]


def wrong_numbers(trials):
    wrong = []
    for trial in trials:
        rows, eps, p = random_case(trial)
        near = brute_near(rows, eps, p)
        points = written(rows, trial)
        found = covering_number(points, eps=eps, p=p)
        if found.size != brute_cover(near) or found.ties != metrics.Ties.EXACT:
            wrong.append((trial, "proper"))
        if packing_number(points, r=eps, p=p).size != brute_packing(near):
            wrong.append((trial, "packing"))
        if len(rows[0]) == 1 or (len(rows[0]) == 2 and p == 2):
            outer = covering_number(points, eps=eps, p=p, external=True)
            if outer.size != brute_external(rows, eps):
                wrong.append((trial, "external"))
        if len(rows[0]) > 1:  # the same numbers as functions on a sample
            values = evaluate([lambda z, row=row: row[z] for row in rows], range(len(rows[0])))  # type: ignore[misc]
            on_sample = brute_near(rows, eps, math.inf)
            if class_covering_number(values, eps=eps, p=p).size != brute_cover(on_sample):
                wrong.append((trial, "class"))
    return wrong


def test_exact_input_at_offsets_up_to_1e17_is_never_wrong():
    assert wrong_numbers(range(FAST)) == []


@pytest.mark.slow
def test_ten_thousand_random_point_sets_are_never_wrong():
    assert wrong_numbers(range(FAST, ALL)) == []


@pytest.mark.parametrize(
    ("points", "eps", "size"),
    [
        ([["123456789.1"], ["123456789.3"], ["123456789.2"]], "0.1", 1),
        ([[10**17], [10**17 + 1]], "0.5", 2),
        ([[10**17], [10**17 + 1]], "1", 1),
        ([[10**17, 0], [10**17 + 3, 4]], 5, 1),
        ([[10**17, 0], [10**17 + 3, 4]], Fraction(5) - Fraction(1, 10**40), 2),
        ([["1e-300"], ["3e-300"]], "2e-300", 1),
        ([["1e300"], ["3e300"]], "2e300", 1),
        ([["1e300"], ["1e-300"], [0]], "1e-300", 2),
    ],
)
def test_offsets_and_scales(points, eps, size):
    assert covering_number(points, eps=eps).size == size


def test_float_offsets_and_scales_are_those_of_the_binary_numbers():
    """At 10^17 floats are 16 apart; scaled coordinates would round such neighbours together."""
    assert covering_number(np.array([1e17, 1e17 + 16, 1e17 + 32]), eps=16.0).size == 1
    assert covering_number(np.array([1e17, 1e17 + 16, 1e17 + 32]), eps=15.9).size == 3
    found = covering_number([0.1, 0.4], eps=0.3)
    assert found.size == 1 and found.ties == metrics.Ties.FLOAT
    assert covering_number([0.0, 1 + 5e-13], eps=1.0).size == 1  # within the tolerance that ties states
    assert covering_number([0.0, 1 + 2e-12], eps=1.0).size == 2
    assert covering_number([[5e307], [-5e307]], eps=1e308).size == 1
    assert covering_number([[1.7e308], [-1.7e308]], eps=1e308).size == 2


def test_norms_that_are_not_rational_say_so():
    found = covering_number([[0, 0], [1, 1]], eps=2, p=2.5)
    assert found.size == 1 and found.ties == metrics.Ties.POWER
    assert covering_number([[10**25, 0], [10**25 + 1, 1]], eps="1.31", p=2.5).size == 2  # 2^(1/2.5) = 1.3195
    assert covering_number([[10**25, 0], [10**25 + 1, 1]], eps="1.32", p=2.5).size == 1
    assert covering_number([0, 1], eps=1, p=2.5).ties == metrics.Ties.EXACT  # on a line every norm is |x|


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("kind", ["whole numbers", "two floats", "nothing", "floats"])
def test_every_way_of_comparing_gives_the_same_graph(monkeypatch, kind, p):
    """Small whole numbers, sums of two floats, Fractions alone, and floats: on one set of 40 grid points."""
    rng = stream(5, "graph")
    grid = rng.integers(0, 9, size=(40, 3))
    points = grid.astype(float) if kind == "floats" else [[int(x) for x in row] for row in grid]
    if kind in ("two floats", "nothing"):
        monkeypatch.setattr(metrics, "_as_whole_numbers", lambda *arguments: None)
    if kind == "nothing":
        monkeypatch.setattr(metrics, "_two_floats", lambda *arguments: None)
    rows = [[Fraction(int(x)) for x in row] for row in grid]
    for eps in (1, 3, 5):
        near = within(read_points(points), Fraction(eps), p)
        assert near.tolist() == brute_near(rows, Fraction(eps), p)


def test_ties_that_floats_miss_by_a_rounding(monkeypatch):
    """Pythagorean triples: (x/z)^2 + (y/z)^2 is 1, in floats often a rounding more or less."""
    monkeypatch.setattr(metrics, "_as_whole_numbers", lambda *arguments: None)
    triples = [(p * p - q * q, 2 * p * q, p * p + q * q) for p in range(2, 9) for q in range(1, p)]
    assert {(x / z) ** 2 + (y / z) ** 2 > 1 for x, y, z in triples} == {False, True}
    for x, y, z in triples:
        points = [[10**17, 0], [10**17 + Fraction(x, 7), Fraction(y, 7)]]
        assert covering_number(points, eps=Fraction(z, 7)).size == 1
        assert covering_number(points, eps=Fraction(z, 7) - Fraction(1, 10**40)).size == 2


@pytest.mark.parametrize("offset", [0, 10**17])
def test_points_on_one_circle_fit_one_disc(offset):
    """The 12 lattice points of the circle of radius 5, and the 36 of radius 65, in sevenths."""
    for radius in (5, 65):
        lattice = [(x, y) for x in range(-65, 66) for y in range(-65, 66) if x * x + y * y == radius**2]
        points = [[offset + Fraction(x, 7), Fraction(y, 7)] for x, y in lattice]
        assert covering_number(points, eps=Fraction(radius, 7), external=True).size == 1
        less = Fraction(radius, 7) - Fraction(1, 10**40)
        assert covering_number(points, eps=less, external=True).size == 2


def test_two_floats_settle_all_but_ties(monkeypatch):
    """At offset 10^17 only the pairs at distance exactly eps are left to rational arithmetic."""
    asked = []
    exactly = metrics._exactly_within
    monkeypatch.setattr(metrics, "_exactly_within", lambda *a: asked.append(a) or exactly(*a))
    monkeypatch.setattr(metrics, "_as_whole_numbers", lambda *arguments: None)
    points = [[10**17 + x, x * x] for x in range(30)]
    within(read_points(points), Fraction(5), 2.0)
    assert len(asked) <= 40
    within(read_points(points), Fraction(51, 10), 2.0)
    assert len(asked) <= 40


@pytest.mark.parametrize("points", [np.array([1j, 2]), [1j, 2], np.array([1, 2], dtype=np.complex64)])
def test_complex_points_are_refused(points):
    with pytest.raises(ParseError, match="complex"):
        covering_number(points, eps=1)


def test_points_of_a_table_are_its_rows():
    """Iterating a DataFrame gives the names of its columns, and a dict its keys."""
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    P = np.array([[0.0, 0.0], [5, 5], [9, 9], [20, 20]])
    assert covering_number(pandas.DataFrame(P), eps=0.5).size == covering_number(P, eps=0.5).size == 4
    assert covering_number(torch.tensor(P), eps=0.5).size == 4
    with pytest.raises(ShapeError, match="rows of numbers"):
        covering_number({1: [0, 0], 2: [5, 5]}, eps=0.5)
