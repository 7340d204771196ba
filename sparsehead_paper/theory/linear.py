"""ln N_inf of linear classes on N points, with constants: the proofs behind the prices of `capacity.forms`.

Norms and radii enter only through r = (bound on the weights)(bound on the points)/eps. Each function returns
the logarithm of a number of cover elements; `perceptron.py` produces those elements. N counts DISTINCT
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
    """ln(a b / eps)."""
    return ln(check_norm("a", a)) + ln(check_norm("b", b)) - math.log(check_eps(eps))


def updates_allowed(log_r: float) -> int:
    """ceil(r^2) - 1, the most updates a perceptron cover makes; 0 when r <= 1.

    A rounding error in r^2 must not lower it, so r^2 is rounded up by two units in the twelfth digit.
    """
    if log_r > 300:
        raise DomainError("the cover has more than e^600 updates; use the closed form for such a radius.")
    return max(0, math.ceil(math.exp(2 * log_r) * (1 + 2e-12)) - 1) if log_r > 1e-12 else 0


def log_cover_vector(*, a: Real, b: Real, eps: Real, N: Real) -> float:
    """Class x -> w.x, ||w|| <= a, on N points ||x|| <= b: a proper cover.

        ln N_inf <= (ceil(r^2) - 1) ln(2N + 1),    r = a b / eps    (0 when r <= 1).

    Proof: `perceptron.VectorCover` makes fewer than r^2 updates, each named by a point and a sign, and the
    sequences of at most k names number at most (2N + 1)^k.   Paper: vector-cover
    Differs: 36 times smaller than the theorem of Zhang that the paper uses, and free of its log(1/eps).
    """
    log_r = ratio(a, b, eps)
    return _updates(log_r) * log1p_exp(math.log(2) + ln(check_count("N", N)))


def _updates(log_r: float) -> Real:
    """`updates_allowed`, without the correction of one where that is beyond the digits of a float."""
    return updates_allowed(log_r) if log_r < 300 else exp(2 * log_r)


def log_cover_parametric(*, a: Real, b: Real, eps: Real, d: Real) -> float:
    """The same class in d dimensions, or on d points: d ln(1 + 2 r), and 0 when r <= 1.

    A maximal set of parameters more than eps/b apart is a cover, and the balls of half that radius around it
    are disjoint inside a ball of radius a + eps/(2b). Proper, and true for any subset of the ball.

    Paper: parametric-cover
    """
    log_r = ratio(a, b, eps)
    return check_count("d", d) * log1p_exp(math.log(2) + log_r) if log_r > 0 else 0.0


def log_cover_lower(*, a: Real, b: Real, eps: Real, N: int) -> float:
    """What no cover can beat on the points b e_1 .. b e_N, even with centres anywhere:

        ln( C(N, k) 2^k ),    k = min(N, ceil((ab / 2 eps)^2) - 1).

    The vectors with k entries +-a/sqrt(k) have norm a and differ by more than 2 eps at some point.

    Paper: vector-cover
    """
    log_r = ratio(a, b, 2 * eps)
    k = min(int(check_count("N", N)), math.ceil(math.exp(2 * log_r) * (1 - 2e-12)) - 1)
    return log_binomial(N, k) + k * math.log(2) if k > 0 else 0.0


def log_cover_matrix(
    *, B: Real, b: Real, eps: Real, d_1: int, N: Real, alpha: float | None = None, spectral: bool = True
) -> float:
    """Class x -> W x, W of d_1 rows of total length <= B, on N points ||x|| <= b: a proper cover in l2.

        ln N_inf <= ln C(d_1 + K, d_1) + k ln(2 N d_1 + 1),
        K = floor((Bb/eps)^2 / alpha),   k = ceil((Bb / ((1 - sqrt alpha) eps))^2) - 1.

    spectral=True makes the cover respect a spectral bound too; without it, 2 N d_1 becomes 2 N. alpha=None takes
    the best of a grid. Proof: `perceptron.MatrixCover`.   Paper: linear-cover
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
    """The closed form  (Bb/eps)^2 Lambda(d_1, N), from C(d_1+K, d_1) <= (d_1+1)^K and the best alpha.

    Paper: linear-cover
    """
    log_N = ln(check_count("N", N))
    return exp(2 * ratio(B, b, eps) + log_Lambda(check_count("d_1", d_1), log_N))


def log_cover_zhang(*, a: Real, b: Real, eps: Real, N: Real, p: float = 2.0) -> float:
    """The theorem of Zhang: ||w||_q <= a, ||x||_p <= b, 1/p + 1/q = 1, 2 <= p < inf:

        log2 N_inf <= 36 (p - 1) (ab/eps)^2 log2( 2 ceil(4ab/eps + 2) N + 1 ).

    Returned as a natural logarithm. Quoted, for comparison only: nothing here depends on it.

    Paper: zhang-cover
    """
    if not 2 <= p < math.inf:
        raise DomainError(f"the theorem is stated for 2 <= p < inf, got p={p}.")
    log_r = ratio(a, b, eps)
    inner = math.log(2) + ln(check_count("N", N))
    inner += ln(math.ceil(4 * math.exp(log_r) + 2)) if log_r < 30 else math.log(4) + log_r
    return exp(math.log(36 * (p - 1)) + 2 * log_r) * log1p_exp(inner)


def log_cover_maurey(*, B: Real, b: Real, eps: Real, n_entries: Real) -> float:
    """Class x -> W x or (x, z) -> z^T W x, |W_ij| adding up to <= B, on ALL inputs of size <= b:

        ln N <= (ceil((Bb/eps)^2) - 1) ln(2 n_entries + 1),

    n_entries the number of entries of W. W is the mean of a random matrix among 0 and +-B at one entry; the
    mean of k draws is off by (B^2 - ||W||_F^2)/k in expected squared Frobenius norm, so some mean of k is
    within eps/b unless ||W||_F <= eps/b already, and then 0 is. It lies in the class. Neither the number of
    points nor T enters.   Paper: trauger-tewari
    """
    return _updates(ratio(B, b, eps)) * log1p_exp(math.log(2) + ln(check_count("n_entries", n_entries)))
