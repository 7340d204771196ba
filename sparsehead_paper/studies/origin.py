"""Date, machine and duration of the measurement of each results file in a folder, in its measured.json."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sparsehead._base.arguments import duration
from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.provenance import processor

from .folder import has_results, read_results, write_results
from .plans import command_for


@dataclass(frozen=True)
class Origin:
    """The measurement of one results file. `finished`: a date; `took`: how long it took, and what that includes."""

    finished: str
    machine: str
    took: str

    def sentence(self, file: str) -> str:
        """Return date, machine, time and command in one sentence."""
        return f"Measured {self.finished} on {self.machine}; {self.took}; `{command_for(file)}` measures it again."


@dataclass(frozen=True)
class MeasuredRecord(ResultsRecord):
    """measured.json: the origin of each results file, by its name."""

    files: dict[str, Origin] = field(default_factory=dict)


def origins(folder: Path) -> dict[str, Origin]:
    """Return the origins of the results files in `folder`; empty if there is no measured.json."""
    return read_results(folder, "measured", MeasuredRecord).files if has_results(folder, "measured") else {}


def note_origin(folder: Path, files: Iterable[str], *, seconds: float, workers: int) -> None:
    """Write to measured.json that `files` were measured now, in `seconds` by the clock."""
    processes = "1 worker process" if workers == 1 else f"{workers} worker processes"
    now = Origin(
        time.strftime("%Y-%m-%d", time.gmtime()),
        f"{processor()}, {processes}",
        f"{duration(seconds)} in the last call, which resumes what earlier ones did",
    )
    write_results(folder, "measured", MeasuredRecord(origins(folder) | dict.fromkeys(files, now)))
