"""What depends on a head: the model's output without it.

A head is taken out by setting its mixed values to zero before the output projection. After the projection the heads are
summed, and there is nothing left that could be zeroed for one of them.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .inputs import Inputs
from .load import Source
from .running import run


def without_head(layer: int, h: int, width: int) -> Callable[[int, Tensor], Tensor]:
    """A change for `running.run` that zeroes head h of one layer; width is that of its values."""

    def change(at: int, mixed: Tensor) -> Tensor:
        if at != layer:
            return mixed
        cut = mixed.clone()
        cut[:, h * width : (h + 1) * width] = 0
        return cut

    return change


def ablation(
    source: Source, inputs: Inputs, *, count: int, progress: Callable[[int, int], None] | None = None
) -> list[list[float]]:
    """For every head ||output without it - output|| / ||output - its mean over positions||, over `count` sequences.

    The output is the last layer's hidden states. One pass per head and sequence, and one for the sequence itself.
    """
    sequences = inputs.sequences[:count]
    before = [run(source, sequence) for sequence in sequences]
    variation = sum(float((y - y.mean(dim=0)).square().sum()) for y in before)
    total = sum(w.H for w in source.weights)
    found: list[list[float]] = []
    for layer, weights in enumerate(source.weights):
        found.append([])
        for h in range(weights.H):
            change = without_head(layer, h, int(weights.W_V.shape[2]))
            moved = sum(
                float((run(source, sequence, change=change) - y).square().sum())
                for sequence, y in zip(sequences, before, strict=True)
            )
            found[-1].append(float(torch.tensor(moved / max(variation, 1e-300)).sqrt()))
            if progress is not None:
                progress(sum(map(len, found)), total)
    return found
