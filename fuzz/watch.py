"""One input at a time under watch: which exception ends it, how much processor time and memory it takes.

What is allowed: a result, or a SparseheadError whose message is one line. Everything else is a finding: another
exception, more than LIMIT seconds of processor time (so that a busy machine is no finding), more than GROWTH bytes
that one input adds to the process's largest size, or a result that the target itself calls wrong (`Wrong`).
"""

import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from sparsehead._base.errors import SparseheadError

LIMIT = 1.0  # seconds of processor time of one input
STOP = 20.0  # after so many an input is ended
GROWTH = 300_000_000  # bytes
CEILING = 8 * 2**30  # bytes of address space; beyond, Python raises MemoryError, which is a finding
MOST_MESSAGE = 1000  # characters


class Wrong(Exception):
    """The input was accepted, and what came of it cannot be right."""


class Endless(BaseException):
    """The input was ended after STOP seconds."""


@dataclass
class Finding:
    """What went wrong, where, for which input (the first), and how often."""

    what: str
    where: str
    data: bytes
    times: int = 1


@dataclass
class Tally:
    """What became of the inputs of one target."""

    inputs: int = 0
    accepted: int = 0
    slowest: float = 0.0
    growth: int = 0
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """How many ended in a SparseheadError, as they should."""
        return self.inputs - self.accepted - sum(found.times for found in self.findings.values())

    def note(self, what: str, where: str, data: bytes) -> None:
        """Count a finding; findings of one kind at one place are one."""
        found = self.findings.setdefault((what, where), Finding(what, where, data, 0))
        found.times += 1


class Watch:
    """Runs inputs through `target` and tallies what becomes of them; inputs that repeat are counted like others."""

    def __init__(self, target: Callable[[bytes], Any]) -> None:
        self._target, self.tally = target, Tally()
        signal.signal(signal.SIGPROF, _end)

    def __call__(self, data: bytes) -> None:
        """Run one input."""
        tally = self.tally
        before, start = _most_memory(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, STOP)
        problem, accepted = None, False
        try:
            self._target(data)
            accepted = True
        except SparseheadError as error:
            said = str(error)
            if "\n" in said or len(said) > MOST_MESSAGE:
                problem = ("a message of several lines, or too long", place(error))
        except Endless as error:
            problem = (f"not finished after {STOP:g} s", place(error))
        except Exception as error:
            what = str(error) if isinstance(error, Wrong) else type(error).__name__
            problem = (what, place(error))
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds, grown = time.process_time() - start, _most_memory() - before
        tally.slowest, tally.growth = max(tally.slowest, seconds), max(tally.growth, grown)
        if problem is None and seconds > LIMIT:
            problem = (f"over {LIMIT:g} s", "")
        if problem is None and grown > GROWTH:
            problem = (f"over {GROWTH} bytes", "")
        if problem is not None:
            tally.note(*problem, data)
        tally.inputs += 1
        tally.accepted += accepted and problem is None


def limit_memory() -> None:
    """Give this process CEILING bytes of address space."""
    resource.setrlimit(resource.RLIMIT_AS, (CEILING, CEILING))


def place(error: BaseException) -> str:
    """The innermost line of the project at which the error was raised: "store/rows.py:120"."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "sparsehead" in Path(frame.filename).parts] or frames
    if not ours:
        return ""
    parts = Path(ours[-1].filename).parts
    tail = parts[parts.index("sparsehead") + 1 :] if "sparsehead" in parts else parts[-1:]
    return f"{'/'.join(tail)}:{ours[-1].lineno}"


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _end(number: int, frame: FrameType | None) -> None:
    raise Endless
