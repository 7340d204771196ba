"""The best code against brute force."""

from itertools import permutations, product

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.construct.candidates import (
    fewest_changes_in_place,
    interchangeable,
    threshold_weights,
    unate,
)
from sparsehead.construct.code import NEVER, best_code, canonical_orders, count_changes
from sparsehead.functions import assignments, random_function


def test_every_order_of_the_cube_is_enumerated():
    # the number of orders of {0,1}^s induced by 0 < c_1 < .. < c_s is known: 1, 1, 2, 14, 516
    assert [len(canonical_orders(s)[0]) for s in range(1, 6)] == [1, 1, 2, 14, 516]


@pytest.mark.claim("best-code")
@pytest.mark.parametrize("s", [2, 3, 4, 5])
def test_no_random_weights_beat_the_best_code(s):
    rng = stream(3, "codes", s)
    for _ in range(4):
        table = random_function(T=s, s=s, rng=rng).values
        code = best_code(table)
        assert count_changes(table, np.array([code.weights]))[0] == code.changes
        rivals = rng.integers(-(10**6), 10**6, (3000, s))
        assert count_changes(table, rivals).min() >= code.changes


@pytest.mark.claim("best-code")
@pytest.mark.parametrize("s", [3, 4, 5, 6, 7])
def test_linear_threshold_functions_change_once(s):
    rng = stream(4, "thresholds", s)
    for _ in range(5):
        weights = rng.integers(1, 6, s) * rng.choice([-1, 1], s)
        levels = assignments(s).astype(int) @ weights
        table = (levels >= rng.integers(levels.min() + 1, levels.max() + 1)).astype(np.uint8)
        if unate(table, s) is None or any(
            (table.reshape((2,) * s).take(0, i) == table.reshape((2,) * s).take(1, i)).all() for i in range(s)
        ):
            continue  # a weight that never matters
        assert best_code(table).changes == 1


def test_a_function_that_is_unate_but_no_threshold_is_not_mistaken_for_one():
    b = assignments(4).astype(int)
    table = ((b[:, 0] & b[:, 1]) | (b[:, 2] & b[:, 3])).astype(np.uint8)  # x0 x1 + x2 x3, the classic case
    assert unate(table, 4) == (1, 1, 1, 1)
    assert threshold_weights(table, 4, signs=True) is None
    assert best_code(table).changes > 1


@pytest.mark.parametrize("s", [4, 5])
def test_dynamic_programme_equals_all_orders_and_signs(s):
    rng = stream(5, "positional", s)
    for signs in (False, True):
        table = random_function(T=s, s=s, rng=rng).values
        found = np.array([fewest_changes_in_place(table, s, signs=signs)])
        choices = product(*[(1, -1) if signs else (1,)] * s)
        brute = np.array(
            [[sign * 2**p for sign, p in zip(c, perm)] for c in choices for perm in permutations(range(s))]
        )
        assert count_changes(table, found)[0] == count_changes(table, brute).min()


def test_parity_changes_at_every_count_and_counts_with_ones():
    for s in (2, 3, 5, 8):
        code = best_code((assignments(s).sum(axis=1) % 2).astype(np.uint8))
        assert (code.changes, set(code.weights)) == (s, {1})


def test_positive_codes_are_positive_and_mixed_signs_help_exclusion():
    table = np.array([0, 1, 0, 0], dtype=np.uint8)  # x0 and not x1
    assert best_code(table).changes == 1
    assert best_code(table).mixed
    positive = best_code(table, signs=False)
    assert min(positive.weights) > 0
    assert positive.changes == 2


def test_ties_that_disagree_are_no_code():
    assert count_changes(np.array([0, 1, 0, 1], dtype=np.uint8), np.array([[1, 1]]))[0] == NEVER


@pytest.mark.parametrize("s", [6, 9, 13])
def test_large_supports_still_get_a_code(s):
    table = random_function(T=s, s=s, rng=stream(6, s)).values
    code = best_code(table)
    assert count_changes(table, np.array([code.weights]))[0] == code.changes <= 2**s - 1


def test_interchangeable_bits_are_counted_together():
    assert list(interchangeable(np.array([0] * 7 + [1]), 3)) == [(1, 1, 1)]
    b = assignments(3).astype(int)
    codes = list(interchangeable(b[:, 0] ^ (b[:, 1] | b[:, 2]), 3))
    assert codes and all(c[1] == c[2] != c[0] for c in codes)
