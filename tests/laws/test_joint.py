"""All context lengths measured together: the smooth model, the design, its intervals and its cost."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.laws import Adaptive, Cell, Joint, fitted, smooth
from sparsehead.laws.joint import RESTARTS, SETUP, SPREAD_CAUTION, _widened, expected_cost
from sparsehead.laws.methods import above_floor
from sparsehead.laws.scoring import Trials
from sparsehead.laws.smooth import _covariances, _derivatives, _modes, _objective, posterior
from sparsehead.laws.thresholds import Threshold, curve_interval

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("law_design", ROOT / "benchmarks" / "law_design.py")
design = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(design)

CELLS = {
    100: [Cell(40, 3, 8), Cell(50, 6, 8), Cell(60, 7, 8)],
    300: [Cell(50, 5, 12), Cell(70, 11, 12)],
    1000: [Cell(60, 4, 8), Cell(90, 8, 8)],
}


def test_one_context_length_agrees_with_its_own_fit():
    cells = [Cell(50, 30, 60), Cell(60, 45, 60), Cell(70, 54, 60)]
    own, known = fitted(cells, T=300), posterior({300: cells}, guess=60)
    # 180 trials: what is left of the prior, whose level is 1.5 wide, moves the mode by less than a tenth of a s.d.
    assert known.mean[0] == pytest.approx(math.log(own.m80), abs=0.1 * known.spread[0] + 0.01)
    # `fitted` has its own caution: 1.25 on the drop
    _, low, high, _ = curve_interval(cells, 0.8, 0.95)
    width = math.log(high / low) / (2 * 1.96 * math.sqrt(1.25))
    assert known.spread[0] == pytest.approx(width, rel=0.1)
    assert known.slope == pytest.approx(own.slope, rel=0.1)


def test_the_derivatives_are_those_of_the_objective():
    data, prior = Trials.of(CELLS, 0.8), _covariances(np.log([100.0, 300.0, 1000.0]))
    k = 4
    penalty = np.zeros((len(prior), k, k))
    penalty[:, :3, :3], penalty[:, 3, 3] = np.linalg.inv(prior), 2.0
    centre = np.array([4.1, 4.1, 4.1, 1.9])
    y = np.tile([3.9, 4.2, 4.3, 1.7], (len(prior), 1))
    gradient, precision = _derivatives(data, y, centre, penalty)
    for j, h in enumerate(1e-5 * np.eye(k)):
        up, down = (_objective(data, y + sign * h, centre, penalty) for sign in (1, -1))
        assert gradient[:, j] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4)
    assert np.linalg.eigvalsh(precision).min() > 0


def test_the_posterior_is_that_of_brute_force():
    """Two T: mean and spread by a sum over a grid of all three parameters, all priors weighted by their evidence."""
    cells = {100: [Cell(45, 180, 400), Cell(60, 340, 400)], 1000: [Cell(60, 140, 400), Cell(90, 335, 400)]}
    data, prior = Trials.of(cells, 0.8), _covariances(np.log([100.0, 1000.0]))
    penalty = np.zeros((len(prior), 3, 3))
    penalty[:, :2, :2], penalty[:, 2, 2] = np.linalg.inv(prior), 1 / 0.7**2
    axes = [np.linspace(3.9, 4.2, 41), np.linspace(4.25, 4.65, 41), np.linspace(1.3, 2.2, 41)]
    y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    centre = np.array([math.log(60), math.log(60), math.log(7)])
    total, mean, square = 0.0, np.zeros(3), np.zeros(3)
    for h in range(len(prior)):
        value = _objective(data, y, centre, np.broadcast_to(penalty[h], (len(y), 3, 3)))
        density = np.exp(value + 830) / math.sqrt(np.linalg.det(prior[h]))
        total, mean, square = total + density.sum(), mean + density @ y, square + density @ y**2
    mean, spread = mean / total, np.sqrt(square / total - (mean / total) ** 2)
    known = posterior(cells, guess=60)
    # Laplace's approximation leaves out what is skewed: 5 % of the spread at 1600 trials, 12 % at 160
    assert known.spread == pytest.approx(spread, rel=0.06)
    assert np.abs((known.mean - mean) / spread).max() < 0.2


def test_priors_are_weighted_by_their_evidence():
    """The ratio of two priors' evidence, by Laplace and by a sum over a grid of all parameters."""
    cells = {100: [Cell(45, 180, 400), Cell(60, 340, 400)], 1000: [Cell(60, 140, 400), Cell(90, 335, 400)]}
    data, prior = Trials.of(cells, 0.8), _covariances(np.log([100.0, 1000.0]))[[0, 0]]
    prior[1] += 4.0 * np.eye(2)  # much wider: it must pay for its width
    _, _, evidence = _modes(data, prior, math.log(60))
    # both priors are flat where the likelihood is not: their densities there decide, and the precisions are equal
    apart = np.array([4.06, 4.44]) - math.log(60)
    density = [-0.5 * apart @ np.linalg.inv(K) @ apart - 0.5 * np.linalg.slogdet(K)[1] for K in prior]
    assert evidence[0] - evidence[1] == pytest.approx(density[0] - density[1], abs=0.05)
    # a context length without trials changes nothing about which prior is right
    alone, beside = Trials.of({100: cells[100]}, 0.8), Trials.of({100: cells[100], 1000: []}, 0.8)
    one, two = _modes(alone, prior[:, :1, :1], 4.1)[2], _modes(beside, prior, 4.1)[2]
    assert two[0] - two[1] == pytest.approx(one[0] - one[1], abs=1e-3)


def test_a_mean_over_priors_is_as_uncertain_as_they_disagree(monkeypatch):
    """Two priors with modes 2 apart and equal weights: one s.d. more than each has."""
    modes, precision = np.array([[3.0, 1.0], [5.0, 1.0]]), np.tile(np.diag([1e6, 1e6]), (2, 1, 1))
    monkeypatch.setattr(smooth, "_modes", lambda *_: (modes, precision, np.zeros(2)))
    known = posterior({100: [Cell(50, 1, 2)]}, guess=60)
    assert known.mean[0] == pytest.approx(4.0) and known.spread[0] == pytest.approx(1.0, rel=1e-3)


def test_a_context_length_without_trials_is_foreseen_less_well_the_further_it_lies():
    known = posterior({**CELLS, 400: [], 3000: [], 30_000: []}, guess=60)
    at = dict(zip((100, 300, 400, 1000, 3000, 30_000), known.spread))
    assert at[400] < 1.2 * at[1000] and 1.5 * at[1000] < at[3000] < at[30_000]


def test_trials_at_one_context_length_narrow_its_neighbour():
    before = posterior({**CELLS, 400: []}, guess=60)
    after = posterior({**CELLS, 300: [Cell(50, 25, 60), Cell(70, 55, 60)], 400: []}, guess=60)
    assert after.spread[2] < 0.8 * before.spread[2]


def test_a_trial_costs_its_initialisations():
    assert expected_cost(100, 50, 1 - 1e-12) == pytest.approx(SETUP + 5000, rel=0.01)
    assert expected_cost(100, 50, 1e-9) == pytest.approx(RESTARTS * (SETUP + 5000), rel=1e-6)
    each, share = 0.275, 1 - 0.725**5
    used = sum(i * each * (1 - each) ** (i - 1) for i in range(1, 6)) + 5 * (1 - share)
    assert expected_cost(1000, 80, share) == pytest.approx(used * (SETUP + 80_000))


def test_it_begins_at_the_ends_and_the_middle_and_ends_when_all_is_narrow():
    joint = Joint({T: Adaptive(start=60, width=0.6) for T in (100, 200, 300, 700, 1000)})
    assert set(joint.propose({})) == {100, 300, 1000}
    decades = Joint({T: Adaptive() for T in (100, 300, 1000, 3000, 10_000, 100_000)})
    assert set(decades.propose({})) == {100, 1000, 3000}  # where a wrong guess is cheap
    many = {
        T: [Cell(m, round(400 * design.chance(m, 60)), 400) for m in (45, 60, 80)] for T in (100, 300, 1000)
    }
    last = joint.propose(many)  # every T is tried before the end, where it is expected to be
    assert set(last) == {200, 700} and all(n == 4 and abs(m - 60) < 6 for [(m, n)] in last.values())
    assert joint.propose({**many, **{T: [Cell(m, 3, n)] for T, [(m, n)] in last.items()}}) == {}
    found = joint.thresholds(many)
    assert all(t.log_width <= 0.6 for t in found.values())
    assert found[200].trials == 0 and "foreseen from the others" in found[200].note
    assert found[100].low < 60 < found[100].high and found[100].note == ""


def test_the_interval_is_the_stated_multiple_of_the_spread():
    found = Joint({T: Adaptive() for T in CELLS}).thresholds(CELLS)
    known = posterior(CELLS, guess=60)
    assert [t.log_width for t in found.values()] == pytest.approx(2 * 1.959964 * 1.15 * known.spread[:-1])
    assert SPREAD_CAUTION == 1.15


def test_proposals_keep_to_the_limits_and_to_the_outcomes_alone():
    policies = {
        100: Adaptive(max_trials=30),
        300: Adaptive(max_trials=24),
        1000: Adaptive(m_min=50, m_max=75),
    }
    joint = Joint(policies)
    wanted = joint.propose(CELLS)
    assert wanted == joint.propose({T: CELLS[T][::-1] for T in reversed(CELLS)})
    assert sum(n for _, n in wanted.get(100, [])) <= 6 and 300 not in wanted
    assert all(50 <= m <= 75 for m, _ in wanted[1000])
    spent = {T: Adaptive(max_trials=8) for T in CELLS}
    assert Joint(spent).propose(CELLS) == {}


def test_while_all_trials_agree_it_walks_and_each_length_speaks_for_itself():
    joint = Joint({T: Adaptive() for T in (100, 1000)})
    failed = {T: [Cell(60, 0, 2)] for T in (100, 1000)}
    assert joint.propose(failed) == {100: [(120, 2)], 1000: [(120, 2)]}
    assert all(t.m80 is None and t.side == "at least" for t in joint.thresholds(failed).values())
    solved = {T: [Cell(60, 2, 2)] for T in (100, 1000)}
    assert joint.propose(solved) == {100: [(30, 2)], 1000: [(30, 2)]}
    assert Joint({T: Adaptive(max_trials=2) for T in (100, 1000)}).propose(solved) == {}  # no trials are left


def test_a_length_whose_own_trials_agree_gets_their_bound_and_more_trials():
    """The other lengths foresee its threshold, but nothing it saw bounds it from below."""
    many = {T: [Cell(m, round(400 * design.chance(m, 60)), 400) for m in (45, 60, 80)] for T in (100, 1000)}
    cells = {**many, 300: [Cell(62, 16, 16)]}
    joint = Joint({T: Adaptive(width=1.0, max_trials=160) for T in cells})
    found = joint.thresholds(cells)[300]
    assert (found.m80, found.low, found.high, found.side) == (None, None, 62.0, "at most")
    assert found.note == "at most 62: no failure in 16 trials"
    [(m, n)] = joint.propose(cells)[300]
    assert m < 60 and n == 4
    failed = {**many, 300: [Cell(62, 0, 4)]}
    assert joint.thresholds(failed)[300].note == "at least 62: no success in 4 trials"
    assert max(m for m, _ in joint.propose(failed)[300]) > 62
    mixed = joint.thresholds({**many, 300: [Cell(62, 13, 16)]})[300]
    assert mixed.side == "both" and mixed.m80 is not None


def test_no_context_length_is_misuse():
    with pytest.raises(DomainError, match="at least one context length"):
        Joint({})


@pytest.mark.parametrize("truth", design.LAWS)
def test_intervals_cover_a_few_experiments(truth):
    found = design.coverage([design.experiment("joint", truth, i) for i in range(3)])
    assert found["thresholds"] >= 0.85  # thresholds of one experiment err together; the seed is fixed
    assert min(found["a"], found["b"], found["slope"]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("truth", design.LAWS)
def test_intervals_cover_93_percent_of_1000_experiments(truth):
    found = design.coverage([design.experiment("joint", truth, i) for i in range(1000)])
    assert min(found["thresholds"], found["a"], found["b"], found["slope"]) >= 0.93


@pytest.mark.slow
def test_the_committed_widths_cost_at_most_a_third():
    assert design.compare(30)["cost"]["high"] <= 1 / 3


def test_the_committed_table_says_so_and_can_be_made_again():
    found = json.loads((ROOT / "results" / "law-design.json").read_text())
    cost = found["comparison"]
    assert cost["experiments"] >= 200 and cost["cost"]["high"] <= 1 / 3 and cost["widest over committed"] <= 1
    for truth in design.LAWS:
        share = found["coverage"][truth]
        assert share["experiments"] >= 1000
        assert min(share["thresholds"], share["a"], share["b"], share["slope"]) >= 0.93
    again = design.experiment("joint", "log", 0)
    assert again["widest"] <= 1 and 0.4 < again["trials"] / cost["trials joint"] < 2.5


def test_it_begins_at_lengths_up_to_thirty_times_the_least():
    assert set(Joint({T: Adaptive() for T in (10, 300, 305)}).propose({})) == {10, 300}


def test_where_the_slope_changes_each_interval_also_holds_the_one_of_its_own_trials():
    shares, slopes = (0.5, 0.65, 0.8, 0.9, 0.95), {100: 3, 300: 6, 1000: 12}
    odds = [share / (1 - share) / 4 for share in shares]

    def cells(slope, n):
        return [
            Cell(round(100 * odd ** (1 / slope)), round(n * share), n) for odd, share in zip(odds, shares)
        ]

    joint = Joint({T: Adaptive() for T in slopes})
    changing = {T: cells(slope, 80) for T, slope in slopes.items()}
    known = joint._posterior(changing)
    for i, (T, found) in enumerate(joint.thresholds(changing).items()):
        half, own = SPREAD_CAUTION * 1.95996 * known.spread[i], fitted(changing[T], T=T)
        assert found.low == pytest.approx(min(own.low, math.exp(known.mean[i] - half)), rel=1e-5)
        assert found.high == pytest.approx(max(own.high, math.exp(known.mean[i] + half)), rel=1e-5)
        assert "slope changes with T" in found.note and found.m80 == pytest.approx(math.exp(known.mean[i]))
    few = {**changing, 300: [Cell(100, 6, 8), Cell(80, 6, 8)]}
    assert joint.thresholds(few)[300].side == fitted(few[300], T=300).side == "none"
    same = joint.thresholds({T: cells(6, 80) for T in slopes})[300]
    assert same.note == "" and same.log_width == pytest.approx(
        2 * SPREAD_CAUTION * 1.95996 * joint._posterior({T: cells(6, 80) for T in slopes}).spread[1], rel=1e-5
    )


def test_an_interval_with_an_open_end_is_not_widened():
    alone = Threshold(100, 50.0, 40.0, 60.0, trials=16)
    for low, high in ((45.0, None), (None, 55.0)):
        together = Threshold(100, None, low, high, trials=16)
        assert _widened(together, alone) is together
    both = _widened(Threshold(100, 50.0, 45.0, 70.0, trials=16), alone)
    assert (both.low, both.high) == (40.0, 70.0)


def test_sample_sizes_far_below_the_floor_are_not_tried():
    found = above_floor(Adaptive(m_min=5, start=10), 50)
    assert (found.m_min, found.start) == (40, 40)
    assert above_floor(Adaptive(m_min=60, start=70), 50) == Adaptive(m_min=60, start=70)
