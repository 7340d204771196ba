"""One call of an attention layer, and its heads recomputed from the extracted weights.

For a layer input X (T, d), a query row i and a head with weights W_Q, W_K, W_V, W_O,

    score_ij = <R_i(x_i W_Q + b_Q), R_j(x_j W_K + b_K)> scale + bias_ij,    a_i = softmax over the allowed j,
    mixed_i  = sum_j a_ij (x_j W_V + b_V),                                  output_i = sigma(mixed_i) W_O,

with R_i the rotary rotation of position i (the identity elsewhere) and bias_ij a relative position bias plus minus
infinity where the mask forbids j. The layer's output is the sum over heads plus b_O. float32, as the models are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..heads.block import Layer
from ..heads.torch_activations import TORCH_ACTIVATIONS


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """Weights of one attention layer, one matrix per head, acting on rows from the right.

    With grouped queries the heads of a group have equal W_K and W_V. positions: how the layer encodes positions:
    "absolute" (only in its input), "rotary" or "relative bias".
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

    mixed, output: values that the model itself computed, None if not observed: the heads' mixed values side by side,
    (T, H v), before the output projection; the layer's output (T, d). `disagreement` compares them with the recomputed.
    """

    layer: int
    X: Tensor  # (T, d)
    weights: LayerWeights
    mask: Tensor | None = None  # additive, (T, T) or (H, T, T)
    rotary: tuple[Tensor, Tensor] | None = None  # cosines and sines, (T, k)
    mixed: Tensor | None = None
    output: Tensor | None = None

    @property
    def T(self) -> int:
        return int(self.X.shape[0])

    def keys(self, h: int) -> Tensor:
        return self._rotated(_affine(self.X, self.weights.W_K, self.weights.b_K, h))

    def queries(self, h: int) -> Tensor:
        return self._rotated(_affine(self.X, self.weights.W_Q, self.weights.b_Q, h))

    def values(self, h: int) -> Tensor:
        return _affine(self.X, self.weights.W_V, self.weights.b_V, h)

    def scores(self, h: int, rows: Tensor, keys: Tensor | None = None) -> Tensor:
        """Return the scores of the query rows for the call's keys, or for `keys`; -inf where the mask forbids one."""
        found = self.queries(h)[rows] @ (self.keys(h) if keys is None else keys).T * self.weights.scale
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

    def _rotated(self, x: Tensor) -> Tensor:
        """Apply rotary positions: rotate each pair (x_i, x_{i + k/2}) by the angle of its frequency and position."""
        if self.rotary is None:
            return x
        cos, sin = self.rotary
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin


def _affine(X: Tensor, W: Tensor, b: Tensor | None, h: int) -> Tensor:
    return X @ W[h] if b is None else X @ W[h] + b[h]


def row_blocks(T: int, rows: Tensor | None = None) -> Iterator[Tensor]:
    """Yield the query rows (by default all T) in blocks of 512, to limit memory: 512 x 2048 weights are 4 MB."""
    yield from (torch.arange(T) if rows is None else rows).split(512)
