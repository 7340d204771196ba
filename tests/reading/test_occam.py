"""The Occam bound: exact tails, a prior that sums to at most 1, and a bound that holds as often as it says."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, binom

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.functions.task import Task, explanations
from sparsehead.reading import read
from sparsehead.reading.occam import (
    _invert_log_tail,
    empirical_bernstein,
    log_price,
    occam_bound,
    tail_inversion,
)


@pytest.mark.claim("occam-bound")
@pytest.mark.parametrize(("k", "m"), [(0, 50), (1, 50), (7, 200), (150, 200), (200, 200)])
@pytest.mark.parametrize("c", [math.log(20), 30.0])
def test_tail_inversion_against_scipy(k, m, c):
    q = tail_inversion(k, m, c)
    if k == m:
        assert q == 1
    else:
        assert binom.logcdf(k, m, q) == pytest.approx(-c, rel=1e-8)


@pytest.mark.claim("occam-bound")
def test_prior_weights_sum_to_at_most_one():
    """All supports and all tables of each s; tables that ignore a position are counted too, so the sum is below 1."""
    T = 12
    weights = [math.exp(-log_price(s, T)) * math.comb(T, s) * 2.0 ** (2**s) for s in range(8)]
    assert sum(weights) <= 1
    assert weights[0] == pytest.approx(1 / 2)
    assert weights[3] == pytest.approx(1 / 20)


def test_empirical_bernstein_is_never_below_the_inversion():
    for m in (10, 100, 1000):
        for k in range(0, m // 2, max(1, m // 20)):
            for c in (3.0, 25.0):
                assert empirical_bernstein(k, m, c) >= tail_inversion(k, m, c) - 1e-12


@pytest.mark.claim("occam-bound")
def test_the_certificate_holds_over_simulated_training_sets():
    """1000 training sets at T = 8 with a third of the labels noise: the function that fits best among all of one or two
    positions is chosen after the fact, the worst case for a bound that forgets to pay for the choice."""
    rng, delta, broken = stream(0, "sets"), 0.2, 0
    task = Task(sh.parse("x1 & x5", T=8), p=0.6, noise=1 / 3)
    pairs = [(i, j) for j in range(8) for i in range(j)]
    functions = [[sh.from_table(T=8, support=pair, table=t) for pair in pairs] for t in TABLES]
    fresh, clean = Task(task.f, task.p).sample(20_000, rng=rng)
    wrong = predictions(fresh, pairs) != clean
    errors = wrong.mean(axis=-1) * (2 / 3) + (1 - wrong.mean(axis=-1)) / 3
    for _ in range(1000):
        bits, labels = task.sample(40, rng=rng)
        mistakes = (predictions(bits, pairs) != labels).sum(axis=-1)
        best = np.unravel_index(mistakes.argmin(), mistakes.shape)
        broken += errors[best] > occam_bound(functions[best[0]][best[1]], bits, labels, delta=delta).bound
    assert broken <= delta / 2 * 1000


def predictions(bits, pairs):
    """Of every table in TABLES on every pair of positions: (tables, pairs, examples)."""
    first, second = np.array(pairs).T
    return np.array(TABLES)[:, (bits[:, first] + 2 * bits[:, second]).T]


TABLES = [tuple((n >> i) & 1 for i in range(4)) for n in (1, 2, 4, 6, 7, 8, 9, 11, 13, 14)]


@pytest.mark.claim("occam-bound")
@pytest.mark.parametrize("longest", [3000, pytest.param(10**5, marks=pytest.mark.slow)])
def test_the_certificate_is_not_vacuous_and_grows_with_log_T(longest):
    bounds = []
    for T in (300, longest):
        task = Task.balanced(sh.conjunction((1, 7, 100), T=T))
        bits, labels = task.sample(200, rng=stream(T, "data"))
        r = read(sh.build(task.f), seed=0, data=(bits, labels), p=task.shared_p)
        assert r.function == task.f
        bounds.append(r.certificate.model_bound)
    assert bounds[0] < 0.2
    assert bounds[-1] < 0.3
    price = log_price(3, longest) - log_price(3, 300)
    assert price == pytest.approx(3 * math.log(longest / 300), rel=0.01)  # ln C(T,3) ~ 3 ln T


@pytest.mark.claim("occam-bound")
def test_no_bound_on_the_model_for_inputs_on_which_it_was_not_asked():
    """A model that is right on fair bits only: examples with 95 % ones say nothing that its agreement could carry."""
    T = 20
    bits = (stream(0, "often one").random((2000, T)) < 0.95).astype(np.uint8)

    def model(b):
        return np.where(b.sum(axis=1) >= 18, 0, b[:, 0])

    for p, words in (
        (None, "it needs p, the share of ones"),
        (0.5, "of 2000 examples, which does not fit p = 0.5"),
    ):
        r = read(model, T=T, seed=0, data=(bits, bits[:, 0]), p=p)
        assert r.function is not None and r.certificate.model_bound is None
        assert words in r.notes[0]
    honest = read(model, T=T, seed=0, data=(bits, bits[:, 0]), p=0.95, least_agreement=0.5)
    error = (model(bits) != bits[:, 0]).mean()
    assert error > 0.8 and (honest.certificate is None or honest.certificate.model_bound > error)


@pytest.mark.claim("occam-bound")
@pytest.mark.parametrize("mistakes", [1, 100])
def test_the_price_of_many_positions_does_not_underflow(mistakes):
    """exp(-746) is zero in float64; the tail is inverted by its logarithm there, with mpmath as the judge."""
    price = log_price(10, 1000) + 3.7
    m, q = 10**6, tail_inversion(mistakes, 10**6, price)
    with mpmath.workdps(50):
        tail = sum(
            mpmath.binomial(m, i) * mpmath.mpf(q) ** i * (1 - mpmath.mpf(q)) ** (m - i)
            for i in range(mistakes + 1)
        )
        assert float(mpmath.log(tail)) == pytest.approx(-price, abs=1e-6)
    assert q < empirical_bernstein(mistakes, m, price)
    assert tail_inversion(mistakes, 1000, 700.5) == pytest.approx(
        tail_inversion(mistakes, 1000, 699.5), rel=1e-2
    )


def test_mistakes_raise_the_bound_and_disagreement_is_added():
    f = sh.parse("x1 & x2", T=10)
    bits, labels = Task(f, 0.7).sample(300, rng=stream(0, "d"))
    clean = occam_bound(f, bits, labels, delta=0.05)
    worse = occam_bound(f, bits, labels ^ (np.arange(300) < 30), delta=0.05)
    assert worse.mistakes == 30
    assert worse.bound > clean.bound + 0.1
    apart = occam_bound(f, bits, labels, delta=0.05, disagreements=[(10, 1000), (0, 900)])
    assert apart.model_bound == pytest.approx(apart.bound + tail_inversion(10, 1000, math.log(40)))
    assert clean.model_bound is None
    own = occam_bound(f, bits, labels, delta=0.05, model_mistakes=7, disagreements=[(10, 1000)])
    assert own.model_bound == pytest.approx(tail_inversion(7, 300, math.log(20)))


@pytest.mark.claim("occam-bound")
def test_a_sample_that_was_chosen_pays_for_the_choice():
    """Samples are drawn until x2 explains labels that are x1: its error is 1/2, and every accepted sample says 0.

    A bound that forgets the choice is beyond in all of 200 cases; with ln n(n+1) it may be in delta/2 = 1/4 of them.
    """
    m, delta, f, rng = 9, 0.5, sh.parse("x2", T=4), stream(0, "chosen")
    beyond = np.zeros(2)
    for _ in range(200):
        bits = (rng.random((8000, m, 4)) < 0.5).astype(np.uint8)
        draws = int((bits[:, :, 1] == bits[:, :, 2]).all(axis=1).argmax()) + 1
        sample = bits[draws - 1]
        assert (sample[:, 1] == sample[:, 2]).all()
        for i, count in enumerate((None, draws)):
            beyond[i] += occam_bound(f, sample, sample[:, 1], delta=delta, draws=count).bound < 0.5
    assert beyond[0] == 200 and beyond[1] <= 50
    chosen = occam_bound(f, sample, sample[:, 1], delta=delta, model_mistakes=0, draws=3)
    assert chosen.bound == pytest.approx(1 - math.exp(-(log_price(1, 4) + math.log(4) + math.log(12)) / m))
    assert chosen.model_bound == pytest.approx(1 - math.exp(-(math.log(2) + math.log(12)) / m))
    assert chosen.draws == 3


@pytest.mark.claim("occam-bound")
def test_the_training_sets_of_trials_count_their_draws():
    task = Task.balanced(sh.conjunction((1, 3, 5), T=30))
    found = [task.drawn_training_set(20, rng=stream(i, "sets"))[1] for i in range(40)]
    assert min(found) == 1 and max(found) > 1
    again = stream(found.index(max(found)), "sets")
    for n in range(1, max(found) + 1):
        bits, labels = task._clean(20, again)
        assert (len(explanations(bits, labels, 3, "and")) == 1) == (n == max(found))
    assert task.drawn_training_set(20, rng=stream(0), unique=False)[1] is None
    majority = Task.balanced(sh.majority((1, 3, 5), T=30))
    assert majority.drawn_training_set(3, rng=stream(0))[1] is None


def test_bad_arguments_are_refused():
    f = sh.parse("x1", T=3)
    with pytest.raises(DomainError, match="delta is a finite number > 0 and < 1"):
        occam_bound(f, np.zeros((1, 3), int), np.zeros(1, int), delta=0.0)
    with pytest.raises(DomainError, match="at least one"):
        occam_bound(f, np.zeros((0, 3), int), np.zeros(0, int), delta=0.1)
    with pytest.raises(DomainError, match="between 0 and m"):
        tail_inversion(5, 4, 1.0)


def test_empirical_bernstein_by_its_formula():
    """Maurer and Pontil: the sample variance of k ones among m values, with m - 1; both ends."""
    for k, m, c in ((0, 40, 3.0), (3, 50, 5.0), (7, 2, 1.0), (1, 2, 0.1), (90, 1000, 4.0)):
        values = np.r_[np.ones(k), np.zeros(max(0, m - k))][:m]
        variance, delta = values.var(ddof=1), math.exp(-c)
        want = values.mean() + math.sqrt(2 * variance * math.log(2 / delta) / m)
        want += 7 * math.log(2 / delta) / (3 * (m - 1))
        assert empirical_bernstein(min(k, m), m, c) == pytest.approx(min(1.0, want))
    assert empirical_bernstein(0, 1, 1.0) == 1
    f = sh.parse("x1 & x2", T=10)
    bits, labels = Task(f, 0.7).sample(300, rng=stream(0, "d"))
    found = occam_bound(f, bits, labels, delta=0.1, draws=2)
    price = math.log(3 * 4) + math.log(45) + 4 * math.log(2)
    assert found.bernstein == pytest.approx(empirical_bernstein(0, 300, price + math.log(20) + math.log(6)))
    assert (found.log_price, found.delta, found.m) == (pytest.approx(price), 0.1, 300)
    assert found.to_dict()["method"] == "binomial tail inversion"


@pytest.mark.parametrize(("s", "T"), [(0, 1), (1, 1), (1, 4), (2, 4), (3, 4)])
def test_the_code_length_counts_supports_and_tables(s, T):
    """Every support and every table, listed: each has its equal part of 1/((s+1)(s+2))."""
    supports = list(itertools.combinations(range(T), s))
    tables = list(itertools.product((0, 1), repeat=2**s))
    share = 1 / ((s + 1) * (s + 2)) / (len(supports) * len(tables))
    assert log_price(s, T) == pytest.approx(-math.log(share))


def test_the_log_tail_agrees_with_the_tail_where_both_can_be_computed():
    for k, m, c in ((1, 10, 2.0), (3, 40, 20.0), (39, 40, 1.0), (100, 1000, 50.0)):
        assert _invert_log_tail(k, m, c) == pytest.approx(tail_inversion(k, m, c), rel=1e-9)
        assert tail_inversion(k, m, c) == pytest.approx(beta.isf(math.exp(-c), k + 1, m - k), rel=1e-9)
    assert tail_inversion(0, 40, 3.0) == pytest.approx(1 - math.exp(-3 / 40))
    assert tail_inversion(4, 4, 1.0) == 1
    assert tail_inversion(1, 10**6, 750.0) == pytest.approx(_invert_log_tail(1, 10**6, 750.0))
