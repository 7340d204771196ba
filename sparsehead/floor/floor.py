"""The information floor: the fewest samples from which any learner could identify the support.

The support I* is uniform over the s-subsets of T positions, bits are independent Bernoulli(p), and the family is known.
In this file labels have no noise; `general` has other functions and noise. Let N be the number of s-sets that explain
the data, and mu the expected number of wrong ones. All explanations are equally likely, so the best possible
probability of naming I* is P_opt = E[1/N]; P_unique = P(N = 1) is the probability that I* is the only explanation. By
the union bound, 1 - mu <= P_unique and 1 - mu/2 <= P_opt. Floors are computed without simulation.

If a learner gives k answers and validation picks the right one, the best possible rate is E min(1, k/N). A trial with k
runs is such a learner. The floors hold for independent samples. The paper's protocol, and ours, redraws a training set
that several supports explain; exhaustive search then always succeeds. So measured thresholds can be compared with
floors, but need not lie above them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arguments import whole
from .._base.errors import DomainError
from .._base.types import Array, Shaped
from ..functions import EXPLAINED, SparseFunction, labels
from ..functions import kind as kind_of
from ..functions.task import conjunction_p
from .bracket import check_class, identification_bounds
from .chances import binomial
from .general import lower_end, smallest, upper_end
from .target import Target, target_of


@dataclass(frozen=True)
class Floor:
    """Proven bounds on the least number of samples with which the best learner names the support at the target rate.

    No learner that gives one answer reaches the target with fewer than m samples, and none that gives `guesses` answers
    reaches it with fewer than m_guesses. The best learner reaches it with `enough` samples.
    """

    in_file: ClassVar = ("T", "m", "enough", "status", "guesses", "m_guesses")

    T: int
    m: int
    enough: int
    guesses: int = 1
    m_guesses: int | None = None

    @property
    def status(self) -> str:
        """Return "exact" if both bounds are equal, else "lower bracket"."""
        return "exact" if self.m == self.enough else "lower bracket"

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as `sparsehead bound --json` prints them."""
        return {"m": self.m, "enough": self.enough, "status": self.status}


def floor(
    kind: str | SparseFunction,
    *,
    s: int | None = None,
    T: int,
    p: float,
    target: float = 0.8,
    unique: bool = False,
    guesses: int = 1,
    noise: float = 0.0,
) -> Floor:
    """Bound the smallest m at which the best possible learner names the support with probability >= target.

    For conjunctions, disjunctions and parities of fair bits, without noise, there are special bounds. The lower bound
    is the first m at which neither Fano's inequality nor `bracket.identification_bounds` (conjunctions) or
    `parity_bounds` excludes the target; all are proven, and none is simulated. The upper bound is the first m with 1 -
    mu/2 >= target (1 - mu if unique), where mu is the expected number of wrong explanations of the samples. For
    conjunctions with balanced labels, p = 2^(-1/s), the lower bound is within one sample of the simulated value at s =
    3 and T = 20 .. 10^5; at p = 1/2 it is up to a tenth below the simulated value. For other functions the bounds are
    those of `general`, which takes functions of the number of ones among s <= 8 positions, and all functions of s <= 4
    positions.

    Args:
        kind: "and", "or", "parity" or "majority" of s positions; or any function (its positions are ignored).
        target: the required success rate, strictly between 0 and 1.
        unique: require instead that with probability >= target the data have only one explanation.
        guesses: number of answers, of which one must be right. In the result, m_guesses belongs to this number of
            answers and m to one answer.
        noise: probability that a label is wrong.
    Paper: sample-lower-bound, information-floor

    >>> floor("and", s=3, T=300, p=0.5 ** (1 / 3))
    Floor(T=300, m=31, enough=34, guesses=1, m_guesses=31)
    >>> floor("majority", s=3, T=300, p=0.5, noise=0.1)
    Floor(T=300, m=45, enough=71, guesses=1, m_guesses=45)
    """
    if not 0 < target < 1:
        raise DomainError(f"target is a probability strictly between 0 and 1, got {target}.")
    whole("guesses", guesses)
    if isinstance(kind, SparseFunction):
        s, kind = kind.s, kind_of(kind) or kind
    own = kind in EXPLAINED and not noise and (kind != "parity" or p == 0.5)
    if s is None or not own or not isinstance(kind, str):
        return _general_floor(target_of(kind, s=s, p=p, noise=noise), T, target, guesses, unique)
    check_class(s=s, T=T, m=0, p=p)

    def not_excluded(m: int, k: int = 1) -> bool:
        if kind == "parity":
            bounds = parity_bounds(s=s, T=T, m=m)
            # k answers for each of 2^m label sequences: P <= k 2^m / C(T, s)
            most = bounds.opt_high if k == 1 else min(1.0, _ratio(k * 2**m, math.comb(T, s)))
            return (bounds.unique_high if unique else most) >= target
        opt, alone = identification_bounds(s=s, T=T, m=m, p=p if kind == "and" else 1 - p, guesses=k)
        return (alone if unique else opt) >= target

    # 1 - mu/2 >= target says mu <= 2 (1 - target), which is the union bound of a lower target
    enough = union_bound(kind, s=s, T=T, p=p, target=target if unique else 2 * target - 1)
    low = max(fano(kind, s=s, T=T, p=p, target=target), smallest(not_excluded, known=enough))
    several = low if guesses == 1 or unique else smallest(lambda m: not_excluded(m, guesses), known=low)
    return Floor(T=T, m=low, enough=enough, guesses=guesses, m_guesses=several)


def _general_floor(function: Target, T: int, success: float, guesses: int, unique: bool) -> Floor:
    check_class(s=function.s, T=T, m=0, p=function.p)
    if unique:
        raise DomainError(
            'unique=True is for "and", "or" and "parity" (p = 1/2) without noise; leave it out for other functions.'
        )
    low = lower_end(function, T=T, success=success)
    several = low if guesses == 1 else lower_end(function, T=T, success=success, guesses=guesses)
    at_most = upper_end(function, T=T, success=success, low=low)
    return Floor(T=T, m=low, enough=at_most, guesses=guesses, m_guesses=several)


def conjunction_floor(s: int, T: int) -> Floor:
    """Return the floor of s-conjunctions with balanced labels: 80 % success, one answer."""
    if not 1 <= s < T:
        raise DomainError(f"--s is the number of relevant positions, 1 <= s < T={T}; got {s}.")
    return floor("and", s=s, T=T, p=conjunction_p(s))


def floor_curve(kind: str | SparseFunction, *, Ts: Sequence[int], **options: Any) -> tuple[Floor, ...]:
    """Return `floor` at each T of `Ts`, with the other options of `floor`."""
    if not Ts:
        raise DomainError("floor_curve needs one or more context lengths, got none.")
    return tuple(floor(kind, T=T, **options) for T in Ts)


def difference(kind: str, *, s: int, r: int, p: float) -> float:
    """Return the probability that two s-sets with r common positions give different labels to a Bernoulli(p) input.

    Let a be the number of ones at the common positions, and b, c those at the positions of only one set; they are
    independent binomials. If g(j) is the label of j ones, the probability is P(g(a + b) != g(a + c)), which is 2(p^s -
    p^(2s-r)) for the conjunction. It is a sum of positive terms, so rounding does not cancel it if labels are nearly
    constant.
    """
    g, private = labels(kind, s), _binomial(s - r, p)
    total = 0.0
    for a, weight in enumerate(_binomial(r, p)):
        one, zero = _label_chances(g[a:], private)
        total += weight * 2 * one * zero
    return min(1.0, total)


def _label_chances(g: Shaped[Array, " n"], chances: list[float]) -> tuple[float, float]:
    """Return the probabilities of label 1 and of label 0, where j ones have the label g[j] and the probability
    chances[j].
    """
    one, zero = (sum((q for j, q in enumerate(chances) if g[j] == label), 0.0) for label in (1, 0))
    return one, zero


def expected_wrong(kind: str, *, s: int, T: int, m: int, p: float) -> float:
    """Return mu, the mean number of wrong s-sets of positions that explain m samples.

    mu = sum over r < s of C(s, r) C(T-s, s-r) (1 - difference_r)^m, where r counts the positions shared with the right
    set.
    """
    check_class(s=s, T=T, m=m, p=p)
    mu = 0.0
    for r in range(max(0, 2 * s - T), s):
        pairs = math.comb(s, r) * math.comb(T - s, s - r)
        differ = difference(kind, s=s, r=r, p=p)
        if m and differ == 0:
            raise DomainError(
                f"with p={p:g} a label of {kind} of {s} bits is constant but for a probability below 1e-308; "
                "no number of samples that a float holds tells its positions."
            )
        if m and differ == 1:
            continue  # none of them survives a single sample
        mu += math.exp(min(700.0, math.log(pairs) + (m * math.log1p(-differ) if m else 0.0)))
    return mu


def union_bound(kind: str, *, s: int, T: int, p: float, target: float = 0.8) -> int:
    """Return the smallest m at which the mean number of wrong explanations is at most 1 - target.

    With that many samples the data have only one explanation with probability >= target, so m is at least the floor.
    """
    return smallest(lambda m: expected_wrong(kind, s=s, T=T, m=m, p=p) <= 1 - target)


def fano(kind: str, *, s: int, T: int, p: float, target: float = 0.8) -> int:
    """Return the smallest m that Fano's inequality allows: m >= (target log2 C(T,s) - h(target)) / h(P(label = 1)).

    h is the binary entropy in bits. On average a label gives at most h(P(label = 1)) bits of information about the
    support: h is concave, and the mean over inputs of P(label = 1 | input) is P(label = 1).
    Paper: sample-lower-bound
    """
    one, zero = _label_chances(labels(kind, s), _binomial(s, p))
    bits = target * math.log2(math.comb(T, s)) - entropy(target, 1 - target)
    # rounded down by more than the arithmetic can be off, so that the bound is never a sample too high
    return max(0, math.ceil(bits / entropy(one, zero) * (1 - 1e-12)))


@dataclass(frozen=True)
class ParityBounds:
    """Lower and upper bounds on P_opt and P_unique for parities of s fair bits.

    P_opt is the success rate of the best learner, P_unique the probability that only one parity explains the samples.
    `opt` and `unique` assume that the number of wrong parities that fit is Poisson with mean `mu`.
    """

    mu: float
    opt_low: float
    opt: float
    opt_high: float
    unique_low: float
    unique: float
    unique_high: float


def parity_bounds(*, s: int, T: int, m: int) -> ParityBounds:
    """Return bounds on P_opt and P_unique from the first two moments of X, the number of wrong parities that explain m
    samples.

    Each of the C(T,s) - 1 wrong sets explains the data with probability 2^-m, pairwise independently (the symmetric
    differences with I* are distinct and non-zero, hence independent over GF(2)). So E X = mu and
    E X(X-1) = mu_2 are known exactly, and for whole numbers x >= 0

        1 - x/2 <= 1/(1+x) <= 1 - x/2 + x(x-1)/6,        1 - x <= [x = 0] <= 1 - x + x(x-1)/2,

    with equality at x = 0 and 1 (on the right also at 2). These are combined with Jensen's inequality (1/(1+mu) <=
    P_opt), Cantelli's (P_unique <= 1/(1+mu)) and counting (P_opt <= 2^m / C(T,s)). `opt` and `unique` assume that X is
    Poisson. At T=20, m=12, s=3 Jensen, Cantelli and counting alone give [.782, 1] for P_opt, all together [.861, .874].
    Paper: parity-floor
    """
    check_class(s=s, T=T, m=m, p=0.5)
    sets = math.comb(T, s)
    mu = _ratio(sets - 1, 2**m)
    mu_2 = mu * _ratio(max(0, sets - 2), 2**m)
    return ParityBounds(
        mu=mu,
        opt_low=max(1 / (1 + mu), 1 - mu / 2),
        opt=min(1.0, -math.expm1(-mu) / mu) if mu > 0 else 1.0,
        opt_high=min(1.0, _ratio(2**m, sets), 1 - mu / 2 + mu_2 / 6 if mu < 4 else 1.0),
        unique_low=max(0.0, 1 - mu),
        unique=math.exp(-mu),
        unique_high=min(1 / (1 + mu), 1 - mu + mu_2 / 2 if mu < 4 else 1.0),
    )


def _binomial(n: int, p: float) -> list[float]:
    """Return the probabilities of 0 .. n successes."""
    return binomial(np.arange(n + 1), n, p).tolist()


def entropy(one: float, zero: float) -> float:
    """Return the entropy in bits of two probabilities with sum 1; both are given, as 1 - q is inexact for small q."""
    pairs = ((one, zero), (zero, one))
    nats = sum(-q * (math.log1p(-other) if other < 0.5 else math.log(q)) for q, other in pairs if q)
    return nats / math.log(2)


def _ratio(a: int, b: int) -> float:
    """Return a/b for integers of any size; inf beyond the range of a float."""
    try:
        return a / b
    except OverflowError:
        return math.inf
