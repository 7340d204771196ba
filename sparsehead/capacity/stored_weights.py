"""Find the weights of attention layers in a state dict by their names: separate or fused query, key and value.

An attention layer is a prefix followed by the names that an `Architecture` gives, or by those of one of these layouts:

    in_proj_weight (3d, d), out_proj.weight (d, d)                  torch.nn.MultiheadAttention
    c_attn.weight (3d, d) or (d, 3d), c_proj.weight                 nanoGPT (out, in); GPT-2 (in, out)
    qkv.weight, Wqkv.weight, .. (3d, d), and an output projection   fused projections of vision models
    q_proj, k_proj, v_proj or query, key, value, .. (out, in), and an output projection
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.arguments import shown
from .._base.display import clipped
from .._base.errors import DomainError, ShapeError
from .._base.types import Array
from .architecture import Architecture

Pair = tuple[Array, Array | None]  # a weight (in, out) and its bias


def named_weights(state: Mapping[str, Any], architecture: Architecture) -> dict[str, tuple[str, ...]]:
    """Return the names of weights as `weight_names` does, but only for the modules and names of one architecture."""
    parts = [name.split(".") for name in state if isinstance(name, str)]
    modules = dict.fromkeys(".".join(p[:i]) for p in parts for i in range(len(p)))
    found = {}
    for prefix in sorted((m for m in modules if architecture.is_at(m)), key=_natural):
        names = tuple(f"{architecture.at(prefix, name)}.weight" for name in architecture.qkv)
        if names[0] in state:
            found[prefix] = names
    if not found:
        raise DomainError(
            f"no module that ends in {architecture.module!r} has a weight {architecture.query!r}; names are such as "
            f"{clipped(', '.join(list(modules)[-3:]), 120)}."
        )
    return found


def weight_names(state: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return for each attention module the name of its fused weight or the names of its three weights."""
    found: dict[str, tuple[str, ...]] = {}
    fused_names = ("in_proj_weight", "in_proj.weight", "c_attn.weight", "qkv.weight", "qkv_proj.weight", "Wqkv.weight",
         "query_key_value.weight")  # fmt: skip
    separate_names = (
        ("query", "key", "value"),
        ("q_proj", "k_proj", "v_proj"),
        ("q_lin", "k_lin", "v_lin"),
        ("W_Q", "W_K", "W_V"),
        ("q", "k", "v"),
    )
    for name in (name for name in state if isinstance(name, str)):
        for suffix in fused_names:
            if name == suffix or name.endswith("." + suffix):
                found[name[: -len(suffix)].rstrip(".")] = (name,)
        for triple in separate_names:
            end = f"{triple[0]}.weight"
            if name == end or name.endswith("." + end):
                stem = name[: -len(end)]
                found[stem.rstrip(".")] = tuple(f"{stem}{part}.weight" for part in triple)
    if not found:
        raise DomainError(
            f"no attention weights among {len(state)} names; known layouts end in {', '.join(fused_names[:3])}, ..."
        )
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return a sort key that compares numbers in names as numbers, so that h.2 comes before h.10."""
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


def pair(state: Mapping[str, Any], name: str, *, transposed: bool = True) -> Pair:
    """Return a weight as (in, out), which nn.Linear stores transposed, and its bias (None if there is none)."""
    if name not in state:
        raise DomainError(
            f"the query of {name.rpartition('.')[0].rpartition('.')[0]!r} is there, {name} is not."
        )
    W = _array(state, name)
    bias = re.sub("weight$", "bias", name)
    return W.T if transposed else W, _array(state, bias) if bias in state else None


def fused(state: Mapping[str, Any], name: str, family: Architecture, H: int, width: int) -> list[Pair]:
    """Return query, key and value from one matrix, whose columns are in the family's order.

    H: the number of heads; width: the number of columns of the queries of all heads.
    """
    W, b = pair(state, name, transposed=False)
    narrow = family.order == "query first"
    if W.ndim == 2 and (not family.input_first if narrow else W.shape[0] == 3 * W.shape[1]):
        W = W.T  # (out, in), as nn.Linear keeps it
    if (
        W.ndim != 2
        or (not narrow and W.shape[1] != 3 * W.shape[0])
        or (b is not None and b.shape != W.shape[1:])
    ):
        raise ShapeError(f"{name} has shape {W.shape}; fused query, key and value are (3d, d) or (d, 3d).")
    columns = _columns(name, W.shape[1], family.order, H, width)
    return [(W[:, part], None if b is None else b[part]) for part in columns]


def _columns(name: str, n: int, order: str, H: int, width: int) -> list[Array]:
    """Return the indices of the query's, the key's and the value's columns among n fused columns."""
    every = np.arange(n)
    if order == "query first":
        if n <= width or (n - width) % 2:
            raise ShapeError(
                f"{name} has {n} columns, which a query of {width}, a key and a value cannot share."
            )
        return np.split(every, [width, width + (n - width) // 2])
    blocks = {"codegen": 4, "by head": H}.get(order, 1)
    if n % (3 * blocks):
        raise ShapeError(
            f"{name} has {n} columns; {blocks} blocks of query, key and value do not divide them."
        )
    parts = every.reshape(blocks, 3, -1)
    return [parts[:, i].ravel() for i in ((0, 2, 1) if order == "codegen" else (0, 1, 2))]


def output_of(state: Mapping[str, Any], prefix: str, architecture: Architecture | None = None) -> Pair:
    """Return weight (width of all heads, d) and bias of the output projection."""
    if architecture is not None:
        name = f"{architecture.at(prefix, architecture.output)}.weight"
        return pair(state, name, transposed=not architecture.input_first)
    fused = state.get(f"{prefix}.c_attn.weight" if prefix else "c_attn.weight")
    shape = () if fused is None else tuple(fused.shape)
    is_conv1d = len(shape) == 2 and shape[1] == 3 * shape[0]  # GPT-2 stores (in, out)
    output_names = ("out_proj", "o_proj", "c_proj", "proj", "dense", "output.dense", "out_lin", "o", "W_O")
    for stem in (prefix, prefix.rpartition(".")[0]):  # BERT keeps it beside the module, not in it
        for part in output_names:
            name = f"{stem}.{part}.weight" if stem else f"{part}.weight"
            if name in state:
                return pair(state, name, transposed=not (part == "c_proj" and is_conv1d))
    raise DomainError(
        f"no output projection beside {prefix or 'the attention weights'}; looked for {', '.join(output_names)}."
    )
