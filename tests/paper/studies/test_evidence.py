"""How probable the paper's numbers are given few trials: sums to one, densities against simulation."""

import math

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.laws.curves import Cell
from sparsehead.laws.published import GRID_M
from sparsehead_paper.studies.evidence import Shapes, Values, log_count, log_threshold

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


SHAPES = Shapes(centres=(-2.0, 4.0), widths=(0.1, 2.0))


def one_density(centre, left, right):
    return Values(np.array([centre]), np.array([left]), np.array([right]), np.zeros(1))


@pytest.mark.parametrize("seen", [[], [0.0], [0.0, 1.0, 1.2]])
def test_what_was_seen_predicts_by_a_density(seen):
    found = Values.seen(seen, SHAPES)
    x = np.linspace(-60, 60, 1201)
    density = np.exp([found.log_density(v) for v in x])
    assert density.sum() * (x[1] - x[0]) == pytest.approx(1, abs=2e-3)  # tails of t_5 beyond 60 hold 1e-6


def test_a_density_is_the_slope_of_its_distribution_function():
    found = one_density(0.5, 0.3, 1.1)
    for x in (-1.0, 0.4, 0.6, 3.0):
        slope = float((found._share_below(x + 1e-6) - found._share_below(x - 1e-6))[0]) / 2e-6
        assert math.exp(found.log_density(x)) == pytest.approx(slope, rel=1e-5)
    assert float(found._share_below(-1e6)[0]) == pytest.approx(0, abs=1e-9)
    assert float(found._share_below(1e6)[0]) == pytest.approx(1)


def test_the_order_statistics_have_the_simulated_density():
    """Of 6 values of one density: a box around (least, third, most), by simulation and by the formula."""
    left, right = 0.4, 1.0
    rng = stream(0, "order")
    sizes = np.abs(rng.standard_t(5, size=(400_000, 6)))
    draws = np.where(rng.random(sizes.shape) < left / (left + right), -left * sizes, right * sizes)
    draws.sort(axis=1)
    centre, half = np.array([-0.4, 0.3, 2.0]), 0.15
    share = (np.abs(draws[:, [0, 2, 5]] - centre) < half).all(axis=1).mean()
    made = one_density(0.0, left, right)
    expected = math.exp(made.log_order(*centre, 6)) * (2 * half) ** 3
    # about 2000 draws fall into the box: 2 % noise; the density bends by a few per cent over it
    assert share == pytest.approx(expected, rel=0.15)
    with pytest.raises(DomainError, match="least < middle < most"):
        made.log_order(1.0, 0.5, 2.0, 6)


def test_few_values_do_not_condemn_what_many_allow():
    """Four values of a skewed density, then the least, middle and most of 40: on average, knowing costs nothing.

    The evidence of the true density exceeds that of four of its values by a few nats; a density fitted to the four lost
    up to thirty.
    """
    rng = stream(0, "few")
    truth = one_density(0.0, 0.2, 0.6)

    def draw(n):
        sizes = np.abs(rng.standard_t(5, size=n))
        return np.where(rng.random(n) < 0.25, -0.2 * sizes, 0.6 * sizes)

    lost = []
    for _ in range(60):
        seen, later = Values.seen(draw(4).tolist(), SHAPES), np.sort(draw(40))
        three = later[0], later[19], later[39]
        lost.append(truth.log_order(*three, 40) - seen.log_order(*three, 40))
    assert 0 < np.mean(lost) < 5 and np.max(lost) < 12


def test_the_threshold_is_most_probable_where_the_trials_put_it():
    def at(solved, m=110):
        return log_threshold(111.0, 5.2, [Cell(m, solved, 16)], grid=GRID_M, trials=40)

    assert at(13) > at(16) and at(13) > at(8) > at(2)
    assert at(13, m=110) > at(13, m=60)
    # at the grid's floor the point says only that 32 of 40 succeed at m = 50: certain when nearly all do
    floor = [log_threshold(50.0, 0.0, [Cell(50, k, 40)], grid=GRID_M, trials=40) for k in (40, 32, 20)]
    assert floor[0] > math.log(0.9) and floor[0] > floor[1] > floor[2]
    assert floor[2] < math.log(0.02)


def test_the_grid_has_steps_of_half_the_least_width_and_every_pair_of_widths():
    centre, left, right = SHAPES.grid()
    assert sorted(set(centre)) == pytest.approx([-2 + i / 20 for i in range(121)])
    widths = [0.1 * 20 ** (i / 12) for i in range(13)]
    assert sorted(set(left)) == sorted(set(right)) == pytest.approx(widths)
    assert len(set(zip(centre, left, right))) == len(centre) == 121 * 13 * 13
