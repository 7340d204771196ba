"""The information floor against values that elimination simulated."""

import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.floor.floor import fano, floor_curve, union_bound
from sparsehead_paper.theory.elimination import floor_slope, identification

BALANCED = 0.5 ** (1 / 3)
PAPER_T = [100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100]


@pytest.mark.claim("information-floor")
def test_sample_lower_bound_floor_on_the_papers_grid():
    """Below the simulated values, which repeat to within 1, and at most one sample below."""
    opt = [found.m for found in floor_curve("and", s=3, Ts=PAPER_T, p=BALANCED)]
    gap = np.subtract([27, 28, 30, 31, 32, 34, 34, 35, 36, 36, 36, 37], opt)
    assert gap.min() >= 0 and gap.max() <= 1
    unique = [found.m for found in floor_curve("and", s=3, Ts=PAPER_T, p=BALANCED, unique=True)]
    gap = np.subtract([30, 32, 33, 34, 35, 36, 37, 38, 39, 38, 39, 40], unique)
    assert gap.min() >= 0 and gap.max() <= 2


def test_sample_lower_bound_floor_over_four_decades():
    """At T = 3*10^4 and 10^5 simulation of P_opt finds .815 at m = 49 and .812 at m = 54, .79 one sample before."""
    found = floor_curve("and", s=3, Ts=[3 * 10**4, 10**5, 10**6], p=BALANCED)
    assert [floor.m for floor in found] == [48, 53, 61]
    assert all(floor.m < floor.enough <= floor.m + 8 for floor in found)


def test_sample_lower_bound_union_bound_table():
    ours = [union_bound("and", s=3, T=T, p=BALANCED) for T in PAPER_T]
    assert ours == [32, 34, 35, 37, 38, 39, 40, 41, 41, 42, 42, 43]
    Ts = [20, 50, 100, 200, 300, 500, 800, 1600]
    assert [union_bound("and", s=3, T=T, p=0.5) for T in Ts] == [45, 54, 61, 68, 72, 78, 83, 91]


def test_sample_lower_bound_fair_bits_table():
    """Simulated: 35, 47, 58, 70. With rare positives overlaps below s - 1 matter, which the bracket leaves out."""
    ours = [found.m for found in floor_curve("and", s=3, Ts=[20, 100, 300, 1600], p=0.5)]
    gap = np.subtract([35, 47, 58, 70], ours)
    assert gap.min() >= 0 and gap.max() <= 6


@pytest.mark.parametrize(
    ("p", "ms", "values"),
    [
        (0.5, (50, 60, 70, 80), (0.656, 0.869, 0.953, 0.991)),
        (BALANCED, (25, 30, 35, 40), (0.488, 0.768, 0.903, 0.964)),
    ],
)
def test_sample_lower_bound_P_opt_values_at_T_300(p, ms, values):
    for m, value in zip(ms, values):
        point = identification(s=3, Ts=[300], m=m, p=p, trials=3000, rng=stream(0, "T300", m))[0]
        # the table simulated about 1500 trials: sqrt(1 + 3000/1500) of our standard error, three of them
        assert abs(point.opt - value) < 3 * math.sqrt(3) * point.opt_error


def test_sample_lower_bound_acceptance_of_the_papers_data_sets():
    point = identification(s=3, Ts=[1100], m=50, p=BALANCED, trials=3000, rng=stream(0, "accept"))[0]
    assert point.unique > 0.968 - 3 * point.unique_error


@pytest.mark.claim("sample-lower-bound")
def test_sample_lower_bound_fano_is_below_the_floor():
    floors = floor_curve("and", s=3, Ts=[100, 300], p=BALANCED)
    assert all(fano("and", s=3, T=found.T, p=BALANCED) <= found.m for found in floors)


@pytest.mark.claim("sample-lower-bound")
def test_sample_lower_bound_slope_is_the_entropy_of_a_label_not_a_single_swap():
    """Fair bits, T = 20 .. 1600: the tabulated floors grow by 8.0 per ln T, more than one swap's 7.5."""
    slope = np.polyfit(np.log([20, 50, 100, 200, 300, 500, 800, 1600]), [35, 43, 47, 54, 58, 62, 65, 70], 1)[
        0
    ]
    swap = 1 / -math.log(1 - 2 * 0.5**3 * 0.5)
    assert swap == pytest.approx(7.49, abs=0.01)
    assert floor_slope(s=3, p=0.5) == pytest.approx(3 / (math.log(2) * 0.5436), rel=1e-3)  # h(1/8) = .5436
    assert abs(slope - floor_slope(s=3, p=0.5)) < 0.25  # rounding of the table to whole m: 0.5 / ln(80) twice
    assert floor_slope(s=3, p=BALANCED) == pytest.approx(3 / math.log(2))
