"""The information floor: how few samples could identify the support, whatever the learner.

The support I* is uniform over the s-subsets of T positions, bits are iid Bernoulli(p), labels are noiseless, the
family is known. Every explanation of the data is then equally likely, so the best possible probability of naming
I* is P_opt = E[1/N], N the number of s-sets that explain the data, and P_unique = P(N = 1) is the probability
that nothing is left to guess. Always 1 - mu <= P_unique <= P_opt with mu the expected number of wrong
explanations (the union bound).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DomainError
from ..rng import stream
from .elimination import CAP, _check, consistent_counts

KINDS = ("and", "or", "parity", "majority")


@dataclass(frozen=True)
class Identification:
    """P_opt and P_unique at one (T, m). The errors are standard errors of the simulation plus the count's cap."""

    T: int
    m: int
    opt: float
    opt_error: float
    unique: float
    unique_error: float


def floor(
    kind: str, *, s: int, T: int, p: float, target: float = 0.8, trials: int = 1500, rng: np.random.Generator
) -> int:
    """The smallest m at which the best possible learner names the support with probability >= target.

    `floor_curve` at one T.   Paper: sample-lower-bound
    """
    return floor_curve(kind, s=s, Ts=[T], p=p, target=target, trials=trials, rng=rng)[0]


def floor_curve(
    kind: str,
    *,
    s: int,
    Ts: Sequence[int],
    p: float,
    target: float = 0.8,
    unique: bool = False,
    trials: int = 1500,
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """For each T of the increasing `Ts`, the smallest m with P_opt(m, T) >= target.

    Args:
        kind: "and" (any p), "or" (the conjunction of the flipped bits), or "parity" (p = 1/2).
        unique: ask for P_unique >= target instead: the data allow one explanation only.
        trials: simulated data sets per m (conjunctions); at 1500 the answer repeats to within 1.
    Returns:
        One m per T, non-decreasing in T: every T sees the same simulated data, extended by columns. Where
        counting would take too long (beyond T = 3000 at s = 3 with balanced labels) the curve continues with
        its asymptotic slope, a little steeper than the curve (up to a sample per decade). For parity the Poisson
        value, which `parity_bounds` brackets to within one sample.   Paper: information-floor
    """
    Ts = list(Ts)
    if not Ts or Ts != sorted(set(Ts)):
        raise DomainError(f"Ts must be one or more increasing context lengths, got {Ts}.")
    if not 0 < target < 1:
        raise DomainError(f"target is a probability strictly between 0 and 1, got {target}.")
    if kind == "parity":
        _check(s=s, T=Ts[0], m=0, p=p)
        return tuple(_parity_floor(s=s, T=T, p=p, target=target, unique=unique) for T in Ts)
    if kind == "or":
        p = 1 - p
    elif kind != "and":
        raise DomainError(
            f'floor knows "and", "or" and "parity", got {kind!r}; fano() and union_bound() also take "majority".'
        )
    _check(s=s, T=Ts[0], m=0, p=p)
    seed = int(rng.integers(2**32))
    largest = _largest_simulated(s=s, p=p, T=Ts[-1])
    scan = dict(s=s, p=p, target=target, unique=unique, seed=seed)
    chances: dict[int, list[tuple[int, float]]] = {}
    for group in _groups(sorted({min(T, largest) for T in Ts}), s=s, p=p):
        n_trials = int(np.clip(3e7 / _sets_in_play(s=s, T=group[-1], p=p), 200, trials))
        chances |= _scan(Ts=group, trials=min(trials, n_trials), **scan)  # type: ignore[arg-type]
    found = [
        _crossing(chances[min(T, largest)], target) + floor_slope(s=s, p=p) * math.log(T / min(T, largest))
        for T in Ts
    ]
    # more columns never help, though noise may say so
    return tuple(math.ceil(m) for m in np.maximum.accumulate(found))


def identification(
    *, s: int, Ts: Sequence[int], m: int, p: float, trials: int, rng: np.random.Generator
) -> list[Identification]:
    """P_opt and P_unique for s-conjunctions at m samples, one entry per T, by simulation.   Paper: information-floor"""
    N = consistent_counts(s=s, Ts=Ts, m=m, p=p, trials=trials, rng=rng)
    share, alone = 1 / N, N == 1
    cut = (N >= CAP).mean(axis=0) / CAP
    return [
        Identification(
            T=int(T),
            m=m,
            opt=float(share[:, j].mean()),
            opt_error=float(share[:, j].std() / math.sqrt(trials) + cut[j]),
            unique=float(alone[:, j].mean()),
            unique_error=float(alone[:, j].std() / math.sqrt(trials)),
        )
        for j, T in enumerate(Ts)
    ]


def agreement(kind: str, *, s: int, r: int, p: float) -> float:
    """Probability that two s-sets with r positions in common give the same label to a Bernoulli(p) input.

    With a, b, c the ones in the common and in the two private parts, independent binomials, it is
    P(g(a + b) = g(a + c)); for the conjunction 1 - 2(p^s - p^(2s-r)).
    """
    g = _symmetric(kind, s)
    pa, pb = _binomial(r, p), _binomial(s - r, p)
    total = 0.0
    for a, weight in enumerate(pa):
        one = sum(q for b, q in enumerate(pb) if g[a + b])
        total += weight * (one**2 + (1 - one) ** 2)
    return total


def expected_wrong(kind: str, *, s: int, T: int, m: int, p: float) -> float:
    """mu = sum over r < s of C(s, r) C(T-s, s-r) agreement_r^m: the expected number of wrong explanations."""
    _check(s=s, T=T, m=m, p=p)
    mu = 0.0
    for r in range(max(0, 2 * s - T), s):
        pairs = math.comb(s, r) * math.comb(T - s, s - r)
        mu += math.exp(min(700.0, math.log(pairs) + m * math.log(agreement(kind, s=s, r=r, p=p))))
    return mu


def union_bound(kind: str, *, s: int, T: int, p: float, target: float = 0.8) -> int:
    """The smallest m with mu <= 1 - target: enough for P_unique >= target, so at least the floor."""
    return _smallest(lambda m: expected_wrong(kind, s=s, T=T, m=m, p=p) <= 1 - target)


def fano(kind: str, *, s: int, T: int, p: float, target: float = 0.8) -> int:
    """The smallest m Fano's inequality allows: m >= (target log2 C(T,s) - h(target)) / h(P(label = 1)).

    h is the binary entropy in bits. A label carries at most h(P(label = 1)) bits about the support: given the
    input its probability varies around that mean, and h is concave.   Paper: sample-lower-bound
    """
    g = _symmetric(kind, s)
    rate = sum(q for j, q in enumerate(_binomial(s, p)) if g[j])
    bits = target * math.log2(math.comb(T, s)) - _entropy(target)
    return max(0, math.ceil(bits / _entropy(rate) - 1e-12))


def floor_slope(*, s: int, p: float) -> float:
    """Samples per ln T that identifying an s-conjunction takes as T grows:  max_r (s-r) / (ln 2 p^r h(p^(s-r))).

    To tell I* from the sets that share exactly r of its positions, (s-r) log2 T bits are needed, and a sample
    gives H(label | the r shared bits) = p^r h(p^(s-r)) bits. At r = 0 this is s log2 T / h(p^s), the number of
    bits in I* over the entropy of a label.

    Differs: theory.md E7 takes the slope of a single swap in the first moment, 1 / -ln(1 - 2 p^s (1-p)), 7.5 at
    s = 3, p = 1/2. That is below h's limit: r = 0 decides, and the slope is 7.96. For balanced labels,
    p = 2^(-1/s), all first-moment slopes and r = 0 coincide at s / ln 2 (4.33 at s = 3), so the number stands.

    >>> round(floor_slope(s=3, p=0.5), 2), round(floor_slope(s=3, p=0.5 ** (1 / 3)), 2)
    (7.96, 4.33)
    """
    return max((s - r) / (math.log(2) * p**r * _entropy(p ** (s - r))) for r in range(s))


def swap_bounds(
    *, s: int, T: int, m: int, p: float, trials: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Upper bounds on (P_opt, P_unique) from the explanations that differ from I* in one position only.

    Given M positives and the d_i samples in which position i alone is 0, an outside column is 1 on all positives
    with probability p^M and can then replace i with probability (1-p)^d_i, independently over i and over columns.
    So N_swap has generating function [1 - p^M + p^M prod_i(1 - (1-p)^d_i (1-z))]^(T-s), and
    E 1/(1+N_swap) is its integral over [0, 1]. Only (M, d) is simulated.
    """
    _check(s=s, T=T, m=m, p=p)
    near = [p ** (s - 1) * (1 - p)] * s
    draws = rng.multinomial(m, [p**s, *near, max(0.0, 1 - p**s - sum(near))], size=trials)
    keep = p ** draws[:, 0]
    replace = (1 - p) ** draws[:, 1 : s + 1]
    nodes, weights = np.polynomial.legendre.leggauss(40)
    opt = np.zeros(trials)
    for node, weight in zip((nodes + 1) / 2, weights / 2):
        opt += weight * (1 - keep + keep * (1 - replace * (1 - node)).prod(axis=1)) ** (T - s)
    unique = (1 - keep * (1 - (1 - replace).prod(axis=1))) ** (T - s)
    return float(opt.mean()), float(unique.mean())


@dataclass(frozen=True)
class ParityBounds:
    """Brackets for P_opt and P_unique of s-parities on fair bits, and their Poisson values between them."""

    mu: float
    opt_low: float
    opt: float
    opt_high: float
    unique_low: float
    unique: float
    unique_high: float


def parity_bounds(*, s: int, T: int, m: int) -> ParityBounds:
    """Brackets from the first two moments of X, the number of wrong parities that explain m fair samples.

    Each of the C(T,s) - 1 wrong sets survives with probability 2^-m, pairwise independently (the symmetric
    differences with I* are distinct and non-zero, hence independent over GF(2)). So E X = mu and
    E X(X-1) = mu_2 are known exactly, and for whole numbers x >= 0

        1 - x/2 <= 1/(1+x) <= 1 - x/2 + x(x-1)/6,        1 - x <= [x = 0] <= 1 - x + x(x-1)/2,

    the polynomials that touch at x = 0, 1 (and 2). Combined with Jensen (1/(1+mu) <= P_opt), Cantelli
    (P_unique <= 1/(1+mu)) and counting (P_opt <= 2^m / C(T,s)). The values between are those of a Poisson X.
    Differs: theory.md E8 has the last three only; at T=20, m=12, s=3 its [.782, 1] becomes [.861, .874].
    Paper: parity-floor
    """
    _check(s=s, T=T, m=m, p=0.5)
    sets = math.comb(T, s)
    mu = (sets - 1) / 2**m
    mu_2 = mu * max(0, sets - 2) / 2**m
    opt_high = min(1.0, 2**m / sets, 1 - mu / 2 + mu_2 / 6)
    unique_high = min(1 / (1 + mu), 1 - mu + mu_2 / 2)
    return ParityBounds(
        mu=mu,
        opt_low=max(1 / (1 + mu), 1 - mu / 2),
        opt=-math.expm1(-mu) / mu if mu > 0 else 1.0,
        opt_high=opt_high,
        unique_low=max(0.0, 1 - mu),
        unique=math.exp(-mu),
        unique_high=unique_high,
    )


def _parity_floor(*, s: int, T: int, p: float, target: float, unique: bool) -> int:
    if p != 0.5:
        raise DomainError(f"the parity floor is for fair bits, p = 0.5; got p={p}.")

    def reached(m: int) -> bool:
        bounds = parity_bounds(s=s, T=T, m=m)
        return (bounds.unique if unique else bounds.opt) >= target

    return _smallest(reached)


def _sets_in_play(*, s: int, T: int, p: float) -> float:
    """s-subsets of the columns that survive the positives of a data set as large as the floor asks for."""
    m = math.log2(math.comb(T, s)) / _entropy(p**s)
    n = s + (T - s) * p ** (m * p**s)
    return max(1.0, n**s / math.factorial(s))


def _largest_simulated(*, s: int, p: float, T: int) -> int:
    """The largest context length up to T that elimination counts in seconds."""
    while 2 * s < T and _sets_in_play(s=s, T=T, p=p) > 8e4:
        T = int(T * 0.95)
    return T


def _groups(Ts: list[int], *, s: int, p: float) -> list[list[int]]:
    """Cheap context lengths share their simulated data; a costly one stands alone, with fewer trials."""
    cheap = [T for T in Ts if _sets_in_play(s=s, T=T, p=p) < 2e4]
    return ([cheap] if cheap else []) + [[T] for T in Ts if T not in cheap]


def _scan(
    *, s: int, Ts: Sequence[int], p: float, target: float, unique: bool, trials: int, seed: int
) -> dict[int, list[tuple[int, float]]]:
    """(m, chance) pairs per T, from the union bound downwards until the chance is clearly below target.

    Downwards, because data sets far below the floor leave many columns in play and are slow to count.
    """
    start = {T: union_bound("and", s=s, T=T, p=p, target=target) for T in Ts}
    stop = _inverse_logit(_logit(target) - 0.8)
    chances: dict[int, list[tuple[int, float]]] = {T: [] for T in Ts}
    open_Ts = list(Ts)
    for m in range(max(start.values()), -1, -1):
        active = [T for T in open_Ts if start[T] >= m]
        if active:
            points = identification(s=s, Ts=active, m=m, p=p, trials=trials, rng=stream(seed, "floor", m))
            for point in points:
                chances[point.T].append((m, point.unique if unique else point.opt))
        open_Ts = [T for T in open_Ts if not chances[T] or chances[T][-1][1] >= stop]
        if not open_Ts:
            break
    return chances


def _crossing(chances: list[tuple[int, float]], target: float) -> float:
    """Where the chance crosses target, from noisy (m, chance) pairs around it.

    A line through logit(chance) within 1 of logit(target) pools the noise of neighbouring m; where the chance
    moves so fast that fewer than four points lie there, the first m at or above target stands.
    """
    near = [(m, _logit(q)) for m, q in chances if 0 < q < 1 and abs(_logit(q) - _logit(target)) <= 1]
    if len(near) >= 4:
        slope, intercept = np.polyfit([m for m, _ in near], [x for _, x in near], 1)
        return float((_logit(target) - intercept) / slope)
    return float(min(m for m, q in chances if q >= target))


def _smallest(reached: Callable[[int], bool]) -> int:
    """The smallest m >= 0 with reached(m), a condition that stays true once it is: doubling, then bisection."""
    high = 1
    while not reached(high):
        high *= 2
    low = -1
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (low, mid) if reached(mid) else (mid, high)
    return high


def _symmetric(kind: str, s: int) -> list[bool]:
    """The label at each count 0 .. s of ones in the support."""
    rules = {
        "and": lambda j: j == s,
        "or": lambda j: j > 0,
        "parity": lambda j: j % 2 == 1,
        "majority": lambda j: 2 * j > s,
    }
    if kind not in rules:
        raise DomainError(f"kind is one of {', '.join(KINDS)}, got {kind!r}.")
    return [rules[kind](j) for j in range(s + 1)]


def _binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


def _logit(q: float) -> float:
    return math.log(q / (1 - q))


def _inverse_logit(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _entropy(q: float) -> float:
    """The binary entropy h(q) in bits."""
    return -sum(x * math.log2(x) for x in (q, 1 - q) if x > 0)
