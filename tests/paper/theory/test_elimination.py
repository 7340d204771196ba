"""Counts of consistent supports against brute force, and at the limits of what is counted."""

import itertools
import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead_paper.theory.elimination import consistent_counts, parity_counts

BALANCED = 0.5 ** (1 / 3)


def brute_force(*, T, s, m, p, trials, rng):
    """Draw whole data sets and try every s-set."""
    sets = list(itertools.combinations(range(T), s))
    counts = []
    for _ in range(trials):
        bits = rng.random((m, T)) < p
        labels = bits[:, :s].all(axis=1)
        counts.append(sum((bits[:, J].all(axis=1) == labels).all() for J in sets))
    return np.array(counts)


@pytest.mark.claim("information-floor")
@pytest.mark.parametrize(
    ("T", "s", "m", "p"), [(8, 3, 12, 0.5), (9, 3, 9, BALANCED), (9, 2, 6, 0.6), (8, 1, 3, 0.5)]
)
def test_elimination_equals_brute_force(T, s, m, p):
    trials = 1500
    slow = brute_force(T=T, s=s, m=m, p=p, trials=trials, rng=stream(0, "brute"))
    fast = consistent_counts(s=s, Ts=[T], m=m, p=p, trials=trials, rng=stream(0, "fast"))[:, 0]
    for statistic in (lambda N: 1 / N, lambda N: N == 1, lambda N: N):
        a, b = statistic(slow), statistic(fast)
        error = math.sqrt((a.var() + b.var()) / trials)
        assert abs(a.mean() - b.mean()) < 4 * error  # four standard errors: 1 in 16,000 per comparison


def test_the_count_grows_with_T_in_every_trial_and_spans_words():
    # Two 64-bit words.
    N = consistent_counts(s=3, Ts=[20, 60, 200], m=70, p=0.5, trials=300, rng=stream(1, "N"))
    assert (np.diff(N, axis=1) >= 0).all()
    assert N.min() == 1


def test_no_samples_leave_every_set():
    assert consistent_counts(s=2, Ts=[6], m=0, p=0.5, trials=3, rng=stream(0, "N"))[:, 0].tolist() == [15] * 3


def test_masks_of_many_bits_are_made_one_trial_at_a_time():
    """Seven bits: the masks of one trial alone are beyond the room for a chunk. The set itself always explains."""
    counts = consistent_counts(s=7, Ts=[7, 8], m=2, p=0.5, trials=3, rng=stream(0, "room"))
    assert counts.shape == (3, 2)
    assert (counts[:, 0] == 1).all() and ((counts[:, 1] >= 1) & (counts[:, 1] <= 8)).all()


def test_parities_of_one_sample_agree_on_every_pattern_of_its_bits():
    """One fair sample of three bits: the columns equal to the relevant one explain it, so N is 1, 2 or 3; E N = 2."""
    counts = parity_counts(s=1, T=3, m=1, trials=400, rng=stream(0, "one sample"))
    assert set(counts.tolist()) == {1, 2, 3}
    assert counts.mean() == pytest.approx(2, abs=0.2)  # six standard errors


def test_counts_are_exact_up_to_two_hundred_and_stop_there():
    """Without samples every position explains: N is T."""
    counts = consistent_counts(s=1, Ts=[100, 199, 200, 300], m=0, p=0.5, trials=2, rng=stream(0, "cap"))
    assert counts.tolist() == [[100, 199, 200, 200]] * 2
