"""The place of each weight of a model in one flat row, and its kind of initial value.

A row holds first the matrices, then the other trained entries, then the fixed ones, so the optimiser works on two
contiguous pieces and needs no knowledge of the model. Segments start at multiples of sixteen entries; gaps are zero.

Two storage orders differ from the paper's; `weights.to_model` undoes them. Positions are stored as columns, (d, T),
because every pass of the compiled step over the token table runs along T. Entry (h, j) of a head-indexed axis is
stored at j H + h, because sums over j then add long rows.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from ..architecture import MARKERS, Architecture


@dataclass(frozen=True)
class Segment:
    """A named block of a row.

    `kind` determines the initial values: "linear" (a linear map, or its bias if `is_bias`), "embedding", "one", "zero".
    `fan_in` is the number of inputs of its linear map.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    fan_in: int = 0
    is_bias: bool = False
    start: int = 0

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """Segments of a row; [0, n_matrices) are matrices, [0, n_trained) is trained, [0, size) is stored."""

    segments: tuple[Segment, ...]
    n_matrices: int
    n_trained: int
    size: int

    def views(self, flat: Any) -> dict[str, Any]:
        """Return the segments by name, as views into the last axis of a NumPy array or a tensor (.., size)."""
        lead = flat.shape[:-1]
        return {s.name: flat[..., s.start : s.start + s.size].reshape(*lead, *s.shape) for s in self.segments}

    def pieces(self, *, positions: float, readout: float) -> list[tuple[slice, float]]:
        """Return consecutive slices of the trained entries, each with the factor of its learning rate. No slice holds
        both matrices and other entries.
        """
        position_weights = ("P",)
        # what is in neither is the read-out
        attention_weights = ("W_Q", "W_K", "b_Q", "b_K", "s_cls", "g_1", "c_1", "E", "P_cls")
        factors = dict.fromkeys(position_weights, positions) | dict.fromkeys(attention_weights, 1.0)

        def kind(s: Segment) -> tuple[bool, float]:
            return s.start < self.n_matrices, factors.get(s.name.split(".")[0], readout)

        trained = [s for s in self.segments if s.start < self.n_trained]
        runs = [(next(run).start, factor) for (_, factor), run in groupby(trained, kind)]
        ends = [start for start, _ in runs[1:]] + [self.n_trained]
        return [(slice(start, end), factor) for (start, factor), end in zip(runs, ends, strict=True)]


def _matrices(a: Architecture) -> list[Segment]:
    width, out = a.H * a.k, []
    for i in range(a.L):
        rows = {"K": a.d - MARKERS, "V": 1} if a.is_gated else dict.fromkeys("QKV", a.d)
        out += [Segment(f"W_{x}.{i}", (n, width), "linear", a.d) for x, n in rows.items()]
        out.append(Segment(f"W_C.{i}", (width, a.d), "linear", width))
        if a.mlp:
            out.append(Segment(f"W_1.{i}", (a.d, a.mlp), "linear", a.d))
            out.append(Segment(f"W_2.{i}", (a.mlp, a.d), "linear", a.mlp))
    return [*out, Segment("head", (2, a.d), "linear", a.d)]


def _vectors(a: Architecture) -> list[Segment]:
    width, out = a.H * a.k, []

    def norm(place: str) -> list[Segment]:
        pair = [Segment(f"g_{place}", (a.d,), "one"), Segment(f"c_{place}", (a.d,), "zero")]
        return pair if a.norm else []

    def bias(name: str, size: int, fan_in: int) -> Segment:
        return Segment(f"b_{name}", (size,), "linear", fan_in, is_bias=True)

    for i in range(a.L):
        if a.is_gated:  # its query is b_Q alone: entries of the order 1, whatever d is
            out += [Segment(f"b_Q.{i}", (width,), "linear", 1), Segment(f"s_cls.{i}", (a.H,), "zero")]
        else:
            out += norm(f"1.{i}")
        if a.bias:
            names = "V" if a.is_gated else "QKV"
            out += [bias(f"{x}.{i}", width, a.d) for x in names] + [bias(f"C.{i}", a.d, width)]
        if a.mlp:
            out += [*norm(f"2.{i}"), bias(f"1.{i}", a.mlp, a.d), bias(f"2.{i}", a.d, a.mlp)]
    return out + norm("f")


@cache
def layout(a: Architecture) -> Layout:
    """Return the layout of the weights of a model with this architecture."""
    bits = [] if a.is_gated else [Segment("E", (3, a.d), "embedding")]
    cls = [] if a.is_gated else [Segment("P_cls", (a.d,), "embedding")]
    positions = [*cls, Segment("P", (a.d - MARKERS if a.is_gated else a.d, a.T), "embedding")]
    trained = (bits if a.trains_encoding else []) + (positions if a.trains_positions else [])
    fixed = [s for s in bits + positions if s not in trained]
    segments, ends, at = [], [], 0
    for block in (_matrices(a), _vectors(a) + trained, fixed):
        for s in block:
            segments.append(Segment(s.name, s.shape, s.kind, s.fan_in, s.is_bias, at))
            at += -(-s.size // 16) * 16
        ends.append(at)
    return Layout(tuple(segments), *ends)
