"""Load a model to probe from a path, a torch module, a state dict or a model of this library.

Files are read from the disk only, never from a hub. Weights are safetensors or GGUF; pickled files (.bin, .pt, .pth)
are read only with pickle=True, by torch with `weights_only=True`, which builds tensors and runs no code.
"""

import copy
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
from .._base.files import read_json, shown_path
from .._base.lazy import require_module
from ..capacity.architecture import Architecture
from ..capacity.families import ARCHITECTURES, PARTS, check_probed, find_architecture
from ..capacity.state_dicts import attention_layers
from ..heads.model import Model
from ..heads.model_file import load as load_own
from .modules import Site, sites_of, weights_of_layer
from .recompute import LayerWeights
from .screen import PICKLED, WANTED, is_ours, require_heads, screen


@dataclass(frozen=True, eq=False, repr=False)
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
    architecture: Architecture | None = None
    heads: int | None = None  # per layer, if the caller said so

    @property
    def config(self) -> Any:
        """The model's configuration, or None."""
        return getattr(self.module, "config", None)

    @property
    def tokens(self) -> str:
        """The kind of the model's input: "ids", "pictures", "embedded" tokens, or "bits" for models of this library."""
        if self.architecture is not None:
            return self.architecture.tokens
        return "embedded" if self.model is None else "bits"

    @property
    def takes_ids(self) -> bool:
        """Return whether the model's input is token ids."""
        return self.tokens == "ids"

    @property
    def vocabulary(self) -> int | None:
        """The number of token ids, if the configuration says it."""
        size = getattr(self.config, "vocab_size", None)
        return int(size) if self.takes_ids and isinstance(size, int) else None

    @property
    def extra(self) -> int:
        """The number of positions that the model adds in front of the given tokens."""
        return 0 if self.architecture is None else self.architecture.extra

    @property
    def longest(self) -> int | None:
        """The longest sequence that the model's position embeddings allow; None if there is no limit."""
        limit = getattr(self.config, "max_position_embeddings", None)
        if limit is None or not self.takes_ids:
            return None
        # RoBERTa and MPNet count positions from the padding id on
        reserved = self.config.pad_token_id + 1 if self.family in ("roberta", "mpnet") else 0
        return int(limit) - reserved


def source_of(
    given: Any, *, heads: int | None = None, pickle: bool = False, architecture: Any = None
) -> Source:
    """Return the model to probe, loaded if `given` is a path.

    Args:
        architecture: an `Architecture`, its name, or "package.module:name", for models of a type that is not known.
    Raises:
        FileError: there is no model at the path, or it cannot be read; DomainError: the type or architecture is not
            supported, or the model has another number of heads than `heads`.
    """
    wanted = None if heads is None else whole("heads", heads)
    source = _source(given, wanted, pickle, find_architecture(architecture))
    found = sorted({w.H for w in source.weights})
    if wanted is not None and found != [wanted]:
        has = " or ".join(map(str, found))
        raise DomainError(
            f"{source.name} says itself how many heads a layer has, {has}; heads={wanted} (--heads) contradicts it."
        )
    return source


def _source(given: Any, heads: int | None, pickle: bool, architecture: Architecture | None) -> Source:
    if isinstance(given, str | Path):
        return _from_path(Path(given), heads, pickle, architecture)
    if isinstance(given, nn.Module):
        return _from_module(given, type(given).__name__, architecture=architecture, heads=heads)
    if architecture is not None:
        raise DomainError(
            f"architecture= is for the folder of a model or a torch module, which it reads; got {shown(given)}."
        )
    if isinstance(given, Model):
        return _from_model(given, "a sparsehead model")
    if isinstance(given, Mapping):
        return _from_state(given, "a state dict", heads)
    raise DomainError(f"probe takes a path, a torch module, a state dict or a Model; got {shown(given)}.")


def _from_path(path: Path, heads: int | None, pickle: bool, architecture: Architecture | None) -> Source:
    screen(path, heads=heads, pickle=pickle, architecture=architecture)
    if os.path.isdir(path):
        return _from_module(_in_folder(path, architecture), path.name, path, architecture, heads)
    if path.suffix == ".gguf":
        for package in ("gguf", "accelerate"):
            require_module(package)
        return _from_module(_pretrained(path.parent, gguf_file=path.name), path.name)
    if path.suffix == ".safetensors":
        return _from_safetensors(path, heads)
    return _from_state(_unpickled(path), path.name, heads)


def _from_module(
    module: nn.Module,
    name: str,
    folder: Path | None = None,
    architecture: Architecture | None = None,
    heads: int | None = None,
) -> Source:
    base = getattr(module, "base_model", module) if hasattr(module, "config") else module
    kind = getattr(getattr(base, "config", None), "model_type", None)
    if architecture is None and kind is not None:
        check_probed(kind)
        part, kind = PARTS.get(kind, ("", kind))
        base, architecture = base.get_submodule(part), ARCHITECTURES[kind]
    notes: tuple[str, ...] = ()
    kinds = {value.dtype for value in base.parameters() if value.is_floating_point()} - {torch.float32}
    if kinds:  # masks and tolerances are those of float32
        names = " and ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        base, notes = (
            copy.deepcopy(base).float(),
            (f"weights in {names}: a float32 copy of the model was measured",),
        )
    sites = sites_of(base, architecture, heads)
    return Source(
        name=name,
        family=kind or ("nn.TransformerEncoder" if architecture is None else type(base).__name__),
        weights=tuple(site.weights for site in sites),
        labels=tuple(f"layer{site.layer}" for site in sites),
        module=base,
        sites=sites,
        folder=folder,
        notes=(*notes, *_stacks(sites)),
        architecture=architecture,
        heads=heads,
    )


def _stacks(sites: tuple[Site, ...]) -> tuple[str, ...]:
    """Return a note that says which layers are the encoder's and which the decoder's, if there are both."""
    first = next((site.layer for site in sites if site.name.startswith("decoder.")), None)
    if not first:
        return ()
    return (
        f"layers 0 to {first - 1} are the encoder's self-attention, {first} to {sites[-1].layer} the decoder's; the "
        "decoder was given the same tokens",
    )


def _from_model(model: Model, name: str) -> Source:
    weights = tuple(weights_of_layer(layer) for layer in model.layers)
    labels = tuple(f"layer{i}" for i in range(len(weights)))
    return Source(name, "sparsehead", weights, labels, model=model)


def _from_state(state: Mapping[str, Any], name: str, heads: int | None) -> Source:
    layers = dict(attention_layers(state, heads=require_heads(name, heads)))
    weights = tuple(
        weights_of_layer(found.layer, found.positions, found.outside) for found in layers.values()
    )
    notes = tuple(dict.fromkeys(note for found in layers.values() for note in found.notes))
    return Source(name, "state dict", weights, tuple(layers), notes=notes)


def _from_safetensors(path: Path, heads: int | None) -> Source:
    """Load a safetensors file as a model of this library, or else as a state dict."""
    if is_ours(path):
        return _from_model(load_own(path), path.name)
    return _from_state(_loaded(path), path.name, heads)


def _loaded(path: Path) -> dict[str, Any]:
    """Return the tensors of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"{shown_path(path)} is damaged: {_line(error)}; give {WANTED}.") from None


def _unpickled(path: Path) -> Mapping[str, Any]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile pickle may raise anything
        raise FileError(f"{shown_path(path)} cannot be read as plain tensors: {_line(error)}.") from None
    if not isinstance(state, Mapping):
        raise FileError(
            f"{shown_path(path)} holds a {type(state).__name__}, not a state dict of names and tensors."
        )
    return state


def _in_folder(folder: Path, architecture: Architecture | None) -> nn.Module:
    """Return the model in a folder, made by transformers or by the architecture's own `make`."""
    safe = sorted(folder.glob("*.safetensors"))
    config = read_json(folder / "config.json", wanted=WANTED)
    known = architecture or ARCHITECTURES.get(config.get("model_type", ""))
    if known is None or known.make is None:
        return _pretrained(folder, use_safetensors=bool(safe))
    module: Any = known.ask("make", config)
    if not isinstance(module, nn.Module):
        raise DomainError(f"make of an Architecture returns a torch module; got {shown(module)}.")
    state: dict[str, Any] = {}
    for file in safe:
        state |= _loaded(file)
    if not safe:
        for file in sorted(file for ending in PICKLED for file in folder.glob(f"*{ending}")):
            state |= _unpickled(file)
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        first = _line(RuntimeError(" ".join(str(error).split())))
        raise FileError(
            f"the weights in {shown_path(folder)} do not fit the module of make: {first}."
        ) from None
    return module.eval()


def _pretrained(folder: Path, **options: Any) -> nn.Module:
    """Load a model with transformers, in float32, with eager attention; raise if weights are missing in the file."""
    require_module("transformers")
    with quiet():
        from transformers import AutoModel

        try:
            module, info = AutoModel.from_pretrained(
                str(folder), local_files_only=True, attn_implementation="eager", dtype=torch.float32,
                output_loading_info=True, weights_only=True, trust_remote_code=False, **options,
            )  # fmt: skip
        except Exception as error:  # damaged files raise errors of many types in transformers
            if "does not recognize this architecture" in str(error):
                raise FileError(
                    f"transformers does not know the type of model in {shown_path(folder)}; give its Architecture a "
                    "`make`, which builds the module from config.json."
                ) from None
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
