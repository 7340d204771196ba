"""How probable the paper's numbers are given few trials: sums to one, densities against simulation."""

import math

import numpy as np
import pytest

from sparsehead.errors import DomainError
from sparsehead.measure.curves import Cell
from sparsehead.measure.evidence import Smoothed, log_count, log_order, log_threshold
from sparsehead.measure.published import GRID_M
from sparsehead.rng import stream

pytestmark = pytest.mark.claim("readings")


@pytest.mark.parametrize(("seen", "of"), [(0, 0), (3, 8), (8, 8)])
def test_the_probabilities_of_all_counts_sum_to_one(seen, of):
    assert sum(math.exp(log_count(k, 40, seen=seen, of=of)) for k in range(41)) == pytest.approx(1)


def test_counts_are_laplaces_rule_and_reward_agreement():
    assert math.exp(log_count(1, 1, seen=7, of=8)) == pytest.approx(8 / 10)
    assert (
        log_count(24, 40, seen=10, of=16)
        > log_count(24, 40, seen=15, of=16)
        > log_count(24, 40, seen=0, of=16)
    )
    with pytest.raises(DomainError, match="between 0 and its total"):
        log_count(5, 4, seen=0, of=0)


def test_a_density_integrates_to_one_and_knows_its_distribution_function():
    found = Smoothed.of([0.0, 1.0, 1.2], least=0.1)
    x = np.linspace(-60, 60, 40_001)
    density = np.exp([found.log_density(v) for v in x[::20]])
    assert density.sum() * (x[20] - x[0]) == pytest.approx(1, abs=2e-3)  # tails of t_3 beyond 60 hold 1e-5
    assert found.share_below(-1e6) == pytest.approx(0, abs=1e-9) and found.share_below(1e6) == pytest.approx(
        1
    )
    assert Smoothed.of([3.0], least=0.5).width == 0.5
    with pytest.raises(DomainError, match="at least one value"):
        Smoothed.of([], least=0.1)


def test_the_order_statistics_have_the_simulated_density():
    """Of 6 values of the density itself: a box around (least, third, most), by simulation and by the formula."""
    made = Smoothed(np.array([0.0, 2.0]), 0.3)
    rng = stream(0, "order")
    draws = made.values[rng.integers(2, size=(400_000, 6))] + made.width * rng.standard_t(
        3, size=(400_000, 6)
    )
    draws.sort(axis=1)
    centre, half = np.array([-0.3, 0.3, 2.4]), 0.15
    share = (np.abs(draws[:, [0, 2, 5]] - centre) < half).all(axis=1).mean()
    expected = math.exp(log_order(*centre, 6, made)) * (2 * half) ** 3
    # about 2000 draws fall into the box: 2 % noise; the density bends by a few per cent over it
    assert share == pytest.approx(expected, rel=0.15)
    with pytest.raises(DomainError, match="least < middle < most"):
        log_order(1.0, 0.5, 2.0, 6, made)


def test_the_threshold_is_most_probable_where_the_trials_put_it():
    def at(solved, m=110):
        return log_threshold(111.0, 5.2, [Cell(m, solved, 16)], grid=GRID_M, trials=40)

    assert at(13) > at(16) and at(13) > at(8) > at(2)
    assert at(13, m=110) > at(13, m=60)
    # at the grid's floor the point says only that 32 of 40 succeed at m = 50: certain when nearly all do
    floor = [log_threshold(50.0, 0.0, [Cell(50, k, 40)], grid=GRID_M, trials=40) for k in (40, 32, 20)]
    assert floor[0] > math.log(0.9) and floor[0] > floor[1] > floor[2]
    assert floor[2] < math.log(0.02)
