"""Heads for tokens with pointers, against their definitions; what no head can do."""

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.heads.heads import softmax, tf_layer
from sparsehead_paper.theory import pointers

LEAK = 0.02


def slow_attention(scores):
    """The softmax by its definition, with Python's floats and an exactly rounded sum."""
    weights = [math.exp(score) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


@pytest.mark.claim("sparse-averaging")
@pytest.mark.parametrize(("N", "q"), [(5, 1), (7, 2), (8, 3)])
def test_one_head_averages_every_set_within_twice_the_leak(N, q):
    """For every set: products by the cosine formula itself, attention by its definition, the error over all vectors."""
    codes = pointers.trigonometric_codes(N, q)
    beta = pointers.score_scale(N, q, leak=LEAK, gap=1.0)
    assert codes.shape == (N, 2 * q + 1)
    for y in combinations(range(N), q):
        g = [math.prod(1 - math.cos(2 * math.pi * (i - j) / N) for j in y) for i in range(N)]
        least = min(g[i] for i in range(N) if i not in y)
        w = pointers.trigonometric_request(N, y)
        assert codes @ w == pytest.approx([1 - x / least for x in g], abs=1e-7)
        a = slow_attention([beta * (1 - x / least) for x in g])
        outside = 1 - math.fsum(a[i] for i in y)
        assert 0 < outside <= LEAK * (1 + 1e-9)
        assert pointers.worst_error(softmax(beta * codes @ w), y) == pytest.approx(2 * outside, rel=1e-5)


@pytest.mark.claim("sparse-averaging")
def test_a_whole_layer_answers_every_token_with_its_own_set():
    """`tf_layer` on tokens (vector, code, request), each token a query; the error is attained by signs."""
    N, q, d = 6, 2, 3
    rng = stream(0, "layer of pointers")
    sets = list(combinations(range(N), q))
    chosen = [sets[i] for i in rng.choice(len(sets), N)]
    codes = pointers.trigonometric_codes(N, q)
    requests = np.array([pointers.trigonometric_request(N, y) for y in chosen])
    z = rng.standard_normal((N, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    W = pointers.pointer_head(2 * q + 1, d, pointers.score_scale(N, q, leak=LEAK, gap=1.0))
    found = tf_layer(pointers.tokens(z, codes, requests), W, sigma="identity")
    for i, y in enumerate(chosen):
        error = np.linalg.norm(found[i, :d] - pointers.average(z, y))
        assert error <= 2 * LEAK
        assert not found[i, d:].any()
        a = softmax(W.W_Q[-5:].max() * codes @ requests[i])
        signs = np.sign(a - np.isin(range(N), y) / q)[:, None]
        assert abs(float((a @ signs - pointers.average(signs, y))[0])) == pytest.approx(
            pointers.worst_error(a, y)
        )


def test_score_scale_leaves_exactly_the_leak_if_all_others_score_alike():
    N, q, gap = 9, 2, 0.5
    beta = pointers.score_scale(N, q, leak=LEAK, gap=gap)
    a = softmax(beta * np.array([1.0] * q + [1 - gap] * (N - q)))
    assert a[q:].sum() == pytest.approx(LEAK)


@pytest.mark.claim("sparse-averaging")
def test_wide_sign_codes_serve_every_set_and_the_shortest_request_is_one_on_it():
    N, q = 9, 2
    codes = pointers.sign_codes(N, 120, rng=stream(0, "wide"))
    for y in combinations(range(N), q):
        w = pointers.least_norm_request(codes, y)
        assert codes[list(y)] @ w == pytest.approx([1, 1])
        assert pointers.largest_outside(codes, w, y) <= 0.5
        other = pointers.least_norm_request(codes, y) + np.linalg.svd(codes[list(y)])[2][-1]
        assert codes[list(y)] @ other == pytest.approx([1, 1]) and np.linalg.norm(w) < np.linalg.norm(other)


def test_the_width_of_sign_codes_has_the_constants_of_its_proof():
    c = Fraction(1, 4) * Fraction(1, 64) - Fraction(1, 6) * Fraction(1, 512)
    N, q, failure = 1000, 4, 1e-3
    p = pointers.sign_width(N, q, failure)
    k = 3 * q
    for width, enough in ((p, True), (p - 1, False)):
        ln_failure = math.log(2) + k * math.log(9 * math.e * N / k) - float(c) * width
        assert (ln_failure <= math.log(failure)) == enough


def test_dependent_codes_are_refused():
    with pytest.raises(DomainError, match="linearly dependent"):
        pointers.least_norm_request(np.ones((3, 2)), (0, 1))


@pytest.mark.claim("sparse-averaging-bits")
def test_two_sets_with_one_query_cannot_both_be_answered():
    """For every pair and the best attention on their union: the larger error is the sets' difference over q."""
    N, q = 6, 2
    for y, other in combinations(combinations(range(N), q), 2):
        middle = [((i in y) + (i in other)) / (2 * q) for i in range(N)]
        errors = [pointers.worst_error(np.array(middle), each) for each in (y, other)]
        assert max(errors) == pytest.approx(len({*y} - {*other}) / q) and max(errors) >= 1 / q - 1e-12
    assert 2 ** pointers.least_bits(N, q) == pytest.approx(len(list(combinations(range(N), q))))


@pytest.mark.claim("token-regression")
def test_lists_are_in_order_and_heads_miss_what_their_rank_leaves():
    z = np.arange(8.0).reshape(4, 2)
    for y in permutations(range(4), 2):
        assert pointers.reported(z, y).tolist() == [*z[y[0]], *z[y[1]]]
    rng = stream(0, "decoders")
    q, d = 3, 2
    for H in (1, 2, 3):
        L = np.kron(rng.random((H, q)), np.eye(d))
        x = rng.standard_normal((40_000, q * d))
        decoder = np.linalg.lstsq(x @ L.T, x, rcond=None)[0]
        missed = float(((x @ L.T @ decoder - x) ** 2).mean())
        # 40,000 samples of up to 6 squares of variance 2: standard errors of .006
        assert missed == pytest.approx(pointers.share_missed(H, d, q=q, d=d), abs=0.02)
    assert pointers.share_missed(4, d, q=q, d=d) == 0
