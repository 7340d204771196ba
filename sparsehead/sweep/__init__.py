"""Many trials: units of one shape, worker processes, a store that remembers.

units       specs grouped by shape
local       worker processes on this machine
worker      what runs inside one
"""

from .local import LocalSweep, Progress, SweepResult, run_sweep

__all__ = ["LocalSweep", "Progress", "SweepResult", "run_sweep"]
