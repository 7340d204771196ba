"""Trained models, read: how often reading returns the planted function, and what its certificate is worth.

The runner trains each spec, reads the model with its own training set, and keeps what was read beside the outcome; the
collector turns what the store holds into records for the figures and the verdicts.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.functions.analysis import disagreement
from sparsehead.functions.task import Task
from sparsehead.heads.model import Model
from sparsehead.reading.appearance import appearance
from sparsehead.reading.occam import occam_bound
from sparsehead.reading.queries import Oracle
from sparsehead.reading.read import find_function
from sparsehead.store import Store
from sparsehead.train.data import drawn_training_set
from sparsehead.train.learn import learn_spec
from sparsehead.train.outcome import TrialProgress
from sparsehead.train.spec import TrainSpec, target_function, task_of

from .collect import known_records
from .plans import Experiment
from .reading_records import AppearanceRecord, AppearanceRun, ReadingRecord, ReadModel, ReadTrial

DELTA = 0.05  # probability with which a certificate may fail
FRESH = 20_000  # inputs on which a model's true error is measured
PLANTED, OTHER, NONE = "planted", "other", "none"


def read_model(model: Model, spec: TrainSpec) -> ReadModel:
    """Read a model that was trained on `spec`, and compare with what was planted.   Paper: read-trained"""
    task, oracle = task_of(spec), Oracle(model)
    planted = target_function(spec)
    found = find_function(oracle, seed=spec.seed, p=task.p)
    f = found.function
    sample, draws = drawn_training_set(spec)
    # The inputs are Bernoulli(p) bits by construction, so that nothing is to be checked.
    certificate = (
        None
        if f is None
        else occam_bound(f, *sample, delta=DELTA, disagreements=[found.agreement.differing], draws=draws)
    )
    bits, labels = Task(planted, task.p).sample(FRESH, rng=stream(spec.seed, "true error"))
    return ReadModel(
        planted=str(planted),
        read=None if f is None else str(f),
        found=NONE if f is None else PLANTED if f == planted else OTHER,
        method=found.method,
        queries=found.queries,
        agreement=found.agreement.value,
        function_error=None if f is None else disagreement(f, planted, p=task.p),
        model_error=float((oracle(bits) != labels).mean()),
        bound=None if certificate is None else certificate.bound,
        model_bound=None if certificate is None else certificate.model_bound,
    )


def run_with_readings(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[..., None],
    progress: TrialProgress | None = None,
    **options: Any,
) -> None:
    """`run_trials`, and for each spec what was read, as the bytes of a JSON object.   Paper: read-trained"""
    for spec in specs:
        run = learn_spec(spec, progress=progress, **{"mass_every": 0, **options})
        arrays = {} if run.model is None else {"reading": _packed(read_model(run.model, spec))}
        on_outcome(spec, run.outcome, arrays)


def _packed(reading: ReadModel) -> Any:
    return np.frombuffer(json.dumps(asdict(reading), allow_nan=False).encode(), dtype=np.uint8)


def read_models(store: Store, experiment: Experiment) -> ReadingRecord:
    """One row for each trained model.   Paper: read-trained, read-certificate"""
    rows = []
    for record in known_records(store, experiment):
        packed = store.arrays(record.id).get("reading")
        if packed is None:
            continue
        spec = record.spec
        reading = ReadModel(**json.loads(packed.tobytes()))
        about = {name: spec[name] for name in ("T", "m", "seed")}
        rows.append(ReadTrial(family=spec["function"], solved=record.solved, **about, **asdict(reading)))
    return ReadingRecord(DELTA, tuple(rows))


def appearances(store: Store, experiment: Experiment) -> AppearanceRecord:
    """One row for each run whose support was looked at.   Paper: support-appears"""
    rows = []
    for record in known_records(store, experiment):
        when = appearance(store.history(record.id))
        if when is None:
            continue
        spec = record.spec
        about = {name: spec[name] for name in ("T", "m", "seed")}
        rows.append(
            AppearanceRun(
                task=spec["function"], solved=record.solved, steps=spec["n_steps"], **about, **asdict(when)
            )
        )
    return AppearanceRecord(tuple(rows))
