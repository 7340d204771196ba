"""Readings race against each other: rounds of trials, and who is left.   Paper: readings"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sparsehead.laws.rounds import AnySweep
from sparsehead.sweep import LocalSweep, Progress, StoredSweep
from sparsehead.train.spec import TrainSpec, spec_id

from .readings import DROP, NUMBERS, RACES, READINGS, ROUNDS, Number, PaperReading
from .study_records import NumberRow, PaperNumber, ReadingRow, ReadingsRecord, StandingRow

OPTIONS = {"parity": {"record_every": 1}}  # when the loss passes a level is wanted to the step
Tell = Callable[[str, Progress], None]


@dataclass
class Race:
    """One race: the evidence so far, who has left and when, and what was done last."""

    name: str
    numbers: tuple[Number, ...]
    readings: tuple[PaperReading, ...]
    found: dict[tuple[PaperReading, str], NumberRow] = field(default_factory=dict)
    behind: dict[PaperReading, float] = field(default_factory=dict)  # nats, when last compared
    left: dict[PaperReading, str] = field(default_factory=dict)
    last: str = "not compared yet"
    stopped: bool = False  # for want of trials
    known: dict[tuple[str, str], NumberRow] = field(default_factory=dict)  # by names of reading and number

    @property
    def alive(self) -> list[PaperReading]:
        """Readings still in the race."""
        return [reading for reading in self.readings if reading not in self.left]

    def round(self, n: int, sweep: AnySweep, tell: Tell | None) -> None:
        """Give every reading that is left n trials of each number; stops where trials are missing (`StoredSweep`)."""
        for number in self.numbers:
            specs = {reading: number.specs(reading, n) for reading in self.alive}
            if self.stopped or not self._measure(number, specs, sweep, tell):
                self.stopped = True
                return
            self.last = f"{number.name} with {n} trials"
            self._drop(number, n)

    def _measure(
        self, number: Number, specs: dict[PaperReading, list[TrainSpec]], sweep: AnySweep, tell: Tell | None
    ) -> bool:
        for reading, group in list(specs.items()):
            row = self.known.get((reading.name, number.name))
            if row is not None and row.trials == len(group):
                self.found[reading, number.name] = row
                del specs[reading]
        title = f"Readings: {number.name}, {len(specs)} readings"
        progress = None if tell is None else lambda state: tell(title, state)
        groups = list(specs.values())
        # a stored sweep ends at the first gap: by itself, a reading is told even where one before it is not whole
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
            self.found[reading, number.name] = NumberRow(
                number.name, len(own), evidence, number.told(own, sweep.store)
            )
        return whole

    def _drop(self, number: Number, n: int) -> None:
        """Compare those left by the numbers that all of them have; whoever is DROP behind the best leaves."""
        common = [x.name for x in self.numbers if all((r, x.name) in self.found for r in self.alive)]
        totals = {r: sum(self.found[r, name].log_evidence for name in common) for r in self.alive}
        best = max(totals.values())
        for reading, total in totals.items():
            self.behind[reading] = best - total
            if best - total > DROP:
                self.left[reading] = f"{number.name}, {n} trials"


def race_readings(
    db: str | Path,
    *,
    run: bool = True,
    workers: int = 2,
    readings: Sequence[PaperReading] = READINGS,
    numbers: Sequence[Number] = NUMBERS,
    rounds: Sequence[int] = ROUNDS,
    known: ReadingsRecord | None = None,
    tell: Tell | None = None,
    say: Callable[[str], None] | None = None,
) -> ReadingsRecord:
    """Run the races, round by round, cheapest first; or tell how far the store is (`run=False`).

    Every trial goes to the store when it ends; repeating the call goes on where it was. What `known` says of a reading
    and a number is taken from there wherever it rests on as many trials as the round has.   Paper: readings
    """
    rows = {(row.name, x.name): x for row in (known.readings if known else ()) for x in row.numbers}
    races = [
        Race(name, tuple(x for x in numbers if x.race == name), tuple(readings), known=rows) for name in RACES
    ]
    races = [race for race in races if race.numbers]
    with ExitStack() as stack:
        sweeps: dict[str, AnySweep] = {}
        for race in races:
            if run:
                options = OPTIONS.get(race.name)
                made = LocalSweep(db, workers=workers, batch=1, options=options, say=say)
                sweeps[race.name] = stack.enter_context(made)
            else:
                sweeps[race.name] = stack.enter_context(StoredSweep(db))
        for n in rounds:
            for race in races:
                race.round(n, sweeps[race.name], tell)
    return _record(races, numbers, complete=not any(race.stopped for race in races))


def _record(races: Sequence[Race], numbers: Sequence[Number], *, complete: bool) -> ReadingsRecord:
    rows = []
    for reading in races[0].readings:
        standings = {
            race.name: StandingRow(_finite(race.behind.get(reading)), race.left.get(reading, ""))
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
            ReadingRow(
                reading.name, reading.decay, reading.clip, reading.init, reading.dropout, found, standings
            )
        )
    state = "; ".join(f"{race.name}: {race.last}, {len(race.alive)} left" for race in races)
    return ReadingsRecord(
        tuple(PaperNumber(x.name, x.race, x.paper) for x in numbers), tuple(rows), state, complete=complete
    )


def _finite(x: float | None) -> float | None:
    return x if x is None or math.isfinite(x) else None
