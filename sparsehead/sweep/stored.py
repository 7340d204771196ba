"""Read the records of an unfinished sweep from its store, without running any trial."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from types import TracebackType

from ..store import Store
from ..train.loop import origin_of
from ..train.spec import TrainSpec, spec_id
from .progress import Progress, SweepResult


class StoredSweep:
    """Takes the place of a `LocalSweep` and runs nothing; a context manager.

    `run` returns the records of the specs, in their order, up to the first that is missing; a sweep starts its trials
    in this order. Later records are left out: successful trials end sooner than others, so that later records would
    contain too many successes. `complete` is False once a record was missing.
    """

    def __init__(self, db: str | Path) -> None:
        self.store = Store(db, readonly=True)
        self.complete = True
        self.failed: dict[TrainSpec, str] = {}

    def __enter__(self) -> "StoredSweep":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close()

    def run(
        self, specs: Sequence[TrainSpec], *, progress: Callable[[Progress], None] | None = None
    ) -> SweepResult:
        """Return the records up to the first that is missing."""
        known = self.store.find(specs, origin_of)
        keys = list(takewhile(known.__contains__, dict.fromkeys(map(spec_id, specs))))
        self.complete &= len(keys) == len(set(map(spec_id, specs)))
        return SweepResult({key: known[key] for key in keys})
