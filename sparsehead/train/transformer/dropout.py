"""Dropout masks as a function of where they fall, drawn without a generator: every engine and device draws the same.

Element `i` of row `row` of sample `n` is dropped, at one place of the network and one step of a run, if sixteen bits of

    scramble(k_0 + k_1 (row * half + i mod half)),        half = ceil(width / 2),

lie below p 2^16: the lower sixteen for i < half, the upper ones beyond. The keys (k_0, k_1 odd) of a sample come from
the run's seed, the step, the place and n. `scramble` is Wellons' lowbias32, the keys are made by the finaliser of
splitmix64 (Steele, Lea and Flood 2014). `kernel/dropout.h` is the same in C.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..._base.types import Array, Shaped

EMBEDDING = 0  # places; each layer has three more
PLACES_PER_LAYER = 3
ATTENTION, ATTENTION_OUTPUT, MLP_OUTPUT = 1, 2, 3
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _scramble_64(x: Shaped[Array, " n"]) -> Shaped[Array, " n"]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(seed: int, step: int, place: int, samples: range) -> tuple[Shaped[Array, " n"], Shaped[Array, " n"]]:
    """k_0 and k_1 of these samples, as int32 with the bits of the uint32 that are meant."""
    seeds, steps = np.array([seed], dtype=np.uint64), np.array([step], dtype=np.uint64)  # arrays wrap around
    number = np.arange(samples.start, samples.stop, dtype=np.uint64) + np.uint64(place << 32)
    key = _scramble_64(_scramble_64(seeds + steps * _GOLDEN) + number * _GOLDEN)
    high = (key >> np.uint64(32)) | np.uint64(1)
    return key.astype(np.uint32).view(np.int32), high.astype(np.uint32).view(np.int32)


def threshold(p: float) -> int:
    """Of 2^16 values, those below this drop: p is met to 2^-17."""
    return round(p * 2**16)


@dataclass(frozen=True)
class Dropout:
    """The masks of one step.

    Args:
        p: share that is dropped; what is kept is divided by 1 - p. 0 draws nothing.
        samples: the numbers of the samples at hand, so that a chunk draws what the whole would.
    Paper: law-dropout
    """

    p: float = 0.0
    seed: int = 0
    step: int = 0
    samples: range = range(0)

    def kept(self, place: int, rows: int, width: int, device: str | torch.device = "cpu") -> Tensor:
        """Whether each element (n, rows, width) is kept."""
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
        """x (n, .., width) with its dropped elements zero and the others divided by 1 - p."""
        if self.p == 0:
            return x
        kept = self.kept(place, x[0, ..., 0].numel(), x.shape[-1], x.device)
        return x * kept.view(x.shape) / (1 - self.p)
