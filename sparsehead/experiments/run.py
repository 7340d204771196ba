"""Run what is missing of a scale, and write what the store then says as small JSON files, one for each figure."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..jsonable import json_values
from ..measure.adaptive import Adaptive
from ..measure.published import LAW_AND
from ..results import write as write_table
from ..store import Store
from ..sweep import LocalSweep, Progress, RoundProgress
from ..sweep.dispatch import RUNNER
from . import collect, plans, read_trained
from .folder import write_results
from .law import LawResult, law
from .race import race_readings
from .records import ResultsRecord, SuccessRecord
from .side_by_side import parity_settings, run_laws, slope_norms, write_readings

GATHER: dict[str, Callable[[Store, plans.Experiment], ResultsRecord]] = {
    "curves": collect.curves,
    "attention": collect.attention,
    "parity": collect.parity,
    "dropout": collect.dropout,
    "reading": read_trained.read_models,
    "appearance": read_trained.appearances,
}
BY_SETTING: dict[str, Callable[[Store], ResultsRecord]] = {
    "slope-norms": slope_norms,
    "parity-settings": parity_settings,
}
Report = Callable[[str, Progress | RoundProgress], None]
Say = Callable[[str], None]


def run_stage(
    stage: plans.PlanStage,
    db: Path,
    folder: Path,
    *,
    workers: int = 2,
    stored: bool = False,
    report: Report | None = None,
    say: Say | None = None,
) -> list[str]:
    """Run what the store lacks of a stage and write its results files; the reasons of trials that could not be run.

    With `stored` nothing is run, and the results files say how far the store is.
    """
    measure = partial(run_law, db=db, workers=workers, stored=stored, report=report, say=say)
    if isinstance(stage, plans.Law):
        write_law(measure(stage), stage.name, folder)
        return []
    if isinstance(stage, plans.Laws):
        run_laws(stage, folder, measure)
        return []
    if isinstance(stage, plans.Races):
        found = race_readings(db, run=not stored, workers=workers, tell=report, say=say)
        write_readings(found, folder)
        return []
    problems = [] if stored else run_experiment(stage, db, workers=workers, report=report, say=say)
    write_experiment(stage, db, folder)
    return problems


def run_experiment(
    experiment: plans.Experiment,
    db: Path,
    *,
    workers: int = 2,
    report: Report | None = None,
    say: Say | None = None,
) -> list[str]:
    """Run the experiment's missing trials; the reasons of those that could not be run."""
    settings: dict[str, Any] = {"runner": experiment.runner or RUNNER, "options": experiment.options}
    with LocalSweep(db, workers=workers, batch=1, say=say, **settings) as sweep:
        result = sweep.run(experiment.specs, progress=_named(experiment.title, report))
    return sorted(set(result.errors.values()))


def run_law(
    plan: plans.Law,
    db: Path,
    *,
    workers: int = 2,
    stored: bool = False,
    report: Report | None = None,
    say: Say | None = None,
) -> LawResult:
    """Run one threshold experiment of the plan, or tell how far the store is with it."""
    how = "".join(f", {value}" for value in plan.settings.values() if isinstance(value, str))
    title = f"Thresholds at T = {plan.Ts[0]} .. {plan.Ts[-1]}{how}"
    return law(
        plan.function,
        s=plan.s,
        T=plan.Ts,
        db=db,
        policy=Adaptive(start=plan.start, width=plan.width, max_trials=max(1, plan.most_trials)),
        workers=workers,
        stored=stored,
        progress=_named(title, report),
        say=say,
        **{"method": "joint", **plan.settings},
    )


def write_law(result: LawResult, name: str, folder: Path) -> None:
    """NAME.json for the law's chart, tables of thresholds and cells as CSV, and success.json for the map of cells."""
    record = result.record()
    write_results(folder, name, record)
    write_table(json_values(record.cells), folder / f"{name}-cells.csv", force=True)
    floor, printed = {row.T: row.m for row in record.floor}, {point.T: point.m for point in LAW_AND}
    rows = [
        {**json_values(row), "floor": floor.get(row.T), "paper": printed.get(row.T)}
        for row in record.thresholds
    ]
    write_table(rows, folder / f"{name}.csv", force=True)
    if name in ("law", "law-grid"):  # the grid comes later and has every cell
        write_results(folder, "success", SuccessRecord(record.cells, record.thresholds))


def write_experiment(experiment: plans.Experiment, db: Path, folder: Path) -> None:
    """The experiment's results file(s), from whatever the store holds of it."""
    kind = experiment.name.split("-")[0]
    with Store(db, readonly=True) as store:
        if kind == "norms":
            write_results(folder, "learned-norms", collect.learned_norms(store, experiment))
            middle = sorted({spec.T for spec in experiment.specs})[-2]
            write_results(folder, "bound-training", collect.bound_along(store, experiment, T=middle))
        elif experiment.name in BY_SETTING:
            write_results(folder, experiment.name, BY_SETTING[experiment.name](store))
        else:
            write_results(folder, experiment.name, GATHER[kind](store, experiment))


def _named(title: str, report: Report | None) -> Callable[[Progress | RoundProgress], None] | None:
    return None if report is None else lambda progress: report(title, progress)
