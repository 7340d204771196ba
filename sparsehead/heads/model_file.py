"""Model files: weights in safetensors, structure in its JSON header. Loading executes no code from the file.

Every array field of the dataclasses that make up a `Model` becomes one tensor, named by its path
("layers.0.W_Q"); everything else goes to the header. Tensors that are exact in float32 are stored as float32.

The header's metadata also contains the SHA-256 of the whole file, computed with these 64 digits set to zero, so that
any changed byte is noticed. Schema 2 is the first with this checksum; files of schema 1 are refused, since a damaged
file could look like one of schema 1.
"""

import hashlib
import json
import math
import os
import struct
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arguments import instance
from .._base.errors import DomainError, FileError, SparseheadError, TooLarge
from .._base.files import check_source, shown_path, write_whole
from .._base.memory import available, text_of
from .._base.types import Array
from .block import Layer, LayerNorm, Mlp
from .encoding import Encoding
from .model import Dense, Model, arrays_of, parts_of

SCHEMA = 2
HEADER = "sparsehead"
SUM = "sparsehead_sha256"
MOST_HEADER = 2**24  # bytes; a model of a hundred layers has a header of 10^5


def save(model: Model, path: str | Path, *, force: bool = False) -> Path:
    """Write `model` to `path` atomically and return the path; an existing file is replaced only with force=True.

    >>> from tempfile import TemporaryDirectory
    >>> from sparsehead import build
    >>> with TemporaryDirectory() as folder:
    ...     path = save(build("x1 & x2", T=8), f"{folder}/and.safetensors")
    ...     load(path)
    <Model: 1 layer of 1 head, T=8, d=11; from build: x1 & x2>
    """
    if not isinstance(model, Model):
        raise DomainError(
            f"save writes a Model, such as `build` or `load` returns; got a {type(model).__name__}."
        )
    if not isinstance(path, str | os.PathLike):
        raise DomainError(f"save takes the path of a file; got a {type(path).__name__}.")
    return write_whole(path, packed(model), force=force)


def packed(model: Model) -> bytes:
    """Return the content of the file that `save` writes."""
    from safetensors.numpy import save as to_bytes

    tensors = {name: _shrunk(array) for name, array in arrays_of(model)}
    header = json.dumps({"schema": SCHEMA, "model": _pack(model)}, allow_nan=False)
    return seal(_in_order(to_bytes(tensors, metadata={HEADER: header, SUM: "0" * 64})))


def _in_order(raw: bytes) -> bytes:
    """Return a safetensors file with its metadata sorted by name, since the library writes it in random order."""
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:start])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors start at a multiple of eight bytes
    return struct.pack("<Q", len(text)) + text + raw[start:]


def load(path: str | Path) -> Model:
    """Load the model in `path`; raise if the file is damaged or not a model of this library.

    Before the file is read, its size is compared with the size in its header and with the available memory.

    >>> load("nothing here")
    Traceback (most recent call last):
    sparsehead._base.errors.FileError: no model at nothing here; `sparsehead build ... --out FILE` writes one.
    """
    if not isinstance(path, str | os.PathLike):
        raise DomainError(f"load takes the path of a model file; got a {type(path).__name__}.")
    if (os.path.isdir(path) or not os.path.exists(path)) and len(str(path)) < 200:
        raise FileError(f"no model at {shown_path(path)}; `sparsehead build ... --out FILE` writes one.")
    raw, metadata = _read(check_source(path, wanted="a model that `sparsehead build --out` wrote"))
    try:
        content = json.loads(metadata[HEADER], parse_constant=_no_number)
        schema = content["schema"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FileError(f"{shown_path(path)} has a header that is not a sparsehead model's JSON.") from None
    if schema != SCHEMA:
        older = "; it was written before model files had checksums" if schema == 1 else ""
        raise FileError(
            f"{shown_path(path)} has schema {str(schema)[:20]}, this version reads {SCHEMA}{older}: write it again."
        )
    if SUM not in metadata or seal(raw) != raw:
        raise FileError(f"{shown_path(path)} is damaged: its checksum is not that of its content.")
    return _checked(Path(path), content, _tensors(Path(path), raw))


def load_weights(path: str | Path) -> Model | dict[str, Array]:
    """Load the model in `path`; if a safetensors file contains another network's weights, return name -> tensor."""
    source = check_source(path, wanted="a safetensors file; pickles such as .pt are not read")
    raw, metadata = _read(source, ours=False)
    return load(path) if HEADER in metadata else _tensors(source, raw)


def as_model(model: Any, *, hint: str) -> Model:
    """Return the Model for `model`: a Model itself, the path of a model file, or a module made by `to_torch`.

    `hint` says in the message how to get a model.
    """
    if isinstance(model, str | os.PathLike):
        return load(Path(model))
    found = model.to_model() if hasattr(model, "to_model") else model
    instance("model", found, Model, hint)
    return found


def seal(raw: bytes) -> bytes:
    """Return the bytes of a safetensors file with the checksum filled in; unchanged bytes if it was correct.

    Return b"" if the file has no checksum field, or more than one.
    """
    mark = f'"{SUM}":"'.encode()
    start = raw.find(mark) + len(mark)
    if raw.count(mark, 0, MOST_HEADER) != 1:
        return b""
    zeroed = raw[:start] + b"0" * 64 + raw[start + 64 :]
    return raw[:start] + hashlib.sha256(zeroed).hexdigest().encode() + raw[start + 64 :]


def _read(path: Path, *, ours: bool = True) -> tuple[bytes, dict[str, str]]:
    """Return a safetensors file's bytes and its header's metadata; raise if its size differs from the header's."""
    damaged = f"{shown_path(path)} is damaged or not a safetensors file"
    copies = 4  # the file, its tensors, and these in float64
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            n = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= n <= min(MOST_HEADER, size - 8):
                # The start of what torch.save writes and wrote; a header of 640 bytes starts like the second.
                if start[:4] == b"PK\x03\x04" or start[:1] == b"\x80":
                    raise FileError(
                        f"{shown_path(path)} is a pickle, as torch.save writes it, and may run code; load it in torch "
                        "and give the module to sh.from_torch, or save its tensors as safetensors."
                    )
                raise FileError(f"{damaged}: it announces a header of {n} bytes in a file of {size}.")
            header = file.read(n)
            metadata, end = _announced(header)
            if ours and HEADER not in metadata:
                raise FileError(
                    f"{shown_path(path)} is a safetensors file but not a sparsehead model: its header has no structure."
                )
            if 8 + n + end != size:
                raise FileError(f"{damaged}: it announces {8 + n + end} bytes and has {size}.")
            limit = available()
            if limit is not None and copies * size > limit:
                raise TooLarge(
                    f"loading {shown_path(path)} needs about {text_of(copies * size)} of memory, "
                    f"{text_of(limit)} are available."
                )
            return start + header + file.read(), metadata
    except SparseheadError:
        raise
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise FileError(f"{damaged} ({str(error)[:80] or type(error).__name__}).") from None


def _announced(header: bytes) -> tuple[dict[str, str], int]:
    """Return the metadata in a safetensors header, and the offset at which the last tensor ends."""
    entries = dict(json.loads(header.decode()))
    metadata = dict(entries.pop("__metadata__", {}))
    ends = [int(entry["data_offsets"][1]) for entry in entries.values()]
    return metadata, max(ends, default=0)


def _tensors(path: Path, raw: bytes) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        return from_bytes(raw)
    except (SafetensorError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileError(
            f"{shown_path(path)} is damaged or not a safetensors file ({str(error)[:80]})."
        ) from None


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of a model")


def _checked(path: Path, content: dict[str, Any], tensors: dict[str, Array]) -> Model:
    used: set[str] = set()
    try:
        model = _unpack(content["model"], tensors, used)
    except SparseheadError as error:
        raise FileError(f"{shown_path(path)} does not hold a consistent model: {error}") from error
    except KeyError as error:
        raise FileError(
            f"{shown_path(path)} is incomplete: its structure names {error}, which is missing."
        ) from error
    except (TypeError, AttributeError, IndexError, ValueError, OverflowError, RecursionError) as error:
        why = "its structure is malformed"
        raise FileError(f"{shown_path(path)} does not hold a consistent model: {why}.") from error
    if not isinstance(model, Model):
        raise FileError(f"{shown_path(path)} holds a {type(model).__name__}, not a Model.")
    if extra := sorted(set(tensors) - used):
        raise FileError(
            f"{shown_path(path)} holds tensors that belong to no part of the model: {', '.join(extra[:3])}."
        )
    return model


def _shrunk(array: Array) -> Array:
    """Return the array as float32 if that is exact, else unchanged."""
    with np.errstate(over="ignore"):  # what overflows float32 becomes infinite, and differs
        single = array.astype(np.float32)
    return np.ascontiguousarray(single if (single == array).all() else array)


def _pack(part: Any, where: str = "") -> Any:
    """Return `part` as JSON values, with each array replaced by its path."""
    if isinstance(part, np.ndarray):
        return {"tensor": where}
    inside = [_pack(inner, path) for path, inner in parts_of(part, where)]
    if is_dataclass(part) and not isinstance(part, type):
        return {"part": type(part).__name__, "fields": dict(zip([f.name for f in fields(part)], inside))}
    return {"tuple": inside} if isinstance(part, tuple) else {"value": part}


def _unpack(node: dict[str, Any], tensors: dict[str, Array], used: set[str]) -> Any:
    if "tensor" in node:
        used.add(node["tensor"])
        return tensors[node["tensor"]].astype(np.float64)
    parts: dict[str, type] = {c.__name__: c for c in (Model, Encoding, Layer, LayerNorm, Mlp, Dense)}
    if "part" in node:
        values = {name: _unpack(child, tensors, used) for name, child in node["fields"].items()}
        kind = parts[node["part"]]
        kinds = {part.name: part for part in fields(kind)}
        return kind(**{name: _scalar(kinds[name], value) for name, value in values.items()})
    if "tuple" in node:
        return tuple(_unpack(item, tensors, used) for item in node["tuple"])
    return node["value"]


def _scalar(part: "Field[Any]", value: Any) -> Any:
    """Return a scalar field's value; raise if it has another type or is out of range."""
    good = True
    if part.type is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        value = float(value) if number else value
        good = number and math.isfinite(value) and (value > 0 or part.name not in ("temperature", "eps"))
    elif part.type is bool:
        good = isinstance(value, bool)
    elif part.type is int:
        good = (
            isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 2**53
        )  # exact in float64
    elif part.type is str:
        good = isinstance(value, str)
    elif part.name == "meta":
        good = isinstance(value, dict)
    elif value is not None:
        good = isinstance(value, np.ndarray | tuple) or is_dataclass(value)
    if not good:
        raise DomainError(f"{part.name} cannot be {str(value)[:30]!r}.")
    return value
