"""Scores against a known support: recall among the s largest, the marked positions, ties, signs, examples."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsehead.planting.recovery import position_scores, recovery


def by_hand(scores, support):
    """The expected share of the support among the s largest: the mean over every order of the positions."""
    s, shares = len(support), []
    for order in permutations(range(len(scores))):
        top = sorted(order, key=lambda t: -scores[t])[:s]  # stable: ties stay in this order
        shares.append(Fraction(len(set(top) & set(support)), s))
    return sum(shares) / len(shares)


@given(
    st.lists(st.integers(0, 3), min_size=5, max_size=5), st.sets(st.integers(0, 4), min_size=1, max_size=3)
)
def test_recall_at_s_is_the_mean_over_all_orders_of_ties(scores, support):
    found = recovery(np.array(scores), tuple(sorted(support)), 5)
    assert found.recall_at_s == pytest.approx(float(by_hand(scores, support)))


def test_a_quarter_of_the_largest_score_is_marked():
    found = recovery([1.0, 0.26, 0.25, 0.24, 0.0, 0.0], (0, 3), 6)
    assert found.marked == (0, 1, 2) and found.precision == pytest.approx(1 / 3)
    assert found.recall == 0.5 and not found.covered and found.recall_at_s == 0.5
    assert recovery([1.0, 0.3, 0.0, 0.3, 0.0, 0.0], (0, 3), 6).covered


def test_scores_that_are_rounding_errors_count_as_zero():
    found = recovery([1e-12, 1e-17, 1e-16, 0.0], (0,), 4)
    assert found.recall_at_s == 0.25 and found.marked == () and found.precision == found.recall == 0.0
    assert recovery([2e-9, 0.0, 0.0, 0.0], (0,), 4).recall_at_s == 1.0


def test_scores_of_examples_are_averaged_by_size_without_their_signs():
    assert position_scores(np.array([[1.0, -2.0], [-1.0, 4.0]]), 2).tolist() == [1.0, 3.0]
    assert position_scores([-3, 2], 2).tolist() == [3.0, 2.0]
    torch = pytest.importorskip("torch")
    assert position_scores(torch.tensor([1.0, 2.0], requires_grad=True), 2).tolist() == [1.0, 2.0]
