"""Many trials: units of one shape, workers here or elsewhere, a store that remembers.

units       specs grouped by shape, in units as long as measured
progress    how far a sweep is
dispatch    what goes out, what comes in, what is given up
worker      what runs inside a worker process
local       worker processes on this machine
cluster     a Dask cluster, by its address
dask_crew   its workers
tls         certificates and a folder of its own for a cluster on this machine
remote      what runs inside a Dask worker
shards      a sweep in n parts, for array jobs
stored      what a store holds of a sweep, without running any
"""

from .dispatch import Sweep as Sweep
from .local import LocalSweep as LocalSweep
from .progress import Progress as Progress
from .progress import SweepResult as SweepResult
from .stored import StoredSweep as StoredSweep
