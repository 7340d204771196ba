"""Models for other tools: a torch module, an ONNX file, and TransformerLens."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.arguments import choice, shown
from .._base.errors import DomainError
from .._base.files import check_target, write_whole
from .._base.lazy import require_module
from .._base.types import Array
from ..heads.model import Model
from ..heads.model_file import as_model

if TYPE_CHECKING:
    from .torch_model import TorchModel

HINT = "such as sh.build(f) or sh.load(path)"


def to_torch(model: Model | str | Path, *, dtype: str = "float64") -> "TorchModel":
    """Return the model as a torch.nn.Module: bits (n, T) -> (n,), differentiable in every weight.

    Its `state_dict()` has the tensor names of a saved model file, so that
    `module.load_state_dict(safetensors.torch.load_file(path))` loads such a file. One-hot positions become a dense
    T x (T + 3) buffer. `module.to_model()` converts back, for example after further training. The module refuses inputs
    other than 0 and 1.

    Args:
        model: a Model, or the path of a model file.
        dtype: "float64" or "float32".

    >>> import torch
    >>> from sparsehead import build
    >>> module = to_torch(build("x0 & x2", T=4))
    >>> module(torch.tensor([[1, 0, 1, 0], [1, 1, 0, 1]])).detach().round(decimals=6).abs().tolist()
    [1.0, 0.0]
    """
    model = as_model(model, hint=HINT)
    require_module("torch")
    import torch

    from .torch_model import TorchModel

    return TorchModel(model, getattr(torch, choice("dtype", dtype, ("float64", "float32"))))


def to_onnx(
    model: Model | str | Path, path: str | Path, *, dtype: str = "float32", force: bool = False
) -> Path:
    """Write the model as an ONNX file: input "bits" (n, T), int64; output "output" (n,).

    The ONNX model does not check that its inputs are 0 or 1.

    Args:
        model: a Model, or the path of a model file.
        path: the file to write; an existing file is replaced only with force=True.
        dtype: "float32", which every runtime supports, or "float64".
    Raises:
        MissingExtra: torch, onnx or onnxscript is not installed.

    >>> to_onnx("nothing here", "head.onnx")
    Traceback (most recent call last):
    sparsehead._base.errors.FileError: no model at nothing here; `sparsehead build ... --out FILE` writes one.
    """
    model = as_model(model, hint=HINT)
    choice("dtype", dtype, ("float64", "float32"))
    if not isinstance(path, str | Path):
        raise DomainError(f"path is that of the file to write; got {shown(path)}.")
    check_target(path, force=force)
    for module in ("torch", "onnx", "onnxscript"):
        require_module(module)
    import torch

    written: Any = torch.onnx.export(
        to_torch(model, dtype=dtype),
        (torch.zeros((2, model.T), dtype=torch.int64),),
        input_names=["bits"],
        output_names=["output"],
        dynamic_shapes={"bits": {0: torch.export.Dim("n")}},
        verbose=False,
    )
    return write_whole(path, written.model_proto.SerializeToString(), force=force)


def to_transformer_lens(model: Model | str | Path) -> Any:
    """Return the attention of a one-layer model as a HookedTransformer of TransformerLens, in float64.

    Tokens 0 and 1 are the bits; token 2 is [CLS], which comes last. If only the read-out follows the attention, the
    model's output is the difference of the two logits at the last token. Otherwise the logits are 0, and the output is
    `model.read_out` of `blocks.0.hook_attn_out` at the last token.

    Raises:
        MissingExtra: transformer_lens is not installed.
        DomainError: as for `lens_weights`.

    >>> from sparsehead import build
    >>> to_transformer_lens(build("x0 & x2", T=4, encoding="bag"))
    Traceback (most recent call last):
    sparsehead._base.errors.DomainError: TransformerLens weights need one layer, an additive encoding, ...
    """
    model = as_model(model, hint=HINT)
    weights = lens_weights(model)
    require_module("transformer_lens")
    import torch
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    layer = model.layers[0]
    H, _, k = weights["blocks.0.attn.W_Q"].shape
    read, bias = np.zeros((model.d, 2)), np.zeros(2)
    if not model.decoder and model.final_norm is None and layer.mlp is None and not layer.project:
        # TransformerLens adds the token itself; without a residual it is taken off again.
        read[:, 1], bias[1] = model.w, model.bias - (0 if layer.residual else model.w @ model.encoding.cls)
    module = HookedTransformer(
        HookedTransformerConfig(
            n_layers=1, d_model=model.d, n_ctx=model.T + 1, d_head=k, n_heads=H, d_vocab=3, d_vocab_out=2,
            attn_only=True, normalization_type=None, use_attn_scale=False, dtype=torch.float64, device="cpu",
        )
    )  # fmt: skip
    state = {**weights, "unembed.W_U": read, "unembed.b_U": bias}
    module.load_state_dict({name: torch.as_tensor(array) for name, array in state.items()}, strict=False)
    return module


def lens_weights(model: Model) -> dict[str, Array]:
    """Return the attention weights of a one-layer model, with the names and shapes of TransformerLens.

    They fit HookedTransformerConfig(n_layers=1, attn_only=True, normalization_type=None, use_attn_scale=False,
    d_vocab=3, n_ctx=T + 1, d_model=d, d_head=max(k, v), n_heads=H). Tokens 0 and 1 are the bits; token 2 is [CLS],
    which comes last, so the causal mask hides nothing from it. The attention's output is `blocks.0.hook_attn_out` at
    the last position; the model's decoder and read-out apply to this output.

    Raises:
        DomainError: the model has more layers, a bag of vectors, an activation inside the head or a LayerNorm, or does
            not attend to [CLS].
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
