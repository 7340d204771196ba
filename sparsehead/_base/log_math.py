"""Arithmetic on logarithms, and checks of the numbers in every bound.

A capacity is a product of norms, so weights of 1e300 or 1e-300 would leave the range of a float, although the theory
still holds for them. All quantities between the norms and the printed number are therefore natural logarithms; -inf is
the logarithm of zero, which is an ordinary value of a norm.
"""

import math
import numbers
from collections.abc import Iterable

from .errors import DomainError

LOG_ZERO = -math.inf
Real = int | float


def ln(x: Real) -> float:
    """The natural logarithm of x >= 0, with ln 0 = -inf. Whole numbers may exceed the range of a float."""
    return math.log(x) if x > 0 else LOG_ZERO


def exp(log_x: float) -> float:
    """Return e^log_x, or inf if it is beyond the range of a float."""
    # exp(710) exceeds the range of a float
    return math.exp(log_x) if log_x <= 709.0 else math.inf


def log_sum(logs: Iterable[float]) -> float:
    """Return ln of the sum of numbers, given their logarithms; the empty sum is zero, with logarithm -inf.

    >>> log_sum([2000.0, 2000.0]) - 2000  # ln 2
    0.6931471805598903
    """
    terms = list(logs)
    top = max(terms, default=LOG_ZERO)
    if top in (LOG_ZERO, math.inf):
        return top
    return top + math.log(sum(math.exp(t - top) for t in terms))


def log1p_exp(log_x: float) -> float:
    """Return ln(1 + x), given ln x."""
    return log_sum([0.0, log_x])


def log_ln(log_x: float) -> float:
    """Return ln ln(2x + 1), given ln x: the logarithm of a factor in the covering bound for linear functions."""
    return ln(log1p_exp(math.log(2) + log_x))


def as_float(x: Real) -> float:
    """Return x as a float; inf for a whole number beyond the range of a float."""
    try:
        return float(x)
    except OverflowError:
        return math.inf


def is_number(x: object) -> bool:
    """Return whether x is a whole number of any size or a real number (also of NumPy), but not NaN or a bool."""
    if isinstance(x, bool) or not isinstance(x, numbers.Real):
        return False
    return isinstance(x, numbers.Integral) or not math.isnan(x)


def check_norm(name: str, value: Real) -> float:
    """Return a norm or a bound on one; raise unless it is a finite number >= 0."""
    if not is_number(value) or value < 0 or math.isinf(as_float(value)):
        raise DomainError(f"{name} bounds a norm, so it is a finite number >= 0; got {value}.")
    return float(value)


def check_eps(eps: Real, name: str = "eps") -> float:
    """Return a resolution or an accuracy; raise unless it is a finite number > 0."""
    if not is_number(eps) or eps <= 0 or math.isinf(as_float(eps)):
        raise DomainError(
            f"{name} is a finite number > 0, got {eps}; a cover at 0 would be the class itself."
        )
    return float(eps)


def check_delta(delta: Real) -> float:
    """Return a failure probability; raise unless it is strictly between 0 and 1."""
    if not is_number(delta) or not 0 < delta < 1:
        raise DomainError(f"delta is a failure probability strictly between 0 and 1, got {delta}; try 0.05.")
    return float(delta)


def check_count(name: str, value: Real) -> Real:
    """Return a number of samples, positions or the like; raise unless it is a whole number >= 1, of any size."""
    if not is_number(value) or value in (math.inf, -math.inf) or value < 1 or value != int(value):
        raise DomainError(f"{name} counts things, so it is a whole number >= 1; got {value}.")
    return int(value) if value < 2**63 else value


def log_binomial(n: int, k: int) -> float:
    """Return ln C(n, k) for 0 <= k <= n.

    >>> round(math.exp(log_binomial(10, 3)))
    120
    """
    if not 0 <= k <= n:
        raise DomainError(f"C(n, k) needs 0 <= k <= n, got n={n}, k={k}.")
    k = min(k, n - k)
    if k < 1000:  # for k << n, lgamma(n) - lgamma(n-k) would lose digits by cancellation
        return math.fsum(math.log(n - i) - math.log(i + 1) for i in range(k))
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
