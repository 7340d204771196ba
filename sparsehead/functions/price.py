"""The prior weight of a sparse function, fixed before any data are seen."""

import math

from .._base.log_math import log_binomial


def log_price(s: int, T: int) -> float:
    """Return ln 1/prior of a function of s out of T positions, in nats.   Paper: occam-bound

    Sparsity s has weight 1/((s+1)(s+2)), shared equally by the C(T, s) supports; a support's weight is shared equally
    by its 2^(2^s) tables.

    >>> round(log_price(3, 300), 2)
    23.85
    """
    return math.log((s + 1) * (s + 2)) + log_binomial(T, s) + 2**s * math.log(2)
