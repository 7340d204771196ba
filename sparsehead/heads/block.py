"""One layer with optional parts, computed by definition: from the paper's layer to the block used in training.

Let Z = LN(X) if there is a LayerNorm, else X, and let Pi be the projection of rows to the unit ball, or the identity:

    A_h = RowSoftmax( (Z W_Q + b_Q)(Z W_K + b_K)^T / temperature )
    U   = Pi( [X] + sum_h sigma( A_h (Z W_V + b_V) ) W_C + b_C )
    out = Pi( [U] + act( LN(U) W_1 + b_1 ) W_2 + b_2 )            if there is an MLP, else out = U

Brackets mark the residuals. Without optional parts this is `heads.tf_heads`; with Pi, W_C = W_1 = I and the paper's W_C
as W_2, `heads.tf_deep`; with LayerNorms, biases, temperature sqrt(k), a GELU MLP and residuals, the block of training.
"""

from dataclasses import dataclass

import numpy as np

from .._base.display import ShortRepr
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Float
from .heads import activation, layer_norm, project_rows, softmax
from .weights import check_shapes, to_float64


@dataclass(frozen=True, eq=False, repr=False)
class LayerNorm(ShortRepr):
    """The map x -> gain * (x - mean) / sqrt(variance + eps) + bias, along the last axis."""

    gain: Float[Array, " d"]
    bias: Float[Array, " d"]
    eps: float = 1e-5

    def __post_init__(self) -> None:
        to_float64(self, "LayerNorm")

    def __call__(self, X: Float[Array, "*rows d"]) -> Float[Array, "*rows d"]:
        return layer_norm(X, self.gain, self.bias, eps=self.eps)


@dataclass(frozen=True, eq=False, repr=False)
class Mlp(ShortRepr):
    """The map x -> act(x W_1 + b_1) W_2 + b_2 of every row x."""

    W_1: Float[Array, "d f"]
    b_1: Float[Array, " f"]
    W_2: Float[Array, "f d"]
    b_2: Float[Array, " d"]
    activation: str = "gelu"

    def __post_init__(self) -> None:
        to_float64(self, "mlp")

    def __call__(self, X: Float[Array, "*rows d"]) -> Float[Array, "*rows d"]:
        return activation(self.activation)(X @ self.W_1 + self.b_1) @ self.W_2 + self.b_2


@dataclass(frozen=True, eq=False, repr=False)
class Layer(ShortRepr):
    """H heads of query/key width k and value width v, with optional biases, LayerNorms, MLP and projection.

    Args:
        b_Q, b_K, b_V, b_C: biases or None; b_C is added once, after the heads are summed.
        temperature: scores are divided by it; 1 in the paper's definitions, sqrt(k) in practice.
        sigma: activation of the mixed values before W_C ("identity" in the block used in training).
        residual: whether the input of the attention is added to its output, and that of the MLP to its output.
        norm_attention, norm_mlp: LayerNorm before the attention and before the MLP (pre-LN), or None.
        project: whether Pi is applied after the attention and after the MLP.
    Paper: practical-block
    """

    W_Q: Float[Array, "H d k"]
    W_K: Float[Array, "H d k"]
    W_V: Float[Array, "H d v"]
    W_C: Float[Array, "H v d"]
    b_Q: Float[Array, "H k"] | None = None
    b_K: Float[Array, "H k"] | None = None
    b_V: Float[Array, "H v"] | None = None
    b_C: Float[Array, " d"] | None = None
    temperature: float = 1.0
    sigma: str = "identity"
    residual: bool = False
    norm_attention: LayerNorm | None = None
    norm_mlp: LayerNorm | None = None
    mlp: Mlp | None = None
    project: bool = False

    def __post_init__(self) -> None:
        to_float64(self, "layer")
        activation(self.sigma)
        if not self.temperature > 0:
            raise DomainError(
                f"scores are divided by the temperature, which must be > 0, got {self.temperature}."
            )
        if self.W_Q.ndim != 3 or self.W_V.ndim != 3:
            raise ShapeError(
                f"W_Q and W_V have one matrix per head, (H, d, k); got {self.W_Q.shape} and {self.W_V.shape}."
            )
        (H, d, k), v = self.W_Q.shape, self.W_V.shape[-1]
        check_shapes(self, {"W_K": (H, d, k), "W_V": (H, d, v), "W_C": (H, v, d)}, "layer")
        check_shapes(self, {"b_Q": (H, k), "b_K": (H, k), "b_V": (H, v), "b_C": (d,)}, "layer")
        for name in ("norm_attention", "norm_mlp"):
            if (norm := getattr(self, name)) is not None:
                check_shapes(norm, {"gain": (d,), "bias": (d,)}, name)
        if self.mlp is not None:
            f = self.mlp.W_1.shape[-1]
            check_shapes(self.mlp, {"W_1": (d, f), "b_1": (f,), "W_2": (f, d), "b_2": (d,)}, "mlp")

    @property
    def H(self) -> int:
        return self.W_Q.shape[0]

    @property
    def d(self) -> int:
        return self.W_Q.shape[1]

    def query(self, z: Float[Array, " d"]) -> Float[Array, "H k"]:
        """Return each head's query for the token z: W_Q^T z + b_Q, after LayerNorm of z if the layer has one."""
        seen = z if self.norm_attention is None else self.norm_attention(z)
        return np.einsum("d,hdk->hk", seen, self.W_Q) + (0 if self.b_Q is None else self.b_Q)


def attention_rows(
    X: Float[Array, "n d"], layer: Layer, h: int, *, attends_cls: bool = True
) -> Float[Array, "n n"]:
    """Return the matrix A_h. Its row tau has the weights that head h gives to all tokens if token tau is the query.

    With attends_cls=False the last token, [CLS], has a query but gets no weight.
    """
    Z = X if layer.norm_attention is None else layer.norm_attention(X)
    Q = Z @ layer.W_Q[h] + (0 if layer.b_Q is None else layer.b_Q[h])
    K = Z @ layer.W_K[h] + (0 if layer.b_K is None else layer.b_K[h])
    scores = Q @ K.T / layer.temperature
    if not attends_cls:
        scores[:, -1] = -np.inf
    return softmax(scores)


def block(X: Float[Array, "n d"], layer: Layer, *, attends_cls: bool = True) -> Float[Array, "n d"]:
    """Return the layer's output at every token, by the formulas at the top of this file.   Paper: practical-block"""
    Z = X if layer.norm_attention is None else layer.norm_attention(X)
    mixed = [
        attention_rows(X, layer, h, attends_cls=attends_cls)
        @ (Z @ layer.W_V[h] + (0 if layer.b_V is None else layer.b_V[h]))
        for h in range(layer.H)
    ]
    return finish_mlp(finish_attention(X, mixed, layer), layer)


def finish_attention(
    X: Float[Array, "n d"], mixed: list[Float[Array, "n v"]], layer: Layer
) -> Float[Array, "n d"]:
    """Return U, the output of the attention before the MLP, given the mixed values A_h (Z W_V + b_V) of each head."""
    sigma = activation(layer.sigma)
    U = sum(sigma(M) @ W_C for M, W_C in zip(mixed, layer.W_C, strict=True))
    U = U + (0 if layer.b_C is None else layer.b_C) + (X if layer.residual else 0)
    return project_rows(U) if layer.project else U


def finish_mlp(U: Float[Array, "n d"], layer: Layer) -> Float[Array, "n d"]:
    """Return the block's output, given U."""
    if layer.mlp is None:
        return U
    out = layer.mlp(U if layer.norm_mlp is None else layer.norm_mlp(U)) + (U if layer.residual else 0)
    return project_rows(out) if layer.project else out
