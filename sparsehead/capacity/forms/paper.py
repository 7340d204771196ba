"""The paper's form with its unstated constant set to 1: for comparison, no certificate."""

import math

from ..._base.log_math import ln
from ..norms import MatrixNorms
from .form import Charge, Form


def linear(W: MatrixNorms, log_N: float) -> Charge:
    """||W||_{2,1} at ln(d N), d the columns of W. With d = N = 1 that is 0, though a ball has many elements.

    Paper: linear-cover
    """
    return Charge("2,1", W.n21, ln(max(ln(W.columns) + log_N, 0.0)))


def bilinear(W: MatrixNorms, log_N: float) -> Charge:
    """||W^T||_{2,1} at ln(d N); the norm is no smaller than the Frobenius norm that `ours` charges.

    Paper: single-layer-capacity
    """
    return Charge("T 2,1", W.n21_T, ln(max(ln(W.rows) + log_N, 0.0)))


PAPER = Form(
    "the paper's form with its unstated constant set to 1; no certificate",
    linear,
    bilinear,
    log_softmax=math.log(2),  # the paper's constant for softmax is 2, the proven one 1
    values_per_token=True,
    proven=False,
)
