import math

import numpy as np
import pytest

from sparsehead.laws import Cell
from sparsehead.laws.misfit import Misfit, misfits, statistics

CELLS = {
    100: [Cell(40, 9, 20), Cell(50, 14, 20), Cell(70, 19, 20)],
    300: [Cell(45, 8, 24), Cell(60, 18, 20), Cell(60, 1, 4), Cell(90, 30, 30)],
    1000: [Cell(60, 11, 24), Cell(75, 19, 24), Cell(110, 23, 24)],
}
LOG_M80 = {100: math.log(55), 300: math.log(64), 1000: math.log(80)}
SLOPE = 5.0
MIDDLE = sum(map(math.log, CELLS)) / 3  # of ln T over the cells


def share(T, m, thresholds, log_slope, name, g):
    """P(success) with one departure of size g, as the docstring of `statistics` lists them; a lapse of .003."""
    above = math.exp(log_slope) * (math.log(m) - thresholds[T])
    x = above + math.log(0.8 / 0.197)
    x += {"floor": -g * max(0.0, -x) ** 2, "plateau": g * x**2}.get(name, 0.0)
    x += above * g * (math.log(T) - MIDDLE) if name == "slope" else 0.0
    return (1 - g if name == "lapse" else 1) * 0.997 / (1 + math.exp(-x))


@pytest.mark.parametrize("name", ["lapse", "floor", "plateau", "slope"])
def test_the_statistic_is_a_score_test_by_differences(name):
    """Derivatives of P by differences; what the fitted parameters explain of the score by least squares."""
    rows = [(T, m) for T, own in CELLS.items() for m in sorted({cell.m for cell in own})]
    solved, n = (
        np.array([sum(getattr(c, what) for c in CELLS[T] if c.m == m) for T, m in rows])
        for what in ("solved", "trials")
    )

    def shares(at):
        thresholds = dict(zip(CELLS, at))
        return np.array([share(T, m, thresholds, at[3], name, at[4]) for T, m in rows])

    at, h = np.array([*LOG_M80.values(), math.log(SLOPE), 0.0]), 1e-5
    by = np.array([(shares(at + h * e) - shares(at - h * e)) / (2 * h) for e in np.eye(5)])
    p = shares(at)
    root = np.sqrt(n / (p * (1 - p)))
    # the slope's penalty is an observation of ln slope with a standard deviation of .7
    design = np.vstack([(by[:4] * root).T, [0, 0, 0, 1 / 0.7]])
    explained, *_ = np.linalg.lstsq(design, np.append(by[4] * root, 0.0), rcond=None)
    left = by[4] - explained @ by[:4]
    score = (left * (solved - n * p) / (p * (1 - p))).sum()
    expected = score**2 / (left**2 * n / (p * (1 - p))).sum()
    assert statistics(CELLS, LOG_M80, SLOPE)[name] == pytest.approx(expected, rel=1e-4)


def test_a_departure_is_named_beyond_the_99_percent_quantile_of_chi_squared():
    found = statistics(CELLS, LOG_M80, SLOPE)
    named = misfits(CELLS, LOG_M80, SLOPE)
    assert named == [Misfit(name, value) for name, value in found.items() if value > 6.6349]
    many = {T: [Cell(c.m, 40 * c.solved, 40 * c.trials) for c in own] for T, own in CELLS.items()}
    assert {one.name for one in misfits(many, LOG_M80, SLOPE)} > {one.name for one in named}
    assert Misfit("slope", 7.25).words == "misfit: the success curve's slope changes with T (chi2 = 7.2 on 1)"


def test_a_slope_that_changes_needs_three_lengths_and_a_departure_needs_trials_that_show_it():
    two = {T: CELLS[T] for T in (100, 300)}
    assert set(statistics(two, LOG_M80, SLOPE)) == {"lapse", "floor", "plateau"}
    # one cell fits exactly under any slope: nothing is left of any departure
    one = statistics({100: [Cell(55, 16, 20)]}, LOG_M80, SLOPE)
    assert one == pytest.approx({"lapse": 0, "floor": 0, "plateau": 0})
