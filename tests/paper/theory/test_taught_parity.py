"""Parity with intermediate labels: closed forms against counting all inputs, gradients against differences."""

import math

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.functions import assignments
from sparsehead_paper.theory import taught_parity as taught


def every_input(d):
    return 1.0 - 2.0 * assignments(d)


@pytest.mark.claim("taught-gap")
@pytest.mark.parametrize(("d", "k"), [(4, 2), (7, 2), (5, 4), (6, 4), (8, 8), (9, 8)])
def test_the_population_gradient_of_every_node_is_that_of_all_inputs(d, k):
    seen = taught.tokens(every_input(d), k)
    for q in range(k - 1):
        np.testing.assert_allclose(
            taught.population_gradient(d, k, q), taught.gradient(seen[:, : d + q], seen[:, d + q]), atol=1e-14
        )


@pytest.mark.claim("untaught-parity")
@pytest.mark.parametrize(("d", "k"), [(9, 2), (9, 4), (10, 6), (10, 8)])
def test_gap_and_variance_are_those_of_all_inputs(d, k):
    bits = every_input(d)
    y = bits[:, :k].prod(axis=1)
    found = taught.gradient(bits, y)
    assert abs(found[0] - found[-1]) == pytest.approx(taught.gap(d, k), rel=1e-9)
    z = np.pi * bits.mean(axis=1)
    squares = ((-np.cos(z) - y) * np.pi * np.sin(z)) ** 2
    assert squares.mean() == pytest.approx(taught.error_variance(d, k), rel=1e-12)


def test_the_gradient_is_the_slope_of_the_loss():
    rng = np.random.default_rng(0)
    bits, w = rng.choice([-1.0, 1.0], (40, 7)), np.zeros(7)
    y = bits[:, 0] * bits[:, 1]

    def loss(w):
        return float(((taught.run([w], bits)[:, -1] - y) ** 2).mean() / 2)

    slopes = [(loss(w + step) - loss(w - step)) / 2e-6 for step in 1e-6 * np.eye(7)]
    np.testing.assert_allclose(taught.gradient(bits, y), slopes, atol=1e-9)


def test_the_gradient_through_own_values_is_the_slope_of_the_last_loss():
    rng = np.random.default_rng(1)
    bits, scores = rng.choice([-1.0, 1.0], (50, 6)), [rng.standard_normal(6 + q) for q in range(3)]
    y = bits[:, :4].prod(axis=1)

    def loss(scores):
        return float(((taught.run(scores, bits)[:, -1] - y) ** 2).mean() / 2)

    for q, found in enumerate(taught.end_gradient(scores, bits, y)):
        for j in range(len(found)):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [w.copy() for w in scores]
                moved[q][j] += step
                ends.append(loss(moved))
            assert found[j] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


@pytest.mark.claim("taught-own-steps")
@pytest.mark.parametrize(("d", "k"), [(8, 4), (10, 8), (11, 8)])
@pytest.mark.parametrize("L", [3.0, 6.0])
def test_the_construction_is_within_its_bound_on_every_input(d, k, L):
    scores = [np.zeros(d + q) for q in range(k - 1)]
    for w, pair in zip(scores, taught.children(d, k), strict=True):
        w[pair] = L
    bits = every_input(d)
    off = np.abs(taught.run(scores, bits)[:, -1] - bits[:, :k].prod(axis=1)).max()
    bound = taught.error_bound(d, k, L)
    assert off <= bound
    if L > 5:
        assert bound < 0.2


def test_the_samples_for_a_gap_put_half_of_it_at_four_deviations():
    d = 64
    n = taught.samples_for_gap(d)
    deviation = math.sqrt(taught.error_variance(d) / n) / d
    assert taught.gap(d) / 2 == pytest.approx(4 * deviation)


@pytest.mark.parametrize(("d", "k"), [(8, 3), (8, 1), (8, 16)])
def test_trees_need_a_power_of_two(d, k):
    with pytest.raises(DomainError, match="power of two"):
        taught.children(d, k)


def test_nodes_and_gaps_that_do_not_exist_are_refused():
    with pytest.raises(DomainError, match="nodes 0 to 2"):
        taught.population_gradient(6, 4, 3)
    with pytest.raises(DomainError, match="even k"):
        taught.gap(8, 3)
    with pytest.raises(DomainError):
        taught.gap(8, 0)
