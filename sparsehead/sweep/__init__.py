"""Many trials: units of one shape, worker processes, a store that remembers.

units       specs grouped by shape
worker      what runs inside a worker process
local       worker processes on this machine
shards      a sweep in n parts, for array jobs
stored      what a store holds of a sweep, without running any
thresholds  rounds of trials until every threshold is known
"""

from .local import LocalSweep, Progress, SweepResult, run_sweep
from .stored import StoredSweep
from .thresholds import RoundProgress, adaptive_cells, cells_of, each_alone, grid_cells

__all__ = [
    "LocalSweep",
    "Progress",
    "RoundProgress",
    "StoredSweep",
    "SweepResult",
    "adaptive_cells",
    "cells_of",
    "each_alone",
    "grid_cells",
    "run_sweep",
]
