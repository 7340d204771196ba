"""Bits that are flipped, shifted or correlated: formulas against loops over all inputs and flips."""

from itertools import product
from math import comb, log

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.functions import assignments, conjunction, majority, parity, parse
from sparsehead.functions.task import Task
from sparsehead_paper.theory import flipped


def slow_joint(f, s, p, eta):
    """P(bits seen, label) by a loop over true bits and flips."""
    joint: dict[tuple[tuple[int, ...], int], float] = {}
    for x, e in product(product((0, 1), repeat=s), repeat=2):
        chance = 1.0
        for bit, flip in zip(x, e):
            chance *= (p if bit else 1 - p) * (eta if flip else 1 - eta)
        seen = tuple(a ^ b for a, b in zip(x, e))
        label = int(f(np.array([x], dtype=np.uint8))[0])
        joint[seen, label] = joint.get((seen, label), 0.0) + chance
    return joint


@pytest.mark.claim("feature-noise")
@pytest.mark.claim("feature-noise-floor")
@pytest.mark.parametrize("text", ["x0 & x1 & x2", "x0 ^ x1 & x2", "maj(x0, x1, x2)"])
@pytest.mark.parametrize(("p", "eta"), [(0.5, 0.2), (0.3, 0.35), (0.8, 0.1)])
def test_posterior_accuracy_and_information_equal_loops_over_all_flips(text, p, eta):
    f = parse(text, T=3)
    joint = slow_joint(f, 3, p, eta)
    patterns = [tuple(int(b) for b in row) for row in assignments(3)]
    posterior = [joint.get((z, 1), 0) / (joint.get((z, 0), 0) + joint.get((z, 1), 0)) for z in patterns]
    assert flipped.posterior(f, p=p, eta=eta) == pytest.approx(posterior)
    truth = [int(f(np.array([z], dtype=np.uint8))[0]) for z in patterns]
    assert flipped.survives(f, p=p, eta=eta) == all((g > 0.5) == t for g, t in zip(posterior, truth))
    weights = [np.prod([p if b else 1 - p for b in z]) for z in patterns]
    accuracy = sum(w for w, g, t in zip(weights, posterior, truth) if (g > 0.5) == t)
    assert flipped.clean_accuracy(f, p=p, eta=eta) == pytest.approx(accuracy)
    label = [sum(c for (_, y), c in joint.items() if y == k) for k in (0, 1)]
    seen = {z: sum(c for (other, _), c in joint.items() if other == z) for z, _ in joint}
    nats = sum(c * log(c / (seen[z] * label[y])) for (z, y), c in joint.items() if c > 0)
    assert flipped.information(f, p=p, eta=eta) == pytest.approx(nats)
    least = flipped.least_samples(f, p=p, eta=eta, n_functions=comb(20, 3), success=0.8)
    assert least == pytest.approx((0.8 * log(comb(20, 3)) - log(2)) / nats)


@pytest.mark.claim("feature-noise")
@pytest.mark.parametrize("p", [0.5, 0.4, 0.2])
def test_a_conjunction_survives_up_to_the_stated_rate(p):
    for s in (2, 3, 4):
        f, edge = conjunction(range(s), T=s), flipped.and_survives_below(s, p)
        for eta in (edge - 1e-6, edge + 1e-6):
            assert flipped.survives(f, p=p, eta=eta) == (eta < edge)
    assert flipped.and_survives_below(3, 0.5) == pytest.approx(1 - 0.5 ** (1 / 3))


def test_for_more_ones_another_pattern_fails_so_the_rate_is_refused():
    """Balanced AND of 3 survives at the pattern of ones at any rate, and fails at 110 close to 1/2."""
    f, p = conjunction(range(3), T=3), 0.5 ** (1 / 3)
    guess = flipped.posterior(f, p=p, eta=0.45)
    assert guess[-1] > 0.5 and sorted(guess)[-2] > 0.5
    with pytest.raises(DomainError, match="p <= 1/2"):
        flipped.and_survives_below(3, p)


@pytest.mark.claim("feature-noise-parity")
def test_flips_of_bits_are_flips_of_labels_for_a_parity():
    """The share of samples whose label is not the parity of the bits seen, by the library's own task."""
    s, eta = 3, 0.1
    bits, labels = Task(parity(range(s), T=5), 0.5, feature_noise=eta).sample(
        200_000, rng=np.random.default_rng(0)
    )
    wrong = float((bits[:, :s].sum(axis=1) % 2 != labels).mean())
    assert wrong == pytest.approx(flipped.as_label_noise(s, eta), abs=0.005)  # four standard errors
    assert flipped.survives(parity(range(s), T=s), p=0.5, eta=0.49)
    assert flipped.survives(majority(range(s), T=s), p=0.5, eta=0.49)


@pytest.mark.claim("shifted-moments")
def test_covariances_of_parities_and_moments_of_chains():
    """A parity of 3 has covariance with shifted bits and in a chain, one of 2 has none in a chain."""
    assert flipped.parity_covariance(3, 0.5) == 0 and flipped.parity_covariance(1, 0.5) == 0.25
    assert flipped.parity_covariance(2, 0.9) == pytest.approx(-0.8 * 0.36 / 4)
    assert flipped.chain_moment((5, 2, 9, 7), 0.5) == 0.5**3 * 0.5**2
    assert flipped.chain_moment((1, 2, 3), 0.5) == 0
    assert flipped.chain_chances(3, 0.0) == pytest.approx([1 / 8] * 8)
    assert flipped.chain_chances(2, 1.0).tolist() == [0.5, 0, 0, 0.5]
