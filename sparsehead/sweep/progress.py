"""How far a sweep is, and what it returns."""

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
    """How far a sweep is, or a round of a law: the sweep of that round.

    Args:
        seconds, eta: time spent, and time to go (None before the first outcome).
        trial: the state of a running trial; see `Trial.state`.
        round, open_Ts: the number of a law's round, from 1, and the context lengths that it has trials for.
        trials: done in this round and the earlier ones.
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
    """What the store holds for the specs, by spec id, and why some are missing.

    `errors`: trials that could not be run; `failed`: those in which a learner of the user's own failed.
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
        """One more outcome is in the store."""
        self.done += 1
        self._cost_done += cost(spec)
        self.report(None)

    def report(self, trial: dict[str, Any] | None) -> None:
        """Tell the caller."""
        if self._progress is None:
            return
        seconds = time.monotonic() - self._start
        eta = seconds * (self._cost / self._cost_done - 1) if self._cost_done else None
        self._progress(Progress(self.done, self.total, seconds, eta, trial))
