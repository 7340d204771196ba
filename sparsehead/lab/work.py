"""The work of each kind of job: given a request and the store, report progress and return the result as JSON."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.errors import SparseheadError
from ..train.spec import TrainSpec, preset, spec_id, target_function

if TYPE_CHECKING:
    from ..store import Record, Store

Tell = Callable[[dict[str, Any]], None]
Values = dict[str, Any]


def spec_of(request: Values) -> TrainSpec:
    """Return the trial that a request of the Learn page describes."""
    given = {name: value for name, value in request.items() if value is not None}
    return preset(given.pop("preset"), **given)


def learn(request: Values, db: Path, tell: Tell) -> Values:
    """Train, unless the store already contains the trial, and return its result."""
    from ..sweep import LocalSweep
    from ..train.footprint import require_trial

    spec = spec_of(request)
    require_trial(spec)
    how: Values = {"runner": "sparsehead.lab.live:run_live", "options": {"mass_every": 2 * spec.check_every}}
    with LocalSweep(db, workers=1, batch=1, say=lambda text: tell({"say": text}), **how) as sweep:
        found = sweep.run([spec], progress=lambda state: tell({"progress": asdict(state)}))
    if found.errors:
        raise SparseheadError(
            next(iter(found.errors.values())).partition(": ")[2] or "the trial could not be run."
        )
    tell({"progress": {"done": 1, "total": 1, "reading": True}})
    return learned_result(spec, db)


def learned_result(spec: TrainSpec, db: Path) -> Values:
    """Return the result of a stored trial; see `result_of`."""
    from ..store import Store

    with Store(db, readonly=True) as store:
        record = store.find([spec]).get(spec_id(spec))
        if record is None:
            raise SparseheadError("the store does not hold this trial.")
        return result_of(record, store)


def result_of(record: "Record", store: "Store") -> Values:
    """Return a stored trial: its outcome, curves and attention, and the function that its model computes."""
    from ..train.learn import outcome_values, read_back
    from ..train.outcome import Outcome, Run
    from .sandbox import loaded

    spec = TrainSpec(**record.spec)
    arrays, history = store.arrays(record.id), store.history(record.id)
    names = ("status", "steps", "restarts_used", "train_accuracy", "val_accuracy", "support_mass", "seconds")
    values: Values = {name: record.outcome.get(name) for name in names}
    outcome = Outcome(spec_id=record.spec_id, history=dict(history), made_by=record.made_by, **values)
    model = loaded(arrays["lab/model"].tobytes()) if "lab/model" in arrays else None
    reading = read_back(Run(spec, outcome, model)) if outcome.solved else None
    f = target_function(spec)
    return {
        "id": record.id,
        "spec_id": record.spec_id,
        "function": str(f),
        "support": list(f.support),
        "T": spec.T,
        "m": spec.m,
        "seed": spec.seed,
        "n_steps": spec.n_steps,
        **outcome_values(outcome, reading),
        "verdict": None if reading is None else reading.verdict,
        "history": history,
        "attention": {
            "steps": [int(step) for step in arrays.get("lab/steps", ())],
            "rows": [[round(float(x), 5) for x in row] for row in arrays.get("lab/attention", ())],
        },
        "has_model": model is not None,
    }


def law(request: Values, db: Path, tell: Tell) -> Values:
    """Measure m_80(T); trials already in the store are not run again."""
    from ..laws.adaptive import Adaptive
    from ..laws.law import law as measure
    from ..sweep import Progress

    given = dict(request)
    policy = Adaptive(width=given.pop("width"), max_trials=given.pop("trials"), start=given.pop("start"))

    def progress(state: Progress) -> None:
        tell({"progress": {name: value for name, value in asdict(state).items() if name != "trial"}})

    found = measure(
        given.pop("function"), db=db, policy=policy, progress=progress,
        say=lambda text: tell({"say": text}), **given,
    )  # fmt: skip
    return found.to_dict()


def probe(request: Values, db: Path, tell: Tell) -> Values:
    """Measure every head of a model that was named when the server was started; request["models"] is name -> path.

    The result contains the model's name, never its path.
    """
    from ..probing.probe import probe as measure

    given = dict(request)
    name = given.pop("model")
    path = given.pop("models").get(name)
    if path is None:
        raise SparseheadError("the lab was not started with this model; add --probe PATH.")

    def progress(stage: str, done: int, total: int) -> None:
        tell({"progress": {"stage": stage, "done": done, "total": total}})

    try:
        return probed(measure(path, text=given.pop("text") or None, progress=progress, **given))
    except SparseheadError as error:
        raise type(error)(str(error).replace(path, name)) from None


def probed(found: Any) -> Values:
    """Return the record of `sparsehead probe --json` with its summary, one flat row per head, and its chart.

    chart: the map of `probe --chart` as a Vega-Lite specification; None if nothing was run.
    """
    from ..figures.heads import head_map
    from ..figures.render import specification

    rows = found.rows()
    scored = any(row["score"] is not None for row in rows)
    chart = specification(head_map(rows, name=found.name, s=found.s)) if scored else None
    return {**found.to_dict(), "summary": found.summary, "rows": rows, "chart": chart}


KINDS: dict[str, Callable[[Values, Path, Tell], Values]] = {"learn": learn, "law": law, "probe": probe}
