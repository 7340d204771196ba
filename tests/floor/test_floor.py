import math

import mpmath
import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.floor.floor import (
    Floor,
    conjunction_floor,
    difference,
    expected_wrong,
    fano,
    floor,
    floor_curve,
    parity_bounds,
    union_bound,
)
from sparsehead_paper.theory.elimination import consistent_counts, parity_counts

BALANCED = 0.5 ** (1 / 3)


def test_agreement_of_symmetric_functions():
    table = {
        "and": (0.78125, 0.8125, 0.875),
        "or": (0.78125, 0.8125, 0.875),
        "majority": (0.5, 0.625, 0.75),
        "parity": (0.5, 0.5, 0.5),
    }
    for kind, values in table.items():
        assert [1 - difference(kind, s=3, r=r, p=0.5) for r in range(3)] == pytest.approx(values, abs=1e-12)
    assert difference("and", s=4, r=1, p=0.7) == pytest.approx(2 * (0.7**4 - 0.7**7))


@pytest.mark.parametrize(("s", "p"), [(3, 1e-5), (3, 1e-6), (16, 0.1)])
def test_labels_that_are_nearly_constant_keep_their_digits(s, p):
    """A label is 1 with probability p^s: mu = .4 at the m that is enough, from mpmath's logarithms."""
    T = 100
    with mpmath.workdps(60):
        q = mpmath.mpf(p)

        def mu(m):
            return sum(
                mpmath.binomial(s, r)
                * mpmath.binomial(T - s, s - r)
                * (1 - 2 * (q**s - q ** (2 * s - r))) ** m
                for r in range(s)
            )

        enough = floor("and", s=s, T=T, p=p).enough
        assert mu(int(enough * (1 + 1e-9)) + 1) <= 0.4 < mu(int(enough * (1 - 1e-9)) - 1)
        bits = 0.8 * mpmath.log(mpmath.binomial(T, s), 2) + sum(x * mpmath.log(x, 2) for x in (0.8, 0.2))
        rate = -sum(x * mpmath.log(x, 2) for x in (q**s, 1 - q**s))
        assert fano("and", s=s, T=T, p=p) == pytest.approx(float(bits / rate), rel=1e-9)


def test_labels_that_never_change_are_refused():
    with pytest.raises(DomainError, match="constant"):
        floor("and", s=3, T=100, p=1e-200)


def test_the_expected_number_of_wrong_sets_is_exact():
    N = consistent_counts(s=2, Ts=[12], m=10, p=0.6, trials=20_000, rng=stream(3, "mu"))[:, 0]
    mu = expected_wrong("and", s=2, T=12, m=10, p=0.6)
    assert abs(N.mean() - 1 - mu) < 4 * N.std() / math.sqrt(len(N))


@pytest.mark.claim("parity-floor")
def test_parity_brackets_hold_and_are_tighter_than_jensen():
    N = parity_counts(s=3, T=20, m=12, trials=3000, rng=stream(4, "parity"))
    b = parity_bounds(s=3, T=20, m=12)
    assert (b.opt_low, b.opt_high) == pytest.approx((0.861, 0.874), abs=5e-4)
    error = (1 / N).std() / math.sqrt(len(N))
    assert b.opt_low - 3 * error < (1 / N).mean() < b.opt_high + 3 * error
    error = (N == 1).std() / math.sqrt(len(N))
    assert b.unique_low - 3 * error < (N == 1).mean() < b.unique_high + 3 * error


@pytest.mark.parametrize("x", range(0, 40))
def test_the_polynomials_behind_the_parity_bracket(x):
    assert 1 - x / 2 <= 1 / (1 + x) <= 1 - x / 2 + x * (x - 1) / 6 + 1e-15  # rounding only
    assert 1 - x <= (x == 0) <= 1 - x + x * (x - 1) / 2


def test_parity_floor_is_a_bracket_one_sample_wide():
    for T in (10, 15, 100, 1100):
        found = floor("parity", s=3, T=T, p=0.5)
        assert parity_bounds(s=3, T=T, m=found.m - 1).opt_high < 0.8
        assert parity_bounds(s=3, T=T, m=found.enough).opt_low >= 0.8
        assert found.m <= found.enough <= found.m + 1
        assert found.status == ("exact" if found.m == found.enough else "lower bracket")
        assert fano("parity", s=3, T=T, p=0.5) <= found.m <= union_bound("parity", s=3, T=T, p=0.5)
        assert abs(found.m - math.log2(math.comb(T, 3))) <= 2.2  # log2 C(T, s) + O(1)


@pytest.mark.parametrize(("T", "proven", "simulated"), [(100, 18, 20), (1000, 27, 29)])
def test_five_guesses_need_fewer_samples_than_one_answer(T, proven, simulated):
    """E min(1, 5/N) by simulation reaches .8 at m = 19 or 20 and at 29; the proven floor lies two samples below."""
    found = floor("and", s=3, T=T, p=BALANCED, guesses=5)
    assert (found.m_guesses, found.m) == (proven, {100: 27, 1000: 36}[T])
    for m, reached in ((found.m_guesses - 1, False), (simulated, True)):
        N = consistent_counts(s=3, Ts=[T], m=m, p=BALANCED, trials=400, rng=stream(5, "five"))[:, 0]
        share = np.minimum(1, 5 / N)
        error = 3 * share.std() / math.sqrt(len(N))
        assert share.mean() + error >= 0.8 if reached else share.mean() - error < 0.8


@pytest.mark.parametrize("T", [30, 100])
@pytest.mark.parametrize("guesses", [2, 5])
def test_several_guesses_at_a_parity_are_counted(T, guesses):
    """k answers for each of 2^m label sequences name at most k 2^m of C(T, 3) supports."""
    found = floor("parity", s=3, T=T, p=0.5, guesses=guesses).m_guesses
    supports = T * (T - 1) * (T - 2) // 6
    assert guesses * 2**found >= 0.8 * supports > guesses * 2 ** (found - 1)


@pytest.mark.parametrize("guesses", [0, -1])
def test_a_learner_without_a_guess_is_refused(guesses):
    with pytest.raises(DomainError, match=f"guesses is a whole number >= 1; got {guesses}"):
        floor("and", s=2, T=10, p=0.5, guesses=guesses)


def test_or_is_the_mirror_image_of_and():
    assert floor("and", s=2, T=50, p=0.7) == floor("or", s=2, T=50, p=1 - 0.7)


def test_one_position_is_nothing_but_swaps_so_the_floor_is_exact():
    assert [floor("and", s=1, T=T, p=0.5).status for T in (20, 1000, 10**6)] == ["exact"] * 3
    assert floor("and", s=4, T=4, p=0.5) == Floor(T=4, m=0, enough=0, m_guesses=0)


@pytest.mark.parametrize(
    ("kind", "kwargs", "message"),
    [
        ("junta", {}, "kind is one of"),
        ("and", {"s": 0}, "1 <= s <= T"),
        ("and", {"p": 1.0}, "strictly between 0 and 1"),
        ("and", {"target": 1.0}, "target is a probability"),
        ("and", {"Ts": []}, "one or more"),
    ],
)
def test_misuse_is_explained(kind, kwargs, message):
    with pytest.raises(DomainError, match=message):
        floor_curve(kind, **({"s": 3, "Ts": [20], "p": 0.5} | kwargs))


@pytest.mark.parametrize("s", [0, 20, 21])
def test_a_conjunction_leaves_some_position_out(s):
    with pytest.raises(DomainError, match="--s is the number of relevant positions, 1 <= s < T=20"):
        conjunction_floor(s, 20)
