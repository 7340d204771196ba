"""Two engines behind one protocol: `compiled` (C, one run at a time) and `torch` (any shape, any device, R runs).

Both train the same model with the same masks, initialisation and data, so they differ by rounding alone.
"""

import logging
from functools import cache

from ..._base.errors import DomainError
from ..._base.plugins import Registry
from ...heads.encoding import Encoding
from ..spec import TrainSpec
from .engine import Engine, NamedEngine, Refusal

# A new engine is a file with a `NamedEngine` in it, and a line here; "auto" tries them in this order.
ENGINES: Registry[NamedEngine] = Registry(
    "engine",
    {
        "compiled": "sparsehead.train.transformer.compiled:COMPILED",
        "torch": "sparsehead.train.transformer.torch_engine:TORCH",
    },
)
DTYPES = ("float32", "float64")


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
    made, _, unexpected = _choose(spec, engine, dtype, device)
    for reason in unexpected if engine == "auto" else ():
        _say_once(reason)
    return made.make(spec, runs, dtype=dtype, device=check_device(device), own=own)


def engine_origin(spec: TrainSpec, *, engine: str, dtype: str, device: str) -> dict[str, str]:
    """What the engine that `make_engine` would choose says of itself."""
    return _choose(spec, engine, dtype, device)[1]


def _choose(
    spec: TrainSpec, engine: str, dtype: str, device: str
) -> tuple[NamedEngine, dict[str, str], list[str]]:
    """The first engine that does not refuse, what it says of itself, and unexpected refusals before it."""
    if engine != "auto" and engine not in ENGINES:
        raise DomainError(f"engine is one of auto, {', '.join(ENGINES)}, got {engine!r}.")
    if dtype not in DTYPES:
        raise DomainError(f"dtype is float32 or float64, got {dtype!r}.")
    device = check_device(device)
    refusals: list[Refusal] = []
    for name in ENGINES if engine == "auto" else (engine,):
        origin = ENGINES[name].origin(spec, dtype=dtype, device=device)
        if not isinstance(origin, Refusal):
            return ENGINES[name], origin, [found.reason for found in refusals if found.unexpected]
        refusals.append(origin)
    raise DomainError(f"{'; '.join(found.reason for found in refusals)}; use the torch engine.")


@cache
def _say_once(why: str) -> None:
    """One line per process about the slow path."""
    logging.getLogger("sparsehead").warning(
        "sparsehead: %s. Training runs in torch instead, 2 to 6 times slower a step.", why
    )
