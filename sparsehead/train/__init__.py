"""Weights found by gradient descent. Names are imported when first used: specs need no torch."""

from ..lazy import names_from

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
__getattr__ = names_from(__name__, _HOME)
