"""Upper bounds on the best possible success rate of any learner of s-conjunctions (ANDs of s of T bits).

Let N be the number of s-sets that explain m samples. P_opt(m) = E[1/N] is the probability with which the best learner
names the right set, and P_unique(m) = P(N = 1) the probability that only the right set explains the data. Leaving
explanations out of N can only raise P_opt and P_unique; so can revealing some of the positions. Two such bounds are
computed, both non-decreasing in m; if the smaller one is below a target, no learner reaches the target with m samples.

    swap_bounds      only the s-sets that differ from the true one in a single position are counted
    counting_bound   r of the s positions are revealed; a learner then has one guess per label sequence

Both are sums of non-negative terms, and nothing is simulated. Cases that are not enumerated count as success, and
ROUNDING is added for the arithmetic, so that the results are upper bounds as floats too.
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float, Int
from .chances import binomial, likely_counts, log_choose, poisson

# sums of at most 1e6 positive terms, each within 1e-10: exponentials of sums of logarithms below 1e5
ROUNDING = 1e-9
MOST_SAMPLES = 10_000  # up to here that holds, and the sums take a fraction of a second
MULTISETS = 1000  # of (d_1 .. d_s) that are enumerated; larger d_i count as "cannot be replaced"
TAIL = 1e-13  # numbers of positives that are rarer than this are not enumerated


def identification_bounds(*, s: int, T: int, m: int, p: float, guesses: int = 1) -> tuple[float, float]:
    """Return upper bounds on (P_opt, P_unique) for ANDs of s of T Bernoulli(p) bits and m samples.

    P_opt is the success rate of the best learner, P_unique the probability that only one s-set explains the samples.

    If a learner may make several guesses, of which validation picks the right one, P_opt = E min(1, guesses/N).
    Beyond MOST_SAMPLES samples the bound is 1.
    Paper: information-floor
    """
    if m > MOST_SAMPLES:
        return 1.0, 1.0
    opt, unique = swap_bounds(s=s, T=T, m=m, p=p, guesses=guesses)
    opt = min(opt, counting_bound(s=s, T=T, m=m, p=p, guesses=guesses))
    return opt, min(opt, unique)


def swap_bounds(*, s: int, T: int, m: int, p: float, guesses: int = 1) -> tuple[float, float]:
    """Return upper bounds on (P_opt, P_unique), counting only explanations that differ from the true set in one
    position.

    Let M samples be positive, and let d_i samples have a 0 at the true position i and a 1 at the other true positions.
    A column outside the true set is 1 on all positives with probability p^M, and can then replace i with probability
    (1-p)^d_i, independently over i and over columns.
    So the number X of wrong sets that explain the data has the generating function

        g(z) = [1 - p^M + p^M prod_i (1 - (1-p)^d_i (1-z))]^(T-s),    P(X = 0) = g(0),   E 1/(1+X) = int_0^1 g,

    and (M, d_1 .. d_s, other samples) is multinomial. The expectation is a sum over all values of (M, d_1 .. d_s). All
    d_i >= D are treated as one case in which no column can replace i; D is the largest number that leaves at most
    MULTISETS multisets. For k guesses take E min(1, k/(1+X)) = k E 1/(1+X) - sum over x < k - 1 of P(X = x) (k/(1+x) -
    1), where P(X = x) is a coefficient of g.
    """
    check_class(s=s, T=T, m=m, p=p)
    d, orders = _multisets(s, min(_cut(s), m + 1))
    M, weight = _weights(d, orders, s=s, m=m, p=p)
    columns = float(min(T, 10**15) - s)  # fewer columns only raise the bound
    cut = d.max()
    replace = np.where(d < cut, (1 - p) ** d.astype(np.float64), 0.0)
    keep = p ** M.astype(np.float64)[:, None]

    def g(z: float) -> Float[Array, "M multisets"]:
        with np.errstate(divide="ignore"):  # ln 0 = -inf where a column must be a replacement: g = 0 there
            hit = -np.expm1(np.log1p(-replace * (1 - z)).sum(axis=1))
            return np.exp(columns * np.log1p(-keep * hit)) if columns else np.ones(weight.shape)

    left_out = max(0.0, 1 - float(weight.sum()))
    opt = guesses * sum(share * float((weight * g(z)).sum()) for z, share in _quadrature())
    for x, chance in enumerate(_coefficients(keep, replace, columns, guesses - 1)):
        opt -= (guesses / (1 + x) - 1) * float((weight * chance).sum())
    unique = float((weight * g(0.0)).sum())
    return min(1.0, opt + left_out + guesses * ROUNDING), min(1.0, unique + left_out + ROUNDING)


def _coefficients(
    keep: Float[Array, "M 1"], replace: Float[Array, "multisets s"], columns: float, n: int
) -> list[Float[Array, "M multisets"]]:
    """Return P(X = 0), .., P(X = n - 1), the coefficients of g(z) = h(z)^columns, by Miller's recurrence.

    h is the expression in square brackets in `swap_bounds`, for one column. Where h(0) = 0 (every column replaces a
    true position) return 0 for all probabilities, which can only raise the bound.
    """
    ways = np.zeros((len(replace), replace.shape[1] + 1))  # of one column that is 1 on all positives
    ways[:, 0] = 1.0
    for i in range(replace.shape[1]):
        ways[:, 1:] = ways[:, 1:] * (1 - replace[:, i : i + 1]) + ways[:, :-1] * replace[:, i : i + 1]
        ways[:, 0] *= 1 - replace[:, i]
    h = keep[:, :, None] * ways[None]
    h[:, :, 0] += 1 - keep
    open_ = h[:, :, 0] > 0
    first = np.where(open_, h[:, :, 0], 1.0)
    found = [np.where(open_, np.exp(columns * np.log(first)), 0.0)][: max(n, 0)]
    for j in range(1, n):
        terms = (
            (i * (columns + 1) - j) * h[:, :, i] * found[j - i] for i in range(1, min(j, h.shape[2] - 1) + 1)
        )
        found.append(sum(terms) / (j * first))
    return found


def counting_bound(*, s: int, T: int, m: int, p: float, guesses: int = 1) -> float:
    """Return the least over r < s of a bound on the best success rate if r of the s positions are revealed.

    The label is then 0 unless the r known bits are all 1. That is so in n ~ Bin(m, p^r) samples, whose labels are a
    conjunction of s-r unknown bits. There are K = C(T-r, s-r) equally likely supports. For each label sequence y a
    guess is right for at most one support. A sequence y with M ones has the probability P(y) = q^M (1-q)^(n-M), q =
    p^(s-r), so

        P_opt <= E_n sum_M C(n, M) min(guesses/K, P(y)).
    """
    check_class(s=s, T=T, m=m, p=p)
    return min(1.0, min(_revealed(r, s=s, T=T, m=m, p=p, guesses=guesses) for r in range(s)) + ROUNDING)


def _revealed(r: int, *, s: int, T: int, m: int, p: float, guesses: int) -> float:
    from scipy.special import xlog1py, xlogy

    n = likely_counts(m, p**r, tail=TAIL)[:, None]
    M = likely_counts(m, p**s, tail=TAIL)[None, :]
    q = p ** (s - r)
    log_y = xlogy(M, q) + xlog1py(np.maximum(n - M, 0), -q)
    log_sequences = log_choose(np.maximum(n, M), M)
    chance_n = binomial(n, m, p**r)
    share = np.where(n >= M, np.exp(log_sequences + log_y), 0.0)  # P(M | n)
    named = math.log(guesses) - math.log(math.comb(T - r, s - r))
    won = np.where(n >= M, np.exp(log_sequences + np.minimum(log_y, named)), 0.0)
    left_out = max(0.0, 1 - float((chance_n * share).sum()))
    return float((chance_n * won).sum()) + left_out


def _weights(
    d: Int[Array, "multisets s"], orders: Float[Array, " multisets"], *, s: int, m: int, p: float
) -> tuple[Int[Array, " M"], Float[Array, "M multisets"]]:
    """Return the likely numbers M of positive samples, and P(M, d) for each multiset d of the numbers d_1 .. d_s of
    samples with a single 0 at true position 1 .. s.

    The largest entry of d means that number or more. A multinomial vector is distributed as independent Poisson counts
    given their sum, so sums over "or more" are convolutions of probabilities, without overflow or underflow.
    """
    cut, near = d.max(), p ** (s - 1) * (1 - p)
    j = np.arange(m + 1)
    exactly = poisson(j, m * near)
    or_more = np.where(j >= cut, exactly, 0.0)
    others = [poisson(j, m * max(0.0, 1 - p**s - s * near))]
    for _ in range(s):
        others.append(_sum_of_two(others[-1], or_more))
    open_ended = (d == cut).sum(axis=1)
    fixed = np.where(d < cut, d, 0)
    chance = orders * np.where(d < cut, exactly[np.minimum(fixed, m)], 1.0).prod(axis=1)
    M = likely_counts(m, p**s, tail=TAIL)
    left = m - M[:, None] - fixed.sum(axis=1)[None, :]
    rest = np.where(left >= 0, np.array(others)[open_ended[None, :], np.maximum(left, 0)], 0.0)
    return M, poisson(M, m * p**s)[:, None] * chance * rest / float(poisson(m, float(m)))


def _sum_of_two(a: Float[Array, " n"], b: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return P(sum = 0 .. n-1) for two independent counts; the ends of a and b below 1e-25 are dropped for speed."""
    found = np.zeros(len(a))
    large_a, large_b = np.flatnonzero(a > 1e-25), np.flatnonzero(b > 1e-25)
    if len(large_a) and len(large_b):
        start = large_a[0] + large_b[0]
        both = np.convolve(a[large_a[0] : large_a[-1] + 1], b[large_b[0] : large_b[-1] + 1])
        found[start : start + len(both)] = both[: max(0, len(a) - start)]
    return found


def _cut(s: int) -> int:
    """Return the largest D <= MULTISETS with at most MULTISETS multisets of s numbers from 0 .. D, but at least 1."""
    D = 1
    while D < MULTISETS and math.comb(s + D + 1, s) <= MULTISETS:
        D += 1
    return D


@lru_cache(maxsize=8)
def _multisets(s: int, cut: int) -> tuple[Int[Array, "n s"], Float[Array, " n"]]:
    """Return all multisets of s numbers from 0 .. cut, sorted, and the number of orders of each."""
    d = np.array(list(itertools.combinations_with_replacement(range(cut + 1), s)))
    repeats = [[row.count(x) for x in set(row)] for row in d.tolist()]
    orders = [math.factorial(s) / math.prod(math.factorial(c) for c in counts) for counts in repeats]
    return d, np.array(orders)


@lru_cache(maxsize=1)
def _quadrature() -> list[tuple[float, float]]:
    """Return Gauss-Radau nodes and weights on [0, 1], with z = 1 among the nodes.

    All derivatives of a generating function are non-negative on [0, 1], and the error of the rule has the sign of
    -g^(2n-1), so the sum is never below the integral. (Gauss's rule, without the node 1, would never be above it.)
    """
    from scipy.special import roots_jacobi

    nodes = 24
    x, w = roots_jacobi(nodes - 1, 1, 0)
    return [*zip(((1 + x) / 2).tolist(), (w / (1 - x) / 2).tolist()), (1.0, 1 / nodes**2)]


def check_class(*, s: int, T: int, m: int, p: float) -> None:
    """Raise DomainError unless 1 <= s <= T, m >= 0 and 0 < p < 1."""
    if not 1 <= s <= T:
        raise DomainError(f"a support has 1 <= s <= T positions, got s={s}, T={T}.")
    if m < 0:
        raise DomainError(f"m counts samples, so m >= 0; got {m}.")
    if not 0 < p < 1:
        raise DomainError(f"p is the probability of a one, strictly between 0 and 1; got {p}.")
