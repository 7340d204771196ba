"""The paper's error bars: its bootstrap against resampling trial by trial, planted slopes, committed laws."""

import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult
from sparsehead.laws.published import GRID_M, GRID_TRIALS, PrintedThreshold
from sparsehead_paper.claims import laws
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.studies import bars
from sparsehead_paper.studies.folder import committed, read_results


def test_mean_and_deviation_are_those_of_many_resamples():
    rng = stream(0, "resamples")
    shares = np.clip(np.linspace(0.3, 1.2, len(GRID_M)), 0, 1)
    outcomes = rng.random((len(GRID_M), GRID_TRIALS)) < shares[:, None]  # solved or not, trial by trial
    found = []
    for _ in range(20_000):
        drawn = rng.integers(GRID_TRIALS, size=(len(GRID_M), GRID_TRIALS))
        counts = np.take_along_axis(outcomes, drawn, axis=1).sum(axis=1)
        found.append(next((m for m, n in zip(GRID_M, counts) if n >= 32), GRID_M[-1]))
    mean, deviation = bars.bootstrap(outcomes.sum(axis=1))
    # four standard errors of 20,000 resamples
    assert mean == pytest.approx(np.mean(found), abs=4 * float(deviation) / math.sqrt(20_000))
    assert deviation == pytest.approx(np.std(found), rel=4 / math.sqrt(20_000))


def test_nothing_solved_counts_as_the_last_m():
    mean, deviation = bars.bootstrap(np.zeros(len(GRID_M), dtype=int))
    assert (mean, deviation) == (GRID_M[-1], 0)


def test_simulated_experiments_scatter_around_the_threshold_more_for_flat_curves():
    widths = []
    for slope in (3.0, 8.0):
        points, deviations = bars.simulate(math.log(90), slope, stream(1, "simulate", int(slope)))
        assert 85 < points.mean() < 100
        widths.append(deviations.mean())
    assert widths[0] > 1.4 * widths[1]


@pytest.mark.parametrize("slope", [3.0, 7.0])
def test_a_planted_slope_is_found(slope):
    """A simulated paper whose law is 6.1 T^.42, with 100 resamples drawn one by one."""
    rng, points = stream(3, "planted", int(slope)), []
    for T in (point.T for point in bars.POINTS):
        x = slope * (np.log(GRID_M) - math.log(6.1 * T**0.42)) + math.log(4)  # 80 % at m_80
        solved = rng.binomial(GRID_TRIALS, 1 / (1 + np.exp(-x)))
        resamples = rng.binomial(GRID_TRIALS, solved / GRID_TRIALS, size=(100, len(GRID_M))) >= 32
        first = np.array(GRID_M)[np.where(resamples.any(axis=1), resamples.argmax(axis=1), -1)]
        points.append(PrintedThreshold(T, float(first.mean()), float(first.std())))
    found = bars.implied_slope(bars.PointsAndBars.of(points))
    assert found.low < slope < found.high
    assert found.high < 2.2 * found.low


def test_a_law_with_the_implied_slope_has_more_evidence_than_a_steeper_one():
    def cells(slope):
        shares = (0.8, 0.5)
        found: dict[int, list[Cell]] = {}
        for T in (150, 300, 600, 1100):
            m80 = 6.1 * T**0.42
            for share in shares:
                x = math.log(share / (1 - share)) - math.log(4)
                found.setdefault(T, []).append(Cell(round(m80 * math.exp(x / slope)), round(40 * share), 40))
        return found

    assert bars.log_evidence(cells(3.6)) > bars.log_evidence(cells(12.0)) + 5


@pytest.mark.claim("law-bars")
def test_the_papers_bars_mean_a_flatter_curve_than_preset_paper_has():
    found = laws.check_law_bars(Context(options={"results": str(committed())}))
    assert found.verdict == "holds"
    evidence = found.data["evidence"]
    assert evidence["literal"] > evidence["mingpt"] > evidence["paper"]


def test_expected_points_lie_above_the_threshold_of_a_steep_law():
    law = read_results(committed(), "law-matched", LawResult)
    for m80, point in bars.expected_points(law.cells).values():
        assert 2.5 < point - m80 < 5.5


def test_interpolation_gives_the_table_at_its_nodes():
    table = bars.printed()
    i, j = 11, 5
    levels = np.full((1, len(bars.POINTS)), bars.LOG_M80[i])
    at = table.at(levels, bars.LOG_SLOPES[j : j + 1])
    assert at[0] == pytest.approx(table.log_density[:, i, j].sum(), rel=1e-9)
