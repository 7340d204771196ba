"""From covers to error: chaining against exact Rademacher complexity, the margin bounds, and the other
measures of size.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sparsehead._base.rng import stream
from sparsehead.capacity import generalization as gaps
from sparsehead_paper.theory.function_classes import class_covering_number, class_packing_number
from sparsehead_paper.theory.printed import finite_class_samples, rademacher_simple
from sparsehead_paper.theory.relations import (
    cover_vc_printed,
    empirical_rademacher,
    fat_dimension,
    log_cover_fat,
    log_cover_vc,
    log_sauer,
    vc_dimension,
)


def exact_cover(values):
    known = {}

    def log_covering(eps):
        if eps not in known:
            known[eps] = math.log(class_covering_number(values[:, :, None], eps=eps).size)
        return known[eps]

    return log_covering


@pytest.mark.claim("rademacher-cover")
def test_rademacher_cover_chaining_bounds_the_exact_complexity():
    """All 2^8 signs, exact covers, classes of 2 to 60 functions within 1 of zero; worst ratio seen about .6."""
    worst = 0.0
    for seed in range(25):
        rng = stream(seed, "class")
        n = int(rng.choice([2, 10, 60]))
        values = np.clip(rng.normal(size=(n, 8)) * rng.choice([0.1, 1.0]), -1, 1)
        chained = gaps.rademacher(exact_cover(values), A=1.0, m=8)
        worst = max(worst, empirical_rademacher(values) / chained)
    assert 0.3 <= worst <= 1


def test_rademacher_cover_of_one_function_is_zero():
    values = np.array([[0.3, -0.2, 0.9]])
    assert empirical_rademacher(values) == pytest.approx(0, abs=1e-15)
    assert gaps.rademacher_closed(log_C=-math.inf, A=1.0, m=3) == 0


@settings(deadline=None)
@given(st.floats(1e-12, 1e6), st.floats(1e-3, 1e3), st.integers(1, 10**9))
def test_rademacher_cover_closed_form_is_the_best_of_the_family(C, A, m):
    """Never above A, the simple shape or any single J; below the grid of q = 1/2, 1/4, 1/8."""
    closed = gaps.rademacher_closed(log_C=math.log(C), A=A, m=m)
    r = math.sqrt(2 * C / m)
    assert closed <= min(A, rademacher_simple(C=C, A=A, m=m)) * (1 + 1e-9)
    assert closed <= min((j + 1) * A * min(1, r / A) ** (j / (j + 1)) for j in range(60)) * (1 + 1e-9)
    assert closed <= gaps.rademacher(lambda eps: C / eps**2, A=A, m=m) * (1 + 1e-9)
    assert closed >= 0


def test_rademacher_cover_figures():
    """C/m = 1e-4, A = 1: .164; the classical constants, 12 r (1 + ln(A/3r)), give .541."""
    assert gaps.rademacher_closed(log_C=math.log(1e-2), A=1, m=100) == pytest.approx(0.1640, abs=1e-4)


@pytest.mark.claim("generalization")
def test_generalization_uniform_bound_holds_on_a_finite_class():
    """2000 samples of size 50 from a class of 8 threshold losses: the gap is exceeded in fewer than delta of
    them.
    """
    m, delta, thresholds = 50, 0.1, np.linspace(0.1, 0.8, 8)
    R = min(0.5, math.sqrt(2 * math.log(8) / m) * 0.5)  # Massart for 8 functions in [0, 1], centred
    gap = gaps.uniform_gap(R, m=m, delta=delta)
    x = stream(1, "sample").random((2000, m))
    deviations = (thresholds - (x[:, :, None] < thresholds).mean(axis=1)).max(axis=1)
    assert (deviations > gap).mean() <= delta and gap < 0.6


@settings(deadline=None)
@given(st.floats(-5, 12), st.integers(1, 10**8), st.floats(0.01, 10), st.floats(1e-6, 0.9))
def test_generalization_margin_gap_is_monotone(log_C, m, margin, delta):
    gap = gaps.margin_gap(m=m, delta=delta, margin=margin, log_C=log_C)
    assert gap > 0
    assert gaps.margin_gap(m=2 * m, delta=delta, margin=margin, log_C=log_C) <= gap * (1 + 1e-12)
    assert gaps.margin_gap(m=m, delta=delta, margin=2 * margin, log_C=log_C) <= gap * (1 + 1e-12)
    assert gaps.margin_gap(m=m, delta=delta / 2, margin=margin, log_C=log_C) >= gap
    assert gaps.margin_gap(m=m, delta=delta, margin=margin, log_C=log_C + 1) >= gap * (1 - 1e-12)
    assert gap <= 1 + gaps.confidence(m=m, delta=delta)  # J = 0: losses lie in [0, 1]


@pytest.mark.claim("realizable")
def test_generalization_ghost_sample_step():
    """P(Bin(m, e) >= m e / 2) >= 1/2 whenever m e >= 1.

    The smallest value on the grid is .598; the infimum is P(Poisson(2) >= 2) = 1 - 3/e^2 = .594, just above
    m e = 2.
    """
    m, e = np.meshgrid(np.arange(1, 400), np.linspace(0.005, 1, 200))
    m, e = m[m * e >= 1], e[m * e >= 1]
    smallest = binom.sf(np.ceil(m * e / 2) - 1, m, e).min()
    assert 1 - 3 * math.exp(-2) <= smallest <= 0.61


@pytest.mark.claim("realizable")
def test_generalization_realizable_error_holds_on_a_finite_class():
    """Thresholds on a grid of 16, margin bound with ln N = ln 16: bad consistent functions are rarer than
    delta.
    """
    m, delta, grid = 200, 0.2, np.arange(16) / 16
    limit = gaps.realizable_error(log_covering_2m=math.log(16), m=m, delta=delta)
    x = stream(2, "realizable").random((3000, m))
    consistent = x.min(axis=1)[:, None] > grid  # target 0: f_t errs on [0, t], consistent if no x falls there
    assert (consistent & (grid > limit)).any(axis=1).mean() <= delta and limit < 0.1


def test_generalization_realizable_error_by_hand():
    """ln N = 10 ln 2 at delta = 1/2: (2/100)(10 + 2) bits."""
    assert gaps.realizable_error(log_covering_2m=10 * math.log(2), m=100, delta=0.5) == pytest.approx(0.24)


@pytest.mark.claim("sample-size")
def test_generalization_samples_needed_is_the_first_that_suffices():
    def gap(m):
        return 3 / math.sqrt(m) + math.log(m) / m

    found = gaps.samples_needed(gap, accuracy=0.5)
    assert gap(found) <= 0.5 < gap(found - 1)
    large = gaps.samples_needed(gap, accuracy=1e-4)
    assert gap(large) <= 1e-4 < gap(round(large * 0.998))
    assert gaps.samples_needed(lambda m: 1.0, accuracy=0.5) is None
    assert gaps.samples_needed(lambda m: 0.1, accuracy=0.5) == 1
    assert finite_class_samples(log_size=math.log(1000), eps=0.05, delta=0.05) == math.ceil(
        20 * math.log(20000)
    )


@pytest.mark.claim("vc-cover")
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 40), st.floats(0.01, 0.99))
def test_vc_cover_is_the_number_of_patterns_and_below_sauer(seed, m, n, eps):
    patterns = np.unique(stream(seed, "patterns").integers(0, 2, size=(n, m)).astype(float), axis=0)
    size = class_covering_number(patterns[:, :, None], eps=eps).size
    d = vc_dimension(patterns)
    assert size == len(patterns) <= round(math.exp(log_cover_vc(m=m, d=d, eps=eps)))
    if m >= d >= 1:
        assert log_sauer(m=m, d=d) <= math.log(cover_vc_printed(m=m, d=d)) + 1e-12


def test_vc_cover_is_attained_by_thresholds():
    """m + 1 threshold patterns on m points, VC dimension 1: Sauer with equality."""
    patterns = np.tril(np.ones((8, 7)), k=-1)
    assert vc_dimension(patterns) == 1 and round(math.exp(log_cover_vc(m=7, d=1, eps=0.5))) == 8


@pytest.mark.claim("fat-cover")
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 24), st.sampled_from([0.1, 0.3, 0.6]))
def test_fat_cover_bounds_covers_and_packings(seed, m, n, eps):
    values = np.round(stream(seed, "values").random((n, m)), 1)
    limit = log_cover_fat(m=m, d=fat_dimension(values, eps / 4), eps=eps)
    assert math.log(class_covering_number(values[:, :, None], eps=eps).size) <= limit
    assert math.log(class_packing_number(values[:, :, None], r=eps).size) <= limit + 1e-9


def test_fat_cover_dimension_by_hand():
    """Four corners of a square of side .4 are .2-shattered; .21 is too much to ask."""
    square = np.array([[0.3, 0.3], [0.3, 0.7], [0.7, 0.3], [0.7, 0.7]])
    assert fat_dimension(square, 0.2) == 2 and fat_dimension(square, 0.21) == 0
