"""From torch modules, state dicts and our own models to `LayerWeights`: where the attention sits and what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._base.errors import DomainError
from ..capacity.families import MODEL_FAMILIES, check_probed, supported
from ..capacity.state_dicts import Attention, attention_layers
from ..heads.block import Layer
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
    if kind is None:
        kind, found = "nn.TransformerEncoder", tuple(_torch_sites(model))
    else:
        check_probed(kind)
        found = tuple(_family_sites(model, kind))
    if not found:
        raise DomainError(
            f"no attention layers found in this {type(model).__name__}; probe reads {supported()}."
        )
    return str(kind), found


def _family_sites(model: nn.Module, kind: str) -> list[Site]:
    config: Any = model.config
    family, named, state = MODEL_FAMILIES[kind], dict(model.named_modules()), model.state_dict()
    modules = [
        (prefix, weights_of_attention(found))
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
    """The attention layers of a state dict, with their prefixes, in their order; fused or separate QKV."""
    return [(prefix, weights_of_attention(found)) for prefix, found in attention_layers(state, heads=heads)]


def weights_of_attention(found: Attention) -> LayerWeights:
    """A layer that was found in a state dict."""
    return replace(weights_of_layer(found.layer), positions=found.positions)


def weights_of_layer(layer: Layer) -> LayerWeights:
    """A layer of one of our own models."""
    W_Q, W_K, W_V, W_O = (_tensor(W) for W in (layer.W_Q, layer.W_K, layer.W_V, layer.W_C))
    biases = (layer.b_Q, layer.b_K, layer.b_V, layer.b_C)
    b_Q, b_K, b_V, b_O = (None if b is None else _tensor(b) for b in biases)
    scale = 1 / layer.temperature
    return LayerWeights(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O, scale, sigma=layer.sigma)


def _tensor(array: Any) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(array)).float()
