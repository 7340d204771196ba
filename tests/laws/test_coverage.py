"""How often intervals hold m_80, simulated: one T by itself, and several together.

An interval may have an open end, which always holds; the share of intervals with both ends is therefore asserted beside
the share that hold.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import pytest

from sparsehead._base.rng import stream
from sparsehead.laws import Adaptive, Cell, Joint, fitted

NORMAL = NormalDist()


def logistic(slope, lapse=0.0):
    """P of the logistic curve in ln m with P(1) = .8; a share `lapse` of trials fails at any m."""
    at = math.log(0.8 / (0.2 - lapse))
    return lambda x: (1 - lapse) / (1 + math.exp(-at) * x**-slope)


TRUTHS = {  # of x = m / m_80
    "logistic 1.5": logistic(1.5),
    "logistic 3": logistic(3),
    "logistic 7": logistic(7),
    "logistic 20": logistic(20),
    "probit": lambda x: NORMAL.cdf(4 * math.log(x) + NORMAL.inv_cdf(0.8)),
    "gompertz": lambda x: 0.8 ** (x**-5.6),  # steep below, flat above
    "weibull": lambda x: 1 - 0.2 ** (x**4.2),  # flat below, steep above
    "lapse 3 %": logistic(7, lapse=0.03),
    "plateau at .7": lambda x: 0.7 * min(1, 2 * x) ** 8 + 0.3 * (1 - 1.5 ** (-(x**2))),
    "nothing below .85 m_80": lambda x: logistic(4)(x) if x >= 0.85 else 0.0,
}


@dataclass(frozen=True)
class Found:
    """Shares of runs whose interval holds m_80, has both ends, and names a misfit; trials per run."""

    hold: float
    closed: float
    flagged: float
    trials: float


def several_lengths(slopes, runs, seed=7):
    """Joint runs at m_80 = 4 + 10 ln T; a logistic curve at every T, of the slopes given."""
    rng, found = stream(seed, "joint coverage", str(slopes)), []
    m80 = {T: 4 + 10 * math.log(T) for T in slopes}
    for _ in range(runs):
        joint = Joint({T: Adaptive() for T in slopes})
        cells: dict[int, list[Any]] = {T: [] for T in slopes}
        while any((wanted := joint.propose(cells)).values()):
            for T, m, n in ((T, *batch) for T, batches in wanted.items() for batch in batches):
                cells[T].append(Cell(m, int(rng.binomial(n, logistic(slopes[T])(m / m80[T]))), n))
        own = joint.thresholds(cells)
        holds = [(t.low or 0) <= m80[T] <= (t.high or math.inf) for T, t in own.items()]
        closed = [t.side == "both" for t in own.values()]
        flagged = any("misfit" in t.note for t in own.values())
        trials = sum(t.trials for t in own.values())
        found.append((sum(holds) / len(own), sum(closed) / len(own), flagged, trials))
    return Found(*(sum(column) / runs for column in zip(*found)))


def one_length(truth, runs, seed=5, **settings):
    rng, found = stream(seed, "coverage", truth), []
    for _ in range(runs):
        m80 = math.exp(rng.uniform(math.log(30), math.log(130)))
        policy = Adaptive(**settings)
        cells: list[Any] = []
        while proposals := policy.propose(cells):
            cells += [Cell(m, int(rng.binomial(n, TRUTHS[truth](m / m80))), n) for m, n in proposals]
        own = fitted(cells, T=300)
        holds = (own.low or 0) <= m80 <= (own.high or math.inf)
        found.append((holds, own.side == "both", "misfit" in own.note, own.trials))
    return Found(*(sum(column) / runs for column in zip(*found)))


@pytest.mark.parametrize("truth", TRUTHS)
def test_a_truth_rises_and_has_its_threshold_at_1(truth):
    curve = TRUTHS[truth]
    assert curve(1.0) == pytest.approx(0.8)
    shares = [curve(x / 20) for x in range(4, 100)]
    assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] <= 1


@pytest.mark.parametrize(("truth", "closed"), [("logistic 7", 0.95), ("nothing below .85 m_80", 0.9)])
def test_intervals_hold_m80_whatever_the_curve(truth, closed):
    found = one_length(truth, 30)
    assert found.hold >= 0.9 and found.closed >= closed
    assert found.trials < 100


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_intervals_hold_m80_in_200_runs_whatever_the_curve(truth):
    """A flat curve leaves an end open after 160 trials: of 100 runs 55 have both at slope 1.5 and 89 at slope 3."""
    found = one_length(truth, 200)
    least = {"logistic 1.5": 0.4, "logistic 3": 0.8, "plateau at .7": 0.25}
    assert found.hold >= 0.93 and found.closed >= least.get(truth, 0.92) and found.flagged <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slopes", "closed", "flagged"),
    [((5, 5, 5, 5, 5), 0.95, (0.0, 0.1)), ((3, 4.2, 5.7, 8, 11.3), 0.5, (0.8, 1.0))],
)
def test_joint_intervals_hold_m80_also_where_the_slope_changes_with_T(slopes, closed, flagged):
    """Of 80 runs the second truth is flagged in 89 %; its intervals hold in .997, and in .978 of those not flagged."""
    found = several_lengths(dict(zip((100, 180, 300, 550, 1000), slopes)), 60)
    assert found.hold >= 0.93 and found.closed >= closed
    assert flagged[0] <= found.flagged <= flagged[1]
