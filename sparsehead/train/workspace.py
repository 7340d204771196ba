"""Scratch memory that a step writes into again and again, so that it stays in the processor's cache."""

import torch
from torch import Tensor


class Workspace:
    """Buffers by name. A request with another shape replaces the buffer; new ones start as zeros."""

    def __init__(self, *, dtype: torch.dtype, device: str = "cpu") -> None:
        self.dtype, self.device = dtype, device
        self._buffers: dict[str, Tensor] = {}

    def __call__(self, name: str, *shape: int) -> Tensor:
        buffer = self._buffers.get(name)
        if buffer is None or buffer.shape != shape:
            buffer = self._buffers[name] = torch.zeros(shape, dtype=self.dtype, device=self.device)
        return buffer
