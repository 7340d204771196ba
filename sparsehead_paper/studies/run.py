"""Run what is missing of a scale, and write what the store then says as small JSON files, one for each figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sparsehead._base.errors import DomainError
from sparsehead._base.jsonable import ResultsRecord, json_values, rows_by_length
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult, law
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.rounds import RoundProgress
from sparsehead.store import Store
from sparsehead.store.results import write as write_table
from sparsehead.sweep import LocalSweep, Progress
from sparsehead.sweep.dispatch import RUNNER
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import spec_id

from . import collect, failures, plans, read_trained
from .folder import read_results, write_results
from .race import race_readings
from .records import SuccessRecord
from .side_by_side import parity_missing, parity_settings, run_laws, slope_norms, write_readings
from .study_records import LawsRecord, ParitySettingRun, ParitySettingsRecord, ReadingsRecord

GATHER: dict[str, Callable[[Store, plans.Experiment], ResultsRecord]] = {
    "curves": collect.curves,
    "attention": collect.attention,
    "parity": collect.parity,
    "dropout": collect.dropout,
    "reading": read_trained.read_models,
    "appearance": read_trained.appearances,
    "failures": failures.look_at_failures,
}
PARITY_STUDY = "parity-settings"
Report = Callable[[str, Progress | RoundProgress], None]
Say = Callable[[str], None]


def run_stage(
    stage: plans.PlanStage,
    db: Path,
    folder: Path,
    *,
    workers: int = 2,
    stored: bool = False,
    add: bool = False,
    report: Report | None = None,
    say: Say | None = None,
) -> list[str]:
    """Run what the store lacks of a stage and write its results files; the reasons of trials that could not be run.

    With `stored` nothing is run, and the results files say how far the store is. With `add` the trials that the
    folder's results file holds already count too, and are not run again: their store may be elsewhere.

    Raises:
        DomainError: `add` for a stage whose results file does not hold its trials.
    """
    if add:
        _require_addable(stage)
    measure = partial(run_law, db=db, workers=workers, stored=stored, report=report, say=say)
    if isinstance(stage, plans.Law):
        write_law(measure(stage, known=_known_cells(folder, stage) if add else None), stage.name, folder)
        return []
    if isinstance(stage, plans.Laws):
        run_laws(stage, folder, measure, known=_known_laws(folder, stage) if add else None)
        return []
    if isinstance(stage, plans.Races):
        before = read_results(folder, stage.name, ReadingsRecord) if add else None
        found = race_readings(db, run=not stored, workers=workers, known=before, tell=report, say=say)
        write_readings(found, folder)
        return []
    done = read_results(folder, stage.name, ParitySettingsRecord).runs if add else ()
    wanted = replace(stage, specs=parity_missing(done)) if add else stage
    problems = [] if stored else run_experiment(wanted, db, workers=workers, report=report, say=say)
    write_experiment(stage, db, folder, known=done)
    return problems


def _require_addable(stage: plans.PlanStage) -> None:
    law = isinstance(stage, plans.Law) and stage.settings.get("method") != "grid"
    if not (law or isinstance(stage, plans.Laws | plans.Races) or stage.name == PARITY_STUDY):
        raise _not_addable(stage)


def _not_addable(stage: plans.PlanStage) -> DomainError:
    return DomainError(
        f"{stage.name} cannot be added to: its results file does not hold its trials. Laws that are not measured "
        f"on the grid, readings and {PARITY_STUDY} can."
    )


def _known_laws(folder: Path, stage: plans.Laws) -> LawsRecord:
    """The laws of the results file, which must hold the trials behind them."""
    found = read_results(folder, stage.name, LawsRecord)
    if any(row.trials and not law.cells for law in found.laws for row in law.thresholds.values()):
        raise _not_addable(stage)
    return found


def _known_cells(folder: Path, stage: plans.Law) -> dict[int, list[Cell]]:
    cells = read_results(folder, stage.name, LawResult).cells
    return {T: cells[T] for T in stage.Ts if T in cells}


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
    known: Mapping[int, Sequence[Cell]] | None = None,
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
        known=known,
        progress=_named(title, report),
        say=say,
        **{"method": "joint", **plan.settings},
    )


def write_law(result: LawResult, name: str, folder: Path) -> None:
    """NAME.json for the law's chart, tables of thresholds and cells as CSV, and success.json for the map of cells."""
    write_results(folder, name, result)
    write_table(rows_by_length(result.cells), folder / f"{name}-cells.csv", force=True)
    floor, printed = result.floor, {point.T: point.m for point in LAW_AND}
    rows = [
        {**json_values(row), "floor": floor[T].m if T in floor else None, "paper": printed.get(T)}
        for T, row in result.thresholds.items()
    ]
    write_table(rows, folder / f"{name}.csv", force=True)
    if name in ("law", "law-grid"):  # the grid comes later and has every cell
        cells = SuccessRecord(result.cells, result.thresholds, complete=result.complete)
        write_results(folder, "success", cells)


def write_experiment(
    experiment: plans.Experiment, db: Path, folder: Path, known: Sequence[ParitySettingRun] = ()
) -> None:
    """The experiment's results file(s), from whatever the store holds of it, and `known` runs on parity."""
    kind = experiment.name.split("-")[0]
    with Store(db, readonly=True) as store:
        found = store.find(experiment.specs, origin_of)
        whole = all(spec_id(spec) in found for spec in experiment.specs)

        def write(name: str, record: ResultsRecord) -> None:
            write_results(folder, name, replace(record, complete=whole))

        if kind == "norms":
            write("learned-norms", collect.learned_norms(store, experiment))
            middle = sorted({spec.T for spec in experiment.specs})[-2]
            write("bound-training", collect.bound_along(store, experiment, T=middle))
        elif experiment.name == "slope-norms":
            write(experiment.name, slope_norms(store))
        elif experiment.name == PARITY_STUDY:
            write_results(folder, experiment.name, parity_settings(store, known))
        else:
            write(experiment.name, GATHER[kind](store, experiment))


def _named(title: str, report: Report | None) -> Callable[[Progress | RoundProgress], None] | None:
    return None if report is None else lambda progress: report(title, progress)
