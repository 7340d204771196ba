"""Formulas with the constants that the paper, the notes and textbooks print; `bound` does not use them."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from sparsehead._base.log_math import Real, check_count, check_delta, check_eps, check_norm, exp, ln, log_sum
from sparsehead._base.types import Array, Float
from sparsehead.capacity.items import Item


def rademacher_simple(*, C: Real, A: Real, m: Real) -> float:
    """Return the textbook bound with its constant: e sqrt2 r (1 + ln^+(A/(sqrt2 r))), r = sqrt(C/m).

    Paper: rademacher-cover
    """
    r = math.sqrt(2 * C / m)
    return math.e * r * (1 + max(0.0, math.log(A / r))) if r > 0 else 0.0


def entropy_integral(log_covering: Callable[[float], float], *, A: Real, m: Real, alpha: Real) -> float:
    """Bound R^ <= 4 alpha + 4 sqrt2 m^{-1/2} int_alpha^{A/2} sqrt(ln N(eps)) d eps, for any 0 < alpha <= A/2.

    The class lies within A of one function and has proper covers. Chaining at q = 1/2 (`rademacher`) gives
    A 2^{-J} + m^{-1/2} sum_j A 2^{1-j} sqrt(2 ln N(A 2^{-j})); each term is at most 4 sqrt2 times the integral
    over [A 2^{-j-1}, A 2^{-j}], where ln N is no smaller. Take the largest J with A 2^{-J-1} >= alpha.

    The integral is replaced by an upper sum on a geometric grid, which can only overestimate it. For alpha > A/2 the
    trivial bound A is returned.   Paper: entropy-integral
    Differs: the paper leaves the constant open; textbooks have 12 in place of 4 sqrt2.
    """
    A, alpha = check_norm("A", A), check_eps(alpha, "alpha")
    total, high = 0.0, A / 2
    if alpha > high:
        return A
    while high > alpha:
        low = max(alpha, high / 1.05)  # the upper sum exceeds the integral by at most 5 %
        total += (high - low) * math.sqrt(log_covering(low))
        high = low
    return min(A, 4 * alpha + 4 * math.sqrt(2 / check_count("m", m)) * total)


def finite_class_samples(*, log_size: float, eps: Real, delta: Real) -> int:
    """Return the least integer m >= (ln|F| + ln(1/delta))/eps: enough for a consistent learner of a finite class.

    Paper: sample-size
    """
    return math.ceil((log_size - math.log(check_delta(delta))) / check_eps(eps))


def printed_corollary(
    *, V21: Real, V: Real, QK21: Real, BX: Real, L: Real, m: Real, T: Real, eps: Real
) -> float:
    """Return the single-layer bound as the notes print it, with constant 1:

        (L B_X)^2 ( V21^{2/3} + (QK21 V)^{2/3} )^3 / eps^2  log(mT).

    It is correct only for B_X = 1: multiplying X by c, W_QK by 1/c^2 and W_V by 1/c leaves the functions of the class
    unchanged but changes this number.   Paper: single-layer-capacity
    """
    third = 2 / 3
    inner = check_norm("V21", V21) ** third + (check_norm("QK21", QK21) * check_norm("V", V)) ** third
    log_scale = 2 * (ln(L) + ln(check_norm("BX", BX)) - math.log(check_eps(eps)))
    return exp(log_scale + 3 * ln(inner)) * (ln(m) + ln(T))


def smallest_step(values: Float[Array, " n"]) -> float:
    """Return the least rise of a symmetric function from r ones to r + 1, given its values at 0, 1, .., s ones.

    It is the largest gamma for which the function is gamma-strictly monotone, and is <= 0 unless the values always
    rise.   Paper: gamma-monotone
    """
    return float(np.diff(values).min())


def item(name: str, *, c: Real, p: Real) -> Item:
    """Return an item with cost c/x^2 and weight p, the two numbers of the split lemma."""
    return Item(name, ln(check_norm("c", c)) / 2, 0.0, ln(check_norm("p", p)), math.inf)


def split(items: Sequence[Item], eps: Real) -> tuple[float, ...]:
    """Return the x_k that minimise sum c_k/x_k^2 subject to sum p_k x_k = eps.

    x_k = (eps/g)(c_k/p_k)^{1/3},  g = sum c^{1/3} p^{2/3}.

    c_k and p_k are the cost and the factor of item k. This follows from convexity with one Lagrange multiplier; the
    minimum is g^3/eps^2. Items with c = 0 get x = inf. An item with several copies counts once per copy in both sums.

    Paper: split-lemma
    """
    log_g = log_sum(k.log_total for k in items)
    log_eps = math.log(check_eps(eps))
    return tuple(exp(log_eps - log_g + (k.log_c - k.log_p) / 3) if k.live else math.inf for k in items)
