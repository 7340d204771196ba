"""Run a model on one sequence and pass each attention layer to a function as a `Call`, layer by layer.

Only one layer's attention is in memory at a time: the H T^2 weights that the model itself computes, and the rows that
the function recomputes.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._base.arguments import shown
from .._base.errors import DomainError
from ..capacity.architecture import Architecture
from ..heads.block import block
from ..heads.model import Model
from .load import Source
from .modules import Site, weights_of_layer
from .recompute import Call, Turn, rotate_by_tables

Visitor = Callable[[Call], None]
Change = Callable[[int, Tensor], Tensor]  # layer, the heads' mixed values (T, H v) -> their replacement


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
        watch = _Watch(source, visit, change)
        watch.attach(hooks)
        given = torch.as_tensor(np.asarray(tokens))
        batched = given.long()[None] if source.takes_ids else given.float()[None]
        if source.architecture is not None:
            states = _states(source.module, source.architecture, batched)
            watch.finish()
            return states
        first = source.sites[0].module.batch_first
        output: Tensor = source.module(batched if first else batched.transpose(0, 1))
        return output[0] if first else output[:, 0]


def _states(module: nn.Module, architecture: Architecture, batched: Tensor) -> Tensor:
    """Return the hidden states after the last layer, (T, d)."""
    if architecture.run is None:
        states: Any = _as_transformers(module, batched)
    else:
        states = architecture.ask("run", module, batched)
    if not isinstance(states, Tensor) or states.dim() not in (2, 3):
        raise DomainError(f"run of an Architecture returns hidden states (1, T, d); got {shown(states)}.")
    return one(states)


def _as_transformers(module: nn.Module, batched: Tensor) -> Any:
    config = getattr(module, "config", None)
    options = {"use_cache": False} if getattr(config, "use_cache", False) else {}
    try:
        return module(input_ids=batched, **options)[0]
    except TypeError as error:
        raise DomainError(
            f"this {type(module).__name__} cannot be called with input_ids, as transformers calls models: "
            f"{' '.join(str(error).split())[:200]}; give its Architecture a `run`."
        ) from error


def one(batch: Tensor) -> Tensor:
    """Return the only sequence of a batch, (T, ..) of (1, T, ..); a tensor (T, ..) is returned as it is."""
    return batch[0] if batch.dim() == 3 else batch


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
    """Hooks on every attention layer. Counting calls identifies the layer, since layers may share a module."""

    def __init__(self, source: Source, visit: Visitor | None, change: Change | None) -> None:
        self.sites, self.architecture, self.visit, self.change = (
            source.sites,
            source.architecture,
            visit,
            change,
        )
        self.done = 0
        self.arguments: dict[str, Any] = {}
        self.X: Tensor | None = None

    def attach(self, hooks: ExitStack) -> None:
        for module in {site.module for site in self.sites}:
            hooks.callback(module.register_forward_pre_hook(self._enter, with_kwargs=True).remove)
            if isinstance(module, nn.MultiheadAttention):
                hooks.callback(module.register_forward_hook(self._leave).remove)
        for query in {site.query for site in self.sites if site.query is not None}:
            hooks.callback(query.register_forward_pre_hook(self._query).remove)
        for projection in {site.projection for site in self.sites if site.projection is not None}:
            hooks.callback(projection.register_forward_pre_hook(self._project).remove)

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self.arguments = dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)
        self.arguments |= self.arguments.pop("kwargs", {})

    def _query(self, module: nn.Module, args: Any) -> None:
        """Hook of the query's linear map, called with the layer's input."""
        self.X = one(args[0])

    def finish(self) -> None:
        """Raise if the model did not call every attention layer."""
        if self.done != len(self.sites):
            raise DomainError(
                f"this model called {self.done} of its {len(self.sites)} attention layers, last "
                f"{self.sites[max(self.done - 1, 0)].name}; `module` of its Architecture names those that it calls."
            )

    def _project(self, module: nn.Module, args: Any) -> Any:
        """Hook of the output projection, called with the heads' mixed values: visit the layer and apply `change`."""
        site, mixed = self._site(), one(args[0])
        if self.visit is not None:
            self.visit(self._call(site, mixed))
        self.done += 1
        return (
            None
            if self.change is None
            else (self.change(site.layer, mixed).reshape(args[0].shape), *args[1:])
        )

    def _call(self, site: Site, mixed: Tensor) -> Call:
        assert self.architecture is not None and self.X is not None
        X, architecture, arguments = self.X.float(), self.architecture, self.arguments
        rotate: Turn | None = None
        if architecture.rotate is not None:
            rotate = partial(_rotated, architecture, arguments)
        elif architecture.positions == "rotary":
            cos, sin = _tables(arguments.get("position_embeddings"))
            rotate = partial(rotate_by_tables, cos=cos, sin=sin)
        given = site.module, arguments, len(X)
        mask = transformers_mask(*given) if architecture.mask is None else architecture.ask("mask", *given)
        mask = _mask(mask, site, len(X))
        return Call(site.layer, X, site.weights, mask, rotate, mixed=mixed.float())

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


def transformers_mask(module: Any, arguments: Mapping[str, Any], T: int) -> Tensor | None:
    """Return the additive mask plus the relative position bias that the library transformers passes to attention
    modules.
    """
    masks = [arguments.get("attention_mask"), arguments.get("position_bias")]
    present = [m[0] for m in masks if isinstance(m, Tensor)]
    return sum(present[1:], start=present[0]) if present else None


def _mask(mask: Any, site: Site, T: int) -> Tensor | None:
    """Return a mask as (T, T) or (H, T, T); a first axis of 1 is dropped."""
    if mask is None:
        return None
    H = site.weights.H
    fits = isinstance(mask, Tensor) and tuple(mask.shape) in ((T, T), (1, T, T), (H, T, T))
    if not fits or not mask.is_floating_point():
        raise DomainError(
            f"mask of an Architecture returns numbers to add to the scores, (T, T) or (H, T, T), with T={T} and H={H}; "
            f"got {shown(mask)}."
        )
    found: Tensor = mask
    return found[0] if found.dim() == 3 and found.shape[0] == 1 else found


def _tables(given: Any) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines that the library transformers passes to attention modules."""
    if not isinstance(given, tuple) or len(given) != 2 or not all(isinstance(x, Tensor) for x in given):
        raise DomainError(
            "this model's attention is not called with position_embeddings, the cosines and sines of transformers; "
            "give its Architecture a `rotate`."
        )
    return one(given[0]), one(given[1])


def _rotated(architecture: Architecture, arguments: Mapping[str, Any], x: Tensor) -> Tensor:
    found = architecture.ask("rotate", x, arguments)
    if not isinstance(found, Tensor) or found.shape != x.shape:
        raise DomainError(
            f"rotate of an Architecture returns queries or keys of the shape that it is given, {tuple(x.shape)}; got "
            f"{shown(found)}."
        )
    return found


def _torch_call(site: Site, arguments: dict[str, Any], output: Tensor) -> Call:
    """Return the `Call` of an nn.MultiheadAttention; a mask of Booleans, True where forbidden, becomes 0 and -inf."""
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
