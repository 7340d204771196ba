"""Models as files: weights in safetensors, structure in its JSON header. Loading executes nothing.

Every array field of the dataclasses that make up a `Model` becomes one tensor, named by its path
("layers.0.W_Q"); everything else goes to the header. Tensors whose numbers fit float32 exactly are stored so.
"""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .block import Layer, LayerNorm, Mlp
from .encoding import Encoding
from .errors import FileError, SparseheadError
from .files import write_whole
from .model import Dense, Model
from .types import Array

SCHEMA = 1
HEADER = "sparsehead"
PARTS: dict[str, type] = {c.__name__: c for c in (Model, Encoding, Layer, LayerNorm, Mlp, Dense)}


def save(model: Model, path: str | Path, *, force: bool = False) -> Path:
    """Write `model` to `path`; the file appears whole or not at all, and replaces another only with force=True."""
    from safetensors.numpy import save as to_bytes

    tensors: dict[str, Array] = {}
    header = json.dumps({"schema": SCHEMA, "model": _pack(model, "", tensors)}, allow_nan=False)
    path = Path(path)
    write_whole(path, to_bytes(tensors, metadata={HEADER: header}), force=force)
    return path


def load(path: str | Path) -> Model:
    """The model in `path`, checked: a file that is damaged or not a model of ours loads nothing."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileError(f"no model at {path}; `sparsehead build ... --out {path.name}` writes one.")
    try:
        with safe_open(path, framework="np") as file:
            header = (file.metadata() or {}).get(HEADER)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"{path} is damaged or not a safetensors file ({error}).") from error
    if header is None:
        raise FileError(
            f"{path} is a safetensors file but not a sparsehead model: its header has no structure."
        )
    try:
        content = json.loads(header)
        schema = content["schema"]
    except (ValueError, TypeError, KeyError) as error:
        raise FileError(f"{path} has a header that is not a sparsehead model's JSON.") from error
    if schema != SCHEMA:
        raise FileError(
            f"{path} has schema {schema}, this version reads {SCHEMA}; save it again with the same version."
        )
    return _checked(path, content, tensors)


def _checked(path: Path, content: dict[str, Any], tensors: dict[str, Array]) -> Model:
    used: set[str] = set()
    try:
        model = _unpack(content["model"], tensors, used)
    except SparseheadError as error:
        raise FileError(f"{path} does not hold a consistent model: {error}") from error
    except KeyError as error:
        raise FileError(f"{path} is incomplete: its structure names {error}, which is missing.") from error
    except (TypeError, AttributeError, IndexError, ValueError) as error:
        raise FileError(f"{path} does not hold a consistent model: its structure is malformed.") from error
    if not isinstance(model, Model):
        raise FileError(f"{path} holds a {type(model).__name__}, not a Model.")
    if extra := sorted(set(tensors) - used):
        raise FileError(f"{path} holds tensors that belong to no part of the model: {', '.join(extra[:3])}.")
    return model


def _pack(part: Any, where: str, tensors: dict[str, Array]) -> Any:
    """The JSON of `part`; its arrays go to `tensors` under their path."""
    if isinstance(part, np.ndarray):
        single = part.astype(np.float32)
        exact = bool((single == part).all())
        tensors[where] = np.ascontiguousarray(single if exact else part)
        return {"tensor": where}
    if is_dataclass(part) and not isinstance(part, type):
        prefix = f"{where}." if where else ""
        packed = {f.name: _pack(getattr(part, f.name), prefix + f.name, tensors) for f in fields(part)}
        return {"part": type(part).__name__, "fields": packed}
    if isinstance(part, tuple):
        return {"tuple": [_pack(item, f"{where}.{i}", tensors) for i, item in enumerate(part)]}
    return {"value": part}


def _unpack(node: dict[str, Any], tensors: dict[str, Array], used: set[str]) -> Any:
    if "tensor" in node:
        used.add(node["tensor"])
        return tensors[node["tensor"]].astype(np.float64)
    if "part" in node:
        values = {name: _unpack(child, tensors, used) for name, child in node["fields"].items()}
        return PARTS[node["part"]](**values)
    if "tuple" in node:
        return tuple(_unpack(item, tensors, used) for item in node["tuple"])
    return node["value"]
