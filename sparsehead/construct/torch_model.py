"""A `Model` as a torch module with the same outputs: batched and differentiable. Imported by `to_torch` alone."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._base.arguments import shown
from .._base.errors import DomainError, ShapeError
from ..heads.model import Model
from ..heads.torch_activations import TORCH_ACTIVATIONS


class Part(nn.Module):
    """A dataclass as a torch module: arrays become parameters and other fields attributes, under their own names, so
    that `state_dict()` has the tensor names of a saved model.
    """

    def __init__(self, part: Any, dtype: torch.dtype) -> None:
        super().__init__()
        for field in fields(part):
            value = getattr(part, field.name)
            if isinstance(value, np.ndarray):
                value = nn.Parameter(torch.as_tensor(value.copy(), dtype=dtype))
            elif is_dataclass(value) and not isinstance(value, type):
                value = Part(value, dtype)
            elif isinstance(value, tuple):
                value = nn.ModuleList(Part(item, dtype) for item in value)
            setattr(self, field.name, value)


class TorchModel(Part):
    """A module that maps bits (n, T) to outputs (n,); every weight, positions included, is a parameter."""

    encoding: Any
    layers: Any
    decoder: Any
    final_norm: Any
    w: Any
    bias: Any
    attends_cls: bool

    def __init__(self, model: Model, dtype: torch.dtype) -> None:
        super().__init__(model, dtype)
        self.T = model.T
        self._written = model
        if model.encoding.P is None:  # one-hot rows, materialised: a dense T x (T + 3)
            positions = torch.as_tensor(model.encoding.positions(), dtype=dtype)
            self.encoding.register_buffer("one_hot", positions, persistent=False)

    def to_model(self) -> Model:
        """Return the `Model` with this module's current weights, for `read`, `verify` and `bound`."""
        return _read_back(self._written, self)

    def forward(self, bits: Any) -> Tensor:
        # A graph that is compiled or exported cannot raise.
        if not torch.compiler.is_compiling():
            self.check(bits)
        return self.outputs(self.tokens(bits))

    def outputs(self, X: Tensor) -> Tensor:
        """Return the outputs (n,) for tokens X (n, T + 1, d), [CLS] last; `tokens` makes such X from bits."""
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            X = self.block(X, layer, rows=slice(-1, None) if i == last else slice(None))
        y = X[:, -1]
        if self.final_norm is not None:
            y = _normed(y, self.final_norm)
        for dense in self.decoder:
            y = torch.relu(y @ dense.W + dense.b)
        return y @ self.w + self.bias

    def check(self, bits: Any) -> None:
        """Raise an error unless `bits` is a tensor (n, T) of zeros and ones."""
        if not isinstance(bits, Tensor):
            raise DomainError(f"bits are a tensor of shape (n, {self.T}); got {shown(bits)}.")
        if bits.ndim != 2 or bits.shape[1] != self.T:
            raise ShapeError(f"bits of shape {tuple(bits.shape)} arrived; T={self.T} needs (n, {self.T}).")
        binary = (bits == 0) | (bits == 1)
        if not bool(binary.all()):
            raise DomainError(
                f"bits are 0 or 1, got {bits[~binary][0].item()}; map -1/+1 signs with (1 - signs) // 2 first."
            )

    def tokens(self, bits: Tensor) -> Tensor:
        """Return the tokens X(b), (n, T + 1, d), [CLS] last."""
        code = self.encoding
        P = code.one_hot if code.P is None else code.P
        if code.kind == "bag":
            X = bits[..., None].to(P.dtype) * P
        else:
            X = code.E[bits.long()] + P
        return torch.cat([X, code.cls.expand(bits.shape[0], 1, -1)], dim=1)

    def block(self, X: Tensor, layer: Any, rows: slice) -> Tensor:
        """Return the output of one layer at `rows`; for the last layer, only the last row is needed."""
        Z = X if layer.norm_attention is None else _normed(X, layer.norm_attention)
        Q = torch.einsum("ntd,hdk->nhtk", Z[:, rows], layer.W_Q) + _bias(layer.b_Q)
        K = torch.einsum("ntd,hdk->nhtk", Z, layer.W_K) + _bias(layer.b_K)
        V = torch.einsum("ntd,hdv->nhtv", Z, layer.W_V) + _bias(layer.b_V)
        scores = Q @ K.transpose(-1, -2) / layer.temperature
        if not self.attends_cls:
            scores = torch.cat([scores[..., :-1], torch.full_like(scores[..., -1:], -torch.inf)], dim=-1)
        mixed = TORCH_ACTIVATIONS[layer.sigma](scores.softmax(-1) @ V)
        U = torch.einsum("nhtv,hvd->ntd", mixed, layer.W_C)
        U = U + (0 if layer.b_C is None else layer.b_C) + (X[:, rows] if layer.residual else 0)
        U = _projected(U) if layer.project else U
        if layer.mlp is None:
            return U
        inner = U if layer.norm_mlp is None else _normed(U, layer.norm_mlp)
        hidden = TORCH_ACTIVATIONS[layer.mlp.activation](inner @ layer.mlp.W_1 + layer.mlp.b_1)
        out = hidden @ layer.mlp.W_2 + layer.mlp.b_2 + (U if layer.residual else 0)
        return _projected(out) if layer.project else out


def _read_back(part: Any, module: Any) -> Any:
    """Return the dataclass `part` with the current parameters of `module`."""
    changed: dict[str, Any] = {}
    for field in fields(part):
        old, new = getattr(part, field.name), getattr(module, field.name)
        if isinstance(old, np.ndarray):
            changed[field.name] = new.detach().cpu().double().numpy().copy()
        elif is_dataclass(old) and not isinstance(old, type):
            changed[field.name] = _read_back(old, new)
        elif isinstance(old, tuple):
            changed[field.name] = tuple(_read_back(a, b) for a, b in zip(old, new, strict=True))
    return replace(part, **changed)


def _bias(b: Tensor | None) -> Tensor | int:
    return 0 if b is None else b[:, None, :]


def _normed(X: Tensor, norm: Any) -> Tensor:
    return torch.nn.functional.layer_norm(X, X.shape[-1:], norm.gain, norm.bias, norm.eps)


def _projected(X: Tensor) -> Tensor:
    return X / X.norm(dim=-1, keepdim=True).clamp(min=1.0)
