"""The weights of an ensemble: one flat buffer with a row per run, and named views into it.

A row holds first the matrices (which weight decay touches), then the other trained entries, then the fixed
ones; so the optimiser works on two contiguous pieces and knows nothing of the model. Rows and pieces start at
multiples of sixteen entries: a run's numbers then never depend on the row it was put in.

Two storage orders differ from the paper's and are undone by `export`: positions are stored as columns, (d, T),
because every product and every elementwise pass of the table path then runs along T; and entry (h, j) of a
head-indexed axis is stored at j H + h, because sums over j then add long rows.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..architecture import Architecture

ALIGN = 16


@dataclass(frozen=True)
class Segment:
    """A named block of a row: where it starts, its shape, and how it starts out."""

    name: str
    shape: tuple[int, ...]
    start: int
    init: str  # "normal" | "one" | "zero"

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """Segments of a row; [0, n_decayed) decays, [0, n_trained) is trained, [0, size) is stored."""

    segments: tuple[Segment, ...]
    n_decayed: int
    n_trained: int
    size: int


def _matrices(a: Architecture) -> list[tuple[str, tuple[int, ...], str]]:
    width = a.H * a.k
    shapes: list[tuple[str, tuple[int, ...], str]] = []
    for i in range(a.L):
        shapes += [(f"W_{x}.{i}", (a.d, width), "normal") for x in "QKV"] + [
            (f"W_C.{i}", (width, a.d), "normal")
        ]
        if a.mlp:
            shapes += [(f"W_1.{i}", (a.d, a.mlp), "normal"), (f"W_2.{i}", (a.mlp, a.d), "normal")]
    return [*shapes, ("head", (2, a.d), "normal")]


def _vectors(a: Architecture) -> list[tuple[str, tuple[int, ...], str]]:
    width = a.H * a.k
    shapes: list[tuple[str, tuple[int, ...], str]] = []
    for i in range(a.L):
        if a.norm:
            shapes += [(f"g_1.{i}", (a.d,), "one"), (f"c_1.{i}", (a.d,), "zero")]
        if a.bias:
            shapes += [(f"b_{x}.{i}", (width,), "zero") for x in "QKV"] + [(f"b_C.{i}", (a.d,), "zero")]
        if a.mlp:
            if a.norm:
                shapes += [(f"g_2.{i}", (a.d,), "one"), (f"c_2.{i}", (a.d,), "zero")]
            shapes += [(f"b_1.{i}", (a.mlp,), "zero"), (f"b_2.{i}", (a.d,), "zero")]
    if a.norm:
        shapes += [("g_f", (a.d,), "one"), ("c_f", (a.d,), "zero")]
    return shapes


def layout(a: Architecture) -> Layout:
    """Where each weight of `a` lies in a row."""
    encoding = [("E", (3, a.d), "normal"), ("P_cls", (a.d,), "normal"), ("P", (a.d, a.T), "normal")]
    segments: list[Segment] = []
    ends: list[int] = []
    at = 0
    for block in (
        _matrices(a),
        _vectors(a) + (encoding if a.trains_encoding else []),
        [] if a.trains_encoding else encoding,
    ):
        for name, shape, init in block:
            segments.append(Segment(name, shape, at, init))
            at += -(-math.prod(shape) // ALIGN) * ALIGN
        ends.append(at)
    return Layout(tuple(segments), *ends)


class Ensemble:
    """Weights of R runs, or anything shaped like them (gradients): `flat` (R, size) and a view per segment."""

    def __init__(self, a: Architecture, flat: Tensor) -> None:
        self.architecture = a
        self.layout = layout(a)
        self.flat = flat
        self.views = {
            s.name: flat[:, s.start : s.start + s.size].view(-1, *s.shape) for s in self.layout.segments
        }

    @classmethod
    def zeros(cls, a: Architecture, n_runs: int, *, dtype: torch.dtype, device: str = "cpu") -> "Ensemble":
        """R rows of zeros."""
        return cls(a, torch.zeros(n_runs, layout(a).size, dtype=dtype, device=device))

    def __getitem__(self, name: str) -> Tensor:
        return self.views[name]

    def get(self, name: str) -> Tensor | None:
        """The view called `name`, or None where the architecture has none."""
        return self.views.get(name)

    @property
    def n_runs(self) -> int:
        """Number of rows."""
        return self.flat.shape[0]

    def rows(self, start: int, stop: int) -> "Ensemble":
        """Rows start..stop-1, sharing memory."""
        return Ensemble(self.architecture, self.flat[start:stop])
