"""Extract the weights of torch's own encoders as a `Stack`. Import this module only if torch is installed."""

from typing import Any

import torch
from torch import nn

from .._base.types import Array
from ..capacity.state_dicts import attention_layers
from ..heads.block import Layer, LayerNorm, Mlp
from .stack import Block, NoModel, Stack


def arrays(module: nn.Module) -> dict[str, Array]:
    """Return the state dict as float64 arrays."""
    return {name: tensor.detach().cpu().double().numpy() for name, tensor in module.state_dict().items()}


def attention_of(module: nn.Module) -> nn.MultiheadAttention | None:
    """Return the first attention layer of a module of torch; None for other modules."""
    if isinstance(module, nn.MultiheadAttention):
        return module
    return next((m for m in module.modules() if isinstance(m, nn.MultiheadAttention)), None)


def stack_of(module: nn.Module) -> Stack:
    """Return the blocks of an attention layer, an encoder layer or an encoder of torch.

    Raises:
        NoModel: the module is none of these, or has a part that no Model has.
    """
    if isinstance(module, nn.MultiheadAttention):
        return Stack((Block(_heads(module), residual=False),))
    if isinstance(module, nn.TransformerEncoderLayer):
        return Stack((_block(module),))
    if isinstance(module, nn.TransformerEncoder):
        final = None if module.norm is None else norm_of(module.norm)
        return Stack(tuple(_block(layer) for layer in module.layers), final_norm=final)
    known = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
    names = ", ".join(f"nn.{kind.__name__}" for kind in known)
    raise NoModel(f"{type(module).__name__} is not one of {names}; it is run as it is")


def _heads(module: nn.MultiheadAttention) -> Layer:
    if module.bias_k is not None or module.add_zero_attn:
        raise NoModel(
            "it attends to an extra token (add_bias_kv or add_zero_attn); a Model has none but [CLS]"
        )
    ((_, found),) = attention_layers(arrays(module), heads=int(module.num_heads))
    return found.layer


def _block(layer: Any) -> Block:
    if not isinstance(layer, nn.TransformerEncoderLayer):
        raise NoModel(f"it has a layer of type {type(layer).__name__}, not nn.TransformerEncoderLayer")
    weights = [p.detach().cpu().double().numpy() for p in (layer.linear1.weight, layer.linear2.weight)]
    biases = [bias_of(linear) for linear in (layer.linear1, layer.linear2)]
    mlp = Mlp(weights[0].T, biases[0], weights[1].T, biases[1], activation=activation_name(layer.activation))
    return Block(
        _heads(layer.self_attn), mlp, norm_of(layer.norm1), norm_of(layer.norm2), post=not layer.norm_first
    )


def bias_of(linear: Any) -> Array:
    """Return the bias of a linear map; zeros if it has no bias."""
    bias = torch.zeros(linear.weight.shape[0]) if linear.bias is None else linear.bias
    return bias.detach().cpu().double().numpy()


def norm_of(norm: Any) -> LayerNorm:
    """Return a torch LayerNorm over the last axis as a `LayerNorm` of this library."""
    if not isinstance(norm, nn.LayerNorm) or len(norm.normalized_shape) != 1:
        raise NoModel(f"its norm is a {type(norm).__name__}; a Model has LayerNorms")
    d = norm.normalized_shape[0]
    gain: Any = torch.ones(d) if norm.weight is None else norm.weight
    bias: Any = torch.zeros(d) if norm.bias is None else norm.bias
    gain, bias = (part.detach().cpu().double().numpy() for part in (gain, bias))
    return LayerNorm(gain, bias, eps=float(norm.eps))


def activation_name(found: Any) -> str:
    """Return the name that `Model` uses for an activation of torch."""
    if isinstance(found, nn.GELU) and found.approximate == "tanh":
        return "gelu_tanh"
    spellings = {
        "relu": (torch.relu, nn.functional.relu, nn.ReLU),
        "gelu": (nn.functional.gelu, nn.GELU),
        "tanh": (torch.tanh, nn.functional.tanh, nn.Tanh),
    }
    for name, known in spellings.items():
        if any(found is one or (isinstance(one, type) and isinstance(found, one)) for one in known):
            return name
    raise NoModel(f"its activation {getattr(found, '__name__', found)} is not one of {', '.join(spellings)}")
