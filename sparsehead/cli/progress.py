"""The progress line of a sweep, on standard error: what runs, how far it is, and the estimated remaining time."""

from typing import TYPE_CHECKING

from rich.status import Status

from .._base.arguments import duration
from .output import literal, status_console

if TYPE_CHECKING:
    from ..sweep import Progress


class SweepLine(Status):
    """A context manager that shows progress: on a terminal one line, updated by `report`; in a log a line per stage."""

    def __init__(self) -> None:
        super().__init__("starting", console=status_console())
        self._stage = ""

    def say(self, text: str) -> None:
        """Print a permanent line above the progress line."""
        self.console.print(literal(*text.split("\n")))

    def report(self, stage: str, progress: "Progress", total: float | None = None) -> None:
        """Show the progress of a stage; `total`, if given, is the remaining time of all stages in seconds."""
        if stage and stage != self._stage:
            self._stage = stage
            self.say(stage)
        where, Ts = "", progress.open_Ts
        if progress.round:
            which = f"T = {Ts[0]}" if len(Ts) == 1 else f"{len(Ts)} values of T up to {Ts[-1]}"
            where = f"round {progress.round}, {which}: "
        eta = "" if progress.eta is None else f"  about {duration(progress.eta, 0)} remaining"
        if total is not None:
            eta = f"  about {duration(total, 0)} remaining in total"
        now = ""
        if (trial := progress.trial) is not None:
            now = f"  step {trial['step']} loss {trial['loss']:.3f} validation {trial['val_accuracy']:.2f}"
        self.update(f"{where}{progress.done} of {progress.total} trials{eta}{now}")
