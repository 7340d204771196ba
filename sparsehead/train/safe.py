"""Steps and margins that are right for every size of scores: the fast form where it is safe, else a slower one.

The fast form says when it lost digits. Then the sums are taken without cancellation; and where even that leaves a
denominator near the smallest number there is, every sample gets its own softmax.
"""

import torch
from torch import Tensor

from . import plain, table
from .gradient import step as fast_step
from .parameters import Ensemble
from .readout import read
from .workspace import Workspace


def _underflows(p: Ensemble, bits: Tensor) -> bool:
    """Whether some denominator, shifted by its head's maximum, is too small to divide by."""
    scores, values, _ = plain.tables(p)
    return not bool((plain.mix(scores, values, bits)[1] > torch.finfo(p.flat.dtype).tiny ** 0.75).all())


def step(p: Ensemble, grad: Ensemble, bits: Tensor, labels: Tensor, w: Workspace) -> tuple[Tensor, Tensor]:
    """Mean losses (R,) and margins (R, m); writes the gradient of the mean losses into `grad`."""
    loss, margin, unsafe = fast_step(p, grad, bits, labels, w)
    for row in torch.nonzero(unsafe).flatten().tolist():
        one, own = p.rows(row, row + 1), slice(row, row + 1)
        by_sample = _underflows(one, bits[own])
        margin[own] = plain.add_gradient(
            one, grad.rows(row, row + 1), bits[own], labels[own], by_sample=by_sample
        )
        loss[own] = plain.losses(margin[own], labels[own]).mean(1)
    return loss, margin


class Margins:
    """Margins of any number of samples under one row's weights; the token tables are computed once."""

    def __init__(self, p: Ensemble, w: Workspace) -> None:
        self._p, self._w = p, w
        self._tables = table.tables(p, w)

    def __call__(self, bits: Tensor) -> Tensor:
        """Margins (1, n) of bits (1, n, T)."""
        p = self._p
        mixed = table.mix(self._tables, p.architecture, bits, self._w)
        if not bool(mixed.unsafe.any()):
            return read(p, mixed.values, self._tables.x_cls, self._w).margin
        by_sample = _underflows(p, bits)
        a, T = p.architecture, bits.shape[2]
        chunk = max(1, plain.GATHERED // (T * a.H))
        return torch.cat([plain.margins(p, b, by_sample=by_sample) for b in bits.split(chunk, dim=1)], dim=1)
