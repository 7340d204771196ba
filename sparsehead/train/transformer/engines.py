"""Choose the engine that trains a spec: `compiled` (C, one layer, CPU), `torch` (any shape, any device) or a plugin.

Both built-in engines use the same model, masks, initialisation and data, so their results differ only by rounding.
"""

import logging
from functools import cache

from ..._base.errors import DomainError
from ..._base.lazy import installed, require_module
from ..._base.plugins import Registry
from ...heads.encoding import Encoding
from ..footprint import transformer_bytes
from ..learners.guard import GuardedEngine
from ..learners.learner import Learner
from ..spec import LEARNERS, TrainSpec
from .engine import Engine, NamedEngine, Refusal

# To add an engine, write a file with a `NamedEngine`, and add a line here; "auto" tries them in this order.
ENGINES: Registry[NamedEngine] = Registry(
    "engine",
    {
        "compiled": "sparsehead.train.transformer.compiled:COMPILED",
        "torch": "sparsehead.train.transformer.torch_engine:TORCH",
    },
)


def make_engine(
    spec: TrainSpec, *, engine: str = "auto", dtype: str = "float32", device: str = "cpu", own: Encoding | None = None
) -> Engine:  # fmt: skip
    """Make the engine that trains the spec's learner; "auto" takes the compiled engine if it can train the spec."""
    device = check_device(device)
    made = engine_of(spec, engine, dtype, device).make(spec, dtype=dtype, device=device, own=own)
    return made if LEARNERS.is_builtin(spec.learner) else GuardedEngine(made)


def engine_of(spec: TrainSpec, engine: str, dtype: str, device: str) -> NamedEngine:
    """Return the engine that trains the spec's learner; `device` is one that `check_device` returned."""
    choose = LEARNERS[spec.learner].engine
    if choose is None:
        raise DomainError(f"the learner {spec.learner!r} has neither `fit` nor `engine`; give it one.")
    return choose(spec, engine=engine, dtype=dtype, device=device)


def require_engine(spec: TrainSpec) -> None:
    """Raise, before any trial, if the learner needs torch here and torch is not installed."""
    if LEARNERS[spec.learner].engine is not None and not installed("torch"):
        engine_of(spec, "auto", "float32", "cpu")


def choose_engine(spec: TrainSpec, /, *, engine: str, dtype: str, device: str) -> NamedEngine:
    """Return the first engine that can train the Transformer of the spec; see `learner.ChooseEngine`."""
    if engine != "auto" and engine not in ENGINES:
        raise DomainError(f"engine is one of auto, {', '.join(ENGINES)}, got {engine!r}.")
    if dtype not in ("float32", "float64"):
        raise DomainError(f"dtype is float32 or float64, got {dtype!r}.")
    refusals: list[Refusal] = []
    for name in ENGINES if engine == "auto" else (engine,):
        if name == "torch":
            require_module("torch")
        origin = ENGINES[name].origin(spec, dtype=dtype, device=device)
        if not isinstance(origin, Refusal):
            unexpected = [found.reason for found in refusals if found.unexpected]
            return _announced(ENGINES[name], unexpected) if unexpected else ENGINES[name]
        refusals.append(origin)
    raise DomainError(f"{'; '.join(found.reason for found in refusals)}; use the torch engine.")


def check_device(device: str) -> str:
    """Return the device to use: for "auto" a GPU if there is one."""
    if device not in ("cpu", "cuda", "auto"):
        raise DomainError(f"device is cpu, cuda or auto, got {device!r}.")
    if device == "cpu":
        return device
    require_module("torch")
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise DomainError("device cuda was asked for, but torch sees no GPU; use cpu or auto.")
    return "cuda" if torch.cuda.is_available() else "cpu"


def _announced(chosen: NamedEngine, reasons: list[str]) -> NamedEngine:
    """Wrap an engine so that it logs, when it is made, why a faster one is not used."""

    def make(spec: TrainSpec, /, *, dtype: str, device: str, own: Encoding | None) -> Engine:
        for reason in reasons:
            _say_once(reason)
        return chosen.make(spec, dtype=dtype, device=device, own=own)

    return NamedEngine(make, chosen.origin)


@cache
def _say_once(why: str) -> None:
    """Log the reason for the slower engine, once per process."""
    logging.getLogger("sparsehead").warning(
        "sparsehead: %s. Training runs in torch instead, 2 to 6 times slower a step.", why
    )


TRANSFORMER = Learner(engine=choose_engine, has_model=True, memory=transformer_bytes)
