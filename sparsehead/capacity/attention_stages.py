"""The attention of one layer as a stage of a network: at every token, or only at [CLS] in a one-layer model.

The context length T enters only through the numbers of points on which matrices are covered. For m sequences of n
tokens a layer has m n rows and m n^2 pairs of a query and a key. The last layer is read at [CLS] only, so it has m rows
and m n pairs. The inputs of the first layer are at most D = 2T + 1 distinct tokens, for any m. After the activation
sigma there are as many points as rows.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._base.log_math import Real, ln, log_sum
from .._base.types import Array, Float
from ..heads.block import Layer
from ..heads.encoding import RESERVED
from ..heads.model import Model
from .items import Item
from .norms import MatrixNorms, matrix_norms, product_norms, with_bias
from .pricing import Pricing
from .stages import (
    Stage,
    ValuePath,
    after_norm,
    constant_item,
    fold,
    head_items,
    presence,
    radius_with_one,
    unless_zero,
    value_path,
)


@dataclass(frozen=True)
class Counts:
    """Logarithms of the numbers of points on which a layer's maps are covered.

    `pairs` is for scores, `values` for W_V, and `rows` for maps applied after a nonlinearity (W_C after sigma, the
    MLP).
    """

    pairs: float
    values: float
    rows: float


def token_counts(model: Model) -> tuple[int, int]:
    """Return the number of attended tokens per sequence, and of distinct tokens over all sequences."""
    extra = int(model.attends_cls)
    return model.T + extra, 2 * model.T + extra


def token_radius(model: Model) -> float:
    """Return B_X, the length of the longest possible token, [CLS] included."""
    encoding = model.encoding
    if encoding.P is None:
        E = encoding.E if encoding.additive else np.zeros((1, encoding.d))
        # the largest over t of |E_b + e_{3+t}|^2 = |E_b|^2 + 2 E_b[3+t] + 1
        squares = (E**2).sum(axis=1) + 2 * E[:, RESERVED:].max(axis=1) + 1
        return max(math.sqrt(float(squares.max())), float(np.linalg.norm(encoding.cls)))
    tokens, cls = encoding.token_table()
    return max(float(np.linalg.norm(tokens, axis=-1).max()), float(np.linalg.norm(cls)))


def embedding_matrix(model: Model) -> Float[Array, "rows d"]:
    """Return the matrix of the rows of E, the rows of P, and cls, T + 3 in all.

    A token is the product of a two-hot vector, which has length sqrt 2, with this matrix.
    """
    encoding = model.encoding
    return np.vstack([encoding.E, encoding.positions(), encoding.cls[None, :]])


def attention_stage(
    price: Pricing, name: str, layer: Layer, *, log_R: float, counts: Counts, log_Z: float | None = None
) -> Stage:
    """Return the stage of a layer's attention, for tokens (rows of Z) of length at most R:

        Z -> [Z] + sum_h sigma(softmax(scores) Z W_V) W_C + b_C.

    Every token is a query; log_Z is ln B_Z, where B_Z is the length of the longest query, by default R. The Lipschitz
    constant is [1] + sum_h ||value path|| (1 + R (B_Z + R) ||W_QK||), where the value path of head h is z -> sigma(z
    W_V) W_C. The terms in brackets are there if the layer has a residual connection.

    Paper: multi-layer-capacity, layer-lipschitz
    """
    log_x, log_lip = after_norm(layer.norm_attention, log_R, layer.d)
    items: list[Item] = []
    radii, stretches = ([log_R], [0.0]) if layer.residual else ([], [])
    for h in range(layer.H):
        head = f"{name}.head{h}"
        QK, path, query_biased, value_biased = price.measure(head, partial(_measure_head, layer, h))
        log_q = log_x if log_Z is None else log_Z
        log_z = radius_with_one(log_q, price.kept(f"{head}.b_Q", query_biased))
        log_v = radius_with_one(log_x, price.kept(f"{head}.b_V", value_biased))
        score = price.bilinear(f"{head}.QK", QK, log_b=log_x + log_z, log_N=counts.pairs, log_p=0.0)
        points = {"log_N": counts.values, "log_N_C": counts.rows}
        found, log_s = head_items(price, head, score, path, sigma=layer.sigma, log_R=log_v, **points)
        items.extend(found)
        radii.append(log_s + log_v)
        turned = log_v + log_sum([log_x, log_z]) + price.log_spectral(f"{head}.QK", QK) + price.log_softmax
        stretches.append(log_lip + log_s + log_sum([0.0, turned]))
    return _with_constant(price, f"{name}.b_C", layer.b_C, items, radii, stretches, project=layer.project)


def _with_constant(
    price: Pricing,
    name: str,
    c: Float[Array, " n"] | None,
    items: list[Item],
    radii: list[float],
    stretches: list[float],
    *,
    project: bool,
) -> Stage:
    """Return the stage that adds several parts and the constant vector c. Each part has its items, a longest output
    (radii) and a Lipschitz constant (stretches).
    """
    if price.kept(name, presence(c)) and c is not None:
        items.append(constant_item(price, name, c))
        radii.append(price.log_norm(f"{name} length", float(np.linalg.norm(c))))
    log_out = log_sum(radii)
    return Stage(tuple(items), log_sum(stretches), min(log_out, 0.0) if project else log_out)


def _measure_head(layer: Layer, h: int) -> tuple[MatrixNorms, ValuePath, bool | None, bool | None]:
    """Return norms of W_QK and of the value path of head h, and whether its queries and values have biases."""
    W_Q, b_Q = fold(layer.norm_attention, layer.W_Q[h], None if layer.b_Q is None else layer.b_Q[h])
    W_K, _ = fold(layer.norm_attention, layer.W_K[h], None)
    W_V, b_V = fold(layer.norm_attention, layer.W_V[h], None if layer.b_V is None else layer.b_V[h])
    QK = product_norms(with_bias(W_Q, unless_zero(b_Q)) / layer.temperature, W_K)
    path = value_path(with_bias(W_V, unless_zero(b_V)), layer.W_C[h], layer.sigma)
    return QK, path, presence(b_Q), presence(b_V)


def cls_attention_stage(
    model: Model, price: Pricing, *, m: Real, G: Float[Array, "d c"] | None, bias: Float[Array, " c"] | None
) -> Stage:
    """Return the stage of a one-layer model's attention at [CLS], followed by y -> y G + bias if G is given.

    The query is the fixed [CLS] token z, so token x has the score <kappa, x>, where the vector kappa is W_K (W_Q^T z +
    b_Q)/temperature. Trainable embeddings without a LayerNorm are multiplied into kappa and W_V; tokens are then
    two-hot vectors. The residual connection adds the constant [CLS] token.

    W_V is covered on the distinct tokens or on the m mixtures; the smaller set is used. After a nonlinear sigma, W_C is
    covered on the m values of sigma(mixture W_V).

    Paper: single-layer-capacity
    """
    layer, (_, distinct) = model.layers[0], token_counts(model)
    radius = price.measure("token radius", partial(token_radius, model))
    log_R, log_lip = after_norm(layer.norm_attention, ln(radius), model.d)
    lift = model.encoding.kind == "trainable" and layer.norm_attention is None
    log_R = math.log(2) / 2 if lift else log_R
    items: list[Item] = []
    radii, stretches = [], []
    for h in range(layer.H):
        name = f"layer0.head{h}"
        kappa, path, biased = price.measure(name, partial(_measure_cls_head, model, h, lift, G))
        score = price.linear(f"{name}.QK", kappa, log_b=log_R, log_N=ln(distinct), log_p=0.0)
        log_in = radius_with_one(log_R, price.kept(f"{name}.b_V", biased))
        log_N = min(ln(m), ln(distinct))
        found, log_s = head_items(
            price, name, score, path, sigma=layer.sigma, log_R=log_in, log_N=log_N, log_N_C=ln(m)
        )
        items.extend(found)
        radii.append(log_s + log_in)
        turned = log_in + price.log_spectral(f"{name}.QK", kappa) + price.log_softmax
        stretches.append(log_lip + log_s + log_sum([0.0, turned]))
    constant = _constant(model, G, bias)
    return _with_constant(price, "constant", constant, items, radii, stretches, project=layer.project)


def _constant(
    model: Model, G: Float[Array, "d c"] | None, bias: Float[Array, " c"] | None
) -> Float[Array, " n"] | None:
    """Return the constant that the stage adds to the attended values; None if the architecture adds none."""
    layer = model.layers[0]
    if layer.b_C is None and not layer.residual:
        return bias if G is not None else None
    added = np.zeros(model.d) if layer.b_C is None else layer.b_C
    added = added + model.encoding.cls if layer.residual else added
    return added if G is None or bias is None else added @ G + bias


def _measure_cls_head(
    model: Model, h: int, lift: bool, G: Float[Array, "d c"] | None
) -> tuple[MatrixNorms, ValuePath, bool | None]:
    """Return the norms of the vector kappa of `cls_attention_stage` and of the value path, both for head h, and whether
    the head has a value bias.

    The LayerNorm is folded in. The key bias adds the same number to all scores, so it does not change softmax.
    """
    layer = model.layers[0]
    norm = layer.norm_attention
    q = layer.query(model.encoding.cls)[h]
    W_K, _ = fold(norm, layer.W_K[h], None)
    W_V, b_V = fold(norm, layer.W_V[h], None if layer.b_V is None else layer.b_V[h])
    kappa = W_K @ q / layer.temperature
    if lift:
        M = embedding_matrix(model)
        kappa, W_V = M @ kappa, M @ W_V
    W_C = layer.W_C[h] if G is None else layer.W_C[h] @ G
    path = value_path(with_bias(W_V, unless_zero(b_V)), W_C, layer.sigma)
    return matrix_norms(kappa[:, None]), path, presence(b_V)
