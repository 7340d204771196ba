"""A cause of failure: the positions that a run has moved may correlate negatively with the label.

A run that has fitted its training set has moved the vectors of some positions far more than those of others. In most
runs nearly all of the moved positions have the same sign of correlation between bit and label on the training set. For
an AND, negative correlations arise only by chance. Our explanation: a head can raise its output on ones or on zeros,
and a run that raises it on zeros can only fit noise.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.types import Array, Float
from sparsehead.heads.model import Model
from sparsehead.store import Store
from sparsehead.train.data import training_set
from sparsehead.train.lean import agreement
from sparsehead.train.spec import TrainSpec, target_function

from .stage import Experiment, conjunctions, run_and_keep

MOVED = 20  # positions that are looked at: those with the longest vectors
FAILURES = {1000: 42, 3000: 52, 10_000: 61}  # by T, the m of single runs that fail about as often as not


@dataclass(frozen=True)
class FailureRun:
    """A single run near the threshold, and the positions that it moved.

    `lean`: mean correlation of the moved positions' bits with the label, on the training set. `ahead`: the number of
    positions outside the support that correlate more with the label than the support's weakest position.
    """

    T: int
    m: int
    seed: int
    solved: bool
    steps: int
    lean: float
    ahead: int


@dataclass(frozen=True)
class FailuresRecord(ResultsRecord):
    """failures.json. `planned`: the number of runs of the complete study."""

    runs: tuple[FailureRun, ...]
    planned: int

    def solved_by_sign(self) -> tuple[list[bool], list[bool]]:
        """Return whether each run was solved, for runs with positive lean and for runs with negative lean."""
        return [r.solved for r in self.runs if r.lean > 0], [r.solved for r in self.runs if r.lean <= 0]


def failures() -> Experiment:
    """Return the experiment: single runs of preset "best" near its threshold, and the positions that each run moved.
    Paper: failures-sign
    """
    specs = [
        spec
        for T, m in FAILURES.items()
        for spec in conjunctions(T=T, m=m, trials=range(48), preset="best", restarts=1)
    ]
    runner = "sparsehead_paper.studies.failures:run_and_look"
    title = "Why runs near the threshold fail"
    return Experiment("failures", title, tuple(specs), {"failures": look_at_failures}, runner)


def lean(positions: Float[Array, "T d"], by_position: Float[Array, " T"]) -> float:
    """Return the mean of `by_position` over the `MOVED` positions with the longest vectors.   Paper: failures-sign"""
    longest = np.argsort(-np.linalg.norm(positions, axis=1), kind="stable")[:MOVED]
    return float(by_position[longest].mean())


def lean_and_ahead(model: Model, spec: TrainSpec) -> dict[str, Any]:
    """Return the fields `lean` and `ahead` of `FailureRun` for one model.   Paper: failures-sign"""
    by_position, support = agreement(training_set(spec)), list(target_function(spec).support)
    ahead = (np.delete(by_position, support) > by_position[support].min()).sum()
    return {"lean": np.array([lean(model.encoding.positions(), by_position), ahead])}


run_and_look = partial(run_and_keep, lean_and_ahead, mass_every=0)


def look_at_failures(store: Store, experiment: Experiment) -> FailuresRecord:
    """Return one row for each run in the store.   Paper: failures-sign"""
    rows = []
    for record in experiment.records(store):
        seen = store.arrays(record.id).get("lean")
        if seen is not None:
            T, m, seed = (record.spec[name] for name in ("T", "m", "seed"))
            rows.append(
                FailureRun(T, m, seed, record.solved, record.outcome["steps"], float(seen[0]), int(seen[1]))
            )
    return FailuresRecord(tuple(rows), planned=len(experiment.specs))
