"""Written models for other tools: a torch module, and weights under the names TransformerLens uses."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._base.arguments import choice
from .._base.errors import DomainError
from .._base.types import Array
from ..heads.model import Model
from ..heads.model_file import as_model

if TYPE_CHECKING:
    from .torch_model import TorchModel


def to_torch(model: Model | str | Path, *, dtype: str = "float64") -> "TorchModel":
    """The model as a torch.nn.Module: bits (n, T) -> (n,), differentiable in every weight.

    Its `state_dict()` has the tensor names of a saved file, so that
    `module.load_state_dict(safetensors.torch.load_file(path))` loads one. One-hot positions become a dense
    T x (T + 3) buffer. `module.to_model()` converts back, for instance after further training.

    Args:
        model: a Model, or the path of a model file.
        dtype: "float64" or "float32".

    >>> import torch
    >>> from sparsehead import build
    >>> module = to_torch(build("x0 & x2", T=4))
    >>> module(torch.tensor([[1, 0, 1, 0], [1, 1, 0, 1]])).detach().round(decimals=6).abs().tolist()
    [1.0, 0.0]
    """
    model = as_model(model, hint="such as sh.build(f) or sh.load(path)")
    import torch

    from .torch_model import TorchModel

    return TorchModel(model, getattr(torch, choice("dtype", dtype, ("float64", "float32"))))


def lens_weights(model: Model) -> dict[str, Array]:
    """The attention of a one-layer model as TransformerLens names and shapes it.

    For HookedTransformerConfig(n_layers=1, attn_only=True, normalization_type=None, use_attn_scale=False, d_vocab=3,
    n_ctx=T + 1, d_model=d, d_head=max(k, v), n_heads=H). Tokens 0, 1 and 2 are the bits and [CLS]; [CLS] comes last,
    so the causal mask hides nothing from it. The head's output is `blocks.0.hook_attn_out` at the last position; the
    model's decoder and read-out apply to that.

    Raises:
        DomainError: the model has a bag of vectors, an activation inside the head, LayerNorm, or does not attend to
            [CLS].
    """
    layer, code = model.layers[0], model.encoding
    if model.L != 1 or not code.additive or layer.sigma != "identity" or layer.norm_attention is not None:
        raise DomainError(
            "TransformerLens weights need one layer, an additive encoding, no LayerNorm and readout='mlp'; "
            "to_torch takes every model."
        )
    if not model.attends_cls:
        raise DomainError("in TransformerLens [CLS] attends to itself; build with attends_cls=True.")
    wide = max(layer.W_Q.shape[-1], layer.W_V.shape[-1])

    def padded(W: Array, axis: int) -> Array:
        zeros = [(0, 0)] * W.ndim
        zeros[axis] = (0, wide - W.shape[axis])
        return np.pad(W, zeros)

    def bias(b: Array | None) -> Array:
        return np.zeros((model.H, wide)) if b is None else padded(b, 1)

    return {
        "embed.W_E": np.vstack([code.E, code.cls]),
        "pos_embed.W_pos": np.vstack([code.positions(), np.zeros(model.d)]),
        "blocks.0.attn.W_Q": padded(layer.W_Q / layer.temperature, 2),
        "blocks.0.attn.W_K": padded(layer.W_K, 2),
        "blocks.0.attn.W_V": padded(layer.W_V, 2),
        "blocks.0.attn.W_O": padded(layer.W_C, 1),
        "blocks.0.attn.b_Q": bias(layer.b_Q) / layer.temperature,
        "blocks.0.attn.b_K": bias(layer.b_K),
        "blocks.0.attn.b_V": bias(layer.b_V),
        "blocks.0.attn.b_O": np.zeros(model.d) if layer.b_C is None else layer.b_C,
    }
