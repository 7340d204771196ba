"""Load a model to probe from a path, a torch module, a state dict or a model of this library.

Files are read from the disk only, never from a hub. Weights are safetensors or GGUF; pickled files (.bin, .pt, .pth)
are read only with pickle=True, by torch with `weights_only=True`, which builds tensors and runs no code.
"""

import copy
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .._base.arguments import shown, whole
from .._base.errors import DomainError, FileError
from .._base.files import check_source, read_json, shown_path
from .._base.lazy import require_module
from ..capacity.families import check_probed
from ..capacity.state_dicts import attention_layers
from ..heads.model import Model
from ..heads.model_file import HEADER, MOST_HEADER, SUM
from ..heads.model_file import load as load_own
from .modules import Site, sites_of, weights_of_layer
from .recompute import LayerWeights

PICKLED = (".bin", ".pt", ".pth")
WANTED = "a folder with config.json and model.safetensors, a .safetensors or a .gguf file"
INVITE = "if you trust its source, pickle=True (--pickle) reads it with torch's weights_only=True"


@dataclass(frozen=True, eq=False)
class Source:
    """A model to probe: a torch module with its attention layers, a model of this library, or a state dict."""

    name: str
    family: str
    weights: tuple[LayerWeights, ...]
    labels: tuple[str, ...]
    module: nn.Module | None = None
    sites: tuple[Site, ...] = ()
    model: Model | None = None
    folder: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Any:
        """The transformers configuration, or None."""
        return getattr(self.module, "config", None)

    @property
    def takes_ids(self) -> bool:
        """Whether the model's input is token ids, rather than embedded tokens (torch) or bits (this library)."""
        return self.config is not None

    @property
    def longest(self) -> int | None:
        """The longest sequence that the model's position embeddings allow; None if there is no limit."""
        limit = getattr(self.config, "max_position_embeddings", None)
        # RoBERTa and MPNet count positions from the padding id on
        reserved = self.config.pad_token_id + 1 if self.family in ("roberta", "mpnet") else 0
        return None if limit is None else int(limit) - reserved


def source_of(given: Any, *, heads: int | None = None, pickle: bool = False) -> Source:
    """Return the model to probe, loaded if `given` is a path.

    Raises:
        FileError: there is no model at the path, or it cannot be read; DomainError: the type or architecture is not
            supported, or the model has another number of heads than `heads`.
    """
    wanted = None if heads is None else whole("heads", heads)
    source = _source(given, wanted, pickle)
    found = sorted({w.H for w in source.weights})
    if wanted is not None and found != [wanted]:
        has = " or ".join(map(str, found))
        raise DomainError(
            f"{source.name} says itself how many heads a layer has, {has}; heads={wanted} (--heads) contradicts it."
        )
    return source


def _source(given: Any, heads: int | None, pickle: bool) -> Source:
    if isinstance(given, str | Path):
        return _from_path(Path(given), heads=heads, pickle=pickle)
    if isinstance(given, nn.Module):
        return _from_module(given, type(given).__name__)
    if isinstance(given, Model):
        return _from_model(given, "a sparsehead model")
    if isinstance(given, Mapping):
        return _from_state(given, "a state dict", heads)
    raise DomainError(f"probe takes a path, a torch module, a state dict or a Model; got {shown(given)}.")


def _from_path(path: Path, *, heads: int | None, pickle: bool) -> Source:
    if not os.path.exists(path):
        raise FileError(
            f"there is no {shown_path(path)}; probe reads {WANTED} (nothing is fetched from a hub)."
        )
    if os.path.isdir(path):
        return _from_folder(path, pickle=pickle)
    check_source(path, wanted=WANTED)
    if path.suffix == ".gguf":
        for package in ("gguf", "accelerate"):
            require_module(package)
        return _from_module(_pretrained(path.parent, gguf_file=path.name), path.name)
    if path.suffix == ".safetensors":
        return _from_safetensors(path, heads)
    if path.suffix in PICKLED:
        return _from_state(_unpickled(path, pickle), path.name, heads)
    raise FileError(f"{shown_path(path)} is no model that probe can read; give {WANTED}.")


def _from_module(module: nn.Module, name: str, folder: Path | None = None) -> Source:
    base = getattr(module, "base_model", module) if hasattr(module, "config") else module
    notes: tuple[str, ...] = ()
    kinds = {value.dtype for value in base.parameters() if value.is_floating_point()} - {torch.float32}
    if kinds:  # masks and tolerances are those of float32
        names = " and ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        base, notes = (
            copy.deepcopy(base).float(),
            (f"weights in {names}: a float32 copy of the model was measured",),
        )
    family, sites = sites_of(base)
    labels = tuple(f"layer{site.layer}" for site in sites)
    return Source(name, family, tuple(s.weights for s in sites), labels, base, sites, None, folder, notes)


def _from_model(model: Model, name: str) -> Source:
    weights = tuple(weights_of_layer(layer) for layer in model.layers)
    labels = tuple(f"layer{i}" for i in range(len(weights)))
    return Source(name, "sparsehead", weights, labels, model=model)


def _from_state(state: Mapping[str, Any], name: str, heads: int | None) -> Source:
    if heads is None:
        raise DomainError(f"{name} does not say how many heads share its matrices; give heads= (--heads).")
    layers = dict(attention_layers(state, heads=heads))
    weights = tuple(weights_of_layer(found.layer, found.positions) for found in layers.values())
    notes = tuple(dict.fromkeys(note for found in layers.values() for note in found.notes))
    return Source(name, "state dict", weights, tuple(layers), notes=notes)


def is_state_dict(path: Path) -> bool:
    """Return whether a file contains weights without an architecture; reads only its name and its header."""
    if not os.path.isfile(path):
        return False
    return _is_ours(path) is False if path.suffix == ".safetensors" else path.suffix in PICKLED


def _is_ours(path: Path) -> bool | None:
    """Return whether a safetensors file is a model of this library; None if its header cannot be read.

    Either of two metadata names identifies such a model, so that a file with one damaged byte is still recognised.
    """
    try:
        with path.open("rb") as file:
            n = int.from_bytes(file.read(8), "little")
            metadata = dict(json.loads(file.read(min(n, MOST_HEADER))).get("__metadata__", {}))
        return HEADER in metadata or SUM in metadata
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _from_safetensors(path: Path, heads: int | None) -> Source:
    """Load a safetensors file as a model of this library, or else as a state dict."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if _is_ours(path):
        return _from_model(load_own(path), path.name)
    try:
        state = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"{shown_path(path)} is damaged: {_line(error)}; give {WANTED}.") from None
    return _from_state(state, path.name, heads)


def _unpickled(path: Path, allowed: bool) -> Mapping[str, Any]:
    if not allowed:
        raise FileError(f"{shown_path(path)} holds pickled weights, which can run code when read; {INVITE}.")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged or hostile pickle brings about
        raise FileError(f"{shown_path(path)} cannot be read as plain tensors: {_line(error)}.") from None
    if not isinstance(state, Mapping):
        raise FileError(
            f"{shown_path(path)} holds a {type(state).__name__}, not a state dict of names and tensors."
        )
    return state


def _from_folder(folder: Path, *, pickle: bool) -> Source:
    if not (folder / "config.json").is_file():
        raise FileError(
            f"{shown_path(folder)} has no config.json, so there is no model in it; give {WANTED}."
        )
    kind = read_json(folder / "config.json", wanted=WANTED).get("model_type")
    check_probed(kind)
    safe = any(folder.glob("*.safetensors"))
    if not safe and not any(any(folder.glob(f"*{ending}")) for ending in PICKLED):
        raise FileError(f"{shown_path(folder)} has a config.json but no weights; give {WANTED}.")
    if not safe and not pickle:
        raise FileError(
            f"{shown_path(folder)} holds only pickled weights, which can run code when read; {INVITE}."
        )
    return _from_module(_pretrained(folder, use_safetensors=safe), folder.name, folder)


def _pretrained(folder: Path, **options: Any) -> nn.Module:
    """Load a model with transformers, in float32, with eager attention; raise if weights are missing in the file."""
    require_module("transformers")
    with quiet():
        from transformers import AutoModel

        try:
            module, info = AutoModel.from_pretrained(
                str(folder), local_files_only=True, attn_implementation="eager", dtype=torch.float32,
                output_loading_info=True, weights_only=True, **options,
            )  # fmt: skip
        except Exception as error:  # damaged files raise errors of many types in transformers
            advice = "" if isinstance(error, ImportError) else f"; give {WANTED}"
            raise FileError(f"cannot load {shown_path(folder)}: {_line(error)}{advice}.") from None
    missing = [name for name in info.get("missing_keys", ()) if "pooler" not in name]
    if missing:
        raise FileError(
            f"{shown_path(folder)} lacks {len(missing)} of its model's weights, first {sorted(missing)[0]}; "
            "config.json and weights do not belong together."
        )
    return module.eval()


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings, progress bars and log lines of transformers; real problems are raised as errors."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _line(error: BaseException) -> str:
    """Return the first line of another library's error message, without its full stop."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text[:200].rstrip(". ")
