"""Lipschitz constants of softmax, of a head and of LayerNorm.

`softmax_l1_bound` determines the constant of every attention bound. The paper bounds the sum of absolute entries of
softmax's Jacobian, which is below 2; but its lemma needs only the operator norm of the Jacobian from the sup-norm to
the l1-norm, which is at most 1.
"""

import math

from sparsehead._base.log_math import Real, check_norm
from sparsehead._base.types import Array, Float


def softmax_l1_bound(delta: Real) -> float:
    """Return 2 tanh(delta/2) <= delta, a bound on ||softmax(a) - softmax(b)||_1 if ||a - b||_inf <= delta.

    Proof: let P(S) be the total weight of a set S of positions. Its logits under a and under b differ by at most 2
    delta, and sigmoid(x + delta) - sigmoid(x - delta) is largest at x = 0, where it is tanh(delta/2); the l1 distance
    is twice the largest difference over S. The bound holds with any mask. Equality: a = (-delta/2, delta/2), b = -a.

    Paper: softmax-lipschitz
    Differs: the paper uses the constant 2.
    """
    return 2 * math.tanh(check_norm("delta", delta) / 2)


def norm_l1_bound(delta: Real, *, C_Norm: Real) -> float:
    """Return C_Norm delta, a bound on ||Norm(a) - Norm(b)||_1 if ||a - b||_inf <= delta, ||J Norm||_{1,1} <= C_Norm.

    It holds for any differentiable Norm: R^T -> simplex, by the mean value theorem and
    ||J v||_1 <= ||J||_{1,1} ||v||_inf. Equality for softmax of two scores, where ||J||_{1,1} = 4 p (1 -
    p).   Paper: norm-lipschitz
    """
    return check_norm("C_Norm", C_Norm) * check_norm("delta", delta)


def jacobian_entries(p: Float[Array, " T"]) -> float:
    """Return ||J||_{1,1} = 2 (1 - sum p_i^2) for J = diag(p) - p p^T, the Jacobian of softmax at output p.

    Paper: head-assumptions
    """
    return 2 * (1 - float(p @ p))


def head_error_bound(
    *, score_error: Real, in_error: Real, L_out: Real = 1.0, B_in: Real = 1.0, B_X: Real = 1.0
) -> float:
    """Bound the change of a head's output: ||f_head - f_head^|| <= L_out ( B_in B_X 2 tanh(score_error/2) + in_error ).

    score_error = max_t |Score(x_t) - Score^(x_t)|, in_error = max_t ||phi_in(x_t) - phi_in^(x_t)||. Only phi_in, not
    phi_in^, must satisfy the bound B_in: with weights a and rows phi_in(x_t) of Phi, Phi^T a - Phi^^T a^ = Phi^T (a -
    a^) + (Phi - Phi^)^T a^.

    Paper: head-lipschitz
    Differs: the constant of softmax is 1, not 2. Equality for X = (1, -1), W_V = 1, scores -+score_error/2.
    """
    moved = check_norm("B_in", B_in) * check_norm("B_X", B_X) * softmax_l1_bound(score_error)
    return check_norm("L_out", L_out) * (moved + check_norm("in_error", in_error))


def attention_lipschitz(*, V: Real, QK: Real, R: Real) -> float:
    """Return ||V||(1 + 2 R^2 ||QK||), a Lipschitz constant of self-attention in max_t ||x_t - x^_t|| if ||x_t|| <= R.

    Norms are spectral. A score z^T W x changes by at most 2 R ||W|| if tokens change by at most 1; the other steps are
    those of `head_error_bound`. The constant 2 cannot be lowered: `claims.lipschitz` has inputs whose distance grows by
    a factor that approaches 2 R^2 ||QK|| ||V|| for large ||QK||.

    Paper: multi-layer-capacity, layer-lipschitz
    Differs: the paper has 1 + 4 R^2 ||QK||, with the constant 2 of softmax.
    """
    return check_norm("V", V) * (1 + 2 * check_norm("R", R) ** 2 * check_norm("QK", QK))


def layer_norm_lipschitz(*, eps: float, gain: Real = 1.0) -> float:
    """Return max|gain| / sqrt(eps), a bound on the Lipschitz constant of LayerNorm.

    The exact constant is ||diag(gain) (I - 11^T/d)|| / sqrt(eps), attained at constant rows, where the variance is 0.
    It equals the bound if d >= 2 and all gains are equal, and is smaller otherwise (0 if d = 1).   Paper: layer-norm
    """
    return check_norm("gain", gain) / math.sqrt(eps)


def layer_norm_radius(*, d: int, gain: Real = 1.0, bias: Real = 0.0) -> float:
    """Return sqrt(d) max|gain| + ||bias||, a bound on the length of LayerNorm's output.   Paper: layer-norm"""
    return math.sqrt(d) * check_norm("gain", gain) + check_norm("bias", bias)
