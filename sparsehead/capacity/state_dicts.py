"""Norms of every head of a `Model` or of a torch state dict, fused QKV included.

A state dict maps names to arrays or to values that `numpy.asarray` accepts, so torch is not imported. `stored_weights`
says which names are known.
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

from .._base.arguments import instance, whole
from .._base.display import Card, WithCard, clipped
from .._base.errors import DomainError, ShapeError
from .._base.files import read_json
from .._base.frame import Frame
from .._base.jsonable import json_values
from .._base.types import Array
from ..heads.block import Layer
from ..heads.model import Model
from ..heads.model_file import load_weights
from .architecture import Architecture
from .families import architecture_by_names, architecture_of
from .norms import HeadNorms, layer_norms
from .stored_weights import Pair, fused, named_weights, output_of, pair, weight_names


class Norms(WithCard, dict[str, tuple[HeadNorms, ...]]):
    """Norms of every head by layer, a dict that is printed as a table; `notes` are sentences about the scores."""

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
        heads: heads per layer, needed for weights without a configuration. The architecture determines how scores are
            scaled and how fused matrices are stored (`families`). It is named by the module's configuration or by the
            config.json beside the file; without either it is guessed from the names of the weights.
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
    """One attention layer of a network.

    It has the weights of its heads, the type of its positions, notes on its scores, and the reasons why it is outside
    the class of the bound, if there are any.
    """

    layer: Layer
    positions: str
    notes: tuple[str, ...]
    outside: tuple[str, ...]


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
    state: Mapping[str, Any],
    *,
    heads: int | None,
    config: Any = None,
    architecture: Architecture | None = None,
) -> Iterator[tuple[str, Attention]]:
    """Yield the attention layers of a state dict with their prefixes, in natural order (h.2 before h.10).

    With an architecture, read only the modules that it names; without one, all modules with known names.
    """
    named = config is not None and hasattr(config, "model_type")
    known = architecture_of(config.model_type) if architecture is None and named else architecture
    found = weight_names(state) if architecture is None else named_weights(state, architecture)
    for prefix, names in found.items():
        kind, family = ("", known) if known is not None else _by_names(state, prefix, names)
        H = _heads(prefix, heads, config, family.heads)
        separate = [pair(state, name, transposed=not family.input_first) for name in names if len(names) > 1]
        output = output_of(state, prefix, architecture)
        qkv = separate or fused(state, names[0], family, H, output[0].shape[0])
        index = int((re.findall("[0-9]{1,9}", prefix) or ["0"])[-1])
        layer = _layer(prefix or "the layer", H, qkv, output, partial(family.factor, config, index))
        outside = family.outside(config)
        notes = outside
        if known is None and not names[0].endswith("in_proj_weight"):
            scaled = "not scaled" if layer.temperature == 1 else f"divided by {layer.temperature:.4g}"
            guess = f"no configuration came with the weights: by their names taken as {kind}, scores {scaled}"
            notes = (guess, *notes)
        yield prefix, Attention(layer, family.positions, notes, outside)


def _by_names(state: Mapping[str, Any], prefix: str, names: tuple[str, ...]) -> tuple[str, Architecture]:
    """Return model type and architecture that the names of the weights suggest, or else those of plain attention."""
    kind, found = architecture_by_names(state, prefix)
    if found is None and names[0].endswith("query_key_value.weight"):
        raise DomainError(
            f"{names[0]} is stored in another order by each architecture; give the model with its configuration."
        )
    return kind, found or Architecture(module="", query="", output="")


def stated_heads(prefix: str, config: Any, entry: str | None) -> int | None:
    """Return a layer's number of heads from the configuration, under `entry` or a usual name; None if not there."""
    first = (entry,) if entry is not None else ("decoder_attention_heads",) if "decoder." in prefix else ()
    names = (*first, "num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads")
    return next((int(getattr(config, name)) for name in names if getattr(config, name, None)), None)


def _heads(prefix: str, heads: int | None, config: Any, entry: str | None) -> int:
    """Return the number of heads of a layer from the configuration, or else `heads`; raise if the two contradict."""
    stated = stated_heads(prefix, config, entry)
    if heads is None and stated is None:
        raise DomainError("a state dict does not say how many heads share its matrices; give heads=.")
    if heads is not None and stated not in (None, whole("heads", heads)):
        raise DomainError(
            f"the configuration says {stated} heads; heads={heads} contradicts it: leave heads out."
        )
    return int(stated or heads or 1)


def _layer(name: str, H: int, qkv: Sequence[Pair], output: Pair, scale: Callable[[int], float]) -> Layer:
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


def _by_head(W: Array, b: Array | None, H: int, k: int) -> Pair:
    """Return W (d, n k) as (H, d, k) and b (n k) as (H, k), repeating each of the n parts H/n times."""
    n = W.shape[1] // k
    heads = np.repeat(W.reshape(-1, n, k).transpose(1, 0, 2), H // n, axis=0)
    return heads, None if b is None else np.repeat(b.reshape(n, k), H // n, axis=0)
