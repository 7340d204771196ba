"""Weights found by gradient descent. Names are imported when first used."""

from ..lazy import names_from

_HOME = {
    "Outcome": "outcome",
    "Run": "outcome",
    "learn": "learning",
    "run_trials": "loop",
}
__all__ = sorted(_HOME)
__getattr__ = names_from(__name__, _HOME)
