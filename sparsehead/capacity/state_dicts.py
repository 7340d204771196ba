"""Norms of every head of a `Model` or of a torch state dict, fused QKV included.

A state dict maps names to arrays or to values that `numpy.asarray` accepts, so torch is not imported. An
attention layer is a prefix followed by the names of one of these layouts:

    in_proj_weight (3d, d), out_proj.weight (d, d)                  torch.nn.MultiheadAttention
    c_attn.weight (3d, d) or (d, 3d), c_proj.weight                 nanoGPT (out, in); GPT-2 (in, out)
    another name of FUSED (3d, d), and one of OUTPUT                fused projections of vision models
    three weights (out, in) named as in SEPARATE, and one of OUTPUT
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._base.arguments import instance, shown, whole
from .._base.display import Card, WithCard, clipped
from .._base.errors import DomainError, ShapeError
from .._base.files import read_json
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.types import Array
from ..heads.block import Layer
from ..heads.model import Model
from ..heads.model_file import load_weights
from .families import ModelFamily, family_by_names, family_of, outside
from .norms import HeadNorms, layer_norms

FUSED = ("in_proj_weight", "in_proj.weight", "c_attn.weight", "qkv.weight", "qkv_proj.weight", "Wqkv.weight")
SEPARATE = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("W_Q", "W_K", "W_V"),
    ("q", "k", "v"),
)
OUTPUT = ("out_proj", "o_proj", "c_proj", "proj", "dense", "output.dense", "out_lin", "o", "W_O")


class Norms(WithCard, dict[str, tuple[HeadNorms, ...]]):
    """Norms of every head by layer, a dict that is printed as a table; `notes` are about the scores."""

    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        layers = ", ".join(f"{name}: {len(heads)}" for name, heads in self.items())
        return f"<Norms of heads by layer, {clipped(layers, 200)}>"

    def to_dict(self) -> dict[str, list[dict[str, dict[str, float]]]]:
        """Return JSON values: by layer a list of heads, each with the norms of its matrices by name."""
        found: dict[str, list[dict[str, dict[str, float]]]] = json_values(dict(self))
        return found

    def to_frame(self) -> Frame:
        """Return a table with one row for each matrix of each head and the fields of `MatrixNorms`."""
        return Frame(
            {"layer": name, "head": h, "matrix": f"W_{part}", **asdict(getattr(head, part))}
            for name, heads in self.items()
            for h, head in enumerate(heads)
            for part in ("QK", "V", "C", "VO")
        )

    def _card(self) -> Card:
        return Card(
            "Norms", ["of every head, temperature and biases included", *self.notes], table=self.to_frame()
        )


@runtime_checkable
class HasStateDict(Protocol):
    """A torch module or other object with weights by name."""

    def state_dict(self) -> Any: ...


WeightsSource = Model | str | Path | Mapping[str, Any] | HasStateDict


def norms(weights: WeightsSource, *, heads: int | None = None) -> Norms:
    """Return norms per head, keyed by layer: "layer0", .. for a Model, the module's prefix for other weights.

    Args:
        weights: a Model, a torch module, a state dict (names and arrays), or the path of a safetensors file.
        heads: heads per layer, needed for weights without a configuration. The architecture, which decides how scores
            are scaled and fused matrices stored (`families`), is named by the configuration of the module or by the
            config.json beside the file; without one it is guessed from the names of the weights.
    Paper: matrix-norms

    >>> from sparsehead import build
    >>> (head,) = norms(build("x1 & x2", T=8))["layer0"]
    >>> round(head.QK.frobenius, 3), round(head.V.spectral, 3)
    (4.048, 1.461)
    """
    state = weights_of(weights)
    if isinstance(state, Model):
        if heads is not None:
            raise DomainError("a Model knows its heads; `heads` belongs to state dicts.")
        return Norms({f"layer{i}": layer_norms(layer) for i, layer in enumerate(state.layers)})
    found = Norms()
    for prefix, attention in attention_layers(state, heads=heads, config=config_of(weights)):
        found[prefix] = layer_norms(attention.layer)
        found.notes = tuple(dict.fromkeys((*found.notes, *attention.notes)))
    return found


def weights_of(weights: WeightsSource) -> Model | Mapping[str, Any]:
    """Return the Model or state dict of `weights`; a module made by `to_torch` becomes a Model again."""
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


@dataclass(frozen=True, eq=False)
class Attention:
    """One attention layer of a network: its heads, its type of positions (`families`), and notes on its scores."""

    layer: Layer
    positions: str
    notes: tuple[str, ...]


def config_of(weights: Any) -> Any:
    """Return the configuration of a transformers module, or the config.json beside a file; None if there is none."""
    if isinstance(weights, str | os.PathLike):
        beside = Path(weights).parent / "config.json"
        return _namespace(read_json(beside, wanted="a model's configuration")) if beside.is_file() else None
    config = getattr(weights, "config", None)
    return config if isinstance(getattr(config, "model_type", None), str) else None


def _namespace(value: Any) -> Any:
    return (
        SimpleNamespace(**{k: _namespace(v) for k, v in value.items()}) if isinstance(value, dict) else value
    )


def attention_layers(
    state: Mapping[str, Any], *, heads: int | None, config: Any = None
) -> Iterator[tuple[str, Attention]]:
    """Yield the attention layers of a state dict with their prefixes, in natural order (h.2 before h.10)."""
    known = None if config is None or not hasattr(config, "model_type") else family_of(config.model_type)
    for prefix, names in _weight_names(state).items():
        kind, family = family_by_names(state, prefix) if known is None else (config.model_type, known)
        H = _heads(prefix, heads, config)
        qkv = _fused(state, names[0], family) if len(names) == 1 else [_pair(state, name) for name in names]
        index = int((re.findall("[0-9]{1,9}", prefix) or ["0"])[-1])
        scale = partial(family.scale, config, index)
        layer = _layer(prefix or "the layer", H, qkv, _output(state, prefix), scale)
        notes = outside(family.positions)
        if known is None and not names[0].endswith("in_proj_weight"):
            scaled = "not scaled" if layer.temperature == 1 else f"divided by {layer.temperature:.4g}"
            guess = f"no configuration came with the weights: by their names taken as {kind}, scores {scaled}"
            notes = (guess, *notes)
        yield prefix, Attention(layer, family.positions, notes)


def _heads(prefix: str, heads: int | None, config: Any) -> int:
    """Return the number of heads of a layer from the configuration, which `heads` must not contradict, or `heads`."""
    first = ("decoder_attention_heads",) if "decoder." in prefix else ()
    names = (*first, "num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads")
    stated = next((int(getattr(config, name)) for name in names if getattr(config, name, None)), None)
    if heads is None and stated is None:
        raise DomainError("a state dict does not say how many heads share its matrices; give heads=.")
    if heads is not None and stated not in (None, whole("heads", heads)):
        raise DomainError(
            f"the configuration says {stated} heads; heads={heads} contradicts it: leave heads out."
        )
    return int(stated or heads or 1)


def _layer(name: str, H: int, qkv: Sequence["Pair"], output: "Pair", scale: Callable[[int], float]) -> Layer:
    """Return one layer of H heads; if there are fewer keys and values, neighbouring heads share them."""
    (Q, _), (O, b_O) = qkv[0], output
    if Q.ndim != 2 or Q.shape[1] % H:
        raise ShapeError(
            f"{name}: the query has shape {Q.shape[::-1]}, (width, d); {H} heads do not divide that width."
        )
    k = Q.shape[1] // H
    for part, (W, b) in zip(("query", "key", "value"), qkv, strict=True):
        if W.ndim != 2 or W.shape != qkv[0 if part == "query" else 1][0].shape or W.shape[0] != Q.shape[0]:
            raise ShapeError(
                f"{name}: the {part} has shape {W.shape[::-1]}, the query {Q.shape[::-1]}; both are (width, d)."
            )
        if W.shape[1] % k or H % max(W.shape[1] // k, 1):
            raise ShapeError(
                f"{name}: the {part} has width {W.shape[1]}, which {H} heads of width {k} cannot share evenly."
            )
        if b is not None and b.shape != (W.shape[1],):
            raise ShapeError(f"{name}: the {part}'s bias has shape {b.shape}, its width is {W.shape[1]}.")
    if O.shape != Q.shape[::-1]:
        raise ShapeError(f"{name}: the output has shape {O.shape[::-1]}, query and value need {Q.shape}.")
    given = [W for pair in (*qkv, output) for W in pair if W is not None]
    if not all(np.isfinite(W).all() for W in given):
        raise DomainError(f"{name} holds NaN or infinite weights; norms need finite numbers.")
    (W_Q, b_Q), (W_K, b_K), (W_V, b_V) = (_by_head(W, b, H, k) for W, b in qkv)
    W_C = O.reshape(H, k, -1)
    b_O = b_O if b_O is not None and b_O.shape == (O.shape[1],) else None
    return Layer(W_Q, W_K, W_V, W_C, b_Q, b_K, b_V, b_O, temperature=1 / scale(k))


def _by_head(W: Array, b: Array | None, H: int, k: int) -> "Pair":
    """Reshape (d, n k) to (H, d, k), repeating each of the n parts H/n times."""
    n = W.shape[1] // k
    heads = np.repeat(W.reshape(-1, n, k).transpose(1, 0, 2), H // n, axis=0)
    return heads, None if b is None else np.repeat(b.reshape(n, k), H // n, axis=0)


Pair = tuple[Array, Array | None]


def _weight_names(state: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return for each attention module the name of its fused weight or the names of its three weights."""
    found: dict[str, tuple[str, ...]] = {}
    for name in (name for name in state if isinstance(name, str)):
        for suffix in FUSED:
            if name == suffix or name.endswith("." + suffix):
                found[name[: -len(suffix)].rstrip(".")] = (name,)
        for triple in SEPARATE:
            end = f"{triple[0]}.weight"
            if name == end or name.endswith("." + end):
                stem = name[: -len(end)]
                found[stem.rstrip(".")] = tuple(f"{stem}{part}.weight" for part in triple)
    if not found:
        raise DomainError(
            f"no attention weights among {len(state)} names; known layouts end in {', '.join(FUSED[:3])}, ..."
        )
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key that sorts names by the numbers in them, h.2 before h.10; numbers are compared by digits first."""
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]
    return [(len(part) if i % 2 else 0, part) for i, part in enumerate(parts)], name


def _array(state: Mapping[str, Any], name: str) -> Array:
    """Return one array of a state dict, as float64."""
    value = state[name]
    try:
        if hasattr(value, "detach"):  # a tensor, perhaps on another device and in half precision
            value = value.detach().cpu().float()
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is no array of numbers; got {shown(value)}.") from None


def _pair(state: Mapping[str, Any], name: str, *, transposed: bool = True) -> Pair:
    """Return a weight as (in, out), which nn.Linear stores transposed, and its bias (None if there is none)."""
    if name not in state:
        raise DomainError(
            f"the query of {name.rpartition('.')[0].rpartition('.')[0]!r} is there, {name} is not."
        )
    W = _array(state, name)
    bias = re.sub("weight$", "bias", name)
    return W.T if transposed else W, _array(state, bias) if bias in state else None


def _fused(state: Mapping[str, Any], name: str, family: ModelFamily) -> list[Pair]:
    """Return query, key and value from one matrix, whose columns are in the family's order."""
    W, b = _pair(state, name, transposed=False)
    if W.ndim == 2 and W.shape[0] == 3 * W.shape[1]:
        W = W.T  # (out, in), as nn.Linear keeps it
    if W.ndim != 2 or W.shape[1] != 3 * W.shape[0] or (b is not None and b.shape != W.shape[1:]):
        raise ShapeError(f"{name} has shape {W.shape}; fused query, key and value are (3d, d) or (d, 3d).")
    blocks, order = (4, (0, 2, 1)) if family.order == "codegen" else (1, (0, 1, 2))
    if W.shape[0] % blocks:
        raise ShapeError(f"{name} has shape {W.shape}; {blocks} blocks do not divide its width.")

    def part(A: Array, i: int) -> Array:
        return A.reshape(*A.shape[:-1], blocks, 3, -1)[..., i, :].reshape(*A.shape[:-1], -1)

    return [(part(W, i), None if b is None else part(b, i)) for i in order]


def _output(state: Mapping[str, Any], prefix: str) -> Pair:
    """Return the output projection, (width of all heads, d)."""
    fused = state.get(f"{prefix}.c_attn.weight" if prefix else "c_attn.weight")
    shape = () if fused is None else tuple(fused.shape)
    is_conv1d = len(shape) == 2 and shape[1] == 3 * shape[0]  # GPT-2 stores (in, out)
    for stem in (prefix, prefix.rpartition(".")[0]):  # BERT keeps it beside the module, not in it
        for part in OUTPUT:
            name = f"{stem}.{part}.weight" if stem else f"{part}.weight"
            if name in state:
                return _pair(state, name, transposed=not (part == "c_proj" and is_conv1d))
    raise DomainError(
        f"no output projection beside {prefix or 'the attention weights'}; looked for {', '.join(OUTPUT)}."
    )
