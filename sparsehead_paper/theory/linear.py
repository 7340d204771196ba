"""Bounds on ln N_inf of linear classes on N points, with constants and proofs; `capacity.forms` uses these formulas.

Norms and radii enter the formulas only through r = (bound on the weights)(bound on the points)/eps. Each function
returns the logarithm of a number of cover elements; `perceptron.py` computes the elements. N is the number of DISTINCT
points: Boolean data with fixed embeddings have at most 2T + 1 tokens, however many samples there are.
"""

import math

from sparsehead._base.errors import DomainError
from sparsehead._base.log_math import (
    Real,
    check_count,
    check_eps,
    check_norm,
    exp,
    ln,
    log1p_exp,
    log_binomial,
)
from sparsehead.capacity.forms import log_Lambda


def ratio(a: Real, b: Real, eps: Real) -> float:
    """Return ln(a b / eps)."""
    return ln(check_norm("a", a)) + ln(check_norm("b", b)) - math.log(check_eps(eps))


def updates_allowed(log_r: float) -> int:
    """Return ceil(r^2) - 1, the maximal number of updates of a perceptron cover; 0 if r <= 1.

    To prevent a rounding error in r^2 from lowering the result, r^2 is increased by two units in the twelfth digit.
    """
    if log_r > 300:
        raise DomainError("the cover has more than e^600 updates; use the closed form for such a radius.")
    return max(0, math.ceil(math.exp(2 * log_r) * (1 + 2e-12)) - 1) if log_r > 1e-12 else 0


def log_cover_vector(*, a: Real, b: Real, eps: Real, N: Real) -> float:
    """Bound ln N_inf of a proper cover of the class x -> w.x, ||w|| <= a, on N points ||x|| <= b.

        ln N_inf <= (ceil(r^2) - 1) ln(2N + 1),    r = a b / eps    (0 when r <= 1).

    Proof: `perceptron.VectorCover` makes fewer than r^2 updates, each named by a point and a sign, and there
    are at most (2N + 1)^k sequences of at most k names.   Paper: vector-cover
    Differs: the bound is 36 times smaller than that of Zhang's theorem, which the paper uses, and has no factor
    log(1/eps).
    """
    log_r = ratio(a, b, eps)
    return _updates(log_r) * log1p_exp(math.log(2) + ln(check_count("N", N)))


def _updates(log_r: float) -> Real:
    """Return `updates_allowed`, or r^2 itself if r^2 is so large that float64 cannot represent the subtraction of 1."""
    return updates_allowed(log_r) if log_r < 300 else exp(2 * log_r)


def log_cover_parametric(*, a: Real, b: Real, eps: Real, d: Real) -> float:
    """Bound ln N_inf of the class of `log_cover_vector` in d dimensions, or on d points, by d ln(1 + 2 r) with r = a
    b/eps, or by 0 if r <= 1.

    Proof: a maximal set of parameters more than eps/b apart is a cover, and the balls of radius eps/(2b) around its
    elements are disjoint and lie in a ball of radius a + eps/(2b). The cover is proper; every subset of the class also
    has a proper cover of at most this size.

    Paper: parametric-cover
    """
    log_r = ratio(a, b, eps)
    return check_count("d", d) * log1p_exp(math.log(2) + log_r) if log_r > 0 else 0.0


def log_cover_lower(*, a: Real, b: Real, eps: Real, N: int) -> float:
    """Return a lower bound on ln N_inf on the points b e_1 .. b e_N, for covers with arbitrary centres:

        ln( C(N, k) 2^k ),    k = min(N, ceil((ab / 2 eps)^2) - 1).

    Proof: the vectors with k entries +-a/sqrt(k) have norm a, and any two differ by more than 2 eps at some point.

    Paper: vector-cover
    """
    log_r = ratio(a, b, 2 * eps)
    k = min(int(check_count("N", N)), math.ceil(math.exp(2 * log_r) * (1 - 2e-12)) - 1)
    return log_binomial(N, k) + k * math.log(2) if k > 0 else 0.0


def log_cover_matrix(
    *, B: Real, b: Real, eps: Real, d_1: int, N: Real, alpha: float | None = None, spectral: bool = True
) -> float:
    """Bound ln N_inf of a proper l2 cover of x -> W x on N points ||x|| <= b; the d_1 row lengths of W add up to <= B.

        ln N_inf <= ln C(d_1 + K, d_1) + k ln(2 N d_1 + 1),
        K = floor((Bb/eps)^2 / alpha),   k = ceil((Bb / ((1 - sqrt alpha) eps))^2) - 1.

    With spectral=True the bound holds also if the class bounds the spectral norm; with spectral=False 2 N d_1 becomes
    2 N. alpha=None takes the alpha with the least bound of a grid. Proof: `perceptron.MatrixCover`.

    Paper: linear-cover
    Differs: the lemma of the paper has an unstated constant and log(d_1 N).
    """
    log_r = ratio(B, b, eps)
    if log_r <= 0:
        return 0.0
    if alpha is not None and not 0 < alpha < 1:
        raise DomainError(f"alpha splits the error, so 0 < alpha < 1; got {alpha}.")
    names = math.log(2) + ln(check_count("N", N)) + (ln(d_1) if spectral else 0.0)

    def count(alpha: float) -> float:
        K = math.floor(math.exp(2 * log_r) / alpha * (1 + 2e-12))
        k = updates_allowed(log_r - math.log(1 - math.sqrt(alpha)))
        return log_binomial(d_1 + K, d_1) + k * log1p_exp(names)

    return min(count((i / 200) ** 2) for i in range(1, 200)) if alpha is None else count(alpha)


def log_cover_matrix_closed(*, B: Real, b: Real, eps: Real, d_1: int, N: Real) -> float:
    """Return (Bb/eps)^2 (ln^{1/3}(d_1 + 1) + ln^{1/3}(2 N d_1 + 1))^3, a simpler bound for `log_cover_matrix`'s class.
    The proof uses C(d_1+K, d_1) <= (d_1+1)^K and the best alpha.

    Paper: linear-cover
    """
    log_N = ln(check_count("N", N))
    return exp(2 * ratio(B, b, eps) + log_Lambda(check_count("d_1", d_1), log_N))


def log_cover_zhang(*, a: Real, b: Real, eps: Real, N: Real, p: float = 2.0) -> float:
    """Return the bound of Zhang's theorem for ||w||_q <= a, ||x||_p <= b, 1/p + 1/q = 1, 2 <= p < inf:

        log2 N_inf <= 36 (p - 1) (ab/eps)^2 log2( 2 ceil(4ab/eps + 2) N + 1 ).

    The result is a natural logarithm. The theorem is quoted for comparison; nothing here depends on it.

    Paper: zhang-cover
    """
    if not 2 <= p < math.inf:
        raise DomainError(f"the theorem is stated for 2 <= p < inf, got p={p}.")
    log_r = ratio(a, b, eps)
    inner = math.log(2) + ln(check_count("N", N))
    inner += ln(math.ceil(4 * math.exp(log_r) + 2)) if log_r < 30 else math.log(4) + log_r
    return exp(math.log(36 * (p - 1)) + 2 * log_r) * log1p_exp(inner)


def log_cover_maurey(*, B: Real, b: Real, eps: Real, n_entries: Real) -> float:
    """Bound ln N of the maps x -> W x or (x, z) -> z^T W x with sum |W_ij| <= B, on ALL inputs of length <= b:

        ln N <= (ceil((Bb/eps)^2) - 1) ln(2 n_entries + 1),

    where n_entries is the number of entries of W. Proof: W is the expectation of a random matrix that is 0 or has one
    nonzero entry, +-B. The mean of k draws has expected squared Frobenius error (B^2 - ||W||_F^2)/k, so some mean of k
    draws is within eps/b of W; if ||W||_F <= eps/b, so is the zero matrix. Means lie in the class. The bound depends
    neither on the number of points nor on T.   Paper: trauger-tewari
    """
    return _updates(ratio(B, b, eps)) * log1p_exp(math.log(2) + ln(check_count("n_entries", n_entries)))
