"""Slots in which runs are trained: weights, optimiser state and data of an ensemble of equal shape.

On a processor runs are advanced one after the other, each for many steps while it is in cache; a run's numbers thus
cannot depend on its companions. On a GPU all slots step together in batched products.
"""

import math

import numpy as np
import torch
from torch import Tensor

from ..types import Array, Float, Shaped
from .data import Fresh, Sample
from .optimiser import Adam
from .parameters import ALIGN, Ensemble
from .safe import Margins, step
from .spec import TrainSpec
from .workspace import Workspace

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Slots:
    """n_slots runs of the shape that `spec` has; data and weights come in through `load`."""

    def __init__(self, spec: TrainSpec, n_slots: int, *, dtype: str = "float32", device: str = "cpu") -> None:
        self.spec, self.device, self.dtype = spec, device, DTYPES[dtype]
        a = spec.architecture
        self.weights = Ensemble.zeros(a, n_slots, dtype=self.dtype, device=device)
        self.gradient = Ensemble.zeros(a, 1, dtype=self.dtype, device=device)
        self.optimiser = Adam(
            self.weights,
            learning_rate=spec.learning_rate,
            beta_1=spec.beta_1,
            beta_2=spec.beta_2,
            weight_decay=spec.weight_decay,
            decoupled=spec.decoupled,
            clip=spec.clip,
            warmup=spec.warmup,
        )
        self.workspace = Workspace(dtype=self.dtype, device=device)
        room = -(-spec.m * spec.T // ALIGN) * ALIGN  # a slot's bits start where a cache line does
        self._bits = torch.zeros(n_slots, room, dtype=self.dtype, device=device)
        self.bits = self._bits[:, : spec.m * spec.T].view(n_slots, spec.m, spec.T)
        self.labels = torch.zeros(n_slots, spec.m, dtype=self.dtype, device=device)
        self.margins = torch.zeros(n_slots, spec.m, dtype=self.dtype, device=device)

    def load_weights(self, slot: int, row: Float[Array, " n"]) -> None:
        """Start a run in `slot` from these weights."""
        self.weights.flat[slot] = torch.from_numpy(row).to(self.dtype)
        self.optimiser.reset(slot)

    def load_data(self, slot: int, sample: Sample) -> None:
        """Give `slot` its samples: bits (m, T) and labels (m,)."""
        bits, labels = sample
        self.bits[slot] = torch.from_numpy(bits)
        self.labels[slot] = torch.from_numpy(labels)

    @torch.no_grad()
    def advance(self, slot: int, n_steps: int, fresh: Fresh | None = None) -> list[float]:
        """Train `slot` for n_steps; the losses before each update, cut after the first that is not finite."""
        p, own = self.weights.rows(slot, slot + 1), slice(slot, slot + 1)
        losses: list[float] = []
        for _ in range(n_steps):
            if fresh is not None:
                self.load_data(slot, fresh())
            loss, self.margins[own] = self._step(p, own)
            losses.append(float(loss))
            if not math.isfinite(losses[-1]):
                break
            self.optimiser.step(self.gradient, slot, slot + 1)
        return losses

    def _step(self, p: Ensemble, own: slice) -> tuple[Tensor, Tensor]:
        return step(p, self.gradient, self.bits[own], self.labels[own], self.workspace)

    def train_accuracy(self, slot: int) -> float:
        """Share of the training set that was right at the last step, before its update."""
        return float(((self.margins[slot] > 0) == (self.labels[slot] > 0.5)).double().mean())

    def predictor(self, slot: int) -> "Predictor":
        """Predictions under the slot's weights as they are now."""
        return Predictor(self, slot)


class Predictor:
    """bits (n, T) -> predicted labels, with the token tables computed once."""

    @torch.no_grad()
    def __init__(self, slots: Slots, slot: int) -> None:
        self._slots = slots
        self._margins = Margins(slots.weights.rows(slot, slot + 1), slots.workspace)

    @torch.no_grad()
    def __call__(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        given = torch.from_numpy(bits).to(self._slots.device, self._slots.dtype)[None]
        return (self._margins(given)[0] > 0).cpu().numpy().astype(np.uint8)
