"""Read functions from trained models: how often reading returns the planted function, and whether certificates hold.

The runner trains each spec, reads the model with its own training set, and stores the result of reading with the
outcome; the collector turns stored results into records for figures and verdicts.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.rng import stream
from sparsehead.functions.analysis import disagreement
from sparsehead.functions.task import Task
from sparsehead.heads.model import Model
from sparsehead.laws.rounds import trial_seed
from sparsehead.reading.appearance import appearance
from sparsehead.reading.occam import occam_bound
from sparsehead.reading.queries import Oracle
from sparsehead.reading.read import find_function
from sparsehead.store import Store
from sparsehead.train.data import drawn_training_set
from sparsehead.train.spec import TrainSpec, preset, target_function, task_of

from .stage import Experiment, run_and_keep

DELTA = 0.05  # probability with which a certificate may fail
READ_CELL = ("and", 300, 200)  # the cell in which reading is measured most closely
READ_SEED = 1  # other trials than the law's, whose outcomes are stored without readings


@dataclass(frozen=True)
class TrainedTask:
    """The task a model was trained on, and whether its trial was solved."""

    family: str
    T: int
    m: int
    seed: int
    solved: bool


@dataclass(frozen=True)
class ReadModel:
    """The result of reading one trained model.

    Args:
        planted, read: the function to learn and the function read, as text; `read` is None if none was found.
        found: "planted" (`read` equals `planted`), "other" (they differ) or "none".
        method, queries: see `Reading`.
        agreement: share of fresh inputs on which the model and the best candidate function agree.
        function_error: exact P(the function read differs from the planted one); None if none was read.
        model_error: share of 20,000 fresh inputs on which the model and the planted function differ.
        bound, model_bound: certified upper bounds on function_error and model_error; None if none was read.
    Paper: read-trained
    """

    planted: str
    read: str | None
    found: str
    method: str
    queries: int
    agreement: float
    function_error: float | None
    model_error: float
    bound: float | None
    model_bound: float | None


@dataclass(frozen=True)
class ReadTrial(ReadModel, TrainedTask):
    """The result of reading one trained model, with its task. In the file the fields of the task come first."""


@dataclass(frozen=True)
class ReadTrialsRecord(ResultsRecord):
    """reading.json: results of reading trained models, with certificates that fail with probability at most `delta`."""

    delta: float
    trials: tuple[ReadTrial, ...]


@dataclass(frozen=True)
class AppearanceRun:
    """One run of `steps` steps. `influence`, `attention`: the step from which the support leads in it; `accuracy`: the
    step from which validation accuracy is at least 3/4; None if the condition does not hold at the end."""

    task: str
    T: int
    m: int
    seed: int
    solved: bool
    steps: int
    influence: int | None
    attention: int | None
    accuracy: int | None


@dataclass(frozen=True)
class AppearanceRecord(ResultsRecord):
    """appearance.json: at which training step the support appears."""

    runs: tuple[AppearanceRun, ...]


def reading(trials: int = 3, cell: int = 60) -> Experiment:
    """Return our experiment: train models on five families of functions, then read the functions back. Paper:
    read-trained

    Args:
        trials: number of trials for each family, T and m.
        cell: number of trials for READ_CELL.
    """
    cells_of = {
        "and": ((30, 100, 300), (40, 60, 90, 140, 200)),
        "or": ((30, 100, 300), (40, 60, 90, 140, 200)),
        "majority": ((30, 100, 300), (60, 90, 140, 200, 300)),
        "junta": ((30, 100, 300), (90, 140, 200, 300, 500)),
        "parity": ((10, 15, 20), (90, 140, 200, 300, 500)),
    }
    cells = [(name, T, m) for name, (Ts, ms) in cells_of.items() for T in Ts for m in ms]
    specs = [
        preset("fast", function=name, s=3, T=T, m=m, seed=trial_seed(READ_SEED, T=T, m=m, trial=i))
        for name, T, m in cells
        for i in range(cell if (name, T, m) == READ_CELL else trials)
    ]
    runner = "sparsehead_paper.studies.read_trained:run_with_readings"
    title = "Functions read from trained models"
    return Experiment("reading", title, tuple(specs), {"reading": read_models}, runner, seconds_each=0.4)


def appearance_plan(seeds: int = 12) -> Experiment:
    """Return our experiment: at which step the support appears in influence and attention, in full runs. Paper:
    support-appears
    """
    settings = dict(s=3, n_steps=400, restarts=1, keep_training=True, stall=0)
    specs = [
        preset("fast", function=name, T=T, m=m, seed=trial_seed(READ_SEED, T=T, m=m, trial=i), **settings)
        for name, T, m in (READ_CELL, ("majority", 300, 200), ("parity", 15, 400))
        for i in range(seeds)
    ]
    title = "When the support appears along training"
    files = {"appearance": appearances}
    return Experiment("appearance", title, tuple(specs), files, options={"mass_every": 10})


def read_model(model: Model, spec: TrainSpec) -> ReadModel:
    """Read a model trained on `spec`, and compare what is read with the planted function.   Paper: read-trained"""
    task, oracle = task_of(spec), Oracle(model)
    planted, p = target_function(spec), task.shared_p
    assert p is not None  # the study draws bits with one p
    found = find_function(oracle, seed=spec.seed, p=p)
    f = found.function
    sample, draws = drawn_training_set(spec)
    # The inputs are Bernoulli(p) bits by construction, so that nothing is to be checked.
    certificate = (
        None
        if f is None
        else occam_bound(f, *sample, delta=DELTA, disagreements=[found.agreement.differing], draws=draws)
    )
    fresh = 20_000  # inputs on which a model's true error is measured
    bits, labels = Task(planted, p).sample(fresh, rng=stream(spec.seed, "true error"))
    return ReadModel(
        planted=str(planted),
        read=None if f is None else str(f),
        found="none" if f is None else "planted" if f == planted else "other",
        method=found.method,
        queries=found.queries,
        agreement=found.agreement.value,
        function_error=None if f is None else disagreement(f, planted, p=p),
        model_error=float((oracle(bits) != labels).mean()),
        bound=None if certificate is None else certificate.bound,
        model_bound=None if certificate is None else certificate.model_bound,
    )


def packed_reading(model: Model, spec: TrainSpec) -> dict[str, Any]:
    """Return the result of reading a model as the bytes of a JSON object."""
    text = json.dumps(asdict(read_model(model, spec)), allow_nan=False)
    return {"reading": np.frombuffer(text.encode(), dtype=np.uint8)}


run_with_readings = partial(run_and_keep, packed_reading, mass_every=0)


def read_models(store: Store, experiment: Experiment) -> ReadTrialsRecord:
    """Return one row for each trained model.   Paper: read-trained, read-certificate"""
    rows = []
    for record in experiment.records(store):
        packed = store.arrays(record.id).get("reading")
        if packed is None:
            continue
        spec = record.spec
        reading = ReadModel(**json.loads(packed.tobytes()))
        about = {name: spec[name] for name in ("T", "m", "seed")}
        rows.append(ReadTrial(family=spec["function"], solved=record.solved, **about, **asdict(reading)))
    return ReadTrialsRecord(DELTA, tuple(rows))


def appearances(store: Store, experiment: Experiment) -> AppearanceRecord:
    """Return one row for each run with records of its support during training.   Paper: support-appears"""
    rows = []
    for record in experiment.records(store):
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
