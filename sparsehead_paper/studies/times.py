"""Remaining time of all stages: estimates, corrected while stages run by the times of finished stages."""

import time
from collections.abc import Callable, Sequence

from sparsehead.sweep import Progress

REPORT_SECONDS = 60.0  # for the checks of all claims, the figures and the page, in one process


class TimeToGo:
    """The remaining time of all stages and the report together.

    Args:
        stages: wall-clock seconds that each stage is expected to take, the report last.
        clock: returns seconds, never decreasing.
    """

    def __init__(self, stages: Sequence[float], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._expected, self._clock = list(stages), clock
        self._done = 0
        self._took = 0.0
        self._began = clock()
        self._eta: float | None = None

    def next_stage(self) -> None:
        """Record that the running stage has ended."""
        now = self._clock()
        self._took += now - self._began
        self._done, self._began, self._eta = self._done + 1, now, None

    def see(self, progress: Progress) -> None:
        """Record the progress that the running stage reports."""
        self._eta = progress.eta

    @property
    def speed(self) -> float:
        """Return actual / expected time of finished stages; 1 until five seconds of expected work are done."""
        expected = sum(self._expected[: self._done])
        return self._took / expected if expected >= 5.0 and self._took > 0 else 1.0

    def seconds(self) -> float:
        """Return the running stage's remaining seconds, plus the expected seconds of later stages times `speed`."""
        if self._done >= len(self._expected):
            return 0.0
        here, *later = self._expected[self._done :]
        left = here * self.speed - (self._clock() - self._began)
        return max(left, self._eta or 0.0, 0.0) + sum(later) * self.speed
