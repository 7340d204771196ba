"""Slots in which runs are trained: weights, optimiser state and data of an ensemble of equal shape.

Runs are advanced one after the other, each for many steps while it is in cache, so a run's numbers cannot depend on
its companions. One-layer models take the compiled path where there is a compiler. In torch, those without dropout take
the table path; other models take the general path.
"""

import ctypes
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import DomainError
from ..model import Model
from ..rng import stream
from ..spec import TrainSpec
from ..types import Array, Float, Shaped
from . import general
from .compiled import kernel_spec, library
from .data import Fresh, Sample
from .optimiser import Adam
from .parameters import Ensemble
from .safe import Margins, step
from .weights import initial, to_model
from .workspace import Workspace

OPTIMISER = ("learning_rate", "beta_1", "beta_2", "weight_decay", "decoupled", "clip", "warmup")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Slots:
    """n_slots runs of the shape that `spec` has; data and weights come in through `load_data` and `load_weights`."""

    def __init__(self, spec: TrainSpec, n_slots: int, *, dtype: str = "float32", device: str = "cpu") -> None:
        if dtype not in DTYPES:
            raise DomainError(f"dtype is float32 or float64, got {dtype!r}.")
        self.spec, self.n_slots, self.device, self.dtype = spec, n_slots, device, DTYPES[dtype]
        a = spec.architecture
        self.weights = Ensemble.zeros(a, n_slots, dtype=self.dtype, device=device)
        self.gradient = Ensemble.zeros(a, 1, dtype=self.dtype, device=device)
        settings: dict[str, Any] = {name: getattr(spec, name) for name in OPTIMISER}
        self.optimiser = Adam(self.weights, **settings)
        self.workspace = Workspace(dtype=self.dtype, device=device)
        self.bits = torch.zeros(n_slots, spec.m, spec.T, dtype=torch.uint8, device=device)
        self.labels = torch.zeros(n_slots, spec.m, dtype=self.dtype, device=device)
        self.margins = torch.zeros(n_slots, spec.m, dtype=self.dtype, device=device)
        self.dropout_seeds = [0] * n_slots
        self.kernel = library(dtype) if spec.L == 1 and device == "cpu" else None
        self.kernel_spec = kernel_spec(a, spec.m, dropout=spec.dropout, **settings) if self.kernel else None
        self.unsafe_steps = 0

    @property
    def has_table(self) -> bool:
        """Whether training can go through the 2T + 1 tokens: one layer, no dropout."""
        return self.spec.L == 1 and self.spec.dropout == 0

    def start(self, slot: int, spec: TrainSpec, restart: int) -> None:
        """Start a run of `spec` in `slot`, from its initialisation number `restart`."""
        self.dropout_seeds[slot] = int(stream(spec.seed, "dropout", restart).integers(2**62))
        self.load_weights(slot, initial(spec, restart))

    def model(self, slot: int, meta: dict[str, object]) -> Model | None:
        """The slot's weights as they are now; None if they are not finite."""
        p = self.weights.rows(slot, slot + 1)
        return to_model(p, meta) if bool(torch.isfinite(p.flat).all()) else None

    def load_weights(self, slot: int, row: Float[Array, " n"]) -> None:
        """Put these weights into `slot` and forget what the optimiser remembers."""
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
        losses: list[float] = []
        while len(losses) < n_steps:
            if fresh is not None:
                self.load_data(slot, fresh())
            if self.kernel is not None:
                losses += self._compiled(slot, n_steps - len(losses) if fresh is None else 1)
            else:
                losses.append(self._step(slot))
            if not math.isfinite(losses[-1]):
                break
        return losses

    def _step(self, slot: int) -> float:
        """One step in torch."""
        own = slice(slot, slot + 1)
        bits = self.bits[own].to(self.dtype)
        p = self.weights.rows(slot, slot + 1)
        if self.has_table:
            loss, margins = step(p, self.gradient, bits, self.labels[own], self.workspace)
        else:
            loss, margins = general.step(
                p, self.gradient, bits, self.labels[own],
                dropout=self.spec.dropout, seed=self.dropout_seeds[slot], number=self.optimiser.count(slot),
            )  # fmt: skip
        self.margins[own] = margins
        if math.isfinite(float(loss)):
            self.optimiser.step(self.gradient, slot, slot + 1)
        return float(loss)

    def _compiled(self, slot: int, n_steps: int) -> list[float]:
        """Up to n_steps in the kernel, at least one; a step it calls unsafe is taken in torch."""
        assert self.kernel is not None
        losses = torch.zeros(n_steps, dtype=self.dtype)
        unsafe = ctypes.c_int(0)
        at = self.optimiser
        done = self.kernel.train(
            self.kernel_spec, *map(_address, (self.weights.flat[slot], self.gradient.flat, *at.moments(slot))),
            at.count(slot), self.dropout_seeds[slot],
            *map(_address, (self.bits[slot], self.labels[slot], self.margins[slot])), n_steps,
            _address(losses), unsafe, _address(self._training_scratch()),
        )  # fmt: skip
        at.advance(slot, done)
        if unsafe.value:
            self.unsafe_steps += 1
            return [*losses[:done].tolist(), self._step(slot)]
        return losses[: min(done + 1, n_steps)].tolist()

    def _training_scratch(self) -> Tensor:
        assert self.kernel is not None
        return self.workspace("kernel, training", self.kernel.training_scratch_size(self.kernel_spec))

    def _scratch(self, m: int) -> Tensor:
        assert self.kernel is not None
        return self.workspace(f"kernel {m}", self.kernel.scratch_size(self.kernel_spec, m))

    def train_accuracy(self, slot: int) -> float:
        """Share of the training set that was right at the last step, before its update."""
        return float(((self.margins[slot] > 0) == (self.labels[slot] > 0.5)).double().mean())

    @torch.no_grad()
    def predict(self, slot: int, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Predicted labels (n,) of bits (n, T) under the slot's weights as they are now."""
        given = torch.from_numpy(np.ascontiguousarray(bits)).to(self.device)
        n = len(bits)
        if self.kernel is not None:
            out = torch.empty(n, dtype=self.dtype)
            unsafe = self.kernel.margins(
                self.kernel_spec, _address(self.weights.flat[slot]), _address(given), n, _address(out),
                _address(self._scratch(n)),
            )  # fmt: skip
            if not unsafe:
                return (out > 0).numpy().astype(np.uint8)
        p, floats = self.weights.rows(slot, slot + 1), given.to(self.dtype)
        if self.spec.L == 1:
            margins = Margins(p, self.workspace)(floats[None])[0]
        else:
            size = general.chunks(self.spec.architecture, n)
            margins = torch.cat([general.margins(p, part) for part in floats.split(size)])
        return (margins > 0).cpu().numpy().astype(np.uint8)


def _address(x: Tensor) -> int:
    """Where a contiguous tensor starts."""
    assert x.is_contiguous()
    return x.data_ptr()
