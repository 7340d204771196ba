"""Models to items: one layer read at [CLS], and any depth.

What is covered, besides the weight matrices: biases (by appending a constant 1), the gains and biases of
LayerNorms (folded into the matrices behind them), and trainable embeddings. What is not a parameter: fixed
encodings.

Counting points is where T enters. With n tokens per sequence a deep layer has m n rows and m n^2 pairs; the
last layer is read at [CLS] only (m rows, m n pairs); the first sees at most D = 2T + 1 distinct tokens,
however large m is.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..block import Layer
from ..errors import DomainError
from ..model import Model
from ..types import Array, Float
from .bounds import Item
from .logs import LOG_ZERO, Real, check_count, ln, log_sum
from .norms import matrix_norms, product_norms, with_bias
from .pricing import Pricing
from .stages import (
    Stage,
    appended,
    constant_item,
    dense_stage,
    fold,
    head_items,
    mlp_stage,
    network_items,
    normed,
    read_stage,
    some,
    value_path,
)


@dataclass(frozen=True)
class Counts:
    """ln of the numbers of points that a layer's covers must hold on: pairs for scores, rows for values and
    MLP.
    """

    pairs: float
    values: float
    rows: float


def model_items(model: Model, *, m: Real, price: Pricing) -> tuple[Item, ...]:
    """The items of the model's class on m samples.   Paper: multi-layer-capacity"""
    check_count("m", m)
    stages = _single(model, m, price) if model.L == 1 else _deep(model, m, price)
    return network_items(stages)


def token_radius(model: Model) -> float:
    """B_X: the longest token there can be, [CLS] included."""
    encoding = model.encoding
    if encoding.P is None:
        longest = math.sqrt(1 + (float(np.abs(encoding.E).max()) ** 2 if encoding.additive else 0.0))
        return max(longest, float(np.linalg.norm(encoding.cls)))
    tokens, cls = encoding.token_table()
    return max(float(np.linalg.norm(tokens, axis=-1).max()), float(np.linalg.norm(cls)))


def _tokens(model: Model) -> tuple[int, int]:
    """Attended tokens per sequence, and distinct ones over all sequences."""
    extra = int(model.attends_cls)
    return model.T + extra, 2 * model.T + extra


def embedding_matrix(model: Model) -> Float[Array, "rows d"]:
    """[E; P; cls]: tokens are its products with two-hot vectors, of length sqrt 2."""
    encoding = model.encoding
    return np.vstack([encoding.E, encoding.positions(), encoding.cls[None, :]])


def _embedding_stage(model: Model, price: Pricing) -> Stage:
    _, distinct = _tokens(model)
    M = matrix_norms(embedding_matrix(model))
    log_two_hot = math.log(2) / 2
    items = (price.linear("embedding", M, log_b=log_two_hot, log_N=ln(distinct + 1), log_p=0.0),)
    return Stage(items, LOG_ZERO, price.log_spectral("embedding", M) + log_two_hot)


# ---------------------------------------------------------------- one layer, read at [CLS]


def _single(model: Model, m: Real, price: Pricing) -> list[Stage]:
    """The query is the fixed [CLS] token, so a score is <kappa, x> with one vector kappa = W_K (W_Q^T z +
    b_Q)/temperature.

    Trainable embeddings without LayerNorm disappear into kappa and W_V (two-hot tokens); with one they are a
    stage of their own. Without MLP, projection or a LayerNorm on the way, the first linear map of the
    read-out is multiplied into the heads' values: x -> x W_V W_C w is one vector class.

    Paper: single-layer-capacity
    """
    layer, log_m = model.layers[0], ln(m)
    stages: list[Stage] = []
    trained = model.encoding.kind == "trainable"
    if trained and layer.norm_attention is not None:
        stages.append(_embedding_stage(model, price))
    merged = (
        layer.mlp is None and not layer.project and model.final_norm is None and layer.sigma == "identity"
    )
    G, bias = _first_map(model) if merged else (None, None)
    stages.append(_cls_attention(model, m, price, G, bias))
    decoder = list(enumerate(model.decoder))
    if merged:
        if not decoder:
            return stages
        decoder = decoder[1:]
    if layer.mlp is not None:
        stages.append(_mlp(price, "layer0", layer, stages[-1].log_radius, log_m))
    return stages + _read_out(model, decoder, stages[-1].log_radius, log_m, price)


def _first_map(model: Model) -> tuple[Float[Array, "d c"], Float[Array, " c"]]:
    if model.decoder:
        return model.decoder[0].W, model.decoder[0].b
    return model.w[:, None], np.array([model.bias])


def _cls_attention(
    model: Model,
    m: Real,
    price: Pricing,
    G: Float[Array, "d c"] | None,
    bias: Float[Array, " c"] | None,
) -> Stage:
    """The attention of a one-layer model at [CLS], followed by the linear map G where one is given."""
    layer, (_, distinct) = model.layers[0], _tokens(model)
    log_R, log_lip = normed(layer.norm_attention, ln(token_radius(model)), model.d)
    trained = model.encoding.kind == "trainable"
    lift = None
    if trained and layer.norm_attention is None:
        lift, log_R = embedding_matrix(model), math.log(2) / 2
    log_values = min(ln(m), ln(distinct))
    items: list[Item] = []
    log_path, log_stretch = [], []
    for h in range(layer.H):
        name = f"layer0.head{h}"
        kappa, W_V, b_V = _head_of(model, h)
        if lift is not None:
            kappa, W_V = lift @ kappa, lift @ W_V
        score_norms = matrix_norms(kappa[:, None])
        score = price.linear(f"{name}.QK", score_norms, log_b=log_R, log_N=ln(distinct), log_p=0.0)
        log_in = appended(log_R, b_V)
        W_C = layer.W_C[h] if G is None else layer.W_C[h] @ G
        V = with_bias(W_V, b_V)
        path = value_path(V, W_C, layer.sigma)
        found, log_s = head_items(
            price, name, score, *path, sigma=layer.sigma, log_R=log_in, log_N=log_values
        )
        items.extend(found)
        log_path.append(log_s + log_in)
        log_kappa = price.log_spectral(f"{name}.QK", score_norms)
        log_stretch.append(log_lip + log_s + log_sum([0.0, log_in + log_kappa + price.log_softmax]))
    constant = np.zeros(model.d) if layer.b_C is None else layer.b_C
    constant = constant + model.encoding.cls if layer.residual else constant
    if G is not None and bias is not None:
        constant = constant @ G + bias
    if constant.any():
        items.append(constant_item(price, "constant", constant))
        log_path.append(price.log_norm("constant length", float(np.linalg.norm(constant))))
    log_out = log_sum(log_path)
    return Stage(tuple(items), log_sum(log_stretch), min(log_out, 0.0) if layer.project else log_out)


def _head_of(model: Model, h: int) -> tuple[Array, Array, Array | None]:
    """kappa, W_V and b_V of head h, LayerNorm folded in. The keys' constant shifts all scores alike and
    drops out.
    """
    layer = model.layers[0]
    norm = layer.norm_attention
    z = model.encoding.cls if norm is None else norm(model.encoding.cls)
    q = z @ layer.W_Q[h] + (0 if layer.b_Q is None else layer.b_Q[h])
    W_K, _ = fold(norm, layer.W_K[h], None)
    W_V, b_V = fold(norm, layer.W_V[h], None if layer.b_V is None else layer.b_V[h])
    return W_K @ q / layer.temperature, W_V, b_V


# ---------------------------------------------------------------- any depth


def _deep(model: Model, m: Real, price: Pricing) -> list[Stage]:
    """Block after block; only the last is read at [CLS] alone.   Paper: multi-layer-capacity"""
    attended, distinct = _tokens(model)
    log_n, log_q, log_m = ln(attended), ln(model.T + 1), ln(m)
    stages: list[Stage] = []
    log_R = ln(token_radius(model))
    if model.encoding.kind == "trainable":
        stages.append(_embedding_stage(model, price))
        log_R = stages[0].log_radius
    for i, layer in enumerate(model.layers):
        if i == model.L - 1:
            counts = Counts(pairs=log_m + log_n, values=log_m, rows=log_m)
        elif i == 0:
            seen = ln(distinct)
            every = log_m + log_q
            counts = Counts(min(every + log_n, 2 * ln(2 * model.T + 1)), min(every, seen), every)
        else:
            counts = Counts(log_m + log_q + log_n, log_m + log_q, log_m + log_q)
        stages.append(attention_stage(price, f"layer{i}", layer, log_R=log_R, counts=counts))
        log_R = stages[-1].log_radius
        if layer.mlp is not None:
            stages.append(_mlp(price, f"layer{i}", layer, log_R, counts.rows))
            log_R = stages[-1].log_radius
    return stages + _read_out(model, list(enumerate(model.decoder)), log_R, log_m, price)


def attention_stage(price: Pricing, name: str, layer: Layer, *, log_R: float, counts: Counts) -> Stage:
    """Z -> [Z] + sum_h sigma(softmax(scores) Z W_V) W_C + b_C on rows of length at most R, every token a
    query.

    Stretch: [1] + sum_h ||value path|| (1 + R (B_Z + R) ||W_QK||), which is 1 + 2 R^2 ||W_QK|| without
    biases.
    Paper: multi-layer-capacity
    """
    d = layer.d
    log_x, log_lip = normed(layer.norm_attention, log_R, d)
    items: list[Item] = []
    kept, own = (log_R, 0.0) if layer.residual else (LOG_ZERO, LOG_ZERO)
    radii, stretches = [kept], [own]
    for h in range(layer.H):
        head = f"{name}.head{h}"
        W_Q, b_Q = fold(layer.norm_attention, layer.W_Q[h], None if layer.b_Q is None else layer.b_Q[h])
        W_K, _ = fold(layer.norm_attention, layer.W_K[h], None)
        W_V, b_V = fold(layer.norm_attention, layer.W_V[h], None if layer.b_V is None else layer.b_V[h])
        QK = product_norms(with_bias(W_Q, b_Q) / layer.temperature, W_K)
        log_z, log_v = appended(log_x, b_Q), appended(log_x, b_V)
        score = price.bilinear(f"{head}.QK", QK, log_b=log_x + log_z, log_N=counts.pairs, log_p=0.0)
        V = with_bias(W_V, b_V)
        path = value_path(V, layer.W_C[h], layer.sigma)
        found, log_s = head_items(
            price, head, score, *path, sigma=layer.sigma, log_R=log_v, log_N=counts.values
        )
        items.extend(found)
        radii.append(log_s + log_v)
        log_QK = price.log_spectral(f"{head}.QK", QK)
        turned = log_v + log_sum([log_x, log_z]) + log_QK + price.log_softmax
        stretches.append(log_lip + log_s + log_sum([0.0, turned]))
    if (b_C := some(layer.b_C)) is not None:
        items.append(constant_item(price, f"{name}.b_C", b_C))
        radii.append(price.log_norm(f"{name}.b_C length", float(np.linalg.norm(b_C))))
    log_out = log_sum(radii)
    return Stage(tuple(items), log_sum(stretches), min(log_out, 0.0) if layer.project else log_out)


def _mlp(price: Pricing, name: str, layer: Layer, log_R: float, log_N: float) -> Stage:
    if layer.mlp is None:
        raise DomainError(f"{name} has no MLP to bound.")
    return mlp_stage(
        price,
        f"{name}.mlp",
        layer.mlp,
        layer.norm_mlp,
        log_R=log_R,
        log_N=log_N,
        residual=layer.residual,
        project=layer.project,
    )


def _read_out(model: Model, decoder: list, log_R: float, log_m: float, price: Pricing) -> list[Stage]:
    """The decoder's ReLU layers and w, on the m rows read at [CLS]."""
    stages: list[Stage] = []
    if model.final_norm is not None and decoder:
        first = decoder[0][1]
        W, b = fold(model.final_norm, first.W, first.b)
        log_R, log_lip = normed(model.final_norm, log_R, model.d)
        stages.append(Stage((), log_lip, log_R))
        decoder = [(decoder[0][0], type(first)(W, np.zeros(W.shape[1]) if b is None else b)), *decoder[1:]]
    for i, dense in decoder:
        stages.append(dense_stage(price, f"decoder{i}", dense, log_R=log_R, log_N=log_m))
        log_R = stages[-1].log_radius
    norm = None if model.decoder else model.final_norm
    stages.append(read_stage(price, model.w, model.bias, norm, log_R=log_R, log_N=log_m))
    return stages
