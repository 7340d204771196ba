"""From torch modules, state dicts and our own models to `LayerWeights`: where the attention sits and what is in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..block import Layer
from ..capacity.state_dicts import OUTPUT, array_in, attention_weights
from ..errors import DomainError, ShapeError
from .families import MODEL_FAMILIES, SUPPORTED, ModelFamily
from .recompute import LayerWeights


@dataclass(frozen=True, eq=False)
class Site:
    """One attention layer of a torch model.

    module is called with the layer's input; projection is called with the heads' mixed values, None where the module
    does that itself (nn.MultiheadAttention).
    """

    layer: int
    module: nn.Module
    projection: nn.Module | None
    weights: LayerWeights


def sites_of(model: nn.Module) -> tuple[str, tuple[Site, ...]]:
    """The family's name and the attention layers in the order in which they are called.

    Raises:
        DomainError: the architecture is not one of MODEL_FAMILIES and has no nn.MultiheadAttention, or weights are not
            finite.
    """
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind in MODEL_FAMILIES:
        found = tuple(_family_sites(model, MODEL_FAMILIES[kind]))
    elif kind is None:
        kind, found = "nn.TransformerEncoder", tuple(_torch_sites(model))
    else:
        raise DomainError(f"probe does not know models of type {kind!r}; it reads {SUPPORTED}.")
    if not found:
        raise DomainError(
            f"no attention layers found in this {type(model).__name__}; probe reads {SUPPORTED}."
        )
    for site in found:
        check_finite(site.weights, f"layer {site.layer}")
    return str(kind), found


def check_finite(weights: LayerWeights, where: str) -> None:
    """Refuse NaN and infinite weights: every number measured on them would be one too."""
    for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"):
        value = getattr(weights, name)
        if value is not None and not bool(torch.isfinite(value).all()):
            raise DomainError(f"{where} has NaN or infinite entries in {name}; probe needs finite weights.")


def _family_sites(model: nn.Module, family: ModelFamily) -> list[Site]:
    config: Any = model.config
    named = dict(model.named_modules())
    modules = [
        (name, module)
        for name, module in named.items()
        if (name == family.module or name.endswith("." + family.module)) and hasattr(module, family.query)
    ]
    if family.shared:
        per_group = config.num_hidden_layers / config.num_hidden_groups
        groups = [
            modules[i : i + config.inner_group_num] for i in range(0, len(modules), config.inner_group_num)
        ]
        modules = [pair for i in range(config.num_hidden_layers) for pair in groups[int(i / per_group)]]
    return [_family_site(i, name, module, family, config, named) for i, (name, module) in enumerate(modules)]


def _family_site(
    layer: int, name: str, module: Any, family: ModelFamily, config: Any, named: dict[str, nn.Module]
) -> Site:
    H = int(config.num_attention_heads)
    groups = H // int(getattr(config, "num_key_value_heads", None) or H)
    projection = named[_relative(name, family.output)]
    if family.query == family.key:
        W, b = _matrix(getattr(module, family.query))
        pairs = list(zip(W.chunk(3, dim=1), (None,) * 3 if b is None else b.chunk(3), strict=True))
    else:
        pairs = [_matrix(getattr(module, part)) for part in (family.query, family.key, family.value)]
    W_O, b_O = _matrix(projection)
    k = pairs[0][0].shape[1] // H
    scale = float(getattr(module, "scaling", 1 / math.sqrt(k)))
    (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = (
        _by_head(W, b, H if i == 0 else H // groups, 1 if i == 0 else groups)
        for i, (W, b) in enumerate(pairs)
    )
    weights = LayerWeights(
        W_Q, W_K, W_V, W_O.reshape(H, -1, W_O.shape[1]), b_Q, b_K, b_V, b_O, scale, family.positions
    )
    return Site(layer, module, projection, weights)


def _relative(name: str, path: str) -> str:
    """The name that `path` means as seen from the module `name`; "../" goes up."""
    while path.startswith("../"):
        name, path = name.rpartition(".")[0], path[3:]
    return f"{name}.{path}" if name else path


def _matrix(module: Any) -> tuple[Tensor, Tensor | None]:
    """W (in, out) and b of nn.Linear, which keeps (out, in), or of GPT-2's Conv1D, which keeps (in, out)."""
    W = module.weight.detach().float()
    b = getattr(module, "bias", None)
    return (W.T if isinstance(module, nn.Linear) else W), None if b is None else b.detach().float()


def _by_head(W: Tensor, b: Tensor | None, H: int, copies: int) -> tuple[Tensor, Tensor | None]:
    """(d, H k) as (H, d, k), each head `copies` times in a row: grouped queries share keys and values."""
    if W.shape[1] % H:
        raise ShapeError(f"{H} heads do not divide a width of {W.shape[1]}; give the number of heads.")
    heads = W.reshape(W.shape[0], H, -1).permute(1, 0, 2).repeat_interleave(copies, dim=0)
    return heads, None if b is None else b.reshape(H, -1).repeat_interleave(copies, dim=0)


def _torch_sites(model: nn.Module) -> list[Site]:
    modules = [m for m in model.modules() if isinstance(m, nn.MultiheadAttention)]
    return [Site(i, module, None, _torch_weights(module, i)) for i, module in enumerate(modules)]


def _torch_weights(module: nn.MultiheadAttention, layer: int) -> LayerWeights:
    if module.bias_k is not None or module.add_zero_attn or not module._qkv_same_embed_dim:
        raise DomainError(
            f"layer {layer} attends to extra or foreign tokens (add_bias_kv, add_zero_attn, kdim or vdim); "
            "probe reads plain self-attention."
        )
    state = {name: value.detach() for name, value in module.named_parameters()}
    return weights_of_state(state, heads=int(module.num_heads))[0][1]


def weights_of_state(state: Mapping[str, Any], *, heads: int) -> list[tuple[str, LayerWeights]]:
    """The attention layers of a state dict, with their prefixes, in their order; fused or separate QKV.

    A state dict does not say how heads are cut, scaled or masked: equal widths and scale 1/sqrt(k) are assumed.
    """
    found = []
    for prefix, (Q, K, V, O) in attention_weights(state).items():
        parts = [(_tensor(W), None if b is None else _tensor(b)) for W, b in (Q, K, V)]
        if any(W.shape != parts[0][0].shape for W, _ in parts) or O.shape != parts[0][0].shape[::-1]:
            raise ShapeError(
                f"{prefix or 'the layer'}: query {parts[0][0].shape}, key {parts[1][0].shape}, value "
                f"{parts[2][0].shape} and output {O.shape} do not fit together; (d, width) and (width, d) would."
            )
        (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = (_by_head(W, b, heads, 1) for W, b in parts)
        b_O = _output_bias(state, prefix, len(O[0]))
        W_O = _tensor(O).reshape(heads, -1, O.shape[1])
        weights = LayerWeights(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O, scale=1 / math.sqrt(W_Q.shape[2]))
        check_finite(weights, prefix or "the layer")
        found.append((prefix, weights))
    return found


def _output_bias(state: Mapping[str, Any], prefix: str, d: int) -> Tensor | None:
    for stem in (prefix, prefix.rpartition(".")[0]):
        for part in OUTPUT:
            name = f"{stem}.{part}.bias" if stem else f"{part}.bias"
            if name in state and tuple(state[name].shape) == (d,):
                return _tensor(array_in(state, name))
    return None


def weights_of_layer(layer: Layer) -> LayerWeights:
    """A layer of one of our own models."""
    W_Q, W_K, W_V, W_O = (_tensor(W) for W in (layer.W_Q, layer.W_K, layer.W_V, layer.W_C))
    biases = (layer.b_Q, layer.b_K, layer.b_V, layer.b_C)
    b_Q, b_K, b_V, b_O = (None if b is None else _tensor(b) for b in biases)
    scale = 1 / layer.temperature
    return LayerWeights(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O, scale, sigma=layer.sigma)


def _tensor(array: Any) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(array)).float()
