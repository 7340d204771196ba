"""What an engine is: it trains runs of one shape, whatever it is written in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..._base.types import Array, Shaped
from ...functions.task import Sample
from ...heads.model import Model
from ..data import FreshBatches
from ..spec import TrainSpec


@dataclass(frozen=True)
class Refusal:
    """Why an engine does not train a spec; unexpected where it could on another machine."""

    reason: str
    unexpected: bool = False


@dataclass(frozen=True)
class NamedEngine:
    """An engine by name.

    Args:
        make: (spec, runs, *, dtype, device, own) -> Engine, which advances up to `runs` trials of one shape together.
        origin: (spec, *, dtype, device) -> what the engine says of itself in `made_by`, or why it refuses.
    """

    make: Callable[..., "Engine"]
    origin: Callable[..., dict[str, str] | Refusal]


@runtime_checkable
class Engine(Protocol):
    """What a trial needs of an engine; `run` counts the runs that it advances together, from 0."""

    runs: int
    made_by: dict[str, str]  # engine, instructions (the level), dtype, device

    def start(self, spec: TrainSpec, restart: int, source: Sample | FreshBatches, run: int = 0) -> None:
        """Start `spec` from its initialisation number `restart`, on a fixed sample or on fresh ones."""

    def stop(self, run: int) -> None:
        """Let a run rest."""

    def advance(self, n_steps: int) -> list[list[float]]:
        """For each run the losses of n_steps, before each update, cut after the first that is not finite."""

    def train_accuracy(self, run: int = 0) -> float:
        """Share of the training set that was right at the last step, before its update."""

    def predict(self, bits: Shaped[Array, "n T"], run: int = 0) -> Shaped[Array, " n"]:
        """Predicted labels (n,) of bits (n, T)."""

    def model(self, meta: dict[str, object], run: int = 0) -> Model | None:
        """The weights as a `Model`; None where there is none, or it is not finite."""
