"""One call of an attention layer, and its heads recomputed from the extracted weights.

The formula is that of `capacity.architecture`, with the activation sigma of this library's own models:
output_i = sigma(mixed_i) W_O. The layer's output is the sum over heads plus b_O. All numbers are float32.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..heads.block import Layer
from ..heads.torch_activations import TORCH_ACTIVATIONS

Turn = Callable[[Tensor], Tensor]  # queries or keys of one head, (T, k) -> the same, normalised or rotated


@dataclass(frozen=True, eq=False, repr=False)
class LayerWeights:
    """Weights of one attention layer, one matrix per head, acting on rows from the right.

    With grouped queries the heads of a group have equal W_K and W_V. positions, cap, query_norm, key_norm: as in
    `Architecture`. outside: why the layer is outside the class of the bound.
    """

    W_Q: Tensor  # (H, d, k)
    W_K: Tensor
    W_V: Tensor  # (H, d, v)
    W_O: Tensor  # (H, v, d)
    b_Q: Tensor | None = None  # (H, k)
    b_K: Tensor | None = None
    b_V: Tensor | None = None
    b_O: Tensor | None = None  # (d,)
    scale: float = 1.0
    positions: str = "absolute"
    sigma: str = "identity"
    outside: tuple[str, ...] = ()
    cap: float | None = None
    query_norm: Turn | None = None
    key_norm: Turn | None = None

    @property
    def H(self) -> int:
        return int(self.W_Q.shape[0])

    @property
    def d(self) -> int:
        return int(self.W_Q.shape[1])

    def as_layer(self) -> Layer:
        """Return the weights as a float64 `Layer`, for norms and bounds."""
        tensors = (self.W_Q, self.W_K, self.W_V, self.W_O, self.b_Q, self.b_K, self.b_V, self.b_O)
        arrays: list[Any] = [None if x is None else x.double().numpy() for x in tensors]
        return Layer(*[*arrays, 1 / self.scale, self.sigma])


@dataclass(frozen=True, eq=False)
class Call:
    """One call of an attention layer on one sequence: its input, mask and position terms.

    The model itself computed `mixed`, (T, H v), mixed values of all heads side by side, and `output`, (T, d), of the
    layer; they are None if not observed. `disagreement` compares them with the recomputed values.
    """

    layer: int
    X: Tensor  # (T, d)
    weights: LayerWeights
    mask: Tensor | None = None  # additive, (T, T) or (H, T, T)
    rotate: Turn | None = None
    mixed: Tensor | None = None
    output: Tensor | None = None

    @property
    def T(self) -> int:
        return int(self.X.shape[0])

    def keys(self, h: int) -> Tensor:
        return self._turned(_affine(self.X, self.weights.W_K, self.weights.b_K, h), self.weights.key_norm)

    def queries(self, h: int) -> Tensor:
        return self._turned(_affine(self.X, self.weights.W_Q, self.weights.b_Q, h), self.weights.query_norm)

    def values(self, h: int) -> Tensor:
        return _affine(self.X, self.weights.W_V, self.weights.b_V, h)

    def scores(self, h: int, rows: Tensor, keys: Tensor | None = None) -> Tensor:
        """Return the scores of the query rows for the call's keys, or for `keys`; -inf where the mask forbids one."""
        found = self.queries(h)[rows] @ (self.keys(h) if keys is None else keys).T * self.weights.scale
        if (cap := self.weights.cap) is not None:
            found = cap * torch.tanh(found / cap)
        if self.mask is None:
            return found
        added = (self.mask if self.mask.dim() == 2 else self.mask[h])[rows]
        return (found + added).masked_fill(~self.allowed(h, rows), -torch.inf)

    def allowed(self, h: int, rows: Tensor) -> Tensor:
        """Return a mask (rows, T) of the positions that each query row may attend to."""
        if self.mask is None:
            return torch.ones(len(rows), self.T, dtype=torch.bool)
        # transformers writes the smallest float where a position may not be attended
        return (self.mask if self.mask.dim() == 2 else self.mask[h])[rows] >= -1e30

    def attention(self, h: int, rows: Tensor) -> Tensor:
        """Return the attention weights of the query rows, (rows, T)."""
        return torch.softmax(self.scores(h, rows), dim=-1)

    def mix(self, h: int) -> Tensor:
        """Return the mixed values of head h at every position, (T, v)."""
        return torch.cat([self.attention(h, rows) @ self.values(h) for rows in row_blocks(self.T)])

    def head_output(self, h: int) -> Tensor:
        """Return the term that head h adds to the residual stream at every position, (T, d)."""
        return TORCH_ACTIVATIONS[self.weights.sigma](self.mix(h)) @ self.weights.W_O[h]

    def disagreement(self) -> float:
        """Return the largest difference between recomputed and observed values, relative to the largest observed."""
        heads, b_O = range(self.weights.H), self.weights.b_O
        if self.mixed is not None:
            ours, theirs = torch.cat([self.mix(h) for h in heads], dim=1), self.mixed
        elif self.output is not None:
            ours = torch.stack([self.head_output(h) for h in heads]).sum(dim=0)
            ours, theirs = ours if b_O is None else ours + b_O, self.output
        else:
            return 0.0
        return float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30))

    def _turned(self, x: Tensor, norm: Turn | None) -> Tensor:
        normed = x if norm is None else norm(x).detach()
        return normed if self.rotate is None else self.rotate(normed)


def rotate_by_tables(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair (x_i, x_{i + r/2}) by the angle of its frequency and position; cos, sin: (T, r).

    A table narrower than x leaves the numbers from the r-th on as they are.
    """
    turned, rest = x[..., : cos.shape[-1]], x[..., cos.shape[-1] :]
    first, second = turned.chunk(2, dim=-1)
    turned = turned * cos + torch.cat([-second, first], dim=-1) * sin
    return torch.cat([turned, rest], dim=-1) if rest.shape[-1] else turned


def _affine(X: Tensor, W: Tensor, b: Tensor | None, h: int) -> Tensor:
    return X @ W[h] if b is None else X @ W[h] + b[h]


def row_blocks(T: int, rows: Tensor | None = None) -> Iterator[Tensor]:
    """Yield the query rows (by default all T) in blocks of 512, to limit memory: 512 x 2048 weights are 4 MB."""
    yield from (torch.arange(T) if rows is None else rows).split(512)
