import math
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.laws import Adaptive, Cell, fitted, grid
from sparsehead.laws.curves import merge, offset
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.thresholds import curve_interval, rising_bounds

PAPER_GRID = range(50, 201, 10)


def logistic(m80, slope):
    return lambda m: 1 / (1 + 0.25 * (m / m80) ** -slope)


def adaptive_experiment(curve, *, rng, **settings):
    policy = Adaptive(**settings)
    cells: list[Any] = []
    while proposals := policy.propose(cells):
        cells += [Cell(m, int(rng.binomial(n, curve(m))), n) for m, n in proposals]
    return fitted(cells, T=300), merge(cells)


def grid_experiment(curve, *, rng):
    cells = [Cell(m, int(rng.binomial(40, curve(m))), 40) for m in PAPER_GRID]
    return grid(cells, T=300, rng=rng)


def test_grid_is_the_mean_of_first_passing_m_over_resamples():
    cells = [Cell(50, 28, 40), Cell(60, 32, 40), Cell(70, 38, 40), Cell(80, 40, 40)]
    found = grid(cells, T=300, rng=stream(0, "grid"))
    assert (found.m80 * 10) % 1 == pytest.approx(0, abs=1e-9)  # 100 resamples of multiples of ten
    exact = passing_mean([50, 60, 70, 80], [0.7, 0.8, 0.95, 1.0])
    many = grid(cells, T=300, n_boot=20_000, rng=stream(0, "grid"))
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
    open_above = grid([Cell(50, 10, 40), Cell(60, 20, 40), Cell(70, 32, 40)], T=300, rng=stream(0, "g"))
    assert open_above.high is None and open_above.m80 == 70 and "may be larger" in open_above.note
    closed = grid([Cell(50, 10, 40), Cell(60, 32, 40), Cell(70, 40, 40)], T=300, rng=stream(0, "g"))
    assert closed.high == 70 and closed.note == ""
    assert "may be smaller" in grid([Cell(50, 40, 40), Cell(60, 40, 40)], T=300, rng=stream(0, "g")).note
    above = grid([Cell(50, 3, 40), Cell(60, 5, 40)], T=300, rng=stream(0, "g"))
    assert above.m80 is None and above.low == 60 and "no m up to 60" in above.note
    assert grid([], T=300, rng=stream(0, "g")).note == "no trials"


def test_exactly_80_percent_passes():
    assert grid([Cell(50, 32, 40)], T=300, n_boot=1, rng=stream(0, "g")).m80 is not None


def test_fit_recovers_a_known_curve():
    curve = logistic(70, 7)
    cells = [Cell(m, round(4000 * curve(m)), 4000) for m in (50, 60, 70, 80, 90)]
    found = fitted(cells, T=300)
    assert found.m80 == pytest.approx(70, rel=0.01)  # the lapse bends the curve a little
    assert found.slope == pytest.approx(7, rel=0.12)  # and steepens it
    assert found.low < found.m80 < found.high


def test_separated_trials_give_an_interval_between_them():
    found = fitted([Cell(40, 0, 8), Cell(80, 17, 17)], T=300)
    assert 40 < found.m80 < 80 and (found.low, found.high) == (40, 80)


@pytest.mark.parametrize(
    ("cells", "low", "high", "note"),
    [
        ([Cell(28, 14, 14), Cell(60, 2, 2)], None, 28, "at most 28: no failure in 16 trials"),
        ([Cell(28, 8, 8), Cell(60, 8, 8)], None, 60, "at most 60: no failure in 16 trials"),
        ([Cell(28, 13, 13)], None, None, "no failure in 13 trials: too few to bound m_80"),
        ([Cell(60, 0, 8), Cell(84, 0, 2)], 84, None, "at least 84: no success in 10 trials"),
        ([Cell(60, 0, 8), Cell(84, 0, 1)], 60, None, "at least 60: no success in 9 trials"),
        ([Cell(60, 0, 1)], None, None, "no success in 1 trials: too few to bound m_80"),
    ],
)
def test_trials_that_agree_bound_one_side(cells, low, high, note):
    """.8^13 = .055 and .8^14 = .044: fourteen solved trials exclude a chance below .8; .2^2 = .04."""
    found = fitted(cells, T=300)
    assert (found.m80, found.low, found.high, found.note) == (None, low, high, note)
    assert found.side == {(True, True): "none", (True, False): "at most"}.get(
        (low is None, high is None), "at least"
    )


def test_a_bound_from_any_rising_curve_pools_neighbours():
    """At q = .025: 17 solved (.8^17 = .0225) or 3 failed (.2^3 = .008); 12 of 20 has P(X <= 12) = .032, 11 .0100."""
    assert rising_bounds([Cell(40, 0, 3), Cell(50, 1, 2), Cell(70, 9, 9), Cell(80, 8, 8)]) == (40.0, 80.0)
    assert rising_bounds([Cell(40, 12, 20), Cell(80, 17, 17)]) == (None, 80.0)
    assert rising_bounds([Cell(40, 11, 20), Cell(80, 17, 17)]) == (40.0, 80.0)
    # two cells that say too little alone: 6 of 10 each, 12 of 20 with 2 of 4 beside
    assert rising_bounds([Cell(40, 6, 10), Cell(41, 6, 10), Cell(42, 2, 4), Cell(80, 17, 17)]) == (40.0, 80.0)


@pytest.mark.parametrize("seed", range(8))
def test_rising_bounds_are_those_of_their_definition(seed):
    """Every run of cells, every tail summed term by term."""
    rng = stream(seed, "rising")
    ms = sorted(rng.choice(np.arange(20, 90), 6, replace=False).tolist())
    cells = [Cell(m, int(rng.binomial(n, min(1, m / 70))), n) for m in ms for n in [int(rng.integers(1, 30))]]
    solved, trials = (sum(getattr(c, name) for c in cells) for name in ("solved", "trials"))
    q = 0.05 if solved in (0, trials) else 0.025

    def tail(run, fewer):
        s, n = sum(c.solved for c in run), sum(c.trials for c in run)
        terms = range(s + 1) if fewer else range(s, n + 1)
        return sum(math.comb(n, k) * 0.8**k * 0.2 ** (n - k) for k in terms)

    low = [c.m for i, c in enumerate(cells) if any(tail(cells[i:j], True) <= q for j in range(i + 1, 7))]
    high = [c.m for i, c in enumerate(cells) if any(tail(cells[j : i + 1], False) <= q for j in range(i + 1))]
    assert rising_bounds(cells) == (max(low, default=None), min(high, default=None))


def test_policy_walks_by_few_trials_until_they_disagree_then_brackets_the_target():
    policy = Adaptive(start=60)
    assert policy.propose([]) == [(60, 2)]
    assert policy.propose([Cell(60, 0, 2)]) == [(120, 2)]
    assert policy.propose([Cell(60, 2, 2)]) == [(30, 2)]
    assert policy.propose([Cell(30, 2, 2), Cell(60, 2, 2)]) == [(15, 2)]
    cells = [Cell(60, 4, 8), Cell(84, 8, 8)]
    (low, n), (high, _) = policy.propose(cells)
    assert low < fitted(cells, T=300).m80 < high and n == 8
    assert [n for _, n in policy.propose([Cell(30, 0, 2), Cell(60, 2, 2)])] == [2, 2]


@pytest.mark.parametrize(
    ("cells", "shares"),
    [
        ([Cell(40, 5, 8), Cell(60, 6, 8), Cell(80, 7, 8)], (0.5, 0.95)),
        ([Cell(40, 1, 8), Cell(60, 5, 8), Cell(80, 7, 8)], (0.65, 0.95)),
        ([Cell(40, 3, 4), Cell(60, 17, 20), Cell(80, 20, 20)], (0.5, 0.91)),
        ([Cell(40, 1, 8), Cell(60, 12, 20), Cell(80, 20, 20)], (0.65, 0.91)),
    ],
)
def test_a_side_that_is_not_bounded_yet_is_tried_further_out(cells, shares):
    m80, _, _, slope = curve_interval(cells, 0.8, 0.95)
    low, high = rising_bounds(cells)
    assert ((low is None), (high is None)) == (shares[0] == 0.5, shares[1] == 0.95)
    odds = [share / (0.997 - share) / (0.8 / 0.197) for share in shares]  # a lapse of .003
    expected = [round(m80 * ratio ** (1 / max(slope, 3.5))) for ratio in odds]
    tried = {cell.m for cell in cells}
    found = [m for m, _ in Adaptive().propose(cells)]
    assert all(
        m == own or (own in tried and abs(m - own) <= 1) for m, own in zip(expected, found, strict=True)
    )


@pytest.mark.parametrize(("m80", "start"), [(12, 60), (14, 120), (400, 60), (60, 60)])
def test_most_trials_are_spent_near_the_threshold_wherever_it_starts(m80, start):
    rng, policy, curve = stream(0, "near", m80), Adaptive(start=start, max_trials=32), logistic(m80, 7)
    cells: list[Cell] = []
    while proposals := policy.propose(cells):
        cells += [Cell(m, int(rng.binomial(n, curve(m))), n) for m, n in proposals]
    assert sum(cell.trials for cell in cells if 0.6 < cell.m / m80 < 1.6) >= 18
    assert sum(cell.trials for cell in cells) == 32


def test_policy_stops_at_its_limits():
    assert Adaptive(max_trials=16).propose([Cell(60, 4, 8), Cell(84, 8, 8)]) == []
    assert Adaptive(m_min=10, start=10).propose([Cell(10, 14, 14)]) == []
    assert Adaptive(m_min=10, start=10).propose([Cell(10, 13, 13)]) == [(10, 8)]
    assert Adaptive(m_max=90).propose([Cell(90, 0, 3)]) == []
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


@pytest.mark.parametrize("n", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_adaptive_needs_at_most_a_third_of_the_grids_trials(n):
    """The same 95 % width (grid: percentiles of its bootstrap) on curves like the paper's at T = 300 .. 1100."""
    rng, spent, allowed = stream(6, "third"), [], []
    for i in range(n):
        curve = logistic((69, 80, 95, 110)[i % 4], 7)
        coarse = grid_experiment(curve, rng=rng)
        width = max(0.1, coarse.log_width)
        fine, cells = adaptive_experiment(curve, rng=rng, width=width, max_trials=640)
        # the width asked for is of the interval that rests on the curve's shape, as the bootstrap's rests on its grid
        _, low, high, _ = curve_interval(cells, 0.8, 0.95)
        assert math.log(high / low) <= width or fine.trials == 640
        assert fine.low <= low < high <= fine.high
        spent.append(fine.trials)
        allowed.append(coarse.trials / 3)
    assert np.mean(spent) <= np.mean(allowed)


@pytest.mark.parametrize("share", [0.0, 0.997, 0.998, 1.0])
def test_a_share_that_a_curve_with_a_lapse_never_reaches_has_no_place(share):
    with pytest.raises(DomainError, match=rf"has shares of success in \(0, 0.997\); got {share}"):
        offset(share)


def test_the_papers_points_are_those_that_were_digitised():
    """Sums over the 18 points of figure 2, each taken from the list of digitised numbers with its own weight."""
    weight = range(1, len(LAW_AND) + 1)
    assert sum(i * p.T for i, p in zip(weight, LAW_AND, strict=True)) == 119200
    assert sum(i * p.m for i, p in zip(weight, LAW_AND, strict=True)) == pytest.approx(15984.9, abs=1e-6)
    assert sum(i * p.bar for i, p in zip(weight, LAW_AND, strict=True)) == pytest.approx(1361.5, abs=1e-6)
