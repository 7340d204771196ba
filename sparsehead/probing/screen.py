"""Refuse models that `probe` cannot read, before torch is imported; uses only file names, headers and config.json."""

import json
import os
from pathlib import Path
from typing import Any

from .._base.errors import DomainError, FileError, ParseError
from .._base.files import check_source, read_json, shown_path
from ..capacity.architecture import Architecture
from ..capacity.families import check_probed
from ..capacity.stored_weights import weight_names
from ..heads.model_file import HEADER, MOST_HEADER, SUM

PICKLED = (".bin", ".pt", ".pth")
WANTED = "a folder with config.json and model.safetensors, a .safetensors or a .gguf file"


def screen(
    path: Path, *, heads: int | None = None, pickle: bool = False, architecture: Architecture | None = None
) -> None:
    """Raise an error if `probe` cannot read the model at `path`.

    Args:
        architecture: describes a model whose type this library does not know.
    Raises:
        FileError: there is no model, it is damaged, or its weights are pickled; DomainError: its type is unknown.
    """
    if not os.path.exists(path):
        raise FileError(
            f"there is no {shown_path(path)}; probe reads {WANTED} (nothing is fetched from a hub)."
        )
    if os.path.isdir(path):
        _screen_folder(path, pickle=pickle, architecture=architecture)
        return
    check_source(path, wanted=WANTED)
    if architecture is not None:
        raise DomainError(
            f"an architecture reads a model, not the weights alone; give the folder of {shown_path(path)}, with its "
            "config.json."
        )
    if path.suffix == ".gguf":
        _check_gguf(path)
    elif path.suffix == ".safetensors":
        if not is_ours(path):
            weight_names(dict.fromkeys(check_safetensors(path)))
            require_heads(path.name, heads)
    elif path.suffix in PICKLED:
        require_pickle(f"{shown_path(path)} holds pickled", pickle)
        require_heads(path.name, heads)
    else:
        raise FileError(f"{shown_path(path)} is no model that probe can read; give {WANTED}.")


def require_heads(name: str, heads: int | None) -> int:
    """Return `heads`; raise an error if it is None, since a state dict does not contain the number of heads."""
    if heads is None:
        raise DomainError(f"{name} does not say how many heads share its matrices; give heads= (--heads).")
    return heads


def require_pickle(what: str, allowed: bool) -> None:
    """Raise an error about pickled weights unless they are allowed; its message begins with `what`."""
    invite = "if you trust its source, pickle=True (--pickle) reads it with torch's weights_only=True"
    if not allowed:
        raise FileError(f"{what} weights, which can run code when read; {invite}.")


def _screen_folder(folder: Path, *, pickle: bool, architecture: Architecture | None) -> None:
    if not (folder / "config.json").is_file():
        raise FileError(
            f"{shown_path(folder)} has no config.json, so there is no model in it; give {WANTED}."
        )
    config = read_json(folder / "config.json", wanted=WANTED)
    if architecture is None:
        check_probed(config.get("model_type"))
    if config.get("quantization_config") is not None:
        raise DomainError(
            f"the weights of {shown_path(folder)} are quantised (quantization_config), which probe does not read; give "
            "the model in float32, float16 or bfloat16."
        )
    safe = sorted(folder.glob("*.safetensors"))
    if not safe and not any(any(folder.glob(f"*{ending}")) for ending in PICKLED):
        raise FileError(f"{shown_path(folder)} has a config.json but no weights; give {WANTED}.")
    if not safe:
        require_pickle(f"{shown_path(folder)} holds only pickled", pickle)
    _check_shards(folder)
    for file in safe:
        check_safetensors(file)


def _check_shards(folder: Path) -> None:
    """Refuse a folder that lacks a file which its index names."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    places = read_json(index, wanted="the index of a model's files").get("weight_map")
    names = sorted(set(places.values())) if isinstance(places, dict) and places else [None]
    if not all(isinstance(name, str) and os.path.basename(name) == name for name in names):
        raise FileError(f"{shown_path(index)} does not say in which file each weight is; give {WANTED}.")
    missing = [name for name in names if not (folder / str(name)).is_file()]
    if missing:
        raise FileError(
            f"{shown_path(folder)} lacks {len(missing)} of {len(names)} files, first {missing[0]}."
        )


def _check_gguf(path: Path) -> None:
    with path.open("rb") as file:
        if len(start := file.read(24)) < 24 or start[:4] != b"GGUF":
            raise FileError(
                f"cannot load {shown_path(path)}: it has no header of a GGUF file; give {WANTED}."
            )


def check_safetensors(path: Path) -> dict[str, Any]:
    """Return the entries of a safetensors header; raise FileError if it is damaged or the file is cut."""
    size = os.path.getsize(path)
    try:
        with path.open("rb") as file:
            n = int.from_bytes(file.read(8), "little")
            header = dict(json.loads(file.read(n) if n <= min(MOST_HEADER, size) else b""))
        header.pop("__metadata__", None)
        end = max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise FileError(
            f"cannot load {shown_path(path)}: it is damaged, its header cannot be read; give {WANTED}."
        ) from None
    if 8 + n + end != size:
        raise FileError(
            f"cannot load {shown_path(path)}: it is damaged, {8 + n + end} bytes long by its header and has {size}; "
            f"give {WANTED}."
        )
    return header


def is_state_dict(path: Path) -> bool:
    """Return whether a file contains weights without an architecture; reads only its name and its header."""
    if not os.path.isfile(path):
        return False
    return is_ours(path) is False if path.suffix == ".safetensors" else path.suffix in PICKLED


def is_ours(path: Path) -> bool | None:
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


def read_texts(path: str | Path) -> tuple[str, ...]:
    """Return the non-empty lines of a UTF-8 text file; each is one sequence."""
    source = check_source(path, wanted="a text file with one sequence per line", most=2**26)
    try:
        lines = source.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ParseError(
            f"{shown_path(path)} is no UTF-8 text; give a text file with one sequence per line."
        ) from None
    except OSError as error:
        raise FileError(f"cannot read {shown_path(path)}: {error.strerror}.") from None
    found = tuple(line for line in lines if line.strip())
    if not found:
        raise ParseError(f"{shown_path(path)} holds no text; give one sequence per line.")
    return found
