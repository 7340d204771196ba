"""Compute the items (terms of the bound) of a model: one layer read at [CLS], or any depth.

Besides the weight matrices, items cover biases (by appending a constant 1 to the input), the gains and biases of
LayerNorms (folded into the matrices after them), and trainable embeddings. Fixed encodings are not parameters.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from .._base.log_math import LOG_ZERO, Real, check_count, ln
from ..heads.model import Model
from .attention_stages import (
    Counts,
    attention_stage,
    cls_attention_stage,
    embedding_matrix,
    token_counts,
    token_radius,
)
from .items import Item
from .norms import matrix_norms
from .pricing import Pricing
from .stages import Stage, after_norm, dense_stage, fold, mlp_stage, network_items, read_stage


def model_items(model: Model, *, m: Real, price: Pricing) -> tuple[Item, ...]:
    """Return the items of the model's class on m samples.   Paper: multi-layer-capacity, multi-head-capacity"""
    check_count("m", m)
    return network_items(_single(model, m, price) if model.L == 1 else _deep(model, m, price))


def _single(model: Model, m: Real, price: Pricing) -> list[Stage]:
    """Return the stages of a one-layer model. Trainable embeddings before a LayerNorm are a separate stage.

    If no MLP, projection or LayerNorm follows the heads, the first linear map of the read-out is multiplied into W_C.
    Without a decoder this map is the vector w, so W_C w is one vector. If sigma is also the identity, the map x -> x
    W_V W_C w is given by one vector, and such maps have a smaller cover.   Paper: single-layer-capacity
    """
    layer = model.layers[0]
    stages: list[Stage] = []
    if model.encoding.kind == "trainable" and layer.norm_attention is not None:
        stages.append(_embedding_stage(model, price))
    merged = layer.mlp is None and not layer.project and model.final_norm is None
    G, bias = None, None
    if merged:
        first = model.decoder[0] if model.decoder else None
        G, bias = (model.w[:, None], np.array([model.bias])) if first is None else (first.W, first.b)
    stages.append(cls_attention_stage(model, price, m=m, G=G, bias=bias))
    if merged and not model.decoder:
        return stages
    if layer.mlp is not None:
        log_U = stages[-1].log_radius
        stages.append(mlp_stage(price, "layer0.mlp", layer, layer.mlp, log_R=log_U, log_N=ln(m)))
    return stages + _read_out(model, price, log_R=stages[-1].log_radius, log_m=ln(m), done=int(merged))


def _deep(model: Model, m: Real, price: Pricing) -> list[Stage]:
    """Return the stages of all blocks in order; only the last is read at [CLS] alone.   Paper: multi-layer-capacity"""
    stages: list[Stage] = []
    log_R = ln(price.measure("token radius", partial(token_radius, model)))
    if model.encoding.kind == "trainable":
        stages.append(_embedding_stage(model, price))
        log_R = stages[0].log_radius
    for i, layer in enumerate(model.layers):
        counts = _counts(model, i, ln(m))
        stages.append(attention_stage(price, f"layer{i}", layer, log_R=log_R, counts=counts))
        if layer.mlp is not None:
            log_U = stages[-1].log_radius
            mlp = mlp_stage(price, f"layer{i}.mlp", layer, layer.mlp, log_R=log_U, log_N=counts.rows)
            stages.append(mlp)
        log_R = stages[-1].log_radius
    return stages + _read_out(model, price, log_R=log_R, log_m=ln(m))


def _counts(model: Model, i: int, log_m: float) -> Counts:
    """Return the numbers of points on which layer i is covered. The first layer has few distinct tokens, but many
    rows.
    """
    attended, distinct = token_counts(model)
    if i == model.L - 1:
        return Counts(pairs=log_m + ln(attended), values=log_m, rows=log_m)
    rows = log_m + ln(model.T + 1)
    if i > 0:
        return Counts(pairs=rows + ln(attended), values=rows, rows=rows)
    pairs = ln(2 * model.T + 1) + ln(distinct)
    return Counts(pairs=min(rows + ln(attended), pairs), values=min(rows, ln(distinct)), rows=rows)


def _embedding_stage(model: Model, price: Pricing) -> Stage:
    """Return the stage from two-hot vectors to tokens, on the 2T + 1 possible tokens."""
    M = price.measure("embedding", lambda: matrix_norms(embedding_matrix(model)))
    log_two_hot, log_N = math.log(2) / 2, ln(2 * model.T + 1)
    items = (price.linear("embedding", M, log_b=log_two_hot, log_N=log_N, log_p=0.0),)
    return Stage(items, LOG_ZERO, price.log_spectral("embedding", M) + log_two_hot)


def _read_out(model: Model, price: Pricing, *, log_R: float, log_m: float, done: int = 0) -> list[Stage]:
    """Return the decoder's stages on m rows read at [CLS]: its ReLU layers without the first `done`, and w."""
    stages: list[Stage] = []
    for i, dense in enumerate(model.decoder[done:], start=done):
        if i == 0 and model.final_norm is not None:
            W, b = fold(model.final_norm, dense.W, dense.b)
            dense = replace(dense, W=W, b=dense.b if b is None else b)
            log_R, log_lip = after_norm(model.final_norm, log_R, model.d)
            stages.append(Stage((), log_lip, log_R))
        stages.append(dense_stage(price, f"decoder{i}", dense, log_R=log_R, log_N=log_m))
        log_R = stages[-1].log_radius
    norm = None if model.decoder else model.final_norm
    stages.append(read_stage(price, model.w, model.bias, norm, log_R=log_R, log_N=log_m))
    return stages
