"""Weights found by gradient descent. Names are imported when first used: specs need no torch."""

from importlib import import_module
from typing import Any

_HOME = {
    "Architecture": "architecture",
    "Outcome": "outcome",
    "Run": "outcome",
    "TrainSpec": "spec",
    "learn": "learning",
    "preset": "spec",
    "run_trials": "loop",
    "spec_id": "spec",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
