"""The progress and the result of a sweep."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..store import Record
from ..train.spec import TrainSpec
from .units import cost


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep; a law runs one sweep per round.

    Args:
        seconds, eta: time spent, and estimated time remaining (None before the first outcome).
        trial: the state of a running trial; see `Trial.state`.
        round, open_Ts: a law's round, from 1, and the context lengths of its trials.
        trials: number of trials done in this round and earlier ones.
    """

    done: int
    total: int
    seconds: float
    eta: float | None
    trial: dict[str, Any] | None = None
    round: int = 0
    open_Ts: tuple[int, ...] = ()
    trials: int = 0


@dataclass(frozen=True)
class SweepResult:
    """The records of a sweep's specs, and the reasons for missing ones, all by spec id.

    `errors`: trials that could not be run; `failed`: trials in which a user-defined learner failed.
    """

    records: dict[str, Record]
    errors: dict[str, str] = field(default_factory=dict)
    ran: int = 0
    failed: dict[str, str] = field(default_factory=dict)


class State:
    """The counts behind the progress of one call of `run`."""

    def __init__(
        self,
        missing: Sequence[TrainSpec],
        known: int,
        progress: Callable[[Progress], None] | None,
        reused: set[str],
    ) -> None:
        self.reused = reused
        self.done, self.total = known, known + len(missing)
        self.errors: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.deaths: Counter[str] = Counter()
        self._progress, self._start = progress, time.monotonic()
        self._cost_done, self._cost = 0.0, sum(map(cost, missing))
        self.report(None)

    def finished(self, spec: TrainSpec) -> None:
        """Count one more outcome in the store."""
        self.done += 1
        self._cost_done += cost(spec)
        self.report(None)

    def report(self, trial: dict[str, Any] | None) -> None:
        """Call `progress` with the current counts."""
        if self._progress is None:
            return
        seconds = time.monotonic() - self._start
        eta = seconds * (self._cost / self._cost_done - 1) if self._cost_done else None
        self._progress(Progress(self.done, self.total, seconds, eta, trial))
