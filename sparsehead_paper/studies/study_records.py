"""What the results files of the studies of settings hold: readings of the text, and several laws side by side."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.curves import Cell
from sparsehead.laws.law import LawResult


@dataclass(frozen=True)
class PaperNumber:
    """One of the paper's numbers, and the race that it belongs to."""

    name: str
    race: str
    paper: str


@dataclass(frozen=True)
class NumberRow:
    """What a reading's trials say about one of the paper's numbers: ln P(the number | the trials), and in words."""

    name: str
    trials: int
    log_evidence: float
    ours: str


@dataclass(frozen=True)
class StandingRow:
    """A reading in one race: how far its evidence is behind the best, in nats, when they were last compared; and after
    which number it left the race ("": it has not)."""

    behind: float | None
    left: str = ""


@dataclass(frozen=True)
class ReadingRow:
    """One reading of the text, with its numbers and its standing by race."""

    name: str
    decay: str
    clip: str
    init: str
    dropout: float
    numbers: tuple[NumberRow, ...]
    standings: dict[str, StandingRow]


@dataclass(frozen=True)
class ReadingsRecord(ResultsRecord):
    """readings.json; `state` says how far each race is."""

    numbers: tuple[PaperNumber, ...]
    readings: tuple[ReadingRow, ...]
    state: str


@dataclass(frozen=True)
class CapacityRow:
    """The capacity C = eps^2 ln N that a model's norms stand for, at the first look of training and when first solved:
    medians over `runs` solved runs at T under the setting `label`."""

    label: str
    T: int
    start: float
    solved: float
    runs: int


@dataclass(frozen=True)
class SlopeNormsRecord(ResultsRecord):
    """slope-norms.json."""

    rows: tuple[CapacityRow, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class LabelledLaw(LawResult):
    """One law of several and what was changed for it; older files lack the cells."""

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
class ParitySettingRun:
    """One run of `steps` steps on parity under a setting: the step from which the smoothed loss stays below the paper's
    level; None: never."""

    setting: str
    T: int
    seed: int
    learned: int | None
    steps: int


@dataclass(frozen=True)
class ParitySettingsRecord(ResultsRecord):
    """parity-settings.json. `planned`: how many runs the study has when it is complete."""

    runs: tuple[ParitySettingRun, ...]
    planned: int


@dataclass(frozen=True)
class FailureRun:
    """A single run near the threshold, and the positions that it moved.

    `lean`: the mean correlation of their bits with the label, on the training set. `ahead`: how many positions outside
    the support correlate more with the label than the support's weakest.
    """

    T: int
    m: int
    seed: int
    solved: bool
    steps: int
    lean: float
    ahead: int


@dataclass(frozen=True)
class FailuresRecord(ResultsRecord):
    """failures.json. `planned`: how many runs the study has when it is complete."""

    runs: tuple[FailureRun, ...]
    planned: int

    def solved_by_sign(self) -> tuple[list[bool], list[bool]]:
        """Which runs were solved: of those that moved positions with the label, and of those that moved against it."""
        return [r.solved for r in self.runs if r.lean > 0], [r.solved for r in self.runs if r.lean <= 0]


STUDY_RECORDS: dict[str, type[ResultsRecord]] = {
    "readings": ReadingsRecord,
    "slope": LawsRecord,
    "slope-norms": SlopeNormsRecord,
    "functions": LawsRecord,
    "parity-settings": ParitySettingsRecord,
    "failures": FailuresRecord,
}
