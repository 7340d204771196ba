"""The exact tests of fresh against committed trials, and their power: against enumeration and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from sparsehead_paper.studies.agreement import LEVEL, WANTED, Count, Shares, Values, shares_p


def enumerated_shares(cells):
    """The p-value by listing all choices of the fresh trials among all trials of each cell."""
    sums = [0]
    for solved, trials, new, fresh in cells:
        marks = [1] * (solved + new) + [0] * (trials + fresh - solved - new)
        sums = [s + sum(chosen) for s in sums for chosen in itertools.combinations(marks, fresh)]
    seen = sum(new for _, _, new, _ in cells)
    ways = np.bincount(sums)
    return sum(n for n in ways if n <= ways[seen]) / len(sums)


@pytest.mark.parametrize(("committed", "fresh"), [((7, 8), 5), ((3, 9), 4), ((10, 10), 6), ((0, 6), 3)])
def test_one_cell_is_fishers_test(committed, fresh):
    k, n = committed
    for new in range(fresh + 1):
        expected = fisher_exact([[k, n - k], [new, fresh - new]]).pvalue
        assert shares_p([(k, n, new, fresh)]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("cells", [[(4, 5, 0, 3), (2, 4, 1, 3)], [(3, 4, 3, 3), (1, 4, 2, 2), (2, 2, 0, 1)]])
def test_several_cells_by_enumeration(cells):
    assert shares_p(cells) == pytest.approx(enumerated_shares(cells), rel=1e-9)


@pytest.mark.parametrize("shift", [-0.5, -0.2, 0.0, 0.4])
def test_power_of_shares_by_enumeration(shift):
    plan = [(4, 5, 3), (2, 4, 3)]
    shares = Shares(tuple(Count("", (k, n), (0, fresh)) for k, n, fresh in plan))
    rates = [min(1, max(0, k / n + shift)) for k, n, _ in plan]
    power = 0.0
    for each in itertools.product((0, 1), repeat=6):  # every trial by itself
        new = sum(each[:3]), sum(each[3:])
        chance = np.prod([rates[i // 3] if won else 1 - rates[i // 3] for i, won in enumerate(each)])
        cells = [(k, n, found, fresh) for (k, n, fresh), found in zip(plan, new, strict=True)]
        power += chance * (enumerated_shares(cells) <= 0.3)
    assert 0 < power < 1
    assert shares.power(shift, level=0.3) == pytest.approx(power, rel=1e-9)


def test_values_are_compared_by_ranks():
    rng = np.random.default_rng(0)
    for n, fresh, shift in [(10, 4, 0.0), (10, 4, 1.0), (7, 5, -2.0), (40, 8, 0.5)]:
        values = Values("", tuple(rng.random(n)), tuple(rng.random(fresh) + shift))
        expected = mannwhitneyu(values.committed, values.fresh, method="exact").pvalue
        assert values.p_value() == pytest.approx(expected, rel=1e-9)


def test_equal_values_are_ordered_as_agrees_more():
    committed, fresh = (1.0, 2.0, 2.0, 3.0, 4.0), (2.0, 4.0, 5.0)
    nudged = itertools.product((-0.1, 0.1), repeat=3)
    orders = [tuple(x + d for x, d in zip(fresh, way, strict=True)) for way in nudged]
    found = [mannwhitneyu(committed, order, method="exact").pvalue for order in orders]
    assert min(found) < max(found)
    assert Values("", committed, fresh).p_value() == pytest.approx(max(found))


@pytest.mark.parametrize("factor", [0.3, 1.0, 1.6, 2.0, 4.0])
def test_power_of_values_by_enumeration(factor):
    committed = (1.0, 2.0, 3.0, 5.0, 8.0, float("inf"))  # 2 x 1 and 1.6 x 5 are equal to others
    draws = itertools.product(committed, repeat=3)
    found = [Values("", committed, tuple(factor * x for x in draw)).p_value() <= 0.1 for draw in draws]
    power = Values("", committed, (1.0, 1.0, 1.0)).power(factor, level=0.1)
    assert power == pytest.approx(np.mean(found), abs=1e-12)


def test_the_smallest_difference_is_named_with_its_side():
    shares = Shares((Count("T = 100, m = 47", (27, 28), (11, 12)),))
    assert shares.power(-0.45, 0.01) < WANTED <= shares.power(-0.5, 0.01)
    assert shares.noticed(0.01) == "shares lower by 0.50"  # no share can be much higher than 27 of 28
    both = Shares((Count("", (20, 40), (9, 16)),)).noticed(0.01)
    assert both == "shares lower by 0.45 or higher by 0.45"
    assert (
        Shares((Count("", (1, 2), (1, 2)),)).noticed(0.01) == "no shift of the shares"
    )  # too few for any difference
    steps = Values("", tuple(map(float, range(170, 270, 10))), (200.0, 210.0, 220.0, 230.0))
    assert steps.power(1.25, 0.01) < WANTED <= steps.power(1.5, 0.01)
    assert steps.noticed(0.01) == "values 1.5 times larger or 1.5 times smaller"


def test_what_is_told():
    shares = Shares((Count("T = 100, m = 47", (27, 28), (11, 12)), Count("m = 50", (5, 8), (2, 4))))
    assert (
        shares.in_words()
        == "T = 100, m = 47: 11 of 12 (committed 27 of 28); m = 50: 2 of 4 (committed 5 of 8)"
    )
    assert shares.trials == 16
    values = Values("steps", (1.0, 2.0, 30.0), (5.0, float("inf")))
    assert values.in_words() == "steps: 5/never/never (committed 1/2/30)"


def test_equal_settings_are_rarely_called_different():
    """With committed shares as they are in long runs, the test errs at most at its level."""
    for p in (0.1, 0.5, 0.9):
        assert Shares((Count("", (round(4000 * p), 4000), (0, 12)),)).power(0.0, LEVEL) <= LEVEL


def test_power_from_random_outcomes_is_near_that_of_all():
    compared = Shares((Count("T = 100", (150, 192), (20, 24)), Count("T = 300", (30, 40), (6, 8))))
    for shift in (-0.1, -0.2, 0.15):
        exact, drawn = (compared.power(shift, 0.05, most=most) for most in (50_000, 0))
        assert abs(exact - drawn) < 4 * (0.25 / 500) ** 0.5 and 0.02 < exact < 0.99
