import math
from statistics import NormalDist

import numpy as np
import pytest

from sparsehead.errors import DomainError
from sparsehead.measure import Adaptive, Cell, fitted, grid
from sparsehead.measure.curves import merge
from sparsehead.rng import stream

PAPER_GRID = range(50, 201, 10)


def logistic(m80, slope):
    return lambda m: 1 / (1 + 0.25 * (m / m80) ** -slope)


def lapsing(m80, slope):  # two in a hundred trials fail at any m
    at = math.log(0.8 / 0.18)
    return lambda m: 0.98 / (1 + math.exp(-(slope * math.log(m / m80) + at)))


def probit(m80, slope):
    normal = NormalDist()
    return lambda m: normal.cdf(slope / 1.7 * math.log(m / m80) + normal.inv_cdf(0.8))


def gompertz(m80, slope):  # steep below, flat above
    at = -math.log(-math.log(0.8))
    return lambda m: math.exp(-math.exp(-(0.8 * slope * math.log(m / m80) + at)))


def weibull(m80, slope):  # flat below, steep above
    at = math.log(-math.log(0.2))
    return lambda m: 1 - math.exp(-math.exp(0.6 * slope * math.log(m / m80) + at))


SHAPES = [logistic, lapsing, probit, gompertz, weibull]


def adaptive_experiment(curve, *, rng, **settings):
    policy, cells = Adaptive(**settings), []
    while proposals := policy.propose(cells):
        cells += [Cell(m, int(rng.binomial(n, curve(m))), n) for m, n in proposals]
    return policy.threshold(cells)


def grid_experiment(curve, *, rng):
    cells = [Cell(m, int(rng.binomial(40, curve(m))), 40) for m in PAPER_GRID]
    return grid(cells, rng=rng)


def coverage(shape, slope, n, **settings):
    rng, hits, trials = stream(5, "coverage", shape.__name__), 0, []
    for _ in range(n):
        m80 = math.exp(rng.uniform(math.log(30), math.log(130)))
        found = adaptive_experiment(shape(m80, slope), rng=rng, **settings)
        hits += found.low is not None and found.high is not None and found.low <= m80 <= found.high
        trials.append(found.trials)
    return hits / n, np.mean(trials)


def test_grid_is_the_mean_of_first_passing_m_over_resamples():
    cells = [Cell(50, 28, 40), Cell(60, 32, 40), Cell(70, 38, 40), Cell(80, 40, 40)]
    found = grid(cells, rng=stream(0, "grid"))
    assert (found.m80 * 10) % 1 == pytest.approx(0, abs=1e-9)  # 100 resamples of multiples of ten
    exact = passing_mean([50, 60, 70, 80], [0.7, 0.8, 0.95, 1.0])
    many = grid(cells, n_boot=20_000, rng=stream(0, "grid"))
    assert many.m80 == pytest.approx(exact, abs=0.3)  # 4 standard errors of 20,000 resamples
    assert found.trials == 160 and found.bar > 0 and found.low <= found.m80 <= found.high


def passing_mean(ms, shares, n=40, need=32):
    """Exact mean of the first m with at least 32 of 40, cells independent."""
    reach = [sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(need, n + 1)) for p in shares]
    mean, left = 0.0, 1.0
    for m, q in zip(ms, reach):
        mean, left = mean + m * left * q, left * (1 - q)
    return mean


def test_grid_says_when_it_is_censored():
    open_above = grid([Cell(50, 10, 40), Cell(60, 20, 40), Cell(70, 32, 40)], rng=stream(0, "g"))
    assert open_above.high is None and open_above.m80 == 70 and "may be larger" in open_above.note
    closed = grid([Cell(50, 10, 40), Cell(60, 32, 40), Cell(70, 40, 40)], rng=stream(0, "g"))
    assert closed.high == 70 and closed.note == ""
    assert "may be smaller" in grid([Cell(50, 40, 40), Cell(60, 40, 40)], rng=stream(0, "g")).note
    above = grid([Cell(50, 3, 40), Cell(60, 5, 40)], rng=stream(0, "g"))
    assert above.m80 is None and above.low == 60 and "no m up to 60" in above.note
    assert grid([], rng=stream(0, "g")).note == "no trials"


def test_exactly_80_percent_passes():
    assert grid([Cell(50, 32, 40)], n_boot=1, rng=stream(0, "g")).m80 is not None


def test_fit_recovers_a_known_curve():
    curve = logistic(70, 7)
    cells = [Cell(m, round(4000 * curve(m)), 4000) for m in (50, 60, 70, 80, 90)]
    found = fitted(cells)
    assert found.m80 == pytest.approx(70, rel=0.01)  # the lapse bends the curve a little
    assert found.slope == pytest.approx(7, rel=0.12)  # and steepens it
    assert found.low < found.m80 < found.high


def test_separated_trials_give_an_interval_between_them():
    found = fitted([Cell(40, 0, 8), Cell(80, 8, 8)])
    assert 40 < found.m80 < 80 and found.low < found.m80 < found.high


@pytest.mark.parametrize(
    ("solved", "words"), [(8, "all 16 trials with m >= 40 were solved"), (0, "none of 16 trials")]
)
def test_all_solved_or_all_failed_is_a_sentence(solved, words):
    found = fitted([Cell(40, solved, 8), Cell(80, solved, 8)])
    assert found.m80 is None and words in found.note
    assert (found.low is None) == (solved == 8) and (found.high is None) == (solved == 0)


def test_policy_walks_until_trials_disagree_then_brackets_the_target():
    policy = Adaptive(start=60)
    assert [m for m, _ in policy.propose([])] == [60, 84]
    assert min(m for m, _ in policy.propose([Cell(60, 0, 8), Cell(84, 0, 8)])) > 84
    assert max(m for m, _ in policy.propose([Cell(60, 8, 8), Cell(84, 8, 8)])) < 60
    low, high = (m for m, _ in policy.propose([Cell(60, 4, 8), Cell(84, 8, 8)]))
    m80 = policy.threshold([Cell(60, 4, 8), Cell(84, 8, 8)]).m80
    assert low < m80 < high


def test_policy_stops_at_its_limits():
    assert Adaptive(max_trials=16).propose([Cell(60, 4, 8), Cell(84, 8, 8)]) == []
    assert Adaptive(m_min=10, start=10).propose([Cell(10, 8, 8)]) == []
    assert sum(n for _, n in Adaptive(max_trials=20).propose([Cell(60, 4, 8), Cell(84, 8, 8)])) == 4
    with pytest.raises(DomainError, match="start must lie"):
        Adaptive(start=0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"batch": 0}, "batch is a whole number >= 1; got 0."),
        ({"max_trials": 0}, "max_trials (--trials) is a whole number >= 1; got 0."),
        ({"width": 0.0}, "width (--width) is a finite number > 0; got 0.0."),
        ({"width": float("nan")}, "width (--width) is a finite number > 0; got nan."),
    ],
)
def test_a_policy_out_of_range_is_one_sentence_about_the_one_field(given, says):
    with pytest.raises(DomainError) as refused:
        Adaptive(**given)
    assert str(refused.value) == says


def test_proposals_do_not_depend_on_the_order_of_outcomes():
    cells = [Cell(60, 4, 8), Cell(84, 7, 8), Cell(60, 5, 8)]
    assert Adaptive().propose(cells) == Adaptive().propose(cells[::-1])
    assert merge(cells) == [Cell(60, 9, 16), Cell(84, 7, 8)]


def test_adaptive_interval_covers():
    share, trials = coverage(logistic, 7, 120)
    # 95 % true coverage gives less than this in 1.5 % of 120 experiments; the seed is fixed.
    assert share >= 0.90
    assert trials < 100


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_adaptive_interval_covers_93_percent_of_1000_experiments(shape):
    share, _ = coverage(shape, 7, 1000)
    assert share >= 0.93


@pytest.mark.parametrize("n", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_adaptive_needs_at_most_a_third_of_the_grids_trials(n):
    """The same 95 % width (grid: percentiles of its bootstrap) on curves like the paper's at T = 300 .. 1100."""
    rng, spent, allowed = stream(6, "third"), [], []
    for i in range(n):
        curve = logistic((69, 80, 95, 110)[i % 4], 7)
        coarse = grid_experiment(curve, rng=rng)
        width = max(0.1, coarse.log_width)
        fine = adaptive_experiment(curve, rng=rng, width=width, max_trials=640)
        assert fine.log_width <= width or fine.trials >= 640
        spent.append(fine.trials)
        allowed.append(coarse.trials / 3)
    assert np.mean(spent) <= np.mean(allowed)
