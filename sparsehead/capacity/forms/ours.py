"""Proven constants: perceptron covers, the Frobenius norm of W_QK, the best split in closed form."""

from ..._base.log_math import log_ln
from ..linear import log_Lambda
from ..norms import MatrixNorms
from .form import Charge, Form


def linear(W: MatrixNorms, log_N: float) -> Charge:
    """||W||_{2,1} at Lambda(columns, N). A map with a single column is a vector class, whose cover is cheaper.

    Paper: linear-cover, vector-cover
    """
    return Charge("2,1", W.n21, log_ln(log_N) if W.columns == 1 else log_Lambda(W.columns, log_N))


def bilinear(W: MatrixNorms, log_N: float) -> Charge:
    """||W||_F at ln(2N + 1): the score is linear in W with the point z x^T, so there is no log d.

    Paper: single-layer-capacity, score-cover
    """
    return Charge("F", W.frobenius, log_ln(log_N))


OURS = Form(
    "proven constants, Frobenius norm of W_QK, perceptron covers, the best split in closed form",
    linear,
    bilinear,
)
