"""Compare interpretations of the paper's text in rounds of trials; drop those whose evidence is far behind the best.

Each round has more trials than the last. Within a round the paper's numbers are taken in order of cost; after each
number, interpretations whose evidence is less than e^-x times the best, x = ln 3600, are dropped.   Paper: readings
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sparsehead.laws.rounds import AnySweep
from sparsehead.store.results import write as write_table
from sparsehead.sweep import LocalSweep, StoredSweep
from sparsehead.train.spec import TrainSpec, spec_id

from .folder import read_results, write_results
from .interpretations import (
    INTERPRETATIONS,
    NUMBERS,
    ComparedInterpretation,
    Interpretation,
    InterpretationsRecord,
    Number,
    NumberEvidence,
    PaperNumber,
    Standing,
)
from .stage import Stage, Workplace


@dataclass
class Race:
    """State of one race: the evidence so far, which interpretations were dropped and when, and the last comparison."""

    name: str
    numbers: tuple[Number, ...]
    readings: tuple[Interpretation, ...]
    found: dict[tuple[Interpretation, str], NumberEvidence] = field(default_factory=dict)
    behind: dict[Interpretation, float] = field(default_factory=dict)  # nats, when last compared
    left: dict[Interpretation, str] = field(default_factory=dict)
    last: str = "not compared yet"
    stopped: bool = False  # for want of trials
    known: dict[tuple[str, str], NumberEvidence] = field(
        default_factory=dict
    )  # by names of reading and number

    @property
    def alive(self) -> list[Interpretation]:
        """The interpretations that have not been dropped."""
        return [reading for reading in self.readings if reading not in self.left]

    def round(self, n: int, sweep: AnySweep, place: Workplace) -> None:
        """Run n trials for each remaining interpretation and each of the paper's numbers. If `sweep` only reads a
        store, stop at the first missing trial.
        """
        for number in self.numbers:
            specs = {reading: number.specs(reading, n) for reading in self.alive}
            if self.stopped or not self._measure(number, specs, sweep, place):
                self.stopped = True
                return
            self.last = f"{number.name} with {n} trials"
            self._drop(number, n)

    def _measure(
        self, number: Number, specs: dict[Interpretation, list[TrainSpec]], sweep: AnySweep, place: Workplace
    ) -> bool:
        for reading, group in list(specs.items()):
            row = self.known.get((reading.name, number.name))
            if row is not None and row.trials == len(group):
                self.found[reading, number.name] = row
                del specs[reading]
        progress = place.progress(f"Readings: {number.name}, {len(specs)} readings")
        groups = list(specs.values())
        # A stored sweep ends at the first gap: query each separately, so that an incomplete one hides no later one.
        together = groups if isinstance(sweep, StoredSweep) else [[s for group in groups for s in group]]
        records = {
            key: record
            for part in together
            for key, record in sweep.run(part, progress=progress).records.items()
        }
        whole = True
        for reading, group in specs.items():
            own = [records[key] for key in map(spec_id, group) if key in records]
            if len(own) < len(group):
                whole = False
                continue
            evidence = number.log_evidence(own, sweep.store)
            self.found[reading, number.name] = NumberEvidence(
                number.name, len(own), evidence, number.in_words(own, sweep.store)
            )
        return whole

    def _drop(self, number: Number, n: int) -> None:
        """Compare the remaining interpretations by their common numbers; drop those far below the best.

        By Markov's inequality a wrong interpretation's evidence exceeds e^x times the true one's with probability at
        most e^-x; over all interpretations, with x = ln 3600, the true one is dropped by a comparison with probability
        at most 1/100.
        """
        most_behind = math.log(100 * len(INTERPRETATIONS))
        common = [x.name for x in self.numbers if all((r, x.name) in self.found for r in self.alive)]
        totals = {r: sum(self.found[r, name].log_evidence for name in common) for r in self.alive}
        best = max(totals.values())
        for reading, total in totals.items():
            self.behind[reading] = best - total
            if best - total > most_behind:
                self.left[reading] = f"{number.name}, {n} trials"


@dataclass(frozen=True)
class Interpretations(Stage):
    """The stage that compares all interpretations of the paper's text by all its numbers."""

    name: str = "readings"

    def summary(self) -> tuple[str, str]:
        """Return title and trials; the number of trials depends on how early interpretations are dropped."""
        return "Readings of the paper's text, by the evidence for each", "as many as needed"

    def seconds(self, db: Path) -> float:
        """Return the time measured once; most interpretations are dropped early."""
        return 20_000.0

    def run(self, place: Workplace) -> list[str]:
        """Write readings.json, and a CSV table with one row per interpretation and number."""
        known = read_results(place.folder, self.name, InterpretationsRecord) if place.add else None
        found = compare(place, known=known)
        write_results(place.folder, self.name, found)
        paper = {number.name: number.paper for number in found.numbers}
        rows = [
            {
                "reading": row.name, "decay": row.decay, "clip": row.clip, "init": row.init, "dropout": row.dropout,
                "number": number.name, "paper": paper[number.name], "ours": number.ours, "trials": number.trials,
                "log_evidence": round(number.log_evidence, 3),
            }
            for row in found.readings
            for number in row.numbers
        ]  # fmt: skip
        write_table(rows, place.folder / f"{self.name}.csv", force=True)
        return []


def compare(
    place: Workplace,
    *,
    readings: Sequence[Interpretation] = INTERPRETATIONS,
    numbers: Sequence[Number] = NUMBERS,
    rounds: Sequence[int] = (4, 8, 16),
    known: InterpretationsRecord | None = None,
) -> InterpretationsRecord:
    """Run all races round by round, cheapest first, and return the record; with `place.stored` run no trials.

    Each finished trial is stored, so a repeated call resumes. Evidence in `known` is used instead of new trials if it
    is from as many trials as the round has.   Paper: readings
    """
    rows = {(row.name, x.name): x for row in (known.readings if known else ()) for x in row.numbers}
    races = [
        Race(name, tuple(x for x in numbers if x.race == name), tuple(readings), known=rows)
        for name in ("attention", "law", "parity")  # in order of cost
    ]
    races = [race for race in races if race.numbers]
    with ExitStack() as stack:
        sweeps: dict[str, AnySweep] = {}
        for race in races:
            # when the loss on parity passes a level is wanted to the step
            options = {"record_every": 1} if race.name == "parity" else None
            if place.stored:
                sweeps[race.name] = stack.enter_context(StoredSweep(place.db))
            else:
                sweep = LocalSweep(place.db, workers=place.workers, batch=1, options=options, say=place.say)
                sweeps[race.name] = stack.enter_context(sweep)
        for n in rounds:
            for race in races:
                race.round(n, sweeps[race.name], place)
    return _record(races, numbers, complete=not any(race.stopped for race in races))


def _record(races: Sequence[Race], numbers: Sequence[Number], *, complete: bool) -> InterpretationsRecord:
    rows = []
    for reading in races[0].readings:
        standings = {
            race.name: Standing(_finite(race.behind.get(reading)), race.left.get(reading, ""))
            for race in races
            if reading in race.behind
        }
        found = tuple(
            race.found[reading, x.name]
            for race in races
            for x in race.numbers
            if (reading, x.name) in race.found
        )
        rows.append(
            ComparedInterpretation(
                reading.name, reading.decay, reading.clip, reading.init, reading.dropout, found, standings
            )
        )
    state = "; ".join(f"{race.name}: {race.last}, {len(race.alive)} left" for race in races)
    return InterpretationsRecord(
        tuple(PaperNumber(x.name, x.race, x.paper) for x in numbers), tuple(rows), state, complete=complete
    )


def _finite(x: float | None) -> float | None:
    return x if x is None or math.isfinite(x) else None
