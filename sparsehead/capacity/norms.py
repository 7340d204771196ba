"""Norms of weights: one convention, per head, with the temperature and the biases included.

    ||M||_{p,q} = the q-norm, across columns, of the p-norms of the columns.

So ||M||_{2,1} adds up column lengths, ||M^T||_{2,1} row lengths, and ||X^T||_{2,inf} is the longest row of X.
Weights act on rows from the right (x -> x W), so the outputs of W are its columns. torch stores the
transpose: `weight` of nn.Linear is (out, in), and its ||W||_{2,1} is `weight.norm(dim=1).sum()`.
"""

from dataclasses import dataclass

import numpy as np

from .._base.display import ShortRepr
from .._base.errors import DomainError, ShapeError
from .._base.log_math import Real
from .._base.types import Array, Float
from ..heads.block import Layer


def matrix_norm(M: Float[Array, "a b"], p: Real, q: Real) -> float:
    """Return ||M||_{p,q}, the q-norm of the p-norms of the columns.   Paper: matrix-norms

    >>> matrix_norm(np.array([[3.0, 0.0], [4.0, 1.0], [0.0, 0.0]]), 2, 1)
    6.0
    """
    scale = _largest_entry(M)
    if scale == 0:
        return 0.0
    columns = np.linalg.norm(M / scale, ord=p, axis=0)
    return float(np.linalg.norm(columns, ord=q)) * scale


def _largest_entry(M: Float[Array, "a b"]) -> float:
    """Return max |M_ij|; matrices are divided by it so that squares of entries near 1e300 do not overflow."""
    scale = float(np.abs(M).max(initial=0.0))
    if not np.isfinite(scale):
        raise DomainError("a weight matrix has entries that are not finite; its norms mean nothing.")
    return scale


def spectral_norm(M: Float[Array, "a b"]) -> float:
    """Return the largest singular value.   Paper: matrix-norms"""
    scale = _largest_entry(M)
    return float(np.linalg.norm(M / scale, ord=2)) * scale if scale > 0 else 0.0


@dataclass(frozen=True, repr=False)
class MatrixNorms(ShortRepr):
    """Norms, or bounds on the norms, of a linear map x -> x W.

    n21 and n21_T are ||W||_{2,1} and ||W^T||_{2,1}; n11 adds up all |W_ij|. rank is the largest rank that the
    architecture allows; it is below rows and columns for a product of inner width k, such as W_Q W_K^T.
    """

    frobenius: float
    spectral: float
    n21: float
    n21_T: float
    n11: float
    rows: int
    columns: int
    rank: int | None = None

    @property
    def largest_rank(self) -> int:
        """The rank, or the smaller of rows and columns if none is given."""
        return min(self.rows, self.columns) if self.rank is None else min(self.rank, self.rows, self.columns)


def matrix_norms(W: Float[Array, "a b"]) -> MatrixNorms:
    """Return all norms of W.   Paper: matrix-norms"""
    return MatrixNorms(
        frobenius=matrix_norm(W, 2, 2),
        spectral=spectral_norm(W),
        n21=matrix_norm(W, 2, 1),
        n21_T=matrix_norm(W.T, 2, 1),
        n11=matrix_norm(W, 1, 1),
        rows=W.shape[0],
        columns=W.shape[1],
        rank=min(W.shape),
    )


def product_norms(A: Float[Array, "a k"], B: Float[Array, "b k"]) -> MatrixNorms:
    """Return norms of A B^T, without forming it if it is large: W_QK = W_Q W_K^T is d x d of rank k.

    With thin QR factorisations A = Q_A R_A and B = Q_B R_B, the Frobenius and spectral norms are those of R_A R_B^T. If
    a_i is row i of A, row i of A B^T has the length ||R_B a_i||. Only the sum of absolute entries needs the product
    itself, which is formed a few rows at a time.
    Paper: representation-norms
    """
    if A.shape[1] != B.shape[1]:
        raise ShapeError(f"the two factors have inner widths {A.shape[1]} and {B.shape[1]}; A B^T needs one.")
    scale_A, scale_B = (_largest_entry(M) or 1.0 for M in (A, B))
    A, B = A / scale_A, B / scale_B
    R_A, R_B = np.asarray(np.linalg.qr(A, mode="r")), np.asarray(np.linalg.qr(B, mode="r"))
    core = R_A @ R_B.T
    # written weights are mostly zero rows: T = 10^5 stays quick
    left, right = A[A.any(axis=1)], B[B.any(axis=1)]
    slab = max(1, 2**22 // max(1, len(right)))
    n11 = sum(float(np.abs(left[i : i + slab] @ right.T).sum()) for i in range(0, len(left), slab))
    scale = scale_A * scale_B
    return MatrixNorms(
        frobenius=float(np.linalg.norm(core)) * scale,
        spectral=float(np.linalg.norm(core, ord=2)) * scale,
        n21=float(np.linalg.norm(B @ R_A.T, axis=1).sum()) * scale,
        n21_T=float(np.linalg.norm(A @ R_B.T, axis=1).sum()) * scale,
        n11=n11 * scale,
        rows=A.shape[0],
        columns=B.shape[0],
        rank=min(A.shape[0], B.shape[0], A.shape[1]),
    )


def with_bias(W: Float[Array, "a b"], b: Float[Array, " b"] | None) -> Float[Array, "a_or_more b"]:
    """Return W with the bias as one more row, which is multiplied by a constant 1 appended to x."""
    return W if b is None else np.vstack([W, b[None, :]])


@dataclass(frozen=True, repr=False)
class HeadNorms(ShortRepr):
    """Norms of one head: W_QK = W_Q W_K^T / temperature, W_V, W_C and W_VO = W_V W_C, with biases as rows."""

    QK: MatrixNorms
    V: MatrixNorms
    C: MatrixNorms
    VO: MatrixNorms


def head_norms(layer: Layer, h: int, *, biases: bool = True) -> HeadNorms:
    """Return norms of head h of a layer; W_QK includes the temperature.

    A key bias adds the same number to every score and does not change softmax, so only the biases of query and value
    are appended as rows. With biases=False the norms bound only the part of scores and values that depends on the
    token.   Paper: matrix-norms
    """
    b_Q = layer.b_Q[h] if biases and layer.b_Q is not None else None
    b_V = layer.b_V[h] if biases and layer.b_V is not None else None
    W_Q, W_V = with_bias(layer.W_Q[h], b_Q), with_bias(layer.W_V[h], b_V)
    return HeadNorms(
        QK=product_norms(W_Q / layer.temperature, layer.W_K[h]),
        V=matrix_norms(W_V),
        C=matrix_norms(layer.W_C[h]),
        VO=product_norms(W_V, layer.W_C[h].T),
    )


def layer_norms(layer: Layer, *, biases: bool = True) -> tuple[HeadNorms, ...]:
    """Return `head_norms` of every head of a layer."""
    return tuple(head_norms(layer, h, biases=biases) for h in range(layer.H))
