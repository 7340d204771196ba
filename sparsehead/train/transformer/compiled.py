"""The compiled engine: one layer, one run at a time, bit for bit reproducible on any machine of the same level.

One call makes many steps, so that the run stays in the processor's cache. The kernel changes weights and moments in
place, in NumPy arrays; torch is not imported. kernel/kernel.c explains a step.
"""

import ctypes
from typing import Any

import numpy as np

from ..._base.errors import DomainError
from ..._base.rng import stream
from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..architecture import SIGMAS
from ..data import FreshBatches
from ..spec import DECAYS, OPTIMISERS, TrainSpec
from .engine import NamedEngine, Refusal, StepEngine
from .layout import layout
from .library import Kernel, Missing, library
from .weights import initial, to_model


def refusal(spec: TrainSpec, device: str = "cpu") -> str | None:
    """Say why the compiled engine cannot train this spec; None if it can."""
    if device != "cpu":
        return f"the compiled engine runs on the CPU, not on {device}"
    if spec.L != 1:
        return f"the compiled engine trains one layer, got L={spec.L}"
    return None


def kernel_spec(kernel: Kernel, spec: TrainSpec) -> ctypes.Structure:
    """Describe a run to the kernel: sizes, switches, the offset of each weight, the optimiser's numbers."""
    a = spec.architecture
    at = layout(a)
    given: dict[str, Any] = {segment.name.removesuffix(".0"): segment.start for segment in at.segments}
    given |= {name: getattr(spec, name) for name in ("learning_rate", "beta_1", "beta_2", "adam_eps", "clip")}
    given |= {name: getattr(a, name) for name in ("T", "d", "H", "k", "norm", "residual", "bias", "eps")}
    given |= {
        "f": a.mlp, "m": spec.m, "bag": a.is_bag, "sigma": SIGMAS.index(a.sigma), "temperature": a.temperature,
        "gated": a.is_gated, "zero_heads": a.zero_heads,
        "trains_encoding": a.trains_encoding, "trains_positions": a.trains_positions,
        "n_decayed": (at.n_matrices, at.n_trained)[DECAYS.index(spec.decay)], "n_trained": at.n_trained,
        "optimiser": OPTIMISERS.index(spec.optimiser), "warmup": spec.warmup, "dropout": spec.dropout,
        "weight_decay": spec.weight_decay,
    }  # fmt: skip
    out = kernel.spec()
    for name, *_ in kernel.spec._fields_:
        setattr(out, name, given.get(name, -1))  # offset -1 means that the architecture lacks the weight
    return out


def compiled_origin(spec: TrainSpec, level: str, dtype: str) -> dict[str, str]:
    """Return `made_by` of the compiled engine at an instruction-set level such as x86-64-v3.

    Since version 0.3 steps with dropout are rounded differently; the engine's name is then "compiled 2".
    """
    engine = "compiled 2" if spec.dropout else "compiled"
    return {"engine": engine, "instructions": level, "dtype": dtype, "device": "cpu"}


class CompiledEngine(StepEngine):
    """One run of `spec`; see `engine.Engine`."""

    def __init__(self, spec: TrainSpec, kernel: Kernel, *, dtype: str, own: Encoding | None = None) -> None:
        why = refusal(spec)
        if why:
            raise DomainError(f"{why}; use the torch engine.")
        self.spec, self.a, self._own, self._kernel = spec, spec.architecture, own, kernel
        self._c_spec, self._c = kernel_spec(kernel, spec), kernel.functions
        pieces = layout(self.a).pieces(positions=spec.position_rate, readout=spec.readout_rate)
        self._pieces = np.array([(cut.stop, factor) for cut, factor in pieces], "l,d")
        self.dtype = np.dtype(dtype)
        at = layout(self.a)
        self.weights, self.gradient = (np.zeros(at.size, self.dtype) for _ in range(2))
        self._moments = [np.zeros(at.n_trained, self.dtype) for _ in range(2)]
        self.bits = np.zeros((spec.m, spec.T), np.uint8)
        self.labels, self.margins = (np.zeros(spec.m, self.dtype) for _ in range(2))
        self._scratch = np.empty(self._c.scratch_size(self._c_spec, 0), self.dtype)
        self._seed, self._step = 0, 0
        self.made_by = compiled_origin(spec, kernel.level, dtype)

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """Start `spec` from its initialisation number `restart`."""
        self._seed = int(stream(spec.seed, "dropout", restart).integers(2**62))
        self.load(initial(spec, restart, self._own))
        self._begin(source)

    def load(self, row: Shaped[Array, " n"]) -> None:
        """Start from these weights with a new optimiser state."""
        self.weights[:] = row
        for moment in self._moments:
            moment[:] = 0
        self._step = 0

    def _take(self, sample: Sample) -> None:
        self.bits[:], self.labels[:] = sample

    def _steps(self, n_steps: int) -> list[float]:
        losses = np.zeros(n_steps, self.dtype)
        done = self._c.train(
            self._c_spec, *map(_address, (self.weights, self.gradient, *self._moments)), self._step, self._seed,
            *map(_address, (self.bits, self.labels, self.margins)), n_steps, _address(losses), _address(self._scratch),
            _address(self._pieces),
        )  # fmt: skip
        if done < 0:
            raise MemoryError(f"a step at T={self.spec.T}, m={self.spec.m} needs more memory than there is")
        self._step += done
        return losses[: min(done + 1, n_steps)].tolist()

    def train_accuracy(self) -> float:
        """Return the share of the training set that was classified correctly at the last step, before its update."""
        return float(((self.margins > 0) == (self.labels > 0.5)).mean())

    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Return predicted labels (n,) of bits (n, T) under the present weights."""
        out = np.empty(len(bits), self.dtype)
        size = max(1, 2**24 // self.spec.T)  # bits at once
        for start in range(0, len(bits), size):
            part = np.ascontiguousarray(bits[start : start + size], np.uint8)
            need = self._c.scratch_size(self._c_spec, len(part))
            if need > len(self._scratch):
                self._scratch = np.empty(need, self.dtype)
            given = (self._c_spec, _address(self.weights), _address(part), len(part))
            if self._c.margins(*given, _address(out[start:]), _address(self._scratch)) < 0:
                raise MemoryError(f"predictions at T={self.spec.T} need more memory than there is")
        return (out > 0).astype(np.uint8)

    def model(self, meta: dict[str, object]) -> Model | None:
        """The current weights; None if they are not finite."""
        return to_model(self.a, self.weights, meta, self._own)


def _address(x: Shaped[Array, "..."]) -> int:
    """The address of a contiguous array."""
    assert x.flags.c_contiguous
    return x.ctypes.data


def origin(spec: TrainSpec, *, dtype: str, device: str) -> dict[str, str] | Refusal:
    """Return `made_by` of the engine, or the reason why it cannot train the spec here."""
    why = refusal(spec, device)
    if why is not None:
        return Refusal(why)
    found = library(dtype)
    if isinstance(found, Missing):
        return Refusal(f"the compiled kernel cannot be used: {found.reason}", unexpected=True)
    return compiled_origin(spec, found.level, dtype)


def make(spec: TrainSpec, *, dtype: str, device: str, own: Encoding | None) -> CompiledEngine:
    """Make the engine for a spec that it can train, as `origin` has found."""
    found = library(dtype)
    assert not isinstance(found, Missing)  # `origin` has refused
    return CompiledEngine(spec, found, dtype=dtype, own=own)


COMPILED = NamedEngine(make, origin)
