"""One call of an attention layer, and its heads recomputed from the extracted weights.

For a layer input X (T, d), a query row i and a head with weights W_Q, W_K, W_V, W_O,

    score_ij = <R_i(x_i W_Q + b_Q), R_j(x_j W_K + b_K)> scale + bias_ij,    a_i = softmax over the allowed j,
    mixed_i  = sum_j a_ij (x_j W_V + b_V),                                  output_i = sigma(mixed_i) W_O,

with R_i the rotary rotation of position i (the identity elsewhere) and bias_ij a relative position bias plus minus
infinity where the mask forbids j. The layer's output is the sum over heads plus b_O. float32, as the models are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..heads.block import Layer
from ..heads.torch_activations import TORCH_ACTIVATIONS

ROWS = 512  # query rows held at once: 512 x 2048 weights are 4 MB
FORBIDDEN = -1e30  # transformers writes the smallest float where a position may not be attended


@dataclass(frozen=True, eq=False)
class LayerWeights:
    """Weights of one attention layer, one matrix per head, acting on rows from the right.

    With grouped queries the heads of a group have equal W_K and W_V. positions says how the layer knows where tokens
    stand: "absolute" (only by its input), "rotary" or "relative bias".
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
        """The same weights as the library's own `Layer`, so that `norms` and `bound` measure them; float64."""

        def array(value: Tensor) -> np.ndarray:
            return value.double().numpy()

        biases = (self.b_Q, self.b_K, self.b_V, self.b_O)
        b_Q, b_K, b_V, b_C = (None if b is None else array(b) for b in biases)
        W_Q, W_K, W_V, W_C = (array(W) for W in (self.W_Q, self.W_K, self.W_V, self.W_O))
        return Layer(W_Q, W_K, W_V, W_C, b_Q, b_K, b_V, b_C, temperature=1 / self.scale, sigma=self.sigma)

    def head(self, h: int) -> "LayerWeights":
        """Head h alone; the bias b_O belongs to no head and is left out."""
        one = slice(h, h + 1)
        b_Q, b_K, b_V = (None if b is None else b[one] for b in (self.b_Q, self.b_K, self.b_V))
        matrices = (self.W_Q[one], self.W_K[one], self.W_V[one], self.W_O[one])
        return LayerWeights(*matrices, b_Q, b_K, b_V, None, self.scale, self.positions, self.sigma)


@dataclass(frozen=True, eq=False)
class Call:
    """One layer on one sequence: what came in, and how positions are compared.

    mixed and output are what the model itself made of it, where it was seen: the heads' mixed values side by side,
    (T, H v), before the output projection, or the layer's output (T, d). `disagreement` compares them with ours.
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

    def scores(self, h: int, rows: Tensor) -> Tensor:
        """Scores of the query rows against all positions; minus infinity where the mask forbids one."""
        found = self.queries(h)[rows] @ self.keys(h).T * self.weights.scale
        if self.mask is None:
            return found
        added = (self.mask if self.mask.dim() == 2 else self.mask[h])[rows]
        return (found + added).masked_fill(added < FORBIDDEN, -torch.inf)

    def attention(self, h: int, rows: Tensor) -> Tensor:
        """Weights of the query rows, (rows, T)."""
        return torch.softmax(self.scores(h, rows), dim=-1)

    def head_output(self, h: int) -> Tensor:
        """What head h adds to the residual stream at every position, (T, d)."""
        mixed = torch.cat([self.attention(h, rows) @ self.values(h) for rows in row_blocks(self.T)])
        return TORCH_ACTIVATIONS[self.weights.sigma](mixed) @ self.weights.W_O[h]

    def disagreement(self) -> float:
        """Largest difference between the recomputed layer and the model's own, relative to its largest entry."""
        weights = self.weights
        if self.mixed is not None:
            blocks = [
                torch.cat([self.attention(h, rows) @ self.values(h) for rows in row_blocks(self.T)])
                for h in range(weights.H)
            ]
            ours, own = torch.cat(blocks, dim=1), self.mixed
        elif self.output is not None:
            ours = torch.stack([self.head_output(h) for h in range(weights.H)]).sum(dim=0)
            ours, own = ours if weights.b_O is None else ours + weights.b_O, self.output
        else:
            return 0.0
        return float((ours - own).abs().max() / own.abs().max().clamp_min(1e-30))

    def _rotated(self, x: Tensor) -> Tensor:
        """Rotary positions: the pair (x_i, x_{i + k/2}) turned by the angle of its frequency and position."""
        if self.rotary is None:
            return x
        cos, sin = self.rotary
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin


def _affine(X: Tensor, W: Tensor, b: Tensor | None, h: int) -> Tensor:
    return X @ W[h] if b is None else X @ W[h] + b[h]


def row_blocks(T: int, rows: Tensor | None = None) -> Iterator[Tensor]:
    """The query rows, all T of them unless some are named, ROWS at a time."""
    yield from (torch.arange(T) if rows is None else rows).split(ROWS)
