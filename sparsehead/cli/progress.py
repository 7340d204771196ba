"""The live line of a sweep, on standard error: what runs, how far it is, how long it may take."""

from typing import TYPE_CHECKING, Any

from .output import status_console

if TYPE_CHECKING:
    from ..sweep.local import Progress


class SweepLine:
    """A context manager; `report` moves the line. On a terminal it is one line; in a log, one line per stage."""

    def __init__(self) -> None:
        self._console = status_console()
        self._status = self._console.status("starting")
        self._stage = ""

    def __enter__(self) -> "SweepLine":
        self._status.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._status.__exit__(None, None, None)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text)

    def report(self, stage: str, progress: "Progress") -> None:
        """Show where a stage stands."""
        if stage and stage != self._stage:
            self._stage = stage
            self.say(stage)
        eta = "" if progress.eta is None else f"  about {_time(progress.eta)} to go"
        trial = progress.trial
        now = (
            ""
            if trial is None
            else f"  step {trial['step']} loss {trial['loss']:.3f} validation {trial['val_accuracy']:.2f}"
        )
        self._status.update(f"{progress.done} of {progress.total} trials in this round{eta}{now}")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
