"""Run a model on one sequence and pass each attention layer to a function as a `Call`, layer by layer.

Only one layer's attention is in memory at a time: the H T^2 weights that the model itself computes, and the rows that
the function recomputes.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._base.errors import DomainError
from ..heads.block import block
from ..heads.model import Model
from .load import Source
from .modules import Site, weights_of_layer
from .recompute import Call

Visitor = Callable[[Call], None]
Change = Callable[[int, Tensor], Tensor]  # layer, the heads' mixed values (T, H v) -> what is used instead


def run(source: Source, tokens: Any, visit: Visitor | None = None, change: Change | None = None) -> Tensor:
    """Return the model's output on one sequence, (T, d): the hidden states after the last layer.

    Args:
        tokens: ids (T,), embedded tokens (T, d) for torch encoders, bits (T,) for models of this library.
        visit: called once per attention layer, in order.
        change: (layer, mixed values) -> new mixed values, applied before the output projection, for ablation.
    """
    if source.model is not None:
        return _run_own(source.model, tokens, visit, change)
    if source.module is None:
        raise DomainError(
            "a state dict has weights but computes nothing by itself; statistics need the model, norms do not."
        )
    with torch.no_grad(), _prepared(source.module), ExitStack() as hooks:
        watch = _Watch(source.sites, visit, change)
        watch.attach(hooks)
        if source.takes_ids:
            ids = torch.as_tensor(np.asarray(tokens)).long()[None]
            options = {"use_cache": False} if getattr(source.config, "use_cache", False) else {}
            return source.module(input_ids=ids, **options)[0][0]
        batched = torch.as_tensor(np.asarray(tokens)).float()[None]
        first = source.sites[0].module.batch_first
        output: Tensor = source.module(batched if first else batched.transpose(0, 1))
        return output[0] if first else output[:, 0]


def check(call: Call) -> float:
    """Return `call.disagreement()`; raise if the layer does not compute the formula of `recompute`."""
    error = call.disagreement()
    if not error <= 1e-3:  # float32 rounding of both sides is about 1e-6
        raise DomainError(
            f"layer {call.layer} of this model is not plain softmax attention: recomputed from its weights it is "
            f"off by {error:.2g}; probe cannot read it."
        )
    return error


class _Watch:
    """Hooks on every attention layer. Layers are told apart by counting calls, since they may share a module."""

    def __init__(self, sites: tuple[Site, ...], visit: Visitor | None, change: Change | None) -> None:
        self.sites, self.visit, self.change = sites, visit, change
        self.done = 0
        self.arguments: dict[str, Any] = {}

    def attach(self, hooks: ExitStack) -> None:
        for module in {site.module for site in self.sites}:
            hooks.callback(module.register_forward_pre_hook(self._enter, with_kwargs=True).remove)
            if isinstance(module, nn.MultiheadAttention):
                hooks.callback(module.register_forward_hook(self._leave).remove)
        for projection in {site.projection for site in self.sites if site.projection is not None}:
            hooks.callback(projection.register_forward_pre_hook(self._project).remove)

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self.arguments = dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
        self.arguments |= self.arguments.pop("kwargs", {})

    def _project(self, module: nn.Module, args: Any) -> Any:
        """Hook of the output projection, called with the heads' mixed values: visit the layer and apply `change`."""
        site, mixed = self._site(), args[0][0]
        if self.visit is not None:
            self.visit(_hugging_face_call(site, self.arguments, mixed))
        self.done += 1
        return None if self.change is None else (self.change(site.layer, mixed)[None], *args[1:])

    def _leave(self, module: Any, args: Any, output: Any) -> Any:
        site = self._site()
        call = _torch_call(site, self.arguments, output[0])
        if self.visit is not None:
            self.visit(call)
        self.done += 1
        if self.change is None:
            return None
        changed = _changed_output(call, self.change)[None]
        return (changed if module.batch_first else changed.transpose(0, 1), *output[1:])

    def _site(self) -> Site:
        if self.done >= len(self.sites):
            raise DomainError("this model calls its attention layers more often than it has layers.")
        return self.sites[self.done]


def _hugging_face_call(site: Site, arguments: dict[str, Any], mixed: Tensor) -> Call:
    """Return the `Call` from the arguments of transformers: additive mask, rotary tables, relative position bias."""
    masks = [arguments.get("attention_mask"), arguments.get("position_bias")]
    present = [m[0] for m in masks if isinstance(m, Tensor)]
    mask = sum(present[1:], start=present[0]) if present else None
    rotary = arguments.get("position_embeddings")
    return Call(
        layer=site.layer,
        X=arguments["hidden_states"][0].float(),
        weights=site.weights,
        mask=mask[0] if mask is not None and mask.shape[0] == 1 else mask,
        rotary=None if rotary is None else (rotary[0][0], rotary[1][0]),
        mixed=mixed.float(),
    )


def _torch_call(site: Site, arguments: dict[str, Any], output: Tensor) -> Call:
    """Return the `Call` of an nn.MultiheadAttention; its masks are added, or True where attention is forbidden."""
    query, mask = arguments["query"], arguments.get("attn_mask")
    if arguments["key"] is not query or arguments.get("key_padding_mask") is not None:
        raise DomainError(
            "probe reads self-attention without padding; this model was called with another key or padding."
        )
    first = site.module.batch_first
    if isinstance(mask, Tensor) and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape).masked_fill(mask, -torch.inf)
    X, out = (rows[0] if first else rows[:, 0] for rows in (query, output))
    return Call(site.layer, X, site.weights, mask, output=out)


def _changed_output(call: Call, change: Change) -> Tensor:
    """Return the layer's output with the heads' mixed values replaced by `change`."""
    w = call.weights
    mixed = torch.cat([call.mix(h) for h in range(w.H)], dim=1)
    out = change(call.layer, mixed) @ w.W_O.reshape(-1, w.d)
    return out if w.b_O is None else out + w.b_O


@contextmanager
def _prepared(module: Any) -> Iterator[None]:
    """Set evaluation mode and eager attention, and restore the former settings afterwards."""
    training = [(part, part.training) for part in module.modules()]
    config = getattr(module, "config", None)
    before = getattr(config, "_attn_implementation", None)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # the fused path skips the attention module
    module.eval()
    if before not in (None, "eager"):
        module.set_attn_implementation("eager")
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for part, was in training:
            part.training = was
        if before not in (None, "eager"):
            module.set_attn_implementation(before)


def _run_own(model: Model, bits: Any, visit: Visitor | None, change: Change | None) -> Tensor:
    """Run a model of this library on one bit sequence; the last token is [CLS]."""
    if change is not None:
        raise DomainError("ablation of our own models is what `read` does; probe ablates torch models.")
    X = model.encoding(np.asarray(bits))
    mask = None
    if not model.attends_cls:
        mask = torch.zeros(len(X), len(X))
        mask[:, -1] = -torch.inf
    for i, layer in enumerate(model.layers):
        Z = X if layer.norm_attention is None else layer.norm_attention(X)
        if visit is not None:
            visit(Call(i, torch.as_tensor(Z).float(), weights_of_layer(layer), mask))
        X = block(X, layer, attends_cls=model.attends_cls)
    return torch.as_tensor(X).float()
