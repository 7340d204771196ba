"""What heads do without an MLP, what bounded scores rule out, and the paper's decoder in several dimensions."""

import itertools
import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.construct import build
from sparsehead.construct.attention import dual
from sparsehead.construct.paper import bump_net, smallest_distance
from sparsehead.functions import from_table
from sparsehead.heads.encoding import bag, positional
from sparsehead.heads.heads import HeadWeights, softmax, tf_heads, tf_scalar
from sparsehead_paper.claims.errata_notes_sparse import log_sign_patterns
from sparsehead_paper.theory.printed import smallest_step


@pytest.mark.claim("averaging-head")
def test_averaging_head_reads_the_mean_of_its_tokens():
    rng = stream(0, "average")
    X, W_V, W_C = rng.normal(size=(9, 5)), rng.normal(size=(5, 3)), rng.normal(size=(3, 5))
    W = HeadWeights(np.zeros((5, 2)), np.zeros((5, 2)), W_V, W_C)
    rows = tf_heads(X, [W], sigma="identity")
    np.testing.assert_allclose(rows, np.tile(X.mean(axis=0) @ W_V @ W_C, (9, 1)), atol=1e-13)


@pytest.mark.claim("bounded-scores")
@pytest.mark.parametrize("B", [0.5, 2.0])
@pytest.mark.parametrize("n", [3, 30])
def test_bounded_scores_no_corner_moves_the_output_further(B, n):
    """The output is monotone in each score and value of the changed token, so corners are the worst cases."""
    allowed = 2 * math.exp(2 * B) / (n + math.exp(2 * B))
    reached = 0.0
    for score, value in itertools.product((-B, B), (-1.0, 1.0)):
        for own in itertools.product((-B, B), (-1.0, 1.0)):
            for other in itertools.product((-B, B), (-1.0, 1.0)):
                outputs = []
                for s, v in (own, other):
                    a = softmax(np.array([s] + [score] * n))
                    outputs.append(float(a @ np.array([v] + [value] * n)))
                reached = max(reached, abs(outputs[0] - outputs[1]))
    assert reached == pytest.approx(allowed)


@pytest.mark.claim("beyond-boolean")
def test_beyond_boolean_one_head_tells_letters_apart():
    """x_1 = "b" and x_2 != "c", over the letters a, b, c at three positions: nine vectors."""

    def f(word):
        return int(word[1] == 1 and word[2] != 2)

    table = [0] * 2**6
    for a, b in itertools.product(range(3), repeat=2):
        table[(1 << a) | (1 << (3 + b))] = f((0, a, b))
    model = build(from_table(T=9, support=(3, 4, 5, 6, 7, 8), table=table), encoding=bag(9))
    for word in itertools.product(range(3), repeat=3):
        bits = np.zeros((1, 9), dtype=np.int64)
        bits[0, [3 * t + c for t, c in enumerate(word)]] = 1
        assert model(bits)[0] == pytest.approx(f(word), abs=1e-9)


@pytest.mark.claim("dual-keys")
def test_dual_keys_bound_is_attained_by_two_vectors():
    """<v_1, v_2> = -1/4, <v_3, v_i> = 1/4: rho = 2 (1/4) / (1 - 1/4) = 2/3."""
    rows = np.linalg.cholesky(np.array([[1, -0.25, 0.25], [-0.25, 1, 0.25], [0.25, 0.25, 1]]))
    u = dual(rows[:2], np.ones((2, 1)))[:, 0]
    assert rows[:2] @ u == pytest.approx([1, 1])
    assert rows[2] @ u == pytest.approx(2 / 3)


@pytest.mark.claim("gamma-monotone")
def test_gamma_monotone_is_the_least_rise():
    assert smallest_step(np.array([0.0, 0.5, 0.75])) == 0.25
    assert smallest_step(np.array([1.0, 1.0])) == 0


@pytest.mark.claim("gamma-injective")
def test_gamma_injective_is_the_least_distance_in_the_sup_norm():
    assert smallest_distance(np.array([[0.0, 0.0], [0.3, 0.1], [1.0, 1.0]])) == pytest.approx(0.3)


@pytest.mark.claim("bump-net")
@pytest.mark.parametrize("d_f", [1, 2, 4])
def test_bump_net_is_exact_up_to_the_edge_and_gone_at_twice_the_edge(d_f):
    targets = np.vstack([np.full(d_f, -1.0), np.full(d_f, 1.0)])
    (one, two), w = bump_net(targets, np.array([2.0, -3.0]), 0.5, d_f)
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=d_f)))
    for target, value in zip(targets, (2.0, -3.0)):
        np.testing.assert_allclose(two(one(target + corners)) @ w, value, atol=1e-12)
        np.testing.assert_allclose(two(one(target + 2 * corners)) @ w, 0, atol=1e-12)
        half = target + 1.5 * corners[:1]
        assert (two(one(half)) @ w)[0] == pytest.approx(value * max(0.0, 1 - 0.5 * d_f))
    assert (one.b.shape[0], two.b.shape[0]) == (8 * d_f, 4)


@pytest.mark.claim("bag-symmetry")
def test_bag_symmetry_every_order_of_the_tokens():
    rng = stream(1, "order")
    W = HeadWeights(*(rng.normal(size=s) for s in [(7, 2), (7, 2), (7, 3), (3, 7)]))
    X, w = bag(4)(np.array([1, 0, 1, 1])), rng.normal(size=7)
    outputs = [tf_scalar(X[[*order, 4]], W, w) for order in itertools.permutations(range(4))]
    assert np.ptp(outputs) < 1e-13
    assert abs(tf_scalar(X[[4, 1, 2, 3, 0]], W, w) - outputs[0]) > 1e-3  # [CLS] asks: it has to stay last
    assert positional(4)(np.array([1, 0, 1, 1])).shape == (5, 7)


@pytest.mark.claim("errata-notes-23")
def test_the_count_of_labellings_is_no_smaller_than_what_small_nets_do():
    """A line with one ReLU unit labels n points by sign in 2n ways or more, up to the constant labellings."""
    for n in (2, 4, 8, 16):
        assert log_sign_patterns(n, 1, (1,)) >= math.log(2 * n)
    assert log_sign_patterns(2**10, 10, (100, 100)) < log_sign_patterns(2**11, 10, (100, 100))
