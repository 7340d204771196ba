"""The interface of engines, which train a model step by step."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.encoding import Encoding
from ...heads.model import Model
from ..data import FreshBatches
from ..spec import TrainSpec


@dataclass(frozen=True)
class Refusal:
    """The reason why an engine cannot train a spec. `unexpected`: whether it could on another machine."""

    reason: str
    unexpected: bool = False


@runtime_checkable
class Engine(Protocol):
    """Training in progress: one run at a time."""

    made_by: dict[str, str]  # engine, instructions (the instruction-set level), dtype, device

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches) -> None:
        """Start `spec` from its initialisation number `restart`, on a fixed sample or on fresh batches."""

    def advance(self, n_steps: int) -> list[float]:
        """Train for n_steps; the losses before each update, cut after the first that is not finite."""

    def train_accuracy(self) -> float:
        """Return the share of the training set that was classified correctly at the last step, before its update."""

    def predict(self, bits: Shaped[Array, "n T"]) -> Shaped[Array, " n"]:
        """Return predicted labels (n,) of bits (n, T)."""

    def model(self, meta: dict[str, object]) -> Model | None:
        """The weights as a `Model`; None if the learner is not an attention model, or weights are not finite."""


class StepEngine(ABC):
    """The training loop of the built-in engines: `_take` loads a sample, `_steps` trains on it."""

    _source: Sample | FreshBatches

    def _begin(self, source: Sample | FreshBatches) -> None:
        self._source = source
        if not isinstance(source, FreshBatches):
            self._take(source)

    def advance(self, n_steps: int) -> list[float]:
        """Train for n_steps; the losses before each update, cut after the first that is not finite."""
        losses: list[float] = []
        while len(losses) < n_steps and (not losses or math.isfinite(losses[-1])):
            if isinstance(self._source, FreshBatches):
                self._take(self._source())
                losses += self._steps(1)
            else:
                losses += self._steps(n_steps - len(losses))
        return losses

    @abstractmethod
    def _take(self, sample: Sample) -> None:
        """Make this the sample to train on."""

    @abstractmethod
    def _steps(self, n_steps: int) -> list[float]:
        """Train for 1 to n_steps; return the losses before each update, up to the first that is not finite."""


@runtime_checkable
class MakeEngine(Protocol):
    """Make an engine for a spec that `DescribeEngine` does not refuse."""

    def __call__(self, spec: TrainSpec, /, *, dtype: str, device: str, own: Encoding | None) -> Engine:
        """Return the engine; `own` is the encoding that the spec names, if it was given as an object."""


@runtime_checkable
class DescribeEngine(Protocol):
    """Describe an engine, or say why it cannot train a spec."""

    def __call__(self, spec: TrainSpec, /, *, dtype: str, device: str) -> dict[str, str] | Refusal:
        """Return `made_by` of the engine that would train the spec here, or the reason why it cannot."""


@dataclass(frozen=True)
class NamedEngine:
    """An engine by name; packages add engines in the entry point group `sparsehead.engines`.

    `learn --engine NAME` and `law --engine NAME` train with it; "auto" tries it after the built-in engines.
    """

    make: MakeEngine
    origin: DescribeEngine
