"""What the studies leave: several laws in one results file, the race of the readings, norms and parity by setting."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from sparsehead._base.jsonable import json_values
from sparsehead.capacity.trajectory import bounds_along
from sparsehead.laws.law import LawResult
from sparsehead.store import Record, Store
from sparsehead.store.results import write as write_table
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import TrainSpec, spec_id

from ..published import PARITY
from .falls import learned_step
from .folder import write_results
from .plans import PARITY_STEPS, Laws
from .studies import COARSE, FACTORS, norm_specs, parity_plan
from .study_records import (
    CapacityRow,
    LabelledLaw,
    LawsRecord,
    ParitySettingRun,
    ParitySettingsRecord,
    ReadingsRecord,
    SlopeNormsRecord,
)


def run_laws(
    stage: Laws, folder: Path, measure: Callable[..., LawResult], known: LawsRecord | None = None
) -> None:
    """Measure one law after another. The results file is written after each and says how many are yet to come.

    Trials of `known` laws with the same label count, and are not run again.
    """
    elsewhere = {law.label: law.cells for law in (known.laws if known else ())}
    done: list[LabelledLaw] = []
    for label, plan in stage.laws.items():
        cells = {T: found for T, found in elsewhere.get(label, {}).items() if T in plan.Ts}
        measured = measure(plan, known=cells)
        changed = {name: str(value) for name, value in plan.settings.items() if name != "exceptions"}
        found = {field.name: getattr(measured, field.name) for field in fields(LawResult)}
        done.append(LabelledLaw(label=label, group=stage.groups[label], settings=changed, **found))
        whole = sum(law.complete for law in done)
        state = f"{whole} of {len(stage.laws)} laws are measured to the end of their design"
        record = LawsRecord(tuple(done), state, complete=whole == len(stage.laws))
        write_results(folder, stage.name, record)
        write_table(law_rows(record), folder / f"{stage.name}.csv", force=True)


def law_rows(record: LawsRecord) -> list[dict[str, Any]]:
    """One row per law and T, for a table."""
    return [
        {"group": law.group, "label": law.label, **json_values(row), "complete": law.complete}
        for law in record.laws
        for row in law.thresholds.values()
    ]


def write_readings(record: ReadingsRecord, folder: Path) -> None:
    """readings.json, and a table with one row per reading and number."""
    write_results(folder, "readings", record)
    paper = {number.name: number.paper for number in record.numbers}
    rows = [
        {
            "reading": reading.name, "decay": reading.decay, "clip": reading.clip, "init": reading.init,
            "dropout": reading.dropout, "number": number.name, "paper": paper[number.name], "ours": number.ours,
            "trials": number.trials, "log_evidence": round(number.log_evidence, 3),
        }
        for reading in record.readings
        for number in reading.numbers
    ]  # fmt: skip
    write_table(rows, folder / "readings.csv", force=True)


def slope_norms(store: Store) -> SlopeNormsRecord:
    """The capacity that the norms stand for, at the first look of training and at success, under each setting.

    Medians over the runs that were solved.   Paper: law-slope
    """
    rows: list[CapacityRow] = []
    for label in (label for changes in FACTORS.values() for label in changes):
        for T in COARSE:
            records = store.find(norm_specs(label, T), origin_of).values()
            ends = [_capacity(record, store) for record in records if record.solved]
            if ends:
                start, solved = np.median(np.array(ends), axis=0)
                rows.append(CapacityRow(label, T, float(start), float(solved), len(ends)))
    return SlopeNormsRecord(tuple(rows))


def parity_settings(store: Store, known: Sequence[ParitySettingRun] = ()) -> ParitySettingsRecord:
    """When each run on parity was learned for good, under each setting; `known` has runs of another store.

    Paper: parity-settings
    """
    elsewhere = {(run.setting, run.T, run.seed): run for run in known}
    runs: list[ParitySettingRun] = []
    planned = 0
    for label, T, specs in parity_plan():
        planned += len(specs)
        found = store.find(specs, origin_of)
        for spec in specs:
            if (record := found.get(spec_id(spec))) is not None:
                history = store.history(record.id)
                learned = learned_step(history["step"], history["loss"], PARITY[0].level)
                runs.append(ParitySettingRun(label, T, spec.seed, learned, PARITY_STEPS[T]))
            elif (run := elsewhere.get((label, T, spec.seed))) is not None:
                runs.append(run)
    return ParitySettingsRecord(tuple(runs), planned, complete=len(runs) == planned)


def parity_missing(known: Sequence[ParitySettingRun]) -> tuple[TrainSpec, ...]:
    """The runs on parity that are planned and not in `known`."""
    done = {(run.setting, run.T, run.seed) for run in known}
    return tuple(
        spec for label, T, specs in parity_plan() for spec in specs if (label, T, spec.seed) not in done
    )


def _capacity(record: Record, store: Store) -> tuple[float, float]:
    """C at the first and at the last look."""
    history = store.history(record.id)
    names = {"step": "mass_step", "V21": "norm_V_21", "V": "norm_V", "QK": "norm_QK", "BX": "norm_X"}
    looks = [{key: history[name][i] for key, name in names.items()} for i in (0, -1)]
    first, last = bounds_along(looks, T=record.spec["T"], m=record.spec["m"])
    return float(np.exp(first.log_capacity)), float(np.exp(last.log_capacity))
