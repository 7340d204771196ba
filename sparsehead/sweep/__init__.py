"""Run many trials in worker processes, on this machine or a cluster, and keep their outcomes in a store.

A trial trains one learner once; its `TrainSpec` holds T (context length), m (training samples) and the seed.

units       group specs into units of work by the time that trials take
progress    the progress and the result of a sweep
dispatch    `Sweep`: give units to workers, collect outcomes, handle lost workers
worker      the program of a worker process
local       worker processes on this machine
cluster     sweeps on a Dask cluster, by its address
dask_pool   the workers of a Dask cluster
tls         a certificate and a private folder for a cluster on this machine
remote      the functions that a Dask worker runs
shards      a sweep in n parts, for array jobs
stored      the records that a store has of a sweep, without running any trial
"""

from .dispatch import Sweep as Sweep
from .local import LocalSweep as LocalSweep
from .progress import Progress as Progress
from .progress import SweepResult as SweepResult
from .stored import StoredSweep as StoredSweep
