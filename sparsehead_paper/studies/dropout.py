"""Single runs with and without dropout, on the same data.   Paper: dropout-cost"""

from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.store import Store

from .stage import Experiment, conjunctions


@dataclass(frozen=True)
class DropoutRun:
    """One run with dropout rate `dropout`; runs of equal seed have equal data."""

    dropout: float
    seed: int
    solved: bool
    steps: int


@dataclass(frozen=True)
class DropoutRecord(ResultsRecord):
    """dropout.json: single runs with and without dropout, on the same data."""

    T: int
    m: int
    runs: tuple[DropoutRun, ...]


def dropout() -> Experiment:
    """Return our experiment: single runs of preset "mingpt" with and without dropout, on the same data. Paper:
    dropout-cost

    At T = 1000 the paper needs m = 111 for best-of-five success in 80 % of trials; preset "fast" needs fewer.
    """
    specs = [
        spec
        for i in range(24)
        for name in ("mingpt", "fast")
        for spec in conjunctions(T=1000, m=80, trials=[i], preset=name, restarts=1, stall=0)
    ]
    title = "Runs with and without dropout at T = 1000, m = 80"
    return Experiment("dropout", title, tuple(specs), {"dropout": collect_dropout})


def collect_dropout(store: Store, experiment: Experiment) -> DropoutRecord:
    """Collect the runs with and without dropout.   Paper: dropout-cost"""
    runs = [
        DropoutRun(record.spec["dropout"], record.spec["seed"], record.solved, record.outcome["steps"])
        for record in experiment.records(store)
    ]
    return DropoutRecord(experiment.specs[0].T, experiment.specs[0].m, tuple(runs))
