"""The entropy integral: Rademacher complexity from covering numbers at all resolutions at once."""

import math
from collections.abc import Callable

from .._base.log_math import Real, check_count, check_eps, check_norm

STEP = 1.05  # ratio of neighbouring resolutions: the upper sum exceeds the integral by at most 5 %


def entropy_integral(log_covering: Callable[[float], float], *, A: Real, m: Real, alpha: Real) -> float:
    """R^ <= 4 alpha + 4 sqrt2 m^{-1/2} int_alpha^{A/2} sqrt(ln N(eps)) d eps, for any 0 < alpha <= A/2.

    A class within A of one function, with proper covers. Chaining at q = 1/2 (`generalization.rademacher`) has
    A 2^{-J} + m^{-1/2} sum_j A 2^{1-j} sqrt(2 ln N(A 2^{-j})); each term is at most 4 sqrt2 times the integral
    over [A 2^{-j-1}, A 2^{-j}], where ln N is no smaller. Take the largest J with A 2^{-J-1} >= alpha.

    The integral is replaced by an upper sum on a geometric grid, which errs upwards only. For alpha > A/2 the
    trivial bound A is returned.   Paper: entropy-integral
    Differs: the paper leaves the constant open; textbooks have 12 where 4 sqrt2 stands.
    """
    A, alpha = check_norm("A", A), check_eps(alpha, "alpha")
    total, high = 0.0, A / 2
    if alpha > high:
        return A
    while high > alpha:
        low = max(alpha, high / STEP)
        total += (high - low) * math.sqrt(log_covering(low))
        high = low
    return min(A, 4 * alpha + 4 * math.sqrt(2 / check_count("m", m)) * total)
