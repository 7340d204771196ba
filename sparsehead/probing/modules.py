"""Find the attention layers of torch modules, state dicts and models of this library; extract their `LayerWeights`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from .._base.arguments import whole
from .._base.errors import DomainError
from ..capacity.architecture import Architecture
from ..capacity.families import DOOR, supported
from ..capacity.state_dicts import Attention, attention_layers, stated_heads
from ..heads.block import Layer
from .recompute import LayerWeights


@dataclass(frozen=True, eq=False, repr=False)
class Site:
    """One attention layer of a torch model.

    module: the attention module. query: its submodule that is called with the layer's input. projection: the submodule
    that is called with the heads' mixed values. Both are None for nn.MultiheadAttention, which has no such calls.
    """

    layer: int
    name: str
    module: nn.Module
    query: nn.Module | None
    projection: nn.Module | None
    weights: LayerWeights


def sites_of(
    model: nn.Module, architecture: Architecture | None = None, heads: int | None = None
) -> tuple[Site, ...]:
    """Return the model's attention layers in the order in which they are called.

    Args:
        architecture: None for models whose attention is nn.MultiheadAttention.
    Raises:
        DomainError: the architecture finds no attention layers, or weights are not finite.
    """
    if architecture is not None:
        return tuple(_sites(model, architecture, heads))
    modules = [(name, m) for name, m in model.named_modules() if isinstance(m, nn.MultiheadAttention)]
    if not modules:
        raise DomainError(
            f"no attention layers found in this {type(model).__name__}; probe reads {supported()}; {DOOR}."
        )
    return tuple(
        Site(i, name, module, None, None, _torch_weights(module, i))
        for i, (name, module) in enumerate(modules)
    )


def _sites(model: nn.Module, architecture: Architecture, heads: int | None) -> list[Site]:
    config, named = getattr(model, "config", None), dict(model.named_modules())
    if stated_heads("", config, architecture.heads) is not None:
        heads = None  # `load` compares them
    elif heads is None:
        heads = _heads_of_modules(named, architecture)
        if heads is None:
            raise DomainError(
                "neither the configuration nor the attention modules say how many heads a layer has; give heads= "
                "(--heads), or its name as `heads` of the Architecture."
            )
    layers = attention_layers(model.state_dict(), heads=heads, config=config, architecture=architecture)
    found = {prefix: _weights(named, architecture, prefix, a, config) for prefix, a in layers}
    # an encoder is called before its decoder, which the order of names would put first
    prefixes = [name for name in named if name in found]
    if architecture.shared:
        prefixes = _repeated(prefixes, config)
    return [
        Site(
            i, name, named[name], _part(named, architecture, name, architecture.query),
            _part(named, architecture, name, architecture.output), found[name],
        )
        for i, name in enumerate(prefixes)
    ]  # fmt: skip


def _repeated(prefixes: list[str], config: Any) -> list[str]:
    """Return the names of the attention modules that ALBERT's layers call, in order; layers may share modules."""
    names = ("inner_group_num", "num_hidden_layers", "num_hidden_groups")
    if missing := [name for name in names if not hasattr(config, name)]:
        raise DomainError(
            f"layers that share a module, as in ALBERT, have a configuration with {missing[0]}."
        )
    inner, layers = config.inner_group_num, config.num_hidden_layers
    groups = [prefixes[i : i + inner] for i in range(0, len(prefixes), inner)]
    return [name for i in range(layers) for name in groups[int(i / (layers / config.num_hidden_groups))]]


def _heads_of_modules(named: Mapping[str, nn.Module], architecture: Architecture) -> int | None:
    """Return the number of heads from an attribute of the attention modules; None if they lack it or differ."""
    entry = architecture.heads
    modules = [] if entry is None else [module for name, module in named.items() if architecture.is_at(name)]
    found = {getattr(module, entry, None) for module in modules if entry is not None}
    return whole("heads", next(iter(found))) if len(found) == 1 and None not in found else None


def _weights(
    named: Mapping[str, nn.Module], architecture: Architecture, prefix: str, found: Attention, config: Any
) -> LayerWeights:
    norms = {
        field: None if name is None else _part(named, architecture, prefix, name)
        for field, name in (("query_norm", architecture.query_norm), ("key_norm", architecture.key_norm))
    }
    plain = weights_of_layer(found.layer, found.positions, found.outside)
    return replace(plain, cap=architecture.capped_at(config), **norms)  # type: ignore[arg-type]


def _part(named: Mapping[str, nn.Module], architecture: Architecture, prefix: str, name: str) -> nn.Module:
    full = architecture.at(prefix, name)
    if full not in named:
        raise DomainError(
            f"the model has no submodule {full!r}, which its Architecture names; {prefix!r} has others."
        )
    return named[full]


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
    return [
        (prefix, weights_of_layer(found.layer, found.positions, found.outside)) for prefix, found in layers
    ]


def weights_of_layer(
    layer: Layer, positions: str = "absolute", outside: tuple[str, ...] = ()
) -> LayerWeights:
    """Return the weights of a `Layer` in float32."""
    arrays = (layer.W_Q, layer.W_K, layer.W_V, layer.W_C, layer.b_Q, layer.b_K, layer.b_V, layer.b_C)
    tensors: list[Any] = [
        None if x is None else torch.tensor(np.ascontiguousarray(x)).float() for x in arrays
    ]
    return LayerWeights(*[*tensors, 1 / layer.temperature, positions, layer.sigma, outside])
