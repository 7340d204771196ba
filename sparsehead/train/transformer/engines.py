"""Two engines behind one protocol: `compiled` (C, one run at a time) and `torch` (any shape, any device, R runs).

Both train the same model with the same masks, initialisation and data, so they differ by rounding alone.
"""

import logging
from functools import cache
from typing import Protocol, runtime_checkable

from ...encoding import Encoding
from ...errors import DomainError
from ...model import Model
from ...spec import TrainSpec
from ...types import Array, Shaped
from ..data import FreshBatches, Sample
from .compiled import CompiledEngine, refusal
from .library import Missing, library

ENGINES = ("auto", "compiled", "torch")
DTYPES = ("float32", "float64")


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


def check_device(device: str) -> str:
    """The device to use: "auto" means a GPU where there is one."""
    if device not in ("cpu", "cuda", "auto"):
        raise DomainError(f"device is cpu, cuda or auto, got {device!r}.")
    if device == "cpu":
        return device
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise DomainError("device cuda was asked for, but torch sees no GPU; use cpu or auto.")
    return "cuda" if torch.cuda.is_available() else "cpu"


def make_engine(
    spec: TrainSpec,
    runs: int = 1,
    *,
    engine: str = "auto",
    dtype: str = "float32",
    device: str = "cpu",
    own: Encoding | None = None,
) -> Engine:
    """The engine for `spec`; "auto" takes the compiled one wherever it can train the spec.

    Raises:
        DomainError: the engine cannot do what the spec asks for; the sentence says why and what can.
    """
    if engine not in ENGINES:
        raise DomainError(f"engine is one of {', '.join(ENGINES)}, got {engine!r}.")
    if dtype not in DTYPES:
        raise DomainError(f"dtype is float32 or float64, got {dtype!r}.")
    device = check_device(device)
    why = refusal(spec, device)
    if engine != "torch" and why is None:
        found = library(dtype)
        if not isinstance(found, Missing):
            return CompiledEngine(spec, found, dtype=dtype, own=own)
        why = f"the compiled kernel cannot be used: {found.reason}"
        if engine == "auto":
            _say_once(why)
    if engine == "compiled":
        raise DomainError(f"{why}; use the torch engine.")
    from .torch_engine import TorchEngine

    return TorchEngine(spec, runs, dtype=dtype, device=device, own=own)


@cache
def _say_once(why: str) -> None:
    """One line per process about the slow path."""
    logging.getLogger("sparsehead").warning(
        "sparsehead: %s. Training runs in torch instead, 2 to 6 times slower a step.", why
    )
