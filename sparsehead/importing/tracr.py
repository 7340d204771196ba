"""Extract weights from Tracr's parameters: a dict of Haiku modules, each a dict of arrays. Tracr is not imported.

Names and meaning (google-deepmind/tracr, tracr/compiler/assemble.py and tracr/transformer/): "token_embed" and
"pos_embed" contain `embeddings`; query, key, value and linear in "transformer/layer_i/attn/", and linear_1 and linear_2
in "transformer/layer_i/mlp/", contain `w` (in, out) and `b`. Heads are side by side in the columns, scores are divided
by the square root of a head's width, residuals are added, the activation is ReLU, and there are no norms.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from .._base.arguments import shown, whole
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Bool, Float, Int
from ..heads.block import Layer, Mlp, finish_attention, finish_mlp
from ..heads.heads import softmax
from .arrangement import Arrangement, TokenModel
from .network import Run
from .stack import Block, Readout, Stack


def is_tracr(value: Any) -> bool:
    """Return whether `value` is a model compiled by Tracr, or the parameters of one."""
    return isinstance(value, Mapping) or (hasattr(value, "params") and hasattr(value, "model_config"))


def tracr_model(value: Any, heads: int | None) -> TokenModel:
    """Return a Tracr model's blocks, and its embeddings of token ids and of positions.

    Raises:
        DomainError: a part is missing, or the number of heads is not known. ShapeError: shapes are inconsistent.
    """
    config = getattr(value, "model_config", None)
    params = value if isinstance(value, Mapping) else value.params
    if config is not None and heads not in (None, config.num_heads):
        raise DomainError(
            f"the compiled model has {config.num_heads} heads; heads={shown(heads)} contradicts it."
        )
    heads = config.num_heads if config is not None else heads
    if heads is None:
        raise DomainError(
            "Tracr's parameters do not say how many heads share a layer; give heads=, or the compiled model."
        )
    words, places = (_array(params, name, "embeddings", 2) for name in ("token_embed", "pos_embed"))
    if words.shape[1] != places.shape[1]:
        raise ShapeError(
            f"tokens have d={words.shape[1]} coordinates, positions {places.shape[1]}; both need the same."
        )
    if any("norm" in str(name) for name in params):
        raise DomainError("these parameters have layer norms; Tracr compiles models without.")
    blocks = []
    for i in count():
        if f"transformer/layer_{i}/attn/query" not in params:
            break
        blocks.append(_block(params, f"transformer/layer_{i}", whole("heads", heads)))
    if not blocks:
        raise DomainError(
            "no transformer/layer_0/attn/query among the parameters; Tracr's `model.params` has it."
        )
    stack = Stack(tuple(blocks), causal=bool(getattr(config, "causal", False)))
    return TokenModel(stack, words, places)


def _array(params: Mapping[str, Any], module: str, name: str, ndim: int) -> Array:
    inside = params.get(module)
    if not isinstance(inside, Mapping) or name not in inside:
        raise DomainError(f"Tracr's parameters have an array {name!r} in {module!r}; these have none.")
    try:
        array = np.asarray(inside[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(
            f"{module!r} has {name!r} that is no array of numbers; got {shown(inside[name])}."
        ) from None
    if array.ndim != ndim:
        raise ShapeError(f"{module!r} has {name!r} of shape {array.shape}; {ndim} axes are needed.")
    return array


def _block(params: Mapping[str, Any], at: str, H: int) -> Block:
    def linear(name: str) -> tuple[Array, Array]:
        return _array(params, f"{at}/{name}", "w", 2), _array(params, f"{at}/{name}", "b", 1)

    W = {}
    for name in ("query", "key", "value"):
        w, b = linear(f"attn/{name}")
        if w.shape[1] % H:
            raise ShapeError(f"{at}/attn/{name} has width {w.shape[1]}, which {H} heads do not divide.")
        W[name] = w.reshape(len(w), H, -1).transpose(1, 0, 2), b.reshape(H, -1)
    out, b_C = linear("attn/linear")
    (Q, b_Q), (K, b_K), (V, b_V) = W["query"], W["key"], W["value"]
    if len(out) % H:
        raise ShapeError(f"{at}/attn/linear has {len(out)} rows, which {H} heads do not divide.")
    scale = float(np.sqrt(Q.shape[-1]))
    layer = Layer(Q, K, V, out.reshape(H, -1, out.shape[1]), b_Q, b_K, b_V, b_C, temperature=scale)
    return Block(layer, Mlp(*linear("mlp/linear_1"), *linear("mlp/linear_2"), activation="relu"))


def run_tracr(model: TokenModel, arrangement: Arrangement, readout: Readout) -> Run:
    """Return the function bits -> outputs that evaluates all tokens of each input."""
    layers = [replace(block.heads, residual=True, mlp=block.mlp) for block in model.stack.blocks]
    later = np.triu(np.ones((arrangement.length, arrangement.length), dtype=bool), 1)
    hidden = later if model.stack.causal else np.zeros_like(later)

    def output(ids: Int[Array, " tokens"]) -> float:
        X = model.words[ids] + model.places[: len(ids)]
        for layer in layers:
            mixed = [_mixed(X, layer, h, hidden) for h in range(layer.H)]
            X = finish_mlp(finish_attention(X, mixed, layer), layer)
        return float(X[arrangement.at] @ readout.w + readout.bias)

    return lambda bits: np.array([output(ids) for ids in arrangement.ids(bits)])


def _mixed(X: Float[Array, "n d"], layer: Layer, h: int, hidden: Bool[Array, "n n"]) -> Float[Array, "n v"]:
    """Return the mixed values of head h at every token; tokens that the mask `hidden` marks get weight 0."""
    assert (
        layer.b_Q is not None and layer.b_K is not None and layer.b_V is not None
    )  # Haiku's maps have biases
    Q, K, V = (
        X @ layer.W_Q[h] + layer.b_Q[h],
        X @ layer.W_K[h] + layer.b_K[h],
        X @ layer.W_V[h] + layer.b_V[h],
    )
    return softmax(np.where(hidden, -np.inf, Q @ K.T / layer.temperature)) @ V
