"""Tasks: the bit distribution, the noise, and training sets that have one explanation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.functions import assignments, conjunction, disjunction, from_table, majority, parity, parse
from sparsehead.functions.explain import explanations
from sparsehead.functions.task import Task


def positive_rate(f, p):
    """P(f = 1), one input at a time."""
    ones = assignments(f.s).sum(axis=1, dtype=int)
    return float((f.values * p**ones * (1 - p) ** (f.s - ones)).sum())


@pytest.mark.parametrize("s", [1, 2, 3, 7, 20])
def test_conjunctions_and_disjunctions_are_balanced_in_closed_form(s):
    assert Task.balanced(conjunction(range(s), T=30)).p == 0.5 ** (1 / s)
    assert Task.balanced(disjunction(range(s), T=30)).p == 1 - 0.5 ** (1 / s)
    assert positive_rate(conjunction(range(s), T=30), 0.5 ** (1 / s)) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("f", "p"),
    [
        (parity((1, 2), T=5), 0.5),
        (parity((1, 2, 4), T=5), 0.5),
        (majority((1, 2, 4), T=5), 0.5),
        (parse("1", T=5), 0.5),
        (parse("!x3", T=5), 0.5),
        (parse("x1 & !x2", T=5), 0.5),  # 1/4 is the most it reaches
        (parse("x1 & x2 & !x3", T=5), 2 / 3),  # p^2 (1 - p) is largest there
        (parse("!x1 & !x2 & !x3", T=5), 1 - 0.5 ** (1 / 3)),
    ],
)
def test_other_functions_are_balanced_as_well_as_possible(f, p):
    assert Task.balanced(f).p == pytest.approx(p, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**16 - 1))
def test_no_other_p_balances_better(number):
    f = from_table(T=4, support=range(4), table=[number >> j & 1 for j in range(16)])
    task = Task.balanced(f)
    grid = np.linspace(0, 1, 101)[1:-1]
    gaps = [abs(positive_rate(f, p) - 0.5) for p in grid]
    near = grid[int(np.argmin(gaps))]
    best = minimize_scalar(
        lambda p: abs(positive_rate(f, p) - 0.5),
        bounds=(max(near - 0.01, 0), min(near + 0.01, 1)),
        method="bounded",
    )
    assert abs(positive_rate(f, task.p) - 0.5) <= min(best.fun, *gaps) + 1e-12


@pytest.mark.parametrize("p", [0.001, 0.5 ** (1 / 3), 0.5, 0.999])
def test_bits_are_bernoulli_and_labels_are_those_of_f(p):
    f = conjunction((0, 3, 5), T=40)
    n = 20_000
    bits, labels = Task(f, p).sample(n, rng=stream(0, "bits"))
    assert bits.dtype == labels.dtype == np.uint8
    assert (labels == f(bits)).all()
    deviation = np.sqrt(p * (1 - p) / n)
    assert np.abs(bits.mean(axis=0) - p).max() < 5 * deviation  # 40 columns, 5 standard deviations
    assert abs(bits.mean() - p) < 4 * deviation / np.sqrt(40)


def test_sampling_in_chunks_fills_every_row(monkeypatch):
    monkeypatch.setattr("sparsehead.functions.task.CHUNK", 64)
    bits, _ = Task(conjunction((0,), T=20), 0.9).sample(50, rng=stream(0, "chunks"))
    assert bits.shape == (50, 20)
    assert bits.max() == 1
    assert abs(bits.mean() - 0.9) < 5 * np.sqrt(0.09 / 1000)
    assert bits.std(axis=1).max() > 0


def test_noise_flips_the_promised_share_of_labels():
    f = parity((1, 2, 3), T=6)
    n = 40_000
    task = Task(f, 0.7, noise=0.1)
    bits, labels = task.sample(n, rng=stream(0, "noise"))
    assert abs((labels != f(bits)).mean() - 0.1) < 5 * np.sqrt(0.09 / n)
    noisy = 0.1 + 0.8 * positive_rate(f, 0.7)
    assert task.positive_rate == pytest.approx(noisy, abs=1e-12)
    assert abs(labels.mean() - noisy) < 5 * np.sqrt(0.25 / n)
    assert (bits == Task(f, 0.7).sample(n, rng=stream(0, "noise"))[0]).all()  # noise leaves the inputs alone


@pytest.mark.parametrize(("make", "name"), [(conjunction, "and"), (disjunction, "or"), (parity, "parity")])
def test_training_sets_have_one_explanation(make, name):
    task = Task.balanced(make((2, 11, 17), T=30))
    rng = stream(0, name)
    m = 14 if name == "parity" else 22
    plain = [task.training_set(m, rng=rng, unique=False) for _ in range(40)]
    kept = [task.training_set(m, rng=rng) for _ in range(40)]
    found = [explanations(bits, labels, 3, name) for bits, labels in kept]
    assert found == [[(2, 11, 17)]] * 40
    # So m is near the edge.
    assert any(len(explanations(bits, labels, 3, name)) > 1 for bits, labels in plain)


def test_training_sets_are_tested_before_noise():
    task = Task.balanced(conjunction((2, 11, 17), T=30), noise=0.2)
    bits, labels = task.training_set(60, rng=stream(0, "noisy"))
    assert (labels != task.f(bits)).any()
    assert explanations(bits, task.f(bits), 3, "and") == [(2, 11, 17)]


def test_functions_without_a_test_keep_the_first_draw():
    task = Task.balanced(majority((2, 11, 17), T=30))
    first = task.training_set(3, rng=stream(0, "majority"))
    again = task.training_set(3, rng=stream(0, "majority"), unique=False)
    assert all((a == b).all() for a, b in zip(first, again))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: Task(f, 0.0), "strictly between 0 and 1, got p=0.0"),
        (lambda f: Task(f, float("nan")), "p is a finite number; got nan"),
        (lambda f: Task(f, 0.5, noise=0.6), "from 0 to 1/2, got noise=0.6"),
        (lambda f: Task(f, 0.5).sample(-1, rng=stream(0)), "n >= 0 examples, got -1"),
        (
            lambda f: Task.balanced(f).training_set(4, rng=stream(0)),
            "m=4 samples did not single out the 3 positions of x1 & x2 & x3 among T=50 in 200 draws; use a larger m",
        ),
    ],
)
def test_misuse_is_explained(call, message):
    with pytest.raises(DomainError, match=message):
        call(conjunction((1, 2, 3), T=50))
