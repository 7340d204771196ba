"""Bounds on the best success rate for any target: from above by revealing positions of relevant bits, from below by a
union bound.

K functions are equally likely; a sample is an input with independent bits and a label that is wrong with probability
rho. P_opt is the success rate of the best learner that names k functions. A role is one of the function's s relevant
bits; revealing the positions of some roles never lowers P_opt.

From above, with the positions of some roles revealed: c is the pattern of their bits, P(y|c) the probability of a
label.

    rho = 0   for each label sequence at most k functions are named, and a function gives the sequence with probability
              P(y|c) = prod P(y_i|c_i) over the bits not revealed. With i = -ln P(y|c), a sum over the samples,
                  P_opt <= E sum_y min(k/K, P(y|c)) = E min(1, k e^i / K).
    rho > 0   the k largest likelihoods L of a sequence y sum to at most k t + sum (L - t)^+ over all functions, for any
              t. With t = e^b P(y|c) and the information density i = ln L/P(y|c), again a sum over the samples,
                  P_opt <= min over b of  k e^b / K + E (1 - e^(b-i))^+.
    rho = 0, one role hidden: a wrong column is consistent iff it equals the right one in all samples whose hidden bit
              decides the label. If these have n_1 ones and n_0 zeros, this has probability w = p^n_1 (1-p)^n_0, so
              that X ~ Bin(T-s, w) wrong columns are consistent, and P_opt is E min(1, k/(1+X)) exactly.

From below: a learner sorts functions by likelihood, ties in random order, and names the first k. If b wrong functions
are more likely than the right one and t are as likely, it misses the right one with probability at most b/k + c t,
c = max over x >= k of (x+1-k)/(x(x+1)); c = 1/2 for k = 1. (At b = 0 this is the definition of c; at b = k the
probability is 1; in between, it is convex in b.) Consider the n wrong functions that share given positions with the
right one. Their other bits are independent of the label, given the shared bits. So each of them has a likelihood L' >=
L with probability at most E (L'/L)^a =: e^-i, by Markov's inequality, for every a > 0 (for rho = 0 this is exact), and
i is a sum over the samples again. These n functions make the list miss the right one with probability at most

    E min(1, n e^-i / k)    (c in place of 1/k if rho = 0),

or, without the minimum, n times the exact probabilities that a random walk ends above 0 or at 0 (`_walk`). For each way
to share positions the smaller of these bounds is used; the sum over all ways bounds 1 - P_opt.

Sources: for rho = 0 the counting bound of group testing (Baldassini, Johnson and Aldridge 2013), for rho > 0 the
converse of Verdu and Han (1994); from below Gallager (1965) and Polyanskiy, Poor and Verdu (2010).
"""

import math
from collections.abc import Callable

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float, Shaped
from .bracket import MOST_SAMPLES, ROUNDING, TAIL
from .chances import binomial, likely_counts, log_choose, poisson
from .target import Shared, Target, overlaps


def best_success(target: Target, *, T: int, m: int, guesses: int, revealed: tuple[int, ...]) -> float:
    """Return an upper bound on P_opt, the best success rate at m samples, if these roles' positions are revealed."""
    ln_share = math.log(guesses) - math.log(target.left(revealed, T))
    if ln_share >= 0 or m > MOST_SAMPLES:
        return 1.0
    if m == 0:
        return math.exp(ln_share)
    if not target.noise and len(revealed) == target.s - 1:
        return min(1.0, _one_hidden(target, T, m, guesses, revealed))
    clean = target.joint(revealed)
    i, weight = sum_of(*_densities(clean, target.noisy(clean), target.noise), m)
    if not target.noise:
        found = float((weight * np.exp(np.minimum(0.0, i + ln_share))).sum())
    else:
        found = _least_over_b(i, weight, ln_share)
    return min(1.0, found + 10 * ROUNDING)


def _densities(
    clean: Float[Array, "seen 2"], model: Float[Array, "seen 2"], noise: float, tilt: float = 1.0
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return the possible values of one sample's term of the information density i, a log-likelihood ratio, and their
    probabilities.

    Args:
        clean: P(pattern, label before noise) of the right function.
        model: entry [pattern, y] is P(pattern) times the mean of P(y | label before noise)^tilt over the labels of the
            function in the denominator of i.
    """
    with np.errstate(divide="ignore"):
        bits = -np.log(model / clean.sum(axis=1, keepdims=True))
    outcomes = [(bits + tilt * math.log1p(-noise), clean * (1 - noise))]
    if noise:
        outcomes.append((bits + tilt * math.log(noise), clean[:, ::-1] * noise))
    values, chances = (np.concatenate([pair[k].ravel() for pair in outcomes]) for k in (0, 1))
    possible = (chances > 0) & np.isfinite(values)
    return values[possible], chances[possible]


def _least_over_b(i: Float[Array, " n"], weight: Float[Array, " n"], ln_share: float) -> float:
    """Return the least e^(b + ln_share) + E (1 - e^(b-i))^+ over those b that are values of the information density i;
    every b gives a bound.
    """
    ahead = i + ln_share  # b + ln_share at b = i
    above = np.cumsum(weight[::-1])[::-1]  # P(i >= b)
    shrunk = np.cumsum((weight * np.exp(np.clip(-ahead, -700.0, 500.0)))[::-1])[
        ::-1
    ]  # E e^(-i - ln_share) there
    near = np.abs(ahead) < 500  # farther away a term overflows
    if not near.any():
        return 1.0 if ahead[0] > 0 else math.exp(ahead[-1])
    bound = np.exp(ahead[near]) * (1 - shrunk[near]) + above[near]
    return float(bound.min())


def sum_of(
    values: Float[Array, " n"], chances: Float[Array, " n"], m: int
) -> tuple[Float[Array, " bins"], Float[Array, " bins"]]:
    """Return values, ascending and not below the true ones, and probabilities of the sum of m independent draws.

    Each draw is rounded up to a multiple of a step. From the sum, subtract a lower bound of what rounding has added; it
    fails with probability at most 1e-12 (Hoeffding's inequality). Chernoff's inequality gives the range of values: it
    bounds both tails by m ln E e^(l v), at the best of a few l. The distribution is a power of one Fourier transform.
    """
    spread = float(values.max() - values.min())
    if spread < 1e-12:
        return np.array([m * float(values.max())]), np.full(1, chances.sum() ** m)
    slopes = np.geomspace(1e-3, 30, 60)[:, None] / spread
    unlikely = math.log(1e12)  # sums outside a window of probability 1 - 2e-12 are left out
    high, low = (
        float(((m * np.log((chances * np.exp(sign * slopes * (values - values.min()))).sum(axis=1)) + unlikely)
               / slopes[:, 0]).min()) for sign in (1, -1)
    )  # fmt: skip
    low, high = max(0.0, -low), min(high, m * spread)  # of the sum of values - min
    rounded_up = 0.2  # nats by which a sum of densities is rounded up at most, as long as 2^16 bins allow it
    bins = 2 ** min(16, max(10, math.ceil(math.log2(m * (high - low) / rounded_up + 4 * m))))
    step = (high - low) / (bins - m - 2)
    index = np.ceil((values - values.min()) / step).astype(np.int64)
    one = np.bincount(index % bins, weights=chances, minlength=bins)
    power = np.fft.irfft(_power(np.fft.rfft(one), m), bins)
    first = math.floor(low / step)
    at = np.arange(first, first + bins)
    excess = index * step - (values - values.min())  # what rounding adds to a draw, in [0, step)
    added = m * float((chances * excess).sum() / chances.sum()) - step * math.sqrt(m * unlikely / 2)
    return at * step + m * float(values.min()) - max(0.0, added), np.maximum(0.0, power[at % bins])


def _power(z: Shaped[Array, " n"], m: int) -> Shaped[Array, " n"]:
    """Return z^m by repeated squaring, which is faster than complex logarithms."""
    if m == 1:
        return z
    root = _power(z, m // 2)
    return root * root * z if m % 2 else root * root


def _one_hidden(target: Target, T: int, m: int, guesses: int, revealed: tuple[int, ...]) -> float:
    """Return E min(1, guesses/(1+X)) for one hidden role; X is the number of wrong columns that fit all samples.

    Cases (n_1, n_0) too unlikely to be summed count as success.
    """
    (hidden,) = {*range(target.s)} - {*revealed}
    values = np.array(target.values)
    decides = values != values[np.arange(2**target.s) ^ (1 << hidden)]
    pivotal, p, N = float(target.chances[decides].sum()), target.p, T - target.s
    n_1 = likely_counts(m, pivotal * p, tail=TAIL)[:, None]
    n_0 = likely_counts(m, pivotal * (1 - p), tail=TAIL)[None, :]
    rest = m - n_1 - n_0
    chance = poisson(n_1, m * pivotal * p) * poisson(n_0, m * pivotal * (1 - p))
    chance = np.where(rest >= 0, chance * poisson(np.maximum(rest, 0), m * (1 - pivotal)), 0.0)
    chance /= float(poisson(m, float(m)))
    ln_w = n_1 * math.log(p) + n_0 * math.log1p(-p)
    with np.errstate(divide="ignore"):  # w = 1 where no sample decides: all survive
        ln_miss = np.log1p(-np.exp(ln_w))
    one = -np.expm1((N + 1) * ln_miss) / np.exp(ln_w + math.log(N + 1))  # E 1/(1+X)
    found = guesses * one
    for x in range(min(guesses - 1, N + 1)):
        ln_ways = math.lgamma(N + 1) - math.lgamma(x + 1) - math.lgamma(N - x + 1)
        survive = np.exp(ln_ways + x * ln_w + (N - x) * ln_miss) if x < N else np.exp(x * ln_w)
        found = found - (guesses / (1 + x) - 1) * survive
    left_out = max(0.0, 1 - float(chance.sum()))
    return float((chance * np.minimum(1.0, found)).sum()) + left_out + guesses * ROUNDING


def missed(target: Target, *, T: int, m: int, guesses: int, enough: float | None = None) -> float:
    """Return an upper bound on 1 - P_opt, the best learner's failure rate, at m samples.

    With `enough`, stop summing once the bound exceeds `enough`.
    """
    c = max((x + 1 - guesses) / (x * (x + 1)) for x in range(guesses, 4 * guesses + 1))
    if m > (10**5 if target.noise else 2**60):
        raise DomainError(f"the labels say too little: more than {m:.0e} samples would be needed.")
    total = 0.0
    for shared in overlaps(target, T):
        ahead, level = _walk(m, shared.differ, target.noise)
        at_most = ahead / guesses + c * level
        of_these = math.exp(min(700.0, shared.ln_number + math.log(at_most))) if at_most > 0 else 0.0
        if enough is not None and 0 < m <= MOST_SAMPLES and of_these > 1e-3 * enough:
            of_these = min(of_these, _missed_typically(target, shared, m, 1 / guesses if target.noise else c))
        total += of_these
        if enough is not None and total > enough:
            break
    return total


def _missed_typically(target: Target, shared: Shared, m: int, factor: float) -> float:
    """Return the union bound E min(1, factor n e^-i) for the n wrong functions that share these positions with the
    right one.

    Given the shared bits and the labels, each of them is at least as likely as the right one with probability at most
    e^-i. This holds for every exponent a in i (docstring of this file); the smallest bound for a few a is returned.
    """
    clean, wrong = target.joint(shared.right), target.joint(shared.wrong)
    found = math.inf
    for tilt in (1.0, 0.85, 0.7, 0.55) if target.noise else (1.0,):
        model = wrong * (1 - target.noise) ** tilt
        if target.noise:
            model = model + wrong[:, ::-1] * target.noise**tilt
        values, chances = _densities(clean, model, target.noise, tilt)
        if not len(values):
            return 0.0
        minus_i, weight = sum_of(-values, chances, m)
        ln_each = np.minimum(0.0, minus_i + shared.ln_each + math.log(factor))
        found = min(found, shared.ways * (float((weight * np.exp(ln_each)).sum()) + 10 * ROUNDING))
    return found


def _walk(m: int, differ: float, noise: float) -> tuple[float, float]:
    """Return P(S > 0) and P(S = 0), where S is the number of wrong labels minus that of right labels.

    Only the samples on which the two functions differ are counted; each of the m samples is one of these with
    probability `differ`.
    """
    if not noise:
        return 0.0, math.exp(m * math.log1p(-differ)) if differ < 1 else float(m == 0)
    from scipy.special import bdtrc

    d = np.arange(m + 1)
    chance = binomial(d, m, differ) if differ < 1 else (d == m).astype(float)
    half = d[: m // 2 + 1]
    level = np.exp(log_choose(2 * half, half) + half * math.log(noise * (1 - noise)))
    return float((chance * bdtrc(d // 2, d, noise)).sum()), float((chance[2 * half] * level).sum())


def upper_end(target: Target, *, T: int, success: float, guesses: int = 1, low: int = 0) -> int:
    """Return the least m >= low at which the bounds prove P_opt >= success; `low` is a known lower bound."""
    miss = 1 - success
    at_most = smallest(lambda m: missed(target, T=T, m=m, guesses=guesses) <= miss)
    return smallest(
        lambda m: missed(target, T=T, m=m, guesses=guesses, enough=miss) <= miss,
        known=at_most,
        excluded=low - 1,
    )


def lower_end(target: Target, *, T: int, success: float, guesses: int = 1) -> int:
    """Return the largest m such that the bounds prove P_opt < success for fewer than m samples."""
    low = 0
    for revealed in target.reveals():

        def not_excluded(m: int) -> bool:
            return best_success(target, T=T, m=m, guesses=guesses, revealed=revealed) >= success  # noqa: B023

        if not not_excluded(low):
            low = smallest(not_excluded, excluded=low)
    return low


def smallest(reached: Callable[[int], bool], *, known: int | None = None, excluded: int = -1) -> int:
    """Return the smallest m with reached(m); reached must be monotone in m.

    `known`, if given, is an m for which reached(m) is true; `excluded` is one for which it is false.
    """
    high = max(1, excluded + 1) if known is None else known
    while known is None and not reached(high):
        high *= 2
    low = excluded
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (low, mid) if reached(mid) else (mid, high)
    return high
