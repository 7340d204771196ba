"""Covering numbers: the definitions, the inequalities between them, and the worked example of the notes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsehead._base.rng import stream
from sparsehead.covering import covering_number
from sparsehead.covering.cover import packing_number
from sparsehead_paper.theory.function_classes import (
    class_covering_number,
    class_packing_number,
    evaluate,
    evaluate_parameters,
)

T_1 = [["0.5", "0.7"], ["0.2", "3"], ["0.6", "2.5"]]  # the set as first printed
T_2 = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]  # the set the notes go on with


def brute_cover(near):
    """Fewest columns of a boolean matrix that reach every row: all subsets, smallest first."""
    n = len(near)
    rows = [sum(1 << int(i) for i in np.flatnonzero(near[:, j])) for j in range(near.shape[1])]
    for size in range(1, n + 1):
        for chosen in itertools.combinations(rows, size):
            reach = 0
            for r in chosen:
                reach |= r
            if reach == (1 << n) - 1:
                return size
    raise AssertionError("the diagonal covers everything")


def brute_packing(near):
    n = len(near)
    clash = [sum(1 << int(j) for j in np.flatnonzero(near[i]) if j != i) for i in range(n)]
    best = 0
    for subset in range(1 << n):
        if subset.bit_count() > best and not any(subset >> i & 1 and clash[i] & subset for i in range(n)):
            best = subset.bit_count()
    return best


grid_points = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9, unique=True)


@pytest.mark.claim("pseudometric-cover")
@settings(deadline=None)
@given(grid_points, st.integers(1, 6), st.sampled_from([1, 2, math.inf]))
def test_pseudometric_cover_equals_brute_force_and_the_sandwich_holds(points, eps, p):
    """P(2e) <= N_ext(e) <= N_int(e) <= P(e) and N_int(2e) <= N_ext(e), on whole numbers: every tie is exact."""
    x = np.array(points, dtype=float)
    D = np.linalg.norm(x[:, None] - x[None], ord=p, axis=2)
    D2 = D**2 if p == 2 else D  # squared distances of whole numbers are whole: no rounding in the oracle
    near = np.round(D2) <= (eps**2 if p == 2 else eps)
    near_2 = np.round(D2) <= ((2 * eps) ** 2 if p == 2 else 2 * eps)
    inner, outer = covering_number(points, eps=eps, p=p), covering_number(points, eps=eps, p=p, external=True)
    assert inner.exact and inner.size == brute_cover(near)
    assert inner.lower == inner.upper == inner.size <= inner.greedy
    assert brute_packing(near_2) == packing_number(points, r=2 * eps, p=p).size
    assert brute_packing(near_2) <= outer.upper <= inner.size <= packing_number(points, r=eps, p=p).size
    assert outer.lower <= outer.upper
    assert covering_number(points, eps=2 * eps, p=p).size <= outer.upper
    if p == 2:
        assert outer.exact and all(min(math.dist(c, q) for c in outer.centers) <= eps + 1e-9 for q in points)


@pytest.mark.claim("pseudometric-cover")
@settings(deadline=None)
@given(grid_points, st.integers(1, 20), st.integers(1, 20))
def test_pseudometric_cover_falls_as_eps_grows(points, a, b):
    small, large = sorted((Fraction(a, 5), Fraction(b, 5)))
    assert covering_number(points, eps=small).size >= covering_number(points, eps=large).size


def test_pseudometric_cover_greedy_is_close_to_optimal():
    """120 random sets of 15 points: the worst ratio of greedy to optimal seen is 1.5; its guarantee is 1 +
    ln 15 = 3.7.
    """
    worst = 1.0
    for trial in range(120):
        found = covering_number(stream(trial, "points").normal(size=(15, 2)), eps=0.7)
        assert found.exact
        worst = max(worst, found.greedy / found.size)
    assert 1.2 <= worst <= 1.5


def test_pseudometric_cover_may_shrink_when_points_are_added():
    """N_int is not monotone under inclusion; N_ext is."""
    assert covering_number([-1, 1], eps=1).size == 2
    assert covering_number([-1, 0, 1], eps=1).size == 1
    assert covering_number([-1, 1], eps=1, external=True).size == 1


@pytest.mark.claim("covering-example")
@pytest.mark.parametrize(
    ("points", "eps", "size"),
    [(T_1, "0.05", 3), (T_1, "0.5", 3), (T_2, "0.05", 3), (T_2, "0.5", 1)]
    + [(T_1, "0.64", 3), (T_1, "0.641", 2), (T_1, "1.80", 2), (T_1, "1.81", 1)]
    + [(T_2, "0.111", 3), (T_2, "0.112", 2), (T_2, "0.4999", 2), (T_2, "0.50001", 1)],
)
def test_covering_example_both_readings(points, eps, size):
    """Thresholds: sqrt(.41) = .6403 and sqrt(3.25) = 1.8028; sqrt(1/80) = .1118 and exactly 1/2."""
    assert covering_number(points, eps=eps).size == size
    assert covering_number(np.array(points, dtype=float), eps=float(eps)).size == size


def test_covering_example_distances_are_these_fractions():
    def squared(points):
        exact = [[Fraction(x) for x in row] for row in points]
        return [sum((a - b) ** 2 for a, b in zip(p, q)) for p, q in itertools.combinations(exact, 2)]

    assert squared(T_1) == [Fraction(269, 50), Fraction(13, 4), Fraction(41, 100)]
    assert squared(T_2) == [Fraction(1, 4), Fraction(1, 80), Fraction(113, 400)]


@pytest.mark.claim("covering-number")
def test_covering_number_of_all_sign_functions_is_2_to_the_m():
    """Definition 2.1 covers joint value vectors: at each point there are two values, together 2^m functions."""
    m = 5
    functions = [lambda z, f=f: f[z] for f in itertools.product([-1.0, 1.0], repeat=m)]
    values = evaluate(functions, range(m))
    assert class_covering_number(values, eps=1.9).size == 2**m
    assert class_covering_number(values, eps=2).size == 1


@pytest.mark.claim("parameterized-covering-number")
def test_parameterized_covering_number_counts_parameters_by_their_functions():
    """theta and -theta give the same x -> theta^2 x, so 5 parameters make 3 functions."""
    values = evaluate_parameters(lambda z, theta: theta**2 * z, [-2, -1, 0, 1, 2], [1.0, 0.5])
    assert class_covering_number(values, eps=0.5).size == 3
    assert class_covering_number(values, eps=1.0).size == 2


@pytest.mark.claim("covering-number")
def test_covering_number_of_a_subsample_is_compared_by_packing():
    """P(F_n, 2 eps) <= N_ext(F, eps), and N_int(F_n, eps) <= N_ext(F, eps/2), F the lines of slope in [-1,
    1] on [0, 1].

    N(F, eps) = ceil(1/eps): the value at z = 1 decides.
    """
    slopes = stream(3, "slopes").uniform(-1, 1, size=60)
    values = evaluate_parameters(lambda z, theta: theta * z, slopes, [0.0, 0.3, 1.0])
    for eps in (0.05, 0.13, 0.4):
        assert class_packing_number(values, r=2 * eps).size <= math.ceil(1 / eps)
        assert class_covering_number(values, eps=eps).size <= math.ceil(2 / eps)
