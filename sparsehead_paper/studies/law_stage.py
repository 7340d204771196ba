"""Threshold experiments as stages: one law, or several side by side in one results file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from sparsehead._base.jsonable import ResultsRecord, json_values, rows_by_length
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult, law
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.thresholds import Threshold
from sparsehead.store.results import write as write_table
from sparsehead.train.spec import TrainSpec

from .folder import read_results, write_results
from .stage import Stage, Workplace, full_length, trial_seconds


@dataclass(frozen=True)
class SuccessRecord(ResultsRecord):
    """success.json: the share of trials solved over (T, m)."""

    cells: dict[int, list[Cell]]
    thresholds: dict[int, Threshold] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class LabelledLaw(LawResult):
    """One of several laws, with its label and its changed setting; older files have no cells."""

    in_file: ClassVar = (
        "label", "group", "settings", "thresholds", "fits", "floor", "complete", "note", "cells",
    )  # fmt: skip

    label: str
    group: str
    settings: dict[str, str]
    complete: bool
    best: str | None = None
    note: str = ""
    cells: dict[int, list[Cell]] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class LawsRecord(ResultsRecord):
    """Several laws side by side, in slope.json and functions.json."""

    laws: tuple[LabelledLaw, ...]
    state: str


@dataclass(frozen=True)
class Law(Stage):
    """The stage that measures one law with `law`.

    Args:
        Ts: context lengths.
        most_trials: the maximal number of trials for each T (joint, adaptive).
        settings: arguments of `law`, such as method, preset, and overrides for single T.
        width: target for ln(high/low) of each interval.
        function, s: the function to learn, and its sparsity.
        start: the first guess at m_80.
        with_map: also write success.json, for the heat map of all cells.
        most: the largest m that is tried.
    """

    name: str
    Ts: tuple[int, ...]
    most_trials: int
    settings: dict[str, Any] = field(default_factory=dict)
    width: float = 0.25
    function: str = "and"
    s: int | None = 3
    start: int = 60
    with_map: bool = False
    most: int = Adaptive.m_max

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of the results files: the law and, if `with_map`, the heat map of its cells."""
        return (self.name, "success") if self.with_map else (self.name,)

    def summary(self) -> tuple[str, str]:
        """Return the context lengths, and the maximal number of trials."""
        trials = f"up to {self.most_trials * len(self.Ts)} trials" if self.most_trials else "the paper's grid"
        return f"{self.name}: thresholds at T = {self.Ts[0]} .. {self.Ts[-1]}", trials

    def seconds(self, db: Path) -> float:
        """Return the expected core-seconds of all trials; it takes less if the store contains some of them."""
        exceptions = self.settings.get("exceptions", {})
        dropout = 0.0 if self.settings.get("preset", "fast") in ("fast", "best") else 0.1
        total = 0.0
        for T in self.Ts:
            trials = exceptions.get(T, {}).get("max_trials", self.most_trials) or 16 * 40  # the paper's grid
            m, stall = round(15 * math.log(T)), 0 if dropout else 100
            spec = TrainSpec(function="and", s=3, T=T, m=m, seed=0, stall=stall, dropout=dropout)
            total += trials * trial_seconds(spec)
        return total

    def run(self, place: Workplace) -> list[str]:
        """Measure the law; write its results file, and tables of thresholds and cells as CSV."""
        known = None
        if place.add:
            if self.settings.get("method") == "grid":
                raise self.not_addable()
            known = read_results(place.folder, self.name, LawResult).cells
        found = self.measure(place, known)
        write_results(place.folder, self.name, found)
        write_table(rows_by_length(found.cells), place.folder / f"{self.name}-cells.csv", force=True)
        printed = {point.T: point.m for point in LAW_AND}
        rows = [
            {**json_values(row), "floor": getattr(found.floor.get(T), "m", None), "paper": printed.get(T)}
            for T, row in found.thresholds.items()
        ]
        write_table(rows, place.folder / f"{self.name}.csv", force=True)
        if self.with_map:
            cells = SuccessRecord(found.cells, found.thresholds, complete=found.complete)
            write_results(place.folder, "success", cells)
        return []

    def measure(self, place: Workplace, known: Mapping[int, Sequence[Cell]] | None = None) -> LawResult:
        """Measure the law, or compute it from stored trials alone; trials in `known` count and are not run again."""
        how = "".join(f", {value}" for value in self.settings.values() if isinstance(value, str))
        return law(
            self.function,
            s=self.s,
            T=self.Ts,
            db=place.db,
            policy=Adaptive(
                start=self.start, width=self.width, max_trials=max(1, self.most_trials), m_max=self.most
            ),
            workers=place.workers,
            stored=place.stored,
            known={T: cells for T, cells in (known or {}).items() if T in self.Ts},
            progress=place.progress(f"Thresholds at T = {self.Ts[0]} .. {self.Ts[-1]}{how}"),
            say=place.say,
            **{"method": "joint", **full_length(self.settings)},
        )


@dataclass(frozen=True)
class Laws(Stage):
    """The stage that measures several laws, one after another, and writes them to one results file.

    Args:
        title: one line for the plan.
        laws: by label; the labels are shown in tables and charts.
        groups: for each label the name of the varied setting, which is the title of its panel.
    """

    name: str
    title: str
    laws: dict[str, Law]
    groups: dict[str, str]

    def summary(self) -> tuple[str, str]:
        """Return the title, and the number of laws."""
        return self.title, f"{len(self.laws)} laws"

    def seconds(self, db: Path) -> float:
        """Return the sum of expected seconds over the laws."""
        return sum(law.seconds(db) for law in self.laws.values())

    def run(self, place: Workplace) -> list[str]:
        """Measure one law after another; write the results file after each, with the number of laws measured to the end
        of their design.

        With `place.add`, trials already in the results file under a law's label are counted and not run again.
        """
        before = read_results(place.folder, self.name, LawsRecord).laws if place.add else ()
        if any(row.trials and not law.cells for law in before for row in law.thresholds.values()):
            raise self.not_addable()
        elsewhere = {law.label: law.cells for law in before}
        done: list[LabelledLaw] = []
        for label, plan in self.laws.items():
            measured = plan.measure(place, elsewhere.get(label))
            changed = {name: str(value) for name, value in plan.settings.items() if name != "exceptions"}
            found = {field.name: getattr(measured, field.name) for field in fields(LawResult)}
            done.append(LabelledLaw(label=label, group=self.groups[label], settings=changed, **found))
            whole = sum(law.complete for law in done)
            state = f"{whole} of {len(self.laws)} laws are measured to the end of their design"
            record = LawsRecord(tuple(done), state, complete=whole == len(self.laws))
            write_results(place.folder, self.name, record)
            write_table(law_rows(record), place.folder / f"{self.name}.csv", force=True)
        return []


def law_rows(record: LawsRecord) -> list[dict[str, Any]]:
    """Return one row per law and T, for a table."""
    return [
        {"group": law.group, "label": law.label, **json_values(row), "complete": law.complete}
        for law in record.laws
        for row in law.thresholds.values()
    ]
