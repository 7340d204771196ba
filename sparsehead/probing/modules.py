"""Find the attention layers of torch modules, state dicts and models of this library; extract their `LayerWeights`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from .._base.errors import DomainError
from ..capacity.families import MODEL_FAMILIES, check_probed, supported
from ..capacity.state_dicts import attention_layers
from ..heads.block import Layer
from .recompute import LayerWeights


@dataclass(frozen=True, eq=False)
class Site:
    """One attention layer of a torch model.

    module: the submodule that is called with the layer's input. projection: the submodule that is called with the
    heads' mixed values; None for nn.MultiheadAttention, which has no such submodule call.
    """

    layer: int
    module: nn.Module
    projection: nn.Module | None
    weights: LayerWeights


def sites_of(model: nn.Module) -> tuple[str, tuple[Site, ...]]:
    """Return the name of the model's family, and its attention layers in the order in which they are called.

    Raises:
        DomainError: the architecture is not one of MODEL_FAMILIES and has no nn.MultiheadAttention, or weights are not
            finite.
    """
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind is None:
        modules = [m for m in model.modules() if isinstance(m, nn.MultiheadAttention)]
        found = [Site(i, module, None, _torch_weights(module, i)) for i, module in enumerate(modules)]
    else:
        check_probed(kind)
        found = _family_sites(model, kind)
    if not found:
        raise DomainError(
            f"no attention layers found in this {type(model).__name__}; probe reads {supported()}."
        )
    return kind or "nn.TransformerEncoder", tuple(found)


def _family_sites(model: nn.Module, kind: str) -> list[Site]:
    config: Any = model.config
    family, named, state = MODEL_FAMILIES[kind], dict(model.named_modules()), model.state_dict()
    modules = [
        (prefix, weights_of_layer(found.layer, found.positions))
        for prefix, found in attention_layers(state, heads=None, config=config)
        if family.is_at(prefix)
    ]
    if family.shared:
        per_group = config.num_hidden_layers / config.num_hidden_groups
        groups = [
            modules[i : i + config.inner_group_num] for i in range(0, len(modules), config.inner_group_num)
        ]
        modules = [pair for i in range(config.num_hidden_layers) for pair in groups[int(i / per_group)]]
    return [
        Site(i, named[name], named[family.names(name)[1].removesuffix(".weight")], weights)
        for i, (name, weights) in enumerate(modules)
    ]


def _torch_weights(module: nn.MultiheadAttention, layer: int) -> LayerWeights:
    if module.bias_k is not None or module.add_zero_attn or not module._qkv_same_embed_dim:
        raise DomainError(
            f"layer {layer} attends to extra or foreign tokens (add_bias_kv, add_zero_attn, kdim or vdim); "
            "probe reads plain self-attention."
        )
    state = {name: value.detach() for name, value in module.named_parameters()}
    return weights_of_state(state, heads=int(module.num_heads))[0][1]


def weights_of_state(state: Mapping[str, Any], *, heads: int) -> list[tuple[str, LayerWeights]]:
    """Return (prefix, weights) of each attention layer of a state dict, in order; QKV may be fused or separate."""
    layers = attention_layers(state, heads=heads)
    return [(prefix, weights_of_layer(found.layer, found.positions)) for prefix, found in layers]


def weights_of_layer(layer: Layer, positions: str = "absolute") -> LayerWeights:
    """Return the weights of a `Layer` in float32."""
    arrays = (layer.W_Q, layer.W_K, layer.W_V, layer.W_C, layer.b_Q, layer.b_K, layer.b_V, layer.b_C)
    tensors: list[Any] = [
        None if x is None else torch.tensor(np.ascontiguousarray(x)).float() for x in arrays
    ]
    return LayerWeights(*[*tensors, 1 / layer.temperature, positions, layer.sigma])
