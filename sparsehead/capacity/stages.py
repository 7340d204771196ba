"""A network as a sequence of stages, each with items (terms of the bound), a Lipschitz constant and a longest output.

    S(last stage) = 1,    S(stage i) = S(stage i + 1) times the Lipschitz constant of stage i + 1,
    p of an item = its p at the output of its own stage, times S of that stage.

The proof replaces the weights by their cover elements one by one, starting at the input. The rest of the network
still has its true weights, whose norms determine S. Covers are chosen on the activations of the replaced part, so
they must be proper (the bounds on lengths then hold for them too), and a cover may depend on earlier ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.errors import DomainError
from .._base.log_math import LOG_ZERO, ln, log_sum
from .._base.types import Array, Float
from ..heads.block import Layer, LayerNorm, Mlp
from ..heads.model import Dense
from .items import Item
from .norms import MatrixNorms, matrix_norms, product_norms, with_bias
from .pricing import Pricing

# of the activations; for gelu its slope at sqrt 2, rounded up
LIPSCHITZ = {"identity": 1.0, "relu": 1.0, "tanh": 1.0, "gelu_tanh": 1.1289931, "gelu": 1.1289042}


@dataclass(frozen=True)
class Stage:
    """One stage: its items, whose p refer to the stage's output; ln of its Lipschitz constant; ln of the length of its
    longest output.
    """

    items: tuple[Item, ...]
    log_lipschitz: float
    log_radius: float


def network_items(stages: Sequence[Stage]) -> tuple[Item, ...]:
    """Return the items of all stages; p of each refers to the network's output.   Paper: multi-layer-capacity"""
    found: list[Item] = []
    log_S = 0.0
    for stage in reversed(stages):
        found.extend(replace(k, log_p=k.log_p + log_S) for k in reversed(stage.items))
        log_S += stage.log_lipschitz
    return tuple(reversed(found))


def radius_with_one(log_radius: float, biased: bool) -> float:
    """Return ln sqrt(R^2 + 1) if a constant 1 was appended for a bias, else ln R."""
    return log_sum([2 * log_radius, 0.0]) / 2 if biased else log_radius


def unless_zero(bias: Float[Array, "*n"] | None) -> Float[Array, "*n"] | None:
    """Return the bias, or None if all its entries are zero; `Pricing.kept` adds the penalty for knowing this."""
    return None if bias is None or not bias.any() else bias


def presence(bias: Float[Array, "*n"] | None) -> bool | None:
    """Return whether a bias has a nonzero entry; None if the architecture has no bias."""
    return None if bias is None else bool(bias.any())


def fold(
    norm: LayerNorm | None, W: Float[Array, "d n"], b: Float[Array, " n"] | None
) -> tuple[Array, Array | None]:
    """Fold the gain and the bias of a LayerNorm into the linear map x -> x W + b after it; return its new W and b."""
    if norm is None:
        return W, b
    return norm.gain[:, None] * W, norm.bias @ W + (0 if b is None else b)


def after_norm(norm: LayerNorm | None, log_radius: float, d: int) -> tuple[float, float]:
    """Return ln of the longest output, sqrt(d), and ln of the Lipschitz constant, 1/sqrt(eps), of a LayerNorm without
    gain and bias.

    If there is no LayerNorm, outputs are as long as inputs and the constant is 1.
    """
    if norm is None:
        return log_radius, 0.0
    if norm.eps <= 0:
        raise DomainError(
            f"a LayerNorm with eps = {norm.eps:g} stretches small inputs without limit, so no bound holds; "
            "bounds need eps > 0."
        )
    return math.log(d) / 2, -math.log(norm.eps) / 2


def constant_item(price: Pricing, name: str, c: Float[Array, " n"]) -> Item:
    """Return the item (term of the bound) of an added constant vector, as a linear map applied to the single point
    1.
    """
    norms = price.measure(name, lambda: matrix_norms(c[None, :]))
    return price.linear(name, norms, log_b=0.0, log_N=0.0, log_p=0.0)


def mlp_stage(price: Pricing, name: str, layer: Layer, mlp: Mlp, *, log_R: float, log_N: float) -> Stage:
    """Return the stage of a layer's MLP, U -> [U] + act(LN(U) W_1 + b_1) W_2 + b_2, on N rows of length at most R.

    The term in brackets is there if the MLP has a residual connection.

    Paper: multi-layer-capacity, layer-parameters, layer-lipschitz
    """
    log_act = ln(LIPSCHITZ[mlp.activation])
    log_in, log_lip = after_norm(layer.norm_mlp, log_R, mlp.W_1.shape[0])
    W_1, b_1 = fold(layer.norm_mlp, mlp.W_1, mlp.b_1)
    one = price.measure(f"{name}.W_1", lambda: matrix_norms(with_bias(W_1, unless_zero(b_1))))
    two = price.measure(f"{name}.W_2", lambda: matrix_norms(with_bias(mlp.W_2, unless_zero(mlp.b_2))))
    log_in = radius_with_one(log_in, price.kept(f"{name}.b_1", presence(b_1)))
    log_s1, log_s2 = price.log_spectral(f"{name}.W_1", one), price.log_spectral(f"{name}.W_2", two)
    log_hidden = radius_with_one(log_act + log_s1 + log_in, price.kept(f"{name}.b_2", presence(mlp.b_2)))
    items = (
        price.linear(f"{name}.W_1", one, log_b=log_in, log_N=log_N, log_p=log_act + log_s2),
        price.linear(f"{name}.W_2", two, log_b=log_hidden, log_N=log_N, log_p=0.0),
    )
    kept, stretch = (log_R, 0.0) if layer.residual else (LOG_ZERO, LOG_ZERO)
    log_out = log_sum([kept, log_s2 + log_hidden])
    log_lip = log_sum([stretch, log_lip + log_act + log_s1 + log_s2])
    return Stage(items, log_lip, min(log_out, 0.0) if layer.project else log_out)


def dense_stage(price: Pricing, name: str, dense: Dense, *, log_R: float, log_N: float) -> Stage:
    """Return the stage y -> relu(y W + b), a layer of the decoder, on N rows of length at most R."""
    W = price.measure(name, lambda: matrix_norms(with_bias(dense.W, unless_zero(dense.b))))
    log_in = radius_with_one(log_R, price.kept(f"{name}.b", presence(dense.b)))
    log_s = price.log_spectral(name, W)
    items = (price.linear(name, W, log_b=log_in, log_N=log_N, log_p=0.0),)
    return Stage(items, log_s, log_s + log_in)


def read_stage(
    price: Pricing, w: Float[Array, " p"], bias: float, norm: LayerNorm | None, *, log_R: float, log_N: float
) -> Stage:
    """Return the stage of the read-out, y -> w . LN(y) + bias, on N rows of length at most R."""
    log_in, log_lip = after_norm(norm, log_R, len(w))
    column, b = fold(norm, w[:, None], np.array([bias]))
    W = price.measure("w", lambda: matrix_norms(with_bias(column, unless_zero(b))))
    log_in = radius_with_one(log_in, price.kept("bias", presence(b)))
    log_w = price.log_spectral("w", W)
    items = (price.linear("w", W, log_b=log_in, log_N=log_N, log_p=0.0),)
    return Stage(items, log_lip + log_w, log_w + log_in)


ValuePath = tuple[MatrixNorms, MatrixNorms | None]


def value_path(V: Float[Array, "d v"], W_C: Float[Array, "v c"], sigma: str) -> ValuePath:
    """Return norms of W_V W_C if sigma is the identity, else of W_V and of W_C."""
    if sigma == "identity":
        return product_norms(V, W_C.T), None
    return matrix_norms(V), matrix_norms(W_C)


def head_items(
    price: Pricing,
    name: str,
    score: Item,
    path: ValuePath,
    *,
    sigma: str,
    log_R: float,
    log_N: float,
    log_N_C: float,
) -> tuple[tuple[Item, ...], float]:
    """Return the items of one head, and ln of the Lipschitz constant of its value path. Sets p of the score's item.

    A cover of W_V on the tokens also covers every mixture of tokens, so N may be the number of distinct tokens. W_C is
    applied to sigma(mixture W_V), which is not a mixture of a few points unless sigma is linear, so N_C is the number
    of mixtures.

    Paper: layer-parameters
    """
    V, C = path
    log_v = price.log_spectral(f"{name}.V", V)
    log_act, log_c = (0.0, 0.0) if C is None else (ln(LIPSCHITZ[sigma]), price.log_spectral(f"{name}.C", C))
    log_path = log_v + log_act + log_c
    items = [
        replace(score, log_p=log_path + log_R + price.log_softmax),
        price.linear(f"{name}.V", V, log_b=log_R, log_N=log_N, log_p=log_act + log_c),
    ]
    if C is not None:
        items.append(price.linear(f"{name}.C", C, log_b=log_act + log_v + log_R, log_N=log_N_C, log_p=0.0))
    return tuple(items), log_path
