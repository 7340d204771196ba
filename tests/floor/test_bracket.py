"""The bounds on the best success rate: against every data set where all can be listed, and against simulation."""

import itertools
import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.floor import bracket
from sparsehead.floor.bracket import counting_bound, identification_bounds, swap_bounds
from sparsehead.floor.floor import floor
from sparsehead_paper.theory.elimination import identification

BALANCED = 0.5 ** (1 / 3)


def every_data_set(*, s, T, m, p):
    """(P_opt, P_unique) by listing all 2^(mT) data sets: P_opt = E[number of label sequences] / number of sets."""
    sets = list(itertools.combinations(range(T), s))
    inputs = np.array(list(itertools.product([0, 1], repeat=T)))
    labels = np.array([inputs[:, J].all(axis=1) for J in sets])  # by set and input
    chance = p ** inputs.sum(axis=1) * (1 - p) ** (T - inputs.sum(axis=1))
    opt = unique = 0.0
    for rows in itertools.combinations_with_replacement(range(2**T), m):
        orders = np.prod([1.0, *(k for k in range(1, m + 1))])
        for row in set(rows):
            orders /= np.prod([1.0, *(k for k in range(1, rows.count(row) + 1))])
        _, explained = np.unique(labels[:, list(rows)], axis=0, return_counts=True)
        weight = orders * chance[list(rows)].prod()
        opt += weight * len(explained) / len(sets)
        unique += weight * (explained == 1).sum() / len(sets)
    return opt, unique


@pytest.mark.parametrize("p", [0.5, 0.7])
@pytest.mark.parametrize(("s", "T", "m"), [(1, 4, 3), (2, 4, 3), (3, 4, 3), (2, 5, 2), (3, 5, 2), (2, 3, 5)])
def test_bounds_are_above_the_truth_over_every_data_set(s, T, m, p):
    opt, unique = every_data_set(s=s, T=T, m=m, p=p)
    high_opt, high_unique = swap_bounds(s=s, T=T, m=m, p=p)
    assert opt <= high_opt and unique <= high_unique
    assert opt <= counting_bound(s=s, T=T, m=m, p=p)
    if s == 1 or s + 1 == T:  # then every wrong set is a swap: equal, but for ROUNDING
        assert (high_opt, high_unique) == pytest.approx((opt, unique), abs=3e-9)


@pytest.mark.parametrize("guesses", [1, 2, 3, 5])
@pytest.mark.parametrize(("s", "T", "m", "p"), [(1, 6, 3, 0.3), (2, 5, 4, 0.6), (3, 6, 5, 0.7)])
def test_swaps_are_summed_over_every_case_one_by_one(s, T, m, p, guesses):
    """E min(1, guesses/(1+X)): M and d listed sample by sample, X column by column; no quadrature, no recurrence."""
    cases = [p**s, *([p ** (s - 1) * (1 - p)] * s)]
    cases.append(1 - sum(cases))
    expected = 0.0
    for rows in itertools.product(range(s + 2), repeat=m):
        weight = math.prod(cases[row] for row in rows)
        M, d = rows.count(0), [rows.count(i + 1) for i in range(s)]
        one = [1.0]
        for i in range(s):
            r = (1 - p) ** d[i]
            one = [a * (1 - r) + b * r for a, b in zip([*one, 0.0], [0.0, *one])]
        one = [p**M * x for x in one]
        one[0] += 1 - p**M
        X = np.array([1.0])
        for _ in range(T - s):
            X = np.convolve(X, one)
        # a column that is certain to be a replacement: the bound leaves min(1, .) out, which only raises it
        most = 1 if one[0] > 0 else math.inf
        expected += weight * sum(q * min(most, guesses / (1 + x)) for x, q in enumerate(X))
    found = swap_bounds(s=s, T=T, m=m, p=p, guesses=guesses)[0]
    assert found == pytest.approx(min(1, expected), abs=2e-9 * guesses)


@pytest.mark.parametrize(
    ("s", "T", "m", "p"), [(1, 9, 3, 0.3), (2, 6, 5, 0.5), (3, 30, 7, 0.8), (3, 5, 6, 0.6)]
)
def test_counting_is_the_sum_over_label_sequences(s, T, m, p):
    """Sequence by sequence instead of by number of ones; the least over how many positions are revealed."""
    told = []
    for r in range(s):
        sets, q = math.comb(T - r, s - r), p ** (s - r)
        chance = [math.comb(m, n) * p ** (r * n) * (1 - p**r) ** (m - n) for n in range(m + 1)]
        of_n = [
            sum(
                min(1 / sets, q ** sum(y) * (1 - q) ** (n - sum(y)))
                for y in itertools.product([0, 1], repeat=n)
            )
            for n in range(m + 1)
        ]
        told.append(sum(a * b for a, b in zip(chance, of_n)))
    assert counting_bound(s=s, T=T, m=m, p=p) == pytest.approx(min(told), abs=2e-9)


def test_no_samples_leave_a_guess_among_all_sets():
    assert counting_bound(s=3, T=20, m=0, p=0.5) == pytest.approx(1 / 1140, abs=2e-9)


@pytest.mark.parametrize("levels", [1, 20, 200])
def test_fewer_levels_only_raise_the_bound(monkeypatch, levels):
    fine = swap_bounds(s=3, T=300, m=30, p=BALANCED)
    monkeypatch.setattr(bracket, "MULTISETS", levels)
    coarse = swap_bounds(s=3, T=300, m=30, p=BALANCED)
    assert coarse[0] >= fine[0] - 1e-12 and coarse[1] >= fine[1] - 1e-12


@pytest.mark.parametrize(("s", "m", "p"), [(1, 7, 0.3), (3, 30, BALANCED), (5, 50, 0.87), (8, 900, 0.5)])
def test_the_probabilities_of_all_cases_sum_to_one(s, m, p):
    d, orders = bracket._multisets(s, min(bracket._cut(s), m + 1))
    assert bracket._weights(d, orders, s=s, m=m, p=p)[1].sum() == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize(("T", "m", "p", "gap"), [(300, 34, BALANCED, 0.02), (10**4, 45, BALANCED, 0.03)])
def test_bounds_are_above_simulation_and_close_for_balanced_labels(T, m, p, gap):
    point = identification(s=3, Ts=[T], m=m, p=p, trials=1000, rng=stream(2, "id"))[0]
    opt, unique = identification_bounds(s=3, T=T, m=m, p=p)
    assert point.opt - 3 * point.opt_error <= opt <= point.opt + 3 * point.opt_error + gap
    assert point.unique - 3 * point.unique_error <= unique


def test_bounds_grow_with_samples_and_fall_with_length():
    by_m = [identification_bounds(s=3, T=10**4, m=m, p=0.5)[0] for m in range(40, 100, 6)]
    assert by_m == sorted(by_m)
    by_T = [identification_bounds(s=3, T=T, m=50, p=BALANCED)[0] for T in (10**3, 10**4, 10**5, 10**6)]
    assert by_T == sorted(by_T, reverse=True)


def test_many_samples_and_very_long_contexts_are_no_obstacle():
    """Rare labels ask for thousands of samples; the longest contexts exceed the range of a float."""
    assert floor("and", s=8, T=10**6, p=0.5).m == 4635
    assert floor("and", s=12, T=10**6, p=0.5).m == 51055  # beyond MOST_SAMPLES: Fano's inequality
    assert floor("and", s=3, T=10**400, p=BALANCED).m == 3984
