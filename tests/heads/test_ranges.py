"""Newton's iteration against brute force: every completion of every pattern."""

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.functions import assignments
from sparsehead.heads import ranges
from sparsehead.heads.ranges import Choices, attaining, extremes, leakage, solve


def mixed(choices, bits):
    on = np.append(bits, 0).astype(int)
    rows = np.arange(len(on))
    w = choices.weights[rows, on]
    return (w * choices.values[rows, on]).sum() / w.sum()


def random_choices(rng, T, support):
    scores, values = rng.normal(0, 2, (T + 1, 2)), rng.normal(0, 1, (T + 1, 2))
    scores[-1, 1], values[-1, 1] = scores[-1, 0], values[-1, 0]
    return Choices.of(scores, values, support), scores


@pytest.mark.parametrize("support", [(), (2,), (0, 3, 6)])
def test_extremes_equal_brute_force_and_are_attained(support):
    rng, T = stream(1, "ranges", *support), 7
    inputs = assignments(T)
    for _ in range(5):
        choices, _ = random_choices(rng, T, support)
        outputs = np.array([mixed(choices, b) for b in inputs])
        number = inputs[:, list(support)].astype(int) @ (1 << np.arange(len(support)))
        for largest, pick in ((True, np.max), (False, np.min)):
            found = extremes(choices, largest=largest)
            brute = [pick(outputs[number == p]) for p in range(2 ** len(support))]
            np.testing.assert_allclose(found, brute, atol=1e-13)  # rounding of sums of 8 terms
            for p in range(2 ** len(support)):
                bits = attaining(choices, p, largest=largest)
                assert mixed(choices, bits) == pytest.approx(found[p], abs=1e-13)
                assert (bits[list(support)] == assignments(len(support))[p]).all()


def test_leakage_is_the_worst_attention_outside_the_support():
    rng, T, support = stream(2, "leak"), 6, (1, 4)
    choices, scores = random_choices(rng, T, support)
    outside = np.ones((T + 1, 2))
    outside[list(support)] = 0
    marked = Choices(choices.weights, outside, support)
    brute = max(mixed(marked, b) for b in assignments(T))
    assert leakage(scores, support) == pytest.approx(brute, abs=1e-13)


def test_scores_that_spread_beyond_float64_are_refused_not_divided_by_zero():
    scores, values = np.zeros((4, 2)), np.ones((4, 2))
    scores[0, 1] = 700.0
    with pytest.raises(DomainError, match="underflow"):
        extremes(Choices.of(scores, values, (0,)), largest=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_end_the_iteration(bad, monkeypatch):
    """A round that improves nothing, tried with a lift, is the last one, also where the lift is NaN or infinite."""
    rounds = []
    monkeypatch.setattr(ranges, "range", lambda n: (rounds.append(i) or i for i in range(n)), raising=False)
    values = np.arange(10.0).reshape(5, 2)
    values[2, 1] = bad
    solve(Choices(np.ones((5, 2)), values, (0,)), assignments(1), largest=True)
    assert 0 < len(rounds) <= 8
