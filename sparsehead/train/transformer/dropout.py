"""Dropout masks computed by a hash of the position, so that every engine and device draws the same masks.

Element `i` of row `row` of sample `n` is dropped, at one place of the network and one step of a run, if sixteen bits of

    scramble(k_0 + k_1 (row * half + i mod half)),        half = ceil(width / 2),

are below p 2^16: the lower sixteen for i < half, the upper sixteen else. The keys k_0 and k_1 (odd) of a sample come
from the run's seed, the step, the place and n, by the finaliser of splitmix64 (Steele, Lea and Flood 2014). `scramble`
is Wellons' lowbias32. `kernel/dropout.h` is the same in C.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

from ..._base.types import Array, Shaped


class Place(IntEnum):
    """The places of a network that drop elements: the embedding, and three in each layer."""

    EMBEDDING = 0
    ATTENTION = 1
    ATTENTION_OUTPUT = 2
    MLP_OUTPUT = 3

    def of_layer(self, i: int) -> int:
        """Return the number of this place in layer i."""
        return self + 3 * i


def _scramble_64(x: Shaped[Array, " n"]) -> Shaped[Array, " n"]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(seed: int, step: int, place: int, samples: range) -> tuple[Shaped[Array, " n"], Shaped[Array, " n"]]:
    """Return k_0 and k_1 of these samples: uint32 numbers, stored as int32 with the same bits."""
    seeds, steps = np.array([seed], dtype=np.uint64), np.array([step], dtype=np.uint64)  # arrays wrap around
    number = np.arange(samples.start, samples.stop, dtype=np.uint64) + np.uint64(place << 32)
    golden = np.uint64(0x9E3779B97F4A7C15)
    key = _scramble_64(_scramble_64(seeds + steps * golden) + number * golden)
    high = (key >> np.uint64(32)) | np.uint64(1)
    return key.astype(np.uint32).view(np.int32), high.astype(np.uint32).view(np.int32)


def threshold(p: float) -> int:
    """Return the threshold below which a 16-bit value drops its element; this approximates p to 2^-17."""
    return round(p * 2**16)


@dataclass(frozen=True)
class Dropout:
    """The masks of one step.

    Args:
        p: share of dropped elements; kept ones are divided by 1 - p. With p = 0 no mask is drawn.
        samples: the numbers of the samples in this chunk, so that chunks get the same masks as the whole set.
    Paper: law-dropout
    """

    p: float = 0.0
    seed: int = 0
    step: int = 0
    samples: range = range(0)

    def kept(self, place: int, rows: int, width: int, device: str | torch.device = "cpu") -> Tensor:
        """Return whether each element (n, rows, width) is kept."""
        pair = keys(self.seed, self.step, place, self.samples)
        first, odd = (torch.from_numpy(key)[..., None].to(device) for key in pair)
        half = (width + 1) // 2
        x = torch.arange(rows * half, dtype=torch.int32, device=device) * odd + first  # int32 wraps around
        x ^= (x >> 16) & 0xFFFF
        x *= 0x7FEB352D
        x ^= (x >> 15) & 0x1FFFF
        x *= 0x846CA68B - 2**32
        x ^= (x >> 16) & 0xFFFF
        x = x.unflatten(-1, (rows, half))
        least = threshold(self.p)
        return torch.cat([(x & 0xFFFF) >= least, ((x >> 16) & 0xFFFF) >= least], dim=-1)[..., :width]

    def __call__(self, x: Tensor, place: int) -> Tensor:
        """Return x (n, .., width) with dropped elements set to zero and the others divided by 1 - p."""
        if self.p == 0:
            return x
        kept = self.kept(place, x[0, ..., 0].numel(), x.shape[-1], x.device)
        return x * kept.view(x.shape) / (1 - self.p)
