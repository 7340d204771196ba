"""Norms of every head of a `Model` or of a torch state dict, fused QKV included.

A state dict is a mapping from names to arrays; anything `numpy.asarray` understands will do, so torch is not
imported. Layouts that are recognised, each with its prefix (one entry per attention layer):

    in_proj_weight (3d, d), out_proj.weight (d, d)                  torch.nn.MultiheadAttention
    c_attn.weight (3d, d) or (d, 3d), c_proj.weight                 nanoGPT (out, in); GPT-2 (in, out)
    qkv / qkv_proj / Wqkv .weight (3d, d), proj / out_proj          fused projections of vision models
    q, k, v as separate weights (out, in): query/key/value, q_proj/k_proj/v_proj, q_lin/.., W_Q/W_K/W_V,
        q/k/v; output proj, out_proj, o_proj, dense, c_proj, out_lin, o or W_O
"""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..arguments import instance, shown, whole
from ..display import Card, Displayed, clipped
from ..errors import DomainError, ShapeError
from ..frame import Frame
from ..jsonable import json_values
from ..model import Model
from ..model_file import load_weights
from ..types import Array
from .norms import HeadNorms, head_norms, layer_norms

FUSED = ("in_proj_weight", "in_proj.weight", "c_attn.weight", "qkv.weight", "qkv_proj.weight", "Wqkv.weight")
SEPARATE = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("W_Q", "W_K", "W_V"),
    ("q", "k", "v"),
)
OUTPUT = ("out_proj", "o_proj", "c_proj", "proj", "dense", "output.dense", "out_lin", "o", "W_O")


class Norms(Displayed, dict[str, tuple[HeadNorms, ...]]):
    """Norms of every head by layer: a dict that shows itself as a table."""

    def __repr__(self) -> str:
        layers = ", ".join(f"{name}: {len(heads)}" for name, heads in self.items())
        return f"<Norms of heads by layer, {clipped(layers, 200)}>"

    def to_dict(self) -> dict[str, list[dict[str, dict[str, float]]]]:
        """The same as plain JSON-able data: by layer a list of heads, each with its matrices by name."""
        found: dict[str, list[dict[str, dict[str, float]]]] = json_values(dict(self))
        return found

    def to_frame(self) -> Frame:
        """One row for each matrix of each head; see `MatrixNorms` for the columns."""
        return Frame(
            {"layer": name, "head": h, "matrix": f"W_{part}", **asdict(getattr(head, part))}
            for name, heads in self.items()
            for h, head in enumerate(heads)
            for part in ("QK", "V", "C", "VO")
        )

    def _card(self) -> Card:
        return Card("Norms", ["of every head, temperature and biases included"], table=self.to_frame())


@runtime_checkable
class HasStateDict(Protocol):
    """What torch modules have: weights by name."""

    def state_dict(self) -> Any: ...


WeightsSource = Model | str | Path | Mapping[str, Any] | HasStateDict


def norms(weights: WeightsSource, *, heads: int | None = None) -> Norms:
    """Norms per head, keyed by layer: "layer0", .. for a model, the module's prefix for a state dict.

    Args:
        weights: a Model, a torch module, a state dict (names and arrays), or the path of a safetensors file.
        heads: heads per layer, needed for weights that are no Model, which do not say. The temperature is
            sqrt(d/heads), as in practice.
    Paper: matrix-norms

    >>> from sparsehead import build
    >>> (head,) = norms(build("x1 & x2", T=8))["layer0"]
    >>> round(head.QK.frobenius, 3), round(head.V.spectral, 3)
    (4.048, 1.461)
    """
    weights = weights_of(weights)
    if isinstance(weights, Model):
        if heads is not None:
            raise DomainError("a Model knows its heads; `heads` belongs to state dicts.")
        return Norms({f"layer{i}": layer_norms(layer) for i, layer in enumerate(weights.layers)})
    state = weights
    if heads is None:
        raise DomainError("a state dict does not say how many heads share its matrices; give heads=.")
    whole("heads", heads)
    found = Norms()
    for prefix, (Q, K, V, O) in attention_weights(state).items():
        _check_shapes(prefix or "the layer", Q, K, V, O)
        if Q[0].shape[1] % heads:
            raise ShapeError(
                f"{prefix or 'the layer'} has width {Q[0].shape[1]}, which {heads} heads do not divide."
            )
        k = Q[0].shape[1] // heads
        cut = [slice(h * k, (h + 1) * k) for h in range(heads)]
        found[prefix] = tuple(
            head_norms(
                Q[0][:, s],
                K[0][:, s],
                V[0][:, s],
                O[s],
                b_Q=None if Q[1] is None else Q[1][s],
                b_V=None if V[1] is None else V[1][s],
                temperature=math.sqrt(k),
            )
            for s in cut
        )
    return found


def weights_of(weights: WeightsSource) -> Model | Mapping[str, Any]:
    """A Model or a state dict, from whichever form they were given in.

    A module that `to_torch` made becomes a Model again; any other gives its state dict.
    """
    found: Any = weights
    if isinstance(weights, str | os.PathLike):
        found = load_weights(Path(weights))
    elif hasattr(weights, "to_model"):
        found = weights.to_model()
    elif hasattr(weights, "state_dict"):
        found = weights.state_dict()
    if not isinstance(found, Model):
        hint = "a Model, a torch module, its state dict (names and arrays), or the path of a safetensors file"
        instance("weights", found, Mapping, hint)
    return found


def _check_shapes(name: str, Q: "Pair", K: "Pair", V: "Pair", O: Array) -> None:
    """Query, key and value map d to the same width, the output maps that width to d, biases have it; all finite."""
    shape = Q[0].shape
    for part, (W, b) in (("query", Q), ("key", K), ("value", V)):
        if W.ndim != 2 or W.shape != shape:
            raise ShapeError(
                f"{name}: the {part} has shape {W.shape[::-1]}, the query {shape[::-1]}; both are (width, d)."
            )
        if b is not None and b.shape != (shape[1],):
            raise ShapeError(f"{name}: the {part}'s bias has shape {b.shape}, its width is {shape[1]}.")
    if O.shape != shape[::-1]:
        raise ShapeError(f"{name}: the output has shape {O.shape[::-1]}, query and value need {shape}.")
    if not all(np.isfinite(a).all() for a in (Q[0], K[0], V[0], O)):
        raise DomainError(f"{name} holds NaN or infinite weights; norms need finite numbers.")


Pair = tuple[Array, Array | None]


def attention_weights(state: Mapping[str, Any]) -> dict[str, tuple[Pair, Pair, Pair, Array]]:
    """(W, b) of query, key and value, and the output matrix, per attention module; they act on rows.

    Modules come in the order of their names, numbers in them by size: safetensors files keep names in the order of
    texts, where h.10 is before h.2.
    """
    found: dict[str, tuple[Pair, Pair, Pair, Array]] = {}
    for name in (name for name in state if isinstance(name, str)):
        for suffix in FUSED:
            if name == suffix or name.endswith("." + suffix):
                prefix = name[: -len(suffix)].rstrip(".")
                found[prefix] = (*_fused(state, name), _output(state, prefix))
        for triple in SEPARATE:
            end = f"{triple[0]}.weight"
            if name == end or name.endswith("." + end):
                prefix = name[: -len(end)].rstrip(".")
                q, k, v = (_separate(state, prefix, part) for part in triple)
                found[prefix] = (q, k, v, _output(state, prefix))
    if not found:
        raise DomainError(
            f"no attention weights among {len(state)} names; known layouts end in {', '.join(FUSED[:3])}, ..."
        )
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """A key that sorts names as people count: h.2 before h.10. Numbers of any length: more digits are more."""
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]
    return [(len(part) if i % 2 else 0, part) for i, part in enumerate(parts)], name


def array_in(state: Mapping[str, Any], name: str) -> Array:
    """One array of a state dict, as float64; tensors may require gradients, be on a device or in half precision."""
    value = state[name]
    try:
        return _as_array(value)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is no array of numbers; got {shown(value)}.") from None


def _as_array(value: Any) -> Array:
    if hasattr(value, "detach"):  # a tensor, perhaps on another device and in half precision
        value = value.detach().cpu().float()
    return np.asarray(value, dtype=np.float64)


def _bias(state: Mapping[str, Any], weight_name: str) -> Array | None:
    name = weight_name[: -len("weight")] + "bias"
    return array_in(state, name) if name in state else None


def _fused(state: Mapping[str, Any], name: str) -> tuple[Pair, Pair, Pair]:
    W, b = array_in(state, name), _bias(state, name)
    if W.ndim == 2 and W.shape[0] == 3 * W.shape[1]:
        W = W.T  # (out, in), as nn.Linear keeps it
    if W.ndim != 2 or W.shape[1] != 3 * W.shape[0]:
        raise ShapeError(f"{name} has shape {W.shape}; fused query, key and value are (3d, d) or (d, 3d).")
    d = W.shape[0]
    parts = [W[:, i * d : (i + 1) * d] for i in range(3)]
    biases = [None if b is None else b[i * d : (i + 1) * d] for i in range(3)]
    return (parts[0], biases[0]), (parts[1], biases[1]), (parts[2], biases[2])


def _separate(state: Mapping[str, Any], prefix: str, part: str) -> Pair:
    name = f"{prefix}.{part}.weight" if prefix else f"{part}.weight"
    if name not in state:
        raise DomainError(f"the query of {prefix!r} is there, {name} is not.")
    return array_in(state, name).T, _bias(state, name)


def _output(state: Mapping[str, Any], prefix: str) -> Array:
    """The output projection, (width of all heads, d): GPT-2 stores it so, the others transposed."""
    stems = [prefix, prefix.rpartition(".")[0]]  # BERT keeps it beside the module, not in it
    for stem in stems:
        for part in OUTPUT:
            name = f"{stem}.{part}.weight" if stem else f"{part}.weight"
            if name in state:
                W = array_in(state, name)
                gpt2 = part == "c_proj" and _is_conv1d(state, prefix)
                return W if gpt2 else W.T
    raise DomainError(
        f"no output projection beside {prefix or 'the attention weights'}; looked for {', '.join(OUTPUT)}."
    )


def _is_conv1d(state: Mapping[str, Any], prefix: str) -> bool:
    name = f"{prefix}.c_attn.weight" if prefix else "c_attn.weight"
    shape = tuple(state[name].shape) if name in state else (0, 0)
    return len(shape) == 2 and shape[1] == 3 * shape[0]
