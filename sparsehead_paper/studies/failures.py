"""Why runs fail: whether the positions that a run has moved agree with the label or disagree with it.

When a run has fitted its training set it has moved some positions far more than the others. In most runs nearly all of
them agree with the label there, or nearly all disagree. An AND has no position that disagrees but by chance. How we
read it: a head can raise its output on ones or on zeros, and a run that took the wrong sign can only fit noise.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsehead._base.types import Array, Float
from sparsehead.functions.task import Sample
from sparsehead.store import Store
from sparsehead.train.data import training_set
from sparsehead.train.learn import learn_spec
from sparsehead.train.outcome import TrialProgress
from sparsehead.train.spec import TrainSpec, target_function

from .collect import known_records
from .plans import Experiment
from .study_records import FailureRun, FailuresRecord

MOVED = 20  # positions that are looked at: those with the longest vectors


def agreement(sample: Sample) -> Float[Array, " T"]:
    """The correlation of each position's bit with the label; 0 where a bit is constant.   Paper: failures-sign"""
    bits, labels = (np.asarray(x, dtype=np.float64) for x in sample)
    b, y = bits - bits.mean(axis=0), labels - labels.mean()
    scale = np.sqrt((b**2).sum(axis=0) * (y**2).sum())
    return np.divide(y @ b, scale, out=np.zeros_like(scale), where=scale > 0)


def lean(positions: Float[Array, "T d"], by_position: Float[Array, " T"]) -> float:
    """The mean agreement of the `MOVED` positions whose vectors are longest.   Paper: failures-sign"""
    longest = np.argsort(-np.linalg.norm(positions, axis=1), kind="stable")[:MOVED]
    return float(by_position[longest].mean())


def run_and_look(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[..., None],
    progress: TrialProgress | None = None,
    **options: Any,
) -> None:
    """`run_trials`, and for each spec the lean, and how many positions outside the support agree more than its weakest.

    Paper: failures-sign
    """
    for spec in specs:
        run = learn_spec(spec, progress=progress, **{"mass_every": 0, **options})
        arrays = {}
        if run.model is not None:
            by_position, support = agreement(training_set(spec)), list(target_function(spec).support)
            ahead = (np.delete(by_position, support) > by_position[support].min()).sum()
            arrays = {"lean": np.array([lean(run.model.encoding.positions(), by_position), ahead])}
        on_outcome(spec, run.outcome, arrays)


def look_at_failures(store: Store, experiment: Experiment) -> FailuresRecord:
    """One row for each run that the store has.   Paper: failures-sign"""
    rows = []
    for record in known_records(store, experiment):
        seen = store.arrays(record.id).get("lean")
        if seen is not None:
            T, m, seed = (record.spec[name] for name in ("T", "m", "seed"))
            rows.append(
                FailureRun(T, m, seed, record.solved, record.outcome["steps"], float(seen[0]), int(seen[1]))
            )
    return FailuresRecord(tuple(rows), planned=len(experiment.specs))
