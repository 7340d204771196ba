"""Evaluate a model in balls: `heads`, `block` and `Model`, operation by operation, with error bounds.

The order of operations is that of the model, except for sums, which `balls` bounds in any order. The resulting balls
contain both the output in exact arithmetic and that of `Model.__call__`. U is the state after attention (`block`).
"""

import operator
from collections.abc import Callable
from functools import reduce

import numpy as np

from .._base.types import Array, Shaped
from ..heads.block import Layer
from ..heads.model import Model
from .balls import Ball, activate, concatenate, exact, layer_norm, project_rows, relu, softmax, stack


def outputs(model: Model, bits: Shaped[Array, "n T"]) -> Ball:
    """Return the outputs for n inputs, as balls of shape (n,)."""
    # Keep at most 2^21 numbers of one kind in memory.
    rows = max(1, 2**21 // ((model.T + 1) * max(model.H, model.d if model.L > 1 else 1)))
    evaluate = _one_layer(model) if model.L == 1 else lambda part: _deep(model, part)
    return concatenate([evaluate(bits[i : i + rows]) for i in range(0, len(bits), rows)], 0)


def tables(model: Model) -> tuple[Ball, Ball]:
    """Compute `Model.cls_tables` in balls; return scores (n, 2, H) and values (n, 2, H, v) of the attended tokens.

    [CLS] is the last row, the same for both bits, and is left out unless it is attended to.
    """
    layer, encoding = model.layers[0], model.encoding
    (H, d, _), v = layer.W_Q.shape, layer.W_V.shape[-1]
    cls = exact(encoding.cls)[None]
    z = cls if layer.norm_attention is None else layer_norm(cls, layer.norm_attention)
    queries = [_with_bias(z @ layer.W_Q[h], layer.b_Q, h).swap(0, 1) for h in range(H)]
    keys = [exact(layer.W_K[h]) @ queries[h] / layer.temperature for h in range(H)]
    W = concatenate([*keys, exact(layer.W_V.transpose(1, 0, 2).reshape(d, H * v))], 1)
    tokens, last = _projected(model, W)
    table = concatenate([tokens, stack([last, last], 1)], 0)
    scores, values = table[..., :H], table[..., H:].reshape(-1, 2, H, v)
    if layer.b_K is not None:
        moved = [exact(layer.b_K[h : h + 1]) @ queries[h] / layer.temperature for h in range(H)]
        scores = scores + concatenate(moved, 1)[0]
    values = values if layer.b_V is None else values + layer.b_V
    return (scores, values) if model.attends_cls else (_without_last(scores, 0), _without_last(values, 0))


def _without_last(x: Ball, axis: int) -> Ball:
    """Drop the last entry along an axis. If that entry overflows, nothing is known about the result: the model
    multiplies the entry by weight 0, and 0 times infinity is NaN.
    """
    rows = x.swap(0, axis)
    return Ball(rows.mid[:-1], rows.rad[:-1] + 0 * rows.size[-1:]).swap(0, axis)


def _projected(model: Model, W: Ball) -> tuple[Ball, Ball]:
    """Return the products of all tokens with W: of shape (T, 2, c) for positions and bits, (1, c) for [CLS]."""
    encoding, norm = model.encoding, model.layers[0].norm_attention
    cls = exact(encoding.cls)[None]
    if norm is None:
        at = W[encoding.d - encoding.T :] if encoding.P is None else exact(encoding.P) @ W
        return _tokens(at, exact(encoding.E) @ W if encoding.additive else None), cls @ W
    tokens = _tokens(exact(encoding.positions()), exact(encoding.E) if encoding.additive else None)
    normed = layer_norm(tokens, norm).reshape(2 * encoding.T, encoding.d)
    return (normed @ W).reshape(encoding.T, 2, -1), layer_norm(cls, norm) @ W


def _tokens(positions: Ball, bits: Ball | None) -> Ball:
    """Return the tokens E_b + P_t or, without bits, b P_t, of shape (T, 2, c)."""
    if bits is None:
        return stack([exact(np.zeros(positions.mid.shape)), positions], 1)
    return positions[:, None] + bits[None]


def _with_bias(x: Ball, bias: Array | None, h: int) -> Ball:
    return x if bias is None else x + bias[h]


def _one_layer(model: Model) -> Callable[[Array], Ball]:
    """Return the function bits -> outputs of a one-layer model, computed from its 2T + 1 distinct tokens."""
    scores, values = tables(model)

    def evaluate(bits: Shaped[Array, "n T"]) -> Ball:
        on = np.pad(bits, ((0, 0), (0, 1)))[:, : len(scores.mid)].astype(np.int64)
        rows = np.arange(on.shape[1])
        chosen = scores[rows, on]
        mixed = []
        for h in range(model.H):
            a = softmax(chosen[..., h])
            both = concatenate([a * (1.0 - on), a * (1.0 * on)], 1)
            mixed.append(both @ concatenate([values[:, 0, h], values[:, 1, h]], 0))
        cls = exact(np.broadcast_to(model.encoding.cls, (len(bits), model.d)))
        return after_attention(model, finish_attention(cls, mixed, model.layers[0]))

    return evaluate


def finish_attention(X: Ball, mixed: list[Ball], layer: Layer) -> Ball:
    """Compute `block.finish_attention` in balls: return U, the state after attention, given the mixed values of each
    head.
    """
    parts = [activate(M, layer.sigma) @ W_C for M, W_C in zip(mixed, layer.W_C, strict=True)]
    return around_attention(X, reduce(operator.add, parts), layer)


def around_attention(X: Ball, U: Ball, layer: Layer) -> Ball:
    """Return the state after attention, given U, the sum over heads: add b_C and the residual X, then project."""
    U = U if layer.b_C is None else U + layer.b_C
    U = U + X if layer.residual else U
    return project_rows(U) if layer.project else U


def finish_mlp(U: Ball, layer: Layer) -> Ball:
    """Compute `block.finish_mlp` in balls: return the block's output, given U, the state after attention."""
    mlp = layer.mlp
    if mlp is None:
        return U
    x = U if layer.norm_mlp is None else layer_norm(U, layer.norm_mlp)
    out = activate(x @ mlp.W_1 + mlp.b_1, mlp.activation) @ mlp.W_2 + mlp.b_2
    out = out + U if layer.residual else out
    return project_rows(out) if layer.project else out


def after_attention(model: Model, U: Ball) -> Ball:
    """Return the outputs (n,) of the model, given U (n, d), the state at [CLS] after the last layer's attention."""
    y = finish_mlp(U, model.layers[-1])
    if model.final_norm is not None:
        y = layer_norm(y, model.final_norm)
    for dense in model.decoder:
        y = relu(y @ dense.W + dense.b)
    return (y @ model.w[:, None] + model.bias)[..., 0]


def _deep(model: Model, bits: Shaped[Array, "n T"]) -> Ball:
    """Return the outputs of a model of any depth, computed from every token of every example."""
    tokens = np.stack([model.encoding(b) for b in bits])
    X = Ball(tokens, np.abs(tokens) * 2.0**-52)  # E + P rounds once
    for layer in model.layers[:-1]:
        X = finish_mlp(_attended(X, layer, attends_cls=model.attends_cls), layer)
    U = _attended(X, model.layers[-1], attends_cls=model.attends_cls)
    return after_attention(model, U[:, -1])


def _attended(X: Ball, layer: Layer, *, attends_cls: bool) -> Ball:
    """Return the output of the layer's attention, before its MLP, at every token: shape (n, T + 1, d)."""
    Z = X if layer.norm_attention is None else layer_norm(X, layer.norm_attention)
    mixed = []
    for h in range(layer.H):
        Q = _with_bias(Z @ layer.W_Q[h], layer.b_Q, h)
        K = _with_bias(Z @ layer.W_K[h], layer.b_K, h)
        V = _with_bias(Z @ layer.W_V[h], layer.b_V, h)
        scores = Q @ K.swap(-1, -2) / layer.temperature
        if not attends_cls:
            scores, V = _without_last(scores, -1), _without_last(V, -2)
        mixed.append(softmax(scores) @ V)
    return finish_attention(X, mixed, layer)
