"""Weights found by gradient descent: a TrainSpec comes in, an Outcome and a Model go out.

Read in this order:

data                 training sets, fresh batches, the holdout
learners, transformer   what is trained: one folder of learners for comparison, one for the Transformer
origin               what an engine says of itself
trial                one trial in progress: restarts, checks, verdict
outcome              what came of it
loop, learning       many trials (`run_trials`); one (the public `learn`)
footprint, threads   the memory a trial takes; the threads a process uses
"""

from ..lazy import names_from

_HOME = {
    "Outcome": "outcome",
    "Run": "outcome",
    "learn": "learning",
    "run_trials": "loop",
}
__all__ = sorted(_HOME)
__getattr__ = names_from(__name__, _HOME)
