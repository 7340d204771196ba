"""Bits that are flipped before the learner sees them, bits of shifted mean, and correlated bits: what can still be
learned.

x are the s true relevant bits, y = f(x) the label, z the bits that the learner sees, each of which differs from the
true bit with probability eta. All functions enumerate the 2^s patterns; p is the probability of a one, the same for all
bits.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy.stats import binom

from sparsehead._base.errors import DomainError
from sparsehead._base.types import Array, Bool, Float, Shaped
from sparsehead.functions import SparseFunction, assignments, is_monotone


def chances(s: int, p: float) -> Float[Array, " n"]:
    """Return the probabilities of the 2^s patterns of independent bits."""
    bits = assignments(s)
    return np.where(bits == 1, p, 1 - p).prod(axis=1)


def flips(s: int, eta: float) -> Float[Array, "n n"]:
    """Return P(z | x) for all pairs of patterns: eta^k (1 - eta)^(s - k) if they differ in k bits."""
    bits = assignments(s)
    differing = (bits[:, None, :] != bits[None]).sum(axis=2)
    return np.asarray(eta**differing * (1 - eta) ** (s - differing))


def posterior(f: SparseFunction, *, p: float, eta: float) -> Float[Array, " n"]:
    """Return P(y = 1 | z) for the label y and each pattern z of the bits seen.   Paper: feature-noise"""
    joint = chances(f.s, p)[:, None] * flips(f.s, eta)  # P(x, z)
    return np.asarray((f.values @ joint) / joint.sum(axis=0))


def survives(f: SparseFunction, *, p: float, eta: float) -> bool:
    """Return whether the best guess of the label y from z, the bits seen, is f(z) on every pattern, with no ties.

    Otherwise a learner that fits the likeliest label for each pattern of bits that it sees does not find f, for any
    number of samples.

    Paper: feature-noise, flipped-heads
    """
    guess = posterior(f, p=p, eta=eta)
    return bool(((guess > 0.5) == (f.values > 0)).all() and (np.abs(guess - 0.5) > 1e-12).all())


def clean_accuracy(f: SparseFunction, *, p: float, eta: float) -> float:
    """Return P(g(x) = f(x)) on bits x without noise, for the best guess g of the label from the bits seen.
    Paper: feature-noise
    """
    guess = posterior(f, p=p, eta=eta) > 0.5
    return float(chances(f.s, p) @ (guess == (f.values > 0)))


def and_survives_below(s: int, p: float) -> float:
    """Return the flip rate eta below which a conjunction of s bits seen is their likeliest label, for p <= 1/2.

    As eta grows, the best guess fails first at the pattern of ones: (p/(p + (1-p) r))^s = 1/2 at the odds r = eta/(1 -
    eta). For p <= 1/2 a bit seen as 0 is truly 0 with probability above 1/2, so no other pattern fails. (For larger p
    others may fail.)

    Raises:
        DomainError: p is not in (0, 1/2].
    Paper: feature-noise

    >>> round(and_survives_below(3, 0.5), 4)
    0.2063
    """
    if not 0 < p <= 0.5:
        raise DomainError(
            f"the share of flips that a conjunction survives is known for 0 < p <= 1/2, got p={p}."
        )
    root = 0.5 ** (1 / s)
    odds = p * (1 - root) / ((1 - p) * root)
    return odds / (1 + odds)


def as_label_noise(s: int, eta: float) -> float:
    """Return (1 - (1 - 2 eta)^s)/2, the rate of wrong labels to which feature noise is equivalent for a parity of s
    unbiased bits.

    Paper: feature-noise-parity
    """
    return (1 - (1 - 2 * eta) ** s) / 2


def information(f: SparseFunction, *, p: float, eta: float) -> float:
    """Return I(z; y), the information in nats that the relevant bits as seen by the learner give about the label.
    Paper: feature-noise-floor
    """
    guess = posterior(f, p=p, eta=eta)
    seen = chances(f.s, p) @ flips(f.s, eta)
    return _entropy(float(seen @ guess)) - float(seen @ [_entropy(g) for g in guess])


def least_samples(f: SparseFunction, *, p: float, eta: float, n_functions: int, success: float) -> float:
    """Return (success ln K - ln 2)/I(z; y), a lower bound on samples if K = n_functions functions, f at K different
    sets of positions, are equally likely. I(z; y) is the information that the bits seen give about the label.

    With fewer samples no learner names the right one with probability `success`.   Paper: feature-noise-floor
    """
    return (success * math.log(n_functions) - math.log(2)) / information(f, p=p, eta=eta)


def ranked_first(f: SparseFunction, *, p: float, eta: float, T: int, m: int) -> float:
    """Return the probability that the s relevant bits have the largest covariances with the label, from m samples.

    f is symmetric, so that all relevant bits are alike. The number of samples with label 1 takes nine equally likely
    values. Given this number, the covariance of a position depends on two independent binomial counts: the ones in
    samples with label 1, and those in samples with label 0. Irrelevant positions are independent; relevant positions
    are treated as independent. Ties count half.

    Paper: flipped-laws, shifted-laws
    """
    seen = chances(f.s, p) @ flips(f.s, eta)
    one, bit = seen * posterior(f, p=p, eta=eta), assignments(f.s)[:, 0]
    q = float(one.sum())
    shares = float(one @ bit) / q, float((seen - one) @ bit) / (1 - q), float(seen @ bit)
    counts = binom.ppf((np.arange(9) + 0.5) / 9, m, q).astype(int)
    signed = float(np.sign(shares[0] - shares[1])) if is_monotone(f) else 0.0
    return float(np.mean([_ranked_first(int(n), m, shares, signed, T - f.s, f.s) for n in counts]))


def _ranked_first(
    n_one: int, m: int, shares: tuple[float, float, float], signed: float, others: int, s: int
) -> float:
    """Return the probability that `ranked_first` returns, given that n_one of m labels are 1. `shares`: the shares of
    ones at a relevant position among samples with label 1 and with label 0, and at an irrelevant position. `signed`:
    the sign of the covariance; 0 if only its size counts.
    """
    given_one, given_zero, always = shares
    n_zero = m - n_one
    ones, zeros = (
        np.arange(binom.ppf(1e-9, n, min(share, always)), binom.isf(1e-9, n, max(share, always)) + 1)
        for n, share in ((n_one, given_one), (n_zero, given_zero))
    )
    scores = ones[:, None] * n_zero - zeros * n_one  # the covariance of these counts, times m^2
    values, place = np.unique(signed * scores if signed else np.abs(scores), return_inverse=True)

    def by_score(one: float, zero: float) -> Float[Array, " n"]:
        both = np.outer(binom.pmf(ones, n_one, one), binom.pmf(zeros, n_zero, zero))
        return np.bincount(place.ravel(), weights=both.ravel(), minlength=len(values))

    irrelevant, relevant = by_score(always, always), by_score(given_one, given_zero)
    largest = np.diff(np.concatenate([[0.0], irrelevant.cumsum() ** others]))
    above = relevant[::-1].cumsum()[::-1] - relevant / 2
    return float(largest @ above**s)


def ranked_m80(f: SparseFunction, *, p: float, eta: float, T: int) -> int:
    """Return the least m, to within 1 %, at which the relevant bits have the largest covariances with probability .8.

    >>> from sparsehead.functions import majority
    >>> [ranked_m80(majority(range(3), T=3), p=0.5, eta=eta, T=100) for eta in (0.0, 0.25)]
    [62, 260]
    """
    low, high = 4, 8
    while ranked_first(f, p=p, eta=eta, T=T, m=high) < 0.8:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        enough = ranked_first(f, p=p, eta=eta, T=T, m=middle) >= 0.8
        low, high = (low, middle) if enough else (middle, high)
    return high


def chain_conjunction_rate(s: int, T: int, c: float) -> float:
    """Return P(y = 1) for an AND of s positions of a chain of T bits, averaged over all sets of s positions.

    Neighbours in the set that are g apart agree with probability (1 + c^g)/2, where c is the correlation of adjacent
    bits.   Paper: correlated-laws

    >>> chain_conjunction_rate(2, 3, 0.0), chain_conjunction_rate(2, 2, 0.5)
    (0.25, 0.375)
    """
    # ends[t]: the sum over sets of the size so far that end at t of P(all ones)
    ends = np.full(T, 0.5)
    gaps = np.abs(np.subtract.outer(np.arange(T), np.arange(T)))
    agree = np.triu((1 + float(c) ** gaps) / 2, k=1)
    for _ in range(s - 1):
        ends = ends @ agree
    return float(ends.sum()) / math.comb(T, s)


def least_samples_by_labels(positive_rate: float, *, n_functions: int, success: float) -> float:
    """Return (success ln K - ln 2)/H(y), a floor for any distribution of the inputs, K = n_functions.

    `positive_rate` is P(y = 1), averaged over the K functions; H(y) is the entropy of a label with this rate.
    Paper: correlated-laws
    """
    return (success * math.log(n_functions) - math.log(2)) / _entropy(positive_rate)


def _entropy(q: float) -> float:
    return -sum(x * math.log(x) for x in (q, 1 - q) if x > 0)


def parity_covariance(s: int, p: float) -> float:
    """Return the covariance of a relevant bit with the parity, (1 - mu^2) mu^(s-1)/4 with mu = 1 - 2p.

    Paper: shifted-moments
    """
    mu = 1 - 2 * p
    return (1 - mu**2) * mu ** (s - 1) / 4


def chain_moment(positions: Iterable[int], c: float) -> float:
    """Return the mean product of the signs at these positions of a stationary symmetric chain of correlation c.

    Let g be the sum of the gaps within the first two positions in ascending order, the next two, and so on. The mean is
    c^g, or 0 for an odd number of positions.

    Paper: shifted-moments
    """
    ordered = sorted(positions)
    if len(ordered) % 2:
        return 0.0
    return float(math.prod(c ** (b - a) for a, b in zip(ordered[::2], ordered[1::2])))


def chain_chances(T: int, c: float) -> Float[Array, " n"]:
    """Return the probabilities of the 2^T patterns of a chain; neighbours are equal with probability (1 + c)/2."""
    bits: Shaped[Array, "n T"] = assignments(T)
    stays: Bool[Array, "n t"] = bits[:, 1:] == bits[:, :-1]
    return np.asarray(0.5 * np.where(stays, (1 + c) / 2, (1 - c) / 2).prod(axis=1))
