"""The live line of a sweep, on standard error: what runs, how far it is, how long it may take."""

from typing import TYPE_CHECKING, Any

from .._base.arguments import duration
from .output import literal, status_console

if TYPE_CHECKING:
    from ..laws.rounds import RoundProgress
    from ..sweep import Progress


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
        self._console.print(literal(*text.split("\n")))

    def report(self, stage: str, progress: "Progress | RoundProgress", total: float | None = None) -> None:
        """Show where a stage stands, with `total` seconds to go in all where there are several stages."""
        if stage and stage != self._stage:
            self._stage = stage
            self.say(stage)
        where, sweep = _inside(progress)
        if sweep is None:
            return
        eta = "" if sweep.eta is None else f"  about {duration(sweep.eta, 0)} to go"
        if total is not None:
            eta = f"  about {duration(total, 0)} to go in all"
        trial = sweep.trial
        now = (
            ""
            if trial is None
            else f"  step {trial['step']} loss {trial['loss']:.3f} validation {trial['val_accuracy']:.2f}"
        )
        self._status.update(f"{where}{sweep.done} of {sweep.total} trials{eta}{now}")


def _inside(progress: "Progress | RoundProgress") -> "tuple[str, Progress | None]":
    """Which round at which T, and the sweep within it; a plain sweep has no round."""
    from ..laws.rounds import RoundProgress

    if not isinstance(progress, RoundProgress):
        return "", progress
    Ts = progress.open_Ts
    which = f"T = {Ts[0]}" if len(Ts) == 1 else f"{len(Ts)} values of T up to {Ts[-1]}"
    return f"round {progress.round}, {which}: ", progress.sweep
