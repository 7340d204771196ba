"""Examples that cannot be what a bound takes them for get no bound; those that can keep theirs, and it holds."""

import itertools
import math

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.reading import read
from sparsehead.reading.examples import copies, equal_pairs, pair_sums, unlike
from sparsehead.reading.queries import Oracle
from sparsehead.reading.read import _certificate
from sparsehead.reading.sampling import measure_agreement

T, m = 20, 200
HALVES = np.array([0.95] * 10 + [0.05] * 10)


def bernoulli(p, rng, n=m):
    return (rng.random((n, T)) < p).astype(np.uint8)


def flipped_between_halves(bits):
    """x0, but not where the first half has eight ones more than the second."""
    return bits[:, 0] ^ (bits[:, :10].sum(axis=1).astype(int) - bits[:, 10:].sum(axis=1) >= 8)


def flipped_now_and_then(bits):
    """x0, but for a sixteenth of fair inputs."""
    return bits[:, 0] ^ (bits[:, 1] & bits[:, 2] & bits[:, 3] & bits[:, 4])


def rows_copied(p, rng):
    return rng.permutation(np.repeat(bernoulli(p, rng, m // 4), 4, axis=0))


def bits_copied(p, rng):
    """Each bit but the first is a common one with probability 2/5: every position is still fair."""
    bits, common = bernoulli(p, rng), rng.random((m, 1)) < p
    return np.where((rng.random((m, T)) < 0.4) & (np.arange(T) > 0), common, bits).astype(np.uint8)


def urn(p, rng):
    """Exchangeable: a row repeats an earlier one with probability 3/10."""
    bits = bernoulli(p, rng)
    for i in range(1, m):
        if rng.random() < 0.3:
            bits[i] = bits[rng.integers(i)]
    return bits


# How the examples are drawn, the model, its error, and which of the routes have a bound: by p, by held-out examples.
DRAWS = {
    "as stated": (bernoulli, 0.5, flipped_now_and_then, 1 / 16, (True, True)),
    "by position": (bernoulli, HALVES, flipped_between_halves, 0.9245, (False, True)),
    "bits copied": (bits_copied, 0.5, flipped_now_and_then, None, (False, True)),
    "rows copied": (rows_copied, 0.5, flipped_now_and_then, 1 / 16, (False, False)),
    "urn": (urn, 0.5, flipped_now_and_then, 1 / 16, (False, False)),
}


@pytest.mark.claim("occam-bound")
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(
    ("noise", "trials"),
    [
        (0.0, 40),
        pytest.param(0.0, 400, marks=pytest.mark.slow),
        pytest.param(0.3, 400, marks=pytest.mark.slow),
    ],
)
def test_bounds_on_the_model_fail_at_most_as_often_as_they_say_or_are_withheld(name, noise, trials):
    draw, p, model, error, allowed = DRAWS[name]
    delta, f = 0.1, sh.parse("x0", T=T)
    if error is None:
        bits = np.vstack([draw(p, stream(i, "error")) for i in range(400)])
        error = float((model(bits) != bits[:, 0]).mean())
    error = noise + (1 - 2 * noise) * error
    given, beyond = np.zeros(2), np.zeros(2)
    for i in range(trials):
        rng, oracle = stream(i, name), Oracle(model, T)
        bits = draw(p, rng)
        labels = bits[:, 0] ^ (rng.random(m) < noise)
        agreement = measure_agreement(oracle, f, rng=rng, p=0.5, n=500)
        for held_out in (False, True):
            found, why = _certificate(
                oracle, f, (bits, labels), agreement, p=0.5, held_out=held_out, draws=None, delta=delta
            )
            bound = None if found is None else found.model_bound
            assert (bound is None) == (why is not None)
            given[int(held_out)] += bound is not None
            beyond[int(held_out)] += bound is not None and error > bound
    # Four standard deviations; 12 of 40 has probability .0006 if a tenth is right.
    assert beyond.max() < delta * trials + 4 * math.sqrt(delta * (1 - delta) * trials)
    assert all(share >= 0.95 * trials for share, yes in zip(given, allowed, strict=True) if yes)
    assert all(share <= 0.05 * trials for share, yes in zip(given, allowed, strict=True) if not yes)


@pytest.mark.claim("occam-bound")
def test_a_model_that_is_wrong_where_the_examples_lie_gets_no_small_bound():
    """Half of all bits are ones, as p = 1/2 says, but not half at any position; the model is wrong on 92 %."""
    bits = bernoulli(HALVES, stream(0, "halves"), 400)
    data = (bits, bits[:, 0])
    error = float((flipped_between_halves(bits) != bits[:, 0]).mean())
    stated = read(flipped_between_halves, T=T, p=0.5, seed=0, data=data)
    assert stated.formula == "x0" and error > 0.9
    assert stated.certificate.model_bound is None and stated.certificate.bound < 0.05
    assert "examples, which does not fit p = 0.5" in stated.notes[0]
    held_out = read(flipped_between_halves, T=T, seed=0, data=data, held_out=True)
    assert error < held_out.certificate.model_bound < error + 0.05 and held_out.notes == ()
    assert held_out.certificate.assumed == "independent examples that training never saw"


@pytest.mark.claim("occam-bound")
def test_a_model_is_judged_by_the_examples_where_no_check_can_see_that_they_are_others():
    """Bits on which any two are independent and fair, but which satisfy eight parities that few fair inputs do."""
    checks = np.array([[0] + [int((t >> i) & 1) for t in range(1, T)] for i in range(5)])
    model = lambda b: b[:, 0] ^ ~((b.astype(int) @ checks.T) % 2).any(axis=1)  # noqa: E731
    many = bernoulli(0.5, stream(1, "code"), 20_000)
    bits = many[~((many.astype(int) @ checks.T) % 2).any(axis=1)][:m]
    assert unlike(bits, 0.5) is None
    r = read(model, T=T, p=0.5, seed=0, data=(bits, bits[:, 0]))
    assert r.formula == "x0" and r.certificate.model_bound == 1
    assert r.certificate.assumed == "independent examples; independent bits, 1 with p = 0.5"


@pytest.mark.parametrize("p", [0.3, 0.5])
def test_equal_pairs_by_enumeration(p):
    """All samples of three rows of two bits, weighted by the shares of ones that a sample has."""
    bits = (stream(3, "biased").random((3, 2)) < p).astype(np.uint8)
    bits[0] = 1 - bits[1]  # so that no share is 0 or 1
    q, found, weights = bits.mean(axis=0), [], []
    for sample in itertools.product((0, 1), repeat=6):
        rows = [sample[:2], sample[2:4], sample[4:]]
        found.append(sum(a == b for a, b in itertools.combinations(rows, 2)))
        weights.append(math.prod(q[i % 2] if b else 1 - q[i % 2] for i, b in enumerate(sample)))
    mean = np.dot(weights, found)
    variance = np.dot(weights, (np.array(found) - mean) ** 2)
    rows = [tuple(row) for row in bits.tolist()]
    pairs = sum(a == b for a, b in itertools.combinations(rows, 2))
    assert equal_pairs(bits) == pytest.approx((pairs, mean, variance))


def test_copies_beyond_chance_are_named():
    rng = stream(0, "rows")
    plain = bernoulli(0.5, rng)
    assert copies(plain) is None and copies(plain[:1]) is None
    assert copies(np.vstack([plain, plain[:1]])) is None  # one pair may be chance
    assert "3 pairs of the 203 examples" in copies(np.vstack([plain, plain[:3]]))
    short = bernoulli(0.5, rng, 300)[:, :8]
    assert copies(short) is None and "have 1.8e+02" in copies(np.repeat(short[:150], 2, axis=0))
    twice = np.repeat(short[:100], 2, axis=0)
    pairs, mean, variance = equal_pairs(twice)
    assert pairs > mean + 6 * math.sqrt(variance) + 1  # 100 pairs more than chance, 9 deviations


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_ones_at_a_position_are_judged_by_both_tails_and_for_all_positions_at_once(p):
    from scipy.stats import binom

    n, width = 40, 6
    level = 1e-3 / (2 * width)
    for k in range(n + 1):
        bits = np.zeros((n, width), dtype=np.uint8)
        for t in range(width):
            bits[stream(t, "spread").permutation(n)[: round(p * n)], t] = 1
        bits[:, 2] = np.arange(n) < k
        refused = min(binom.cdf(k, n, p), binom.sf(k - 1, n, p)) < level
        why = unlike(bits, p)
        assert (why is not None and why.startswith(f"x2 is 1 in {k} of {n} examples")) == refused


@pytest.mark.parametrize(("p", "width"), [(0.5, 3), (0.2, 3), (0.3, 1), (0.5, 1)])
def test_sums_over_pairs_by_enumeration(p, width):
    """Every sample of three rows, weighted: both sums have mean 0 and variance 1, and are what their names say."""
    rows = [np.array(row, dtype=np.uint8) for row in itertools.product((0, 1), repeat=width)]
    totals, weights = [], []
    for sample in itertools.product(rows, repeat=3):
        bits = np.array(sample)
        totals.append(pair_sums(bits, p))
        weights.append(math.prod(p if b else 1 - p for b in bits.ravel().tolist()))
    shares, squares = np.array(totals).T
    assert np.dot(weights, shares) == pytest.approx(0, abs=1e-12)
    assert np.dot(weights, shares**2) == pytest.approx(1)
    assert np.dot(weights, squares) == pytest.approx(0, abs=1e-12)
    assert np.dot(weights, squares**2) == pytest.approx(0 if (p, width) == (0.5, 1) else 1, abs=1e-9)


def test_sums_over_pairs_by_loops():
    bits, p = bernoulli(0.5, stream(4, "loops"), 7), 0.4
    z = (bits - p) / math.sqrt(p * (1 - p))
    g = [float(z[i] @ z[j]) for i in range(7) for j in range(i)]
    assert pair_sums(bits, p)[0] == pytest.approx(sum(g) / math.sqrt(21 * T))
    k = p * ((1 - p) / p) ** 2 + (1 - p) * (p / (1 - p)) ** 2  # E z^4
    variance = 21 * (3 * T * (T - 1) + T * k**2 - T**2) + 7 * 6 * 5 * T * (k - 1)
    assert pair_sums(bits, p)[1] == pytest.approx((sum(x**2 for x in g) - 21 * T) / math.sqrt(variance))
    assert pair_sums(bits[:1], p) == (0, 0)


def test_small_deviations_at_many_positions_and_dependent_bits_are_named():
    rng = stream(0, "named")
    assert "the ones at all positions do not fit" in unlike(
        bernoulli(np.array([0.58] * 10 + [0.42] * 10), rng), 0.5
    )
    assert "not independent" in unlike(bits_copied(0.5, rng), 0.5)
    refused = sum(unlike(bernoulli(p, rng, 60), p) is not None for p in (0.5, 0.8, 0.05) for _ in range(40))
    assert refused <= 2


def test_long_examples_are_compared_as_far_as_the_work_allows(monkeypatch):
    from sparsehead.reading import examples

    bits = bernoulli(0.5, stream(6, "long"))
    whole = pair_sums(bits[:9], 0.5)
    monkeypatch.setattr(examples, "MOST_PRODUCTS", 90 * T)
    monkeypatch.setattr(examples, "BITS_AT_ONCE", 30)  # three positions at once
    assert pair_sums(bits, 0.5) == pytest.approx(whole)
