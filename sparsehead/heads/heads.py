"""The attention modules of the paper, by definition: NumPy float64, one example per call, not fast.

Matrices act on rows from the right: X has one token per row, W_Q, W_K, W_V are d x k, W_C is k x d.
Everything else in the library that evaluates attention is tested against this file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.display import ShortRepr
from .._base.errors import DomainError
from .._base.types import Array, Float

BLOCK = 512  # tokens that are added up before the sums of such blocks are


def additions(n: int) -> int:
    """Return the largest number of rounded additions that a term passes through if n terms are summed in blocks.

    >>> additions(512), additions(100_000)
    (512, 708)
    """
    return min(n, BLOCK + -(-n // BLOCK))


def token_sum(x: Float[Array, "*batch T"]) -> Float[Array, "*batch 1"]:
    """Return the sum along the last axis, block by block, so that its rounding error grows with sqrt(T), not with T."""
    parts = [x[..., i : i + BLOCK].sum(axis=-1) for i in range(0, x.shape[-1], BLOCK)]
    return np.stack(parts, axis=-1).sum(axis=-1, keepdims=True)


def token_mix(a: Float[Array, "*batch T"], values: Float[Array, "T v"]) -> Float[Array, "*batch v"]:
    """Return sum_t a_t value_t, summed block by block as in `token_sum`."""
    parts = [a[..., i : i + BLOCK] @ values[i : i + BLOCK] for i in range(0, len(values), BLOCK)]
    return np.sum(parts, axis=0) if len(parts) > 1 else parts[0]


def softmax(scores: Float[Array, "*batch T"]) -> Float[Array, "*batch T"]:
    """Return exp(s_t)/sum_t exp(s_t) along the last axis; a score of -inf gets weight 0.   Paper: softmax-lipschitz"""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))  # shift-invariant; prevents overflow
    return weights / token_sum(weights)


def gelu(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return x Phi(x), where Phi is the normal distribution function; its Lipschitz constant is 1.12891."""
    from scipy.special import erf  # slow to import, and only used here

    return x * 0.5 * (1 + erf(x / np.sqrt(2)))


def gelu_tanh(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return x (1 + tanh u)/2, u = sqrt(2/pi) (x + 0.044715 x^3), GPT-2's approximation of gelu; 1.12900-Lipschitz."""
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * (x * x * x))))


def activation(name: str) -> Callable[[Array], Array]:
    """Return the activation sigma of this name; all satisfy sigma(0) = 0."""
    known: dict[str, Callable[[Array], Array]] = {
        "identity": lambda x: x,
        "relu": lambda x: np.maximum(x, 0),
        "gelu": gelu,
        "tanh": np.tanh,
        "gelu_tanh": gelu_tanh,
    }
    if name not in known:
        raise DomainError(f"activation {name!r} is unknown; the activations are {', '.join(known)}.")
    return known[name]


def attention_head(
    X: Float[Array, "T d"],
    z: Float[Array, " c"],
    *,
    score: Callable[[Array, Array], float],
    norm: Callable[[Array], Array],
    phi_in: Callable[[Array], Array],
    phi_out: Callable[[Array], Array],
) -> Float[Array, " out"]:
    """Return the output of the general head, phi_out( sum_t Norm(Score(x_1, z), .., Score(x_T, z))_t phi_in(x_t) ).

    Every part is an argument. Norm maps R^T to the simplex.   Paper: attention-head, self-attention
    """
    a = norm(np.array([score(x, z) for x in X], dtype=np.float64))
    return phi_out(np.array([phi_in(x) for x in X]).T @ a)


@dataclass(frozen=True, repr=False)
class HeadWeights(ShortRepr):
    """Weights of one head, never modified. v is the width of the values, usually k."""

    W_Q: Float[Array, "d k"]
    W_K: Float[Array, "d k"]
    W_V: Float[Array, "d v"]
    W_C: Float[Array, "v d"]


def attention(X: Float[Array, "T d"], z: Float[Array, " d"], W: HeadWeights) -> Float[Array, " T"]:
    """Return the softmax over positions t of the scores z^T W_Q W_K^T x_t.   Paper: tf-layer, averaging-head"""
    return softmax((X @ W.W_K) @ (W.W_Q.T @ z))


def tf_head(
    X: Float[Array, "T d"],
    z: Float[Array, " d"],
    *,
    W_QK: Float[Array, "d d"],
    W_V: Float[Array, "d k"],
    sigma: str = "relu",
) -> Float[Array, " k"]:
    """Return sigma( W_V^T X^T softmax(X W_QK^T z) ), a head without W_C; k = d in the paper.   Paper: tf-head"""
    return activation(sigma)(W_V.T @ (X.T @ softmax(X @ W_QK.T @ z)))


def tf_layer(X: Float[Array, "T d"], W: HeadWeights, *, sigma: str = "relu") -> Float[Array, "T d"]:
    """Return Y = sigma( RowSoftmax(X W_Q (X W_K)^T) X W_V ) W_C, the output of one head for every position as a query.

    Paper: tf-layer, self-attention
    """
    rows = softmax(X @ W.W_Q @ (X @ W.W_K).T)
    return activation(sigma)(rows @ X @ W.W_V) @ W.W_C


def tf_scalar(
    X: Float[Array, "T d"], W: HeadWeights, w: Float[Array, " d"], *, cls: int = -1, sigma: str = "relu"
) -> float:
    """Return w^T y_[CLS], where y_[CLS] is the row of `tf_layer`'s output at [CLS], which is also attended to.

    Paper: tf-scalar, bag-symmetry
    """
    return float(w @ tf_layer(X, W, sigma=sigma)[cls])


def tf_heads(
    X: Float[Array, "T d"], heads: Sequence[HeadWeights], *, sigma: str = "relu"
) -> Float[Array, "T d"]:
    """Return the output of multi-head attention: the sum over the heads of their `tf_layer`.   Paper: tf-heads"""
    if not heads:
        raise DomainError("multi-head attention needs at least one head, got none.")
    return np.sum([tf_layer(X, W, sigma=sigma) for W in heads], axis=0)


def mlp(
    y: Float[Array, " d"], W_1: Float[Array, "d h1"], W_2: Float[Array, "h1 h2"], w: Float[Array, " h2"]
) -> float:
    """Return ((y^T W_1)_+ W_2)_+ w, the output of the three-layer ReLU net of `tf_mlp`.   Paper: tf-mlp"""
    return float(np.maximum(np.maximum(y @ W_1, 0) @ W_2, 0) @ w)


def tf_mlp(
    X: Float[Array, "T d"],
    heads: Sequence[HeadWeights],
    W_1: Float[Array, "d h1"],
    W_2: Float[Array, "h1 h2"],
    w: Float[Array, " h2"],
    *,
    cls: int = -1,
    sigma: str = "identity",
) -> float:
    """Return f_tf+mlp: the three-layer ReLU net `mlp` applied to the heads' summed output at [CLS].   Paper: tf-mlp"""
    return mlp(tf_heads(X, heads, sigma=sigma)[cls], W_1, W_2, w)


def project_rows(X: Float[Array, "T d"]) -> Float[Array, "T d"]:
    """Return Pi(X): each row projected to the unit ball, which replaces LayerNorm in the paper.   Paper: tf-deep"""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.maximum(norms, 1.0)


def tf_deep(
    X: Float[Array, "T d"], layers: Sequence[Sequence[HeadWeights]], *, sigma: str = "relu"
) -> Float[Array, "T d"]:
    """Return g^(L), where g^(0) = X, g^(i+1) = Pi( sigma( Pi( f(g^(i)) ) ) W_C ) and f(g) = RowSoftmax(..) g W_V.

    A layer with several heads sums their f before Pi and then uses the first head's W_C.
    Paper: tf-deep
    """
    for heads in layers:
        mixed = np.sum([softmax(X @ W.W_Q @ (X @ W.W_K).T) @ X @ W.W_V for W in heads], axis=0)
        X = project_rows(activation(sigma)(project_rows(mixed)) @ heads[0].W_C)
    return X


def layer_norm(
    X: Float[Array, "*rows d"], gain: Float[Array, " d"], bias: Float[Array, " d"], *, eps: float
) -> Float[Array, "*rows d"]:
    """Return gain * row + bias for each row of X, after centring the row and dividing it by sqrt(variance + eps)."""
    centred = X - X.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) + bias
