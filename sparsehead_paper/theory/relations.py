"""Relations of covering numbers to VC dimension, fat-shattering dimension and Rademacher complexity."""

import math
from collections.abc import Callable
from itertools import combinations, product

import numpy as np

from sparsehead._base.errors import DomainError
from sparsehead._base.log_math import check_count, check_eps, exp, log_binomial, log_sum
from sparsehead._base.types import Array, Float


def log_sauer(*, m: int, d: int) -> float:
    """Return ln of sum_{i <= d} C(m, i), the maximal number of patterns of a class of VC dimension d on m points.

    Paper: vc-cover
    """
    m = int(check_count("m", m))
    if d < 0:
        raise DomainError(f"a VC dimension is >= 0, got {d}.")
    return log_sum(log_binomial(m, i) for i in range(min(d, m) + 1))


def log_cover_vc(*, m: int, d: int, eps: float) -> float:
    """Bound ln N_inf of a 0/1 class of VC dimension d on m points; if eps < 1, each pattern needs its own element.

    The result is at most d ln(e m/d) if m >= d >= 1. If eps >= 1, one function covers all.   Paper: vc-cover
    Differs: the notes write (em/d)^d for every m and eps; at m = 1, d = 4 their bound is 0.21, although a cover has at
    least one element.
    """
    return 0.0 if check_eps(eps) >= 1 else log_sauer(m=m, d=d)


def log_cover_fat(*, m: int, d: int, eps: float) -> float:
    """Return ln of a bound on N_inf(F, eps, m) for F into [0, 1] with fat-shattering dimension d at eps/4:

        N_inf <= P(eps) < 2 (m b^2)^{ceil(log2 y)},   b = floor(2/eps) + 1,   y = sum_{i <= d} C(m, i) b^i.

    Proof (Alon, Ben-David, Cesa-Bianchi, Haussler): round values to b levels; each split of a large 2-separated set of
    roundings doubles the number of shattered (set, levels) pairs, and y bounds the number of these pairs.

    Paper: fat-cover
    Differs: the notes print d log(2em/(de)) in place of d log2(2em/(d eps)), and require m >= d; this form holds for
    all m and d.
    """
    eps, m = check_eps(eps), int(check_count("m", m))
    b = math.floor(2 / eps) + 1
    log_y = log_sum(log_binomial(m, i) + i * math.log(b) for i in range(min(d, m) + 1))
    return math.log(2) + math.ceil(log_y / math.log(2) - 1e-12) * math.log(m * b * b)


def fat_dimension(values: Float[Array, "n m"], gamma: float) -> int:
    """Return the size of the largest set of columns gamma-shattered by the rows, by brute force (for tiny classes).

    Columns A are gamma-shattered if there are levels s such that for every 0/1 pattern on A some row is at least gamma
    above s where the pattern is 1, and at least gamma below s where it is 0.
    """
    # a level may be moved up to gamma below the lowest value it must lie under
    levels = [[v - gamma for v in np.unique(column)] for column in values.T]
    return _dimension(values, lambda A: _fat_shattered(values[:, A], [levels[i] for i in A], gamma))


def _fat_shattered(values: Float[Array, "n k"], levels: list[list[float]], gamma: float) -> bool:
    for s in product(*levels):
        above, below = values >= np.array(s) + gamma - 1e-12, values <= np.array(s) - gamma + 1e-12
        usable = (above | below).all(axis=1)
        if len(np.unique(above[usable], axis=0)) == 2 ** values.shape[1]:
            return True
    return False


def vc_dimension(patterns: Float[Array, "n m"]) -> int:
    """Return the size of the largest set of columns on which 0/1 rows realise every pattern, by brute force."""
    return _dimension(patterns, lambda A: len(np.unique(patterns[:, A], axis=0)) == 2 ** len(A))


def _dimension(values: Float[Array, "n m"], shattered: Callable[[list[int]], bool]) -> int:
    """Return the size of the largest shattered set of columns; sizes are tried in ascending order."""
    n, m = values.shape
    most = min(m, int(math.log2(n)))
    for size in range(1, most + 1):
        if not any(shattered(list(A)) for A in combinations(range(m), size)):
            return size - 1
    return most


def empirical_rademacher(values: Float[Array, "n m"]) -> float:
    """Return E over signs of max_f mean_i sign_i f(z_i), exactly, from all 2^m signs.   Paper: rademacher-cover"""
    m = values.shape[1]
    if m > 16:
        raise DomainError(f"all 2^m signs are enumerated, so m <= 16; got m={m}.")
    signs = 1 - 2 * ((np.arange(2**m)[:, None] >> np.arange(m)) & 1)
    return float((signs @ values.T / m).max(axis=1).mean())


def cover_vc_printed(*, m: int, d: int) -> float:
    """Return the bound (e m/d)^d as printed in the notes, for any m; its value is below 1 if m is much smaller than d.

    Paper: vc-cover
    """
    return exp(d * (1 + math.log(m / d)))
