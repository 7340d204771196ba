"""Statements of neighbouring papers on bits that are flipped before they are seen, of shifted mean, or correlated."""

import math
from itertools import combinations, product

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.functions import SparseFunction, assignments, conjunction, majority, parity

from ..theory import flipped
from .claim import EXACT, ROUNDING, Context, Finding, finding, neighbour

SOURCE = "arXiv 2602.08695, feature noise"


def _families(s: int) -> dict[str, SparseFunction]:
    return {
        "AND": conjunction(range(s), T=s),
        "majority": majority(range(s), T=s),
        "parity": parity(range(s), T=s),
    }


@neighbour(
    "feature-noise",
    where=f"{SOURCE}: parity and majority are learned, most juntas are not",
)
def check_feature_noise(context: Context) -> Finding:
    """Let each unbiased bit be flipped with probability $eta < 1/2$ before the learner sees it. The likeliest label is
    still f of the bits seen if f is a parity or a majority of an odd number of bits, and if f is the AND of s bits iff
    $eta < 1 - 2^(-1/s)$. At $eta = 1/4$ this holds for all functions of 2 bits, but not for all functions of 3, 4 and 6
    bits.
    """
    rates = np.arange(0.02, 0.5, 0.02)
    always = all(
        flipped.survives(_families(s)[name], p=0.5, eta=float(eta))
        for s in (1, 3, 5) for name in ("parity", "majority") for eta in rates
    )  # fmt: skip
    at = {s: flipped.and_survives_below(s, 0.5) for s in (1, 2, 3, 5)}
    switch = all(
        flipped.survives(_families(s)["AND"], p=0.5, eta=edge - 1e-6)
        and not flipped.survives(_families(s)["AND"], p=0.5, eta=min(0.5, edge + 1e-6))
        for s, edge in at.items() if s > 1
    )  # fmt: skip
    formula = all(abs(edge - (1 - 0.5 ** (1 / s))) < EXACT for s, edge in at.items())
    shares = {s: _surviving_share(s, 0.25, context.seed) for s in (2, 3, 4, 6)}
    falls = list(shares.values()) == sorted(shares.values(), reverse=True) and shares[6] < shares[3] < 1
    detail = (
        f"Enumeration, eta = .02 to .48. AND of 3 until {at[3]:.4f}. Share of functions that survive eta = 0.25, by s: "
        f"{', '.join(f'{s}: {share:.3g}' for s, share in shares.items())} (all of 2 and 3 bits; 2000 drawn of 4 and 6)."
    )
    return finding(
        always and switch and formula and falls, ours=f"AND of 3: eta < {at[3]:.4f}", detail=detail
    )


def _surviving_share(s: int, eta: float, seed: int) -> float:
    """Return the share of functions of s bits that survive (see `flipped.survives`), among all functions for s <= 3,
    else among 2000 random ones.
    """
    rng = stream(seed, "surviving", s)
    tables = assignments(2**s) if s <= 3 else rng.integers(0, 2, (2000, 2**s))
    signs = 1 - 2.0 * tables
    seen = signs @ flipped.flips(s, eta)
    return float((seen * signs > 1e-12).all(axis=1).mean())


@neighbour("feature-noise-parity", where=f"{SOURCE}: parity")
def check_feature_noise_parity(context: Context) -> Finding:
    """For a parity of s unbiased bits, flipping each bit with probability $eta$ is equivalent to flipping the label
    with probability $(1 - (1 - 2 eta)^s)/2$: the bits seen and the label have the same joint distribution.
    """
    worst = 0.0
    for s, eta in product((1, 2, 3, 5), (0.05, 0.2, 0.4)):
        f = parity(range(s), T=s)
        rate = flipped.as_label_noise(s, eta)
        guess = np.where(f.values > 0, 1 - rate, rate)
        worst = max(worst, float(np.abs(flipped.posterior(f, p=0.5, eta=eta) - guess).max()))
    ours = f"eta = 0.1, s = 3: {flipped.as_label_noise(3, 0.1):.4f}"
    return finding(
        worst < EXACT, ours=ours, detail=f"P(label | bits seen) by enumeration differs by {worst:.0e}."
    )


@neighbour("feature-noise-floor", where=f"{SOURCE}: as a noisy channel")
def check_feature_noise_floor(context: Context) -> Finding:
    """If K functions on different sets of positions are equally likely, no learner names the right one with probability
    $delta$ from fewer than $(delta ln K - ln 2)/I(z; y)$ samples, where $I(z; y)$ is the mutual information of the bits
    seen, $z$, and the label $y$. For AND of s unbiased bits, each flipped with probability $eta$ before it is seen,
    this information follows from $P(y = 1 | z) = (1 - eta)^(s - k) eta^k$, where k of the relevant bits are seen as 0.
    """
    s, T, success, worst, rows = 2, 12, 0.8, 0.0, []
    f = conjunction(range(s), T=s)
    K, holds = math.comb(T, s), True
    for eta in (0.05, 0.15):
        zeros = s - assignments(s).sum(axis=1)
        formula = (1 - eta) ** (s - zeros) * eta**zeros
        worst = max(worst, float(np.abs(flipped.posterior(f, p=0.5, eta=eta) - formula).max()))
        least = flipped.least_samples(f, p=0.5, eta=eta, n_functions=K, success=success)
        named = _named(eta, T=T, s=s, m=math.ceil(least) - 1, draws=400, seed=context.seed)
        holds &= named < success
        rows.append(f"eta = {eta}: {least:.1f} samples; the best learner is right in {named:.0%} with fewer")
    holds &= worst < EXACT
    return finding(
        holds, ours="; ".join(rows), detail=f"AND of 2 of {T} bits, likelihoods of all {K} pairs, 400 draws."
    )


def _named(eta: float, *, T: int, s: int, m: int, draws: int, seed: int) -> float:
    """Return how often the pair of positions with the largest likelihood, given m samples, is the right one; ties count
    as right.
    """
    rng, pairs = stream(seed, "named", T, m), np.array(list(combinations(range(T), s)))
    right = 0
    for _ in range(draws):
        x = rng.integers(0, 2, (m, T))
        y = np.asarray(x[:, pairs[0]].all(axis=1))
        seen = x ^ (rng.random((m, T)) < eta)
        zeros = s - seen[:, pairs].sum(axis=2)
        one = (1 - eta) ** (s - zeros) * eta**zeros
        scores = np.log(np.where(y[:, None], one, 1 - one)).sum(axis=0)
        right += bool(scores[0] >= scores.max() - ROUNDING)
    return right / draws


@neighbour("shifted-moments", where="Cornacchia et al., COLT 2025: shifts of first moments make juntas easy")
def check_shifted_moments(context: Context) -> Finding:
    """For independent bits of mean p the covariance of a relevant bit with the parity of s bits is
    $(1 - mu^2) mu^(s-1)/4$, $mu = 1 - 2p$: zero only for unbiased bits (s > 1). In a chain of unbiased bits of
    correlation c, the signs at an even number of positions have the mean product $c^g$, where g is the sum of the gaps
    within consecutive pairs; at an odd number of positions the mean product is 0. So a relevant bit has a nonzero
    covariance with a parity of three bits, but not with a parity of two.
    """
    worst = 0.0
    for s, p in product((1, 2, 3, 4), (0.3, 0.5, 0.7)):
        bits, chance = assignments(s), flipped.chances(s, p)
        label = bits.sum(axis=1) % 2
        own = chance @ (bits[:, 0] * label) - (chance @ bits[:, 0]) * (chance @ label)
        worst = max(worst, abs(float(own) - flipped.parity_covariance(s, p)))
    T, c = 7, 0.6
    signs, chance = 1 - 2.0 * assignments(T), flipped.chain_chances(T, c)
    for k in range(T + 1):
        for A in combinations(range(T), k):
            mean = float(chance @ signs[:, list(A)].prod(axis=1))
            worst = max(worst, abs(mean - flipped.chain_moment(A, c)))
    ours = f"s = 3: p = .5: 0, p = .7: {flipped.parity_covariance(3, 0.7):.4f}"
    return finding(
        worst < EXACT,
        ours=ours,
        detail=f"By enumeration; all {2**T} sets of a chain of {T}: off by {worst:.0e}.",
    )
