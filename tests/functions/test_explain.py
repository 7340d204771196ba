"""Explanations of a training set against trying every subset."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.functions import explain, family
from sparsehead.functions.explain import explanations
from sparsehead.functions.task import Task

EVERYTHING = 10**6


def brute_force(bits, labels, s, kind):
    says = {
        "and": lambda b: b.all(axis=1),
        "or": lambda b: b.any(axis=1),
        "parity": lambda b: b.sum(axis=1) % 2,
    }
    subsets = itertools.combinations(range(bits.shape[1]), s)
    return [I for I in subsets if np.array_equal(says[kind](bits[:, list(I)]), labels)]


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(["and", "or", "parity"]),
    T=st.sampled_from([8, 9]),
    s=st.integers(1, 5),
    m=st.integers(0, 20),
    noise=st.sampled_from([0.0, 0.0, 0.05]),
    seed=st.integers(0, 10**6),
)
def test_explanations_are_those_of_brute_force(kind, T, s, m, noise, seed):
    rng = stream(seed, "explain")
    f = family(kind)(range(s), T, rng)
    bits, labels = Task(f, p=0.6, noise=noise).sample(m, rng=rng)
    expected = brute_force(bits, labels, s, kind)
    assert explanations(bits, labels, s, kind, limit=EVERYTHING) == expected
    two = explanations(bits, labels, s, kind)
    assert len(two) == min(2, len(expected))
    assert set(two) <= set(expected)


@settings(max_examples=100, deadline=None)
@given(s=st.integers(1, 9), m=st.integers(0, 20), seed=st.integers(0, 10**6), planted=st.booleans())
def test_parities_by_elimination_are_those_of_brute_force(s, m, seed, planted):
    rng = stream(seed, "elimination")
    bits = rng.integers(0, 2, size=(m, 9)).astype(np.uint8)
    labels = bits[:, :s].sum(axis=1) % 2 if planted else rng.integers(0, 2, size=m)
    solutions = explain._light_solutions(*explain._solve(bits.astype(bool), labels.astype(bool)), s)
    assert sorted(solutions) == brute_force(bits, labels, s, "parity")


def test_columns_longer_than_a_word_are_hashed_and_then_compared():
    rng = stream(3, "long")
    bits = rng.integers(0, 2, size=(100, 40)).astype(np.uint8)
    bits[:, 30] = bits[:, 4]  # a second explanation, which no hash may lose
    labels = bits[:, [4, 9, 21]].sum(axis=1) % 2
    assert explanations(bits, labels, 3, "parity", limit=9) == [(4, 9, 21), (9, 21, 30)]


def test_equal_hashes_do_not_make_an_explanation(monkeypatch):
    monkeypatch.setattr(explain, "_hashes", lambda columns: np.zeros(columns.shape[1], dtype=np.uint64))
    rng = stream(4, "collide")
    bits = rng.integers(0, 2, size=(12, 9)).astype(np.uint8)
    labels = bits[:, [1, 4, 6]].sum(axis=1) % 2
    assert explanations(bits, labels, 3, "parity", limit=EVERYTHING) == brute_force(bits, labels, 3, "parity")


@pytest.mark.parametrize(
    ("kind", "T", "m"), [("and", 100_000, 250), ("or", 100_000, 250), ("parity", 2_000, 60)]
)
def test_long_contexts(kind, T, m):
    rng = stream(1, kind)
    f = family(kind)((17, T // 2, T - 1), T, rng)
    bits, labels = Task.balanced(f).sample(m, rng=rng)
    assert explanations(bits, labels, 3, kind) == [f.support]


def test_large_parities_are_solved_when_samples_abound_and_refused_when_not():
    rng = stream(2, "large")
    f = family("parity")(range(0, 120, 8), 120, rng)
    bits, labels = Task.balanced(f).sample(140, rng=rng)
    assert explanations(bits, labels, f.s, "parity") == [f.support]
    with pytest.raises(DomainError, match=r"s=15 among T=120 positions .* m=60 .* or m >= T"):
        explanations(bits[:60], labels[:60], f.s, "parity")


def test_misuse_is_explained(unchecked):
    bits, labels = np.zeros((3, 4), dtype=int), np.zeros(3, dtype=int)
    for call, error, message in [
        (lambda: explanations(bits, labels, 0, "and"), DomainError, "between 1 and T=4 positions, got s=0"),
        (lambda: explanations(bits, labels, 5, "and"), DomainError, "got s=5"),
        (lambda: explanations(bits, labels, 2, "maj"), DomainError, "the kinds are and, or, parity"),
        (lambda: explanations(bits, labels, 2, "or", limit=0), DomainError, "at least 1, got 0"),
        (lambda: explanations(bits + 2, labels, 2, "or"), DomainError, "bits are 0 or 1, got 2"),
        (lambda: explanations(bits, labels[:2], 2, "or"), ShapeError, "3 sequences need 3 labels"),
        (lambda: explanations(labels, labels, 2, "or"), ShapeError, r"shape \(m, T\)"),
    ]:
        with pytest.raises(error, match=message):
            call()
