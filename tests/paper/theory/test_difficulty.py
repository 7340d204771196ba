"""Globality and leap against their definitions, computed by brute force; classes of functions against their orbits."""

from itertools import combinations, permutations

import numpy as np
import pytest

from sparsehead.functions import SparseFunction, from_table, parity, random_function
from sparsehead.functions.tables import assignments
from sparsehead_paper.theory.difficulty import coefficients, globality, inequivalent, leap

FUNCTIONS = [f for s in (1, 2, 3) for f in inequivalent(s)]
RANDOM = [random_function(T=6, s=4, rng=np.random.default_rng(seed)) for seed in range(12)]


def chances(s: int, p: float) -> np.ndarray:
    ones = assignments(s).sum(axis=1)
    return p**ones * (1 - p) ** (s - ones)


def by_definition(f: SparseFunction, S: tuple[int, ...], p: float) -> float:
    bits = assignments(f.s).astype(float)
    product = np.prod((bits[:, list(S)] - p) / np.sqrt(p * (1 - p)), axis=1)
    return float((chances(f.s, p) * (1 - 2.0 * f.values) * product).sum())


def subsets(s: int) -> list[tuple[int, ...]]:
    return [S for size in range(1, s + 1) for S in combinations(range(s), size)]


@pytest.mark.parametrize("p", [0.5, 0.3, 0.9])
def test_coefficients_are_the_means_of_the_definition(p):
    for f in FUNCTIONS + RANDOM:
        found = coefficients(f, p=p)
        for S in subsets(f.s):
            assert found[sum(1 << i for i in S)] == pytest.approx(by_definition(f, S, p), abs=1e-12)
        assert found @ found == pytest.approx(1)  # Parseval


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_globality_is_the_least_number_of_bits_on_which_the_label_depends(p):
    for f in FUNCTIONS + RANDOM:
        bits, weight = assignments(f.s), chances(f.s, p)
        mean = weight @ f.values
        tells = [
            len(S)
            for S in subsets(f.s)
            for pattern in assignments(len(S))
            if abs((rows := (bits[:, list(S)] == pattern).all(axis=1)) @ (weight * (f.values - mean))) > 1e-12
            and rows.any()
        ]
        assert globality(f, p=p) == min(tells)


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_leap_is_the_best_over_all_orders_of_the_sets(p):
    for f in FUNCTIONS + RANDOM:
        if f.s > 3:
            continue
        sets = [set(S) for S in subsets(f.s) if abs(by_definition(f, S, p)) > 1e-12]
        least = f.s
        for order in permutations(sets):
            seen: set[int] = set()
            steps = []
            for S in order:
                if len(seen) < f.s:
                    steps.append(len(S - seen))
                seen |= S
            least = min(least, max(steps))
        assert leap(f, p=p) == least


def test_known_degrees():
    assert [(globality(parity(range(s), T=5)), leap(parity(range(s), T=5))) for s in (1, 2, 4)] == [
        (1, 1), (2, 2), (4, 4),
    ]  # fmt: skip
    assert (
        leap(parity(range(3), T=4), p=0.4) == 1
    )  # other shares of ones make parity easy (Cornacchia et al.)
    assert (
        globality(from_table(T=3, support=(), table=(1,)))
        == leap(from_table(T=3, support=(), table=(0,)))
        == 0
    )


def test_each_class_is_met_once():
    for s, count in ((2, 2), (3, 10)):
        bits = assignments(s).astype(int)
        orbits: list[set[tuple[int, ...]]] = []
        for f in inequivalent(s):
            members = {
                tuple(out ^ f.values[((bits[:, list(order)] ^ flips) @ (1 << np.arange(s)))])
                for order in permutations(range(s))
                for flips in bits
                for out in (0, 1)
            }
            assert not any(members & other for other in orbits)
            orbits.append(members)
        dependent = [
            number
            for number in range(2 ** (2**s))
            if from_table(T=s, support=range(s), table=[(number >> i) & 1 for i in range(2**s)]).s == s
        ]
        assert len(orbits) == count and sum(map(len, orbits)) == len(dependent)
    assert sum(1 for _ in inequivalent(4)) == 208  # the known number of NPN classes of exactly four bits
    assert next(iter(inequivalent(3, T=9))).T == 9
