"""Sweeps on this machine: worker processes with one BLAS thread each, resumable, safe to kill.

Workers commit outcomes themselves (see `worker`), so the store is the only state: repeating a sweep runs the missing
trials. Workers are started as `python -m sparsehead.sweep.worker` and answer in JSON lines on a separate pipe, so
libraries may print, and a script needs no `if __name__ == "__main__"` guard. Only a user-defined learner is pickled
(`train.learners.travel`).
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from .._base.errors import DomainError
from .._base.memory import available
from ..store import Store
from ..train.learners.travel import packed
from .dispatch import Message, Sweep, SweepSettings, Unit, Worker, WorkerPool

# `python -m` and `-c` put the current folder on the import path, where a stray numpy.py could be imported; this setting
# prevents it. Folders of PYTHONPATH stay on the path, so a user's runner or learner can be imported from there.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
CHILD = SAFE_PATH | {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}


class LocalSweep(Sweep):
    """A sweep in `workers` processes, which start when there is work and stay alive between calls of `run`.

    For the settings see `Sweep`. `say` also gets the first line that a worker printed.
    """

    def __init__(self, db: str | Path, *, workers: int = 2, **settings: Unpack[SweepSettings]) -> None:
        if workers < 1:
            raise DomainError(f"a sweep needs at least one worker, got {workers}.")
        super().__init__(db, Processes(workers), **settings)


class Processes(WorkerPool):
    """Worker processes, started when there is work for them."""

    def __init__(self, most: int) -> None:
        self.workers: list[_Process] = []
        self._most = most
        self._settings: dict[str, Any] = {}
        self._inbox: Inbox = queue.Queue()
        self._memory: int | None = None

    def start(
        self, store: Store, *, runner: str, options: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        """Measure the free memory while no worker runs. Workers open the store themselves."""
        self._settings = {
            "db": str(store.path), "runner": runner, "options": options, "parent": os.getpid(),
        }  # fmt: skip
        if not self.workers:
            self._memory = available()

    def largest_memory(self) -> int | None:
        """The free memory of this machine."""
        return self._memory

    def threads(self) -> int:
        """The largest number of processes."""
        return self._most

    def free(self, size: float, *, ahead: bool) -> "_Process | None":
        """Return an idle process, or start one; None if running trials leave too little memory."""
        taken = sum(worker.size for worker in self.workers if worker.units)
        if self._memory is not None and taken and taken + size > self._memory:
            return None
        idle = next((worker for worker in self.workers if not worker.units), None)
        if idle is None and len(self.workers) < self._most:
            idle = _Process(self._settings, self._inbox)
            self.workers.append(idle)
        if idle is not None:
            idle.size = size
        return idle

    def give(self, worker: "_Process", unit: Unit) -> None:
        """Send the specs as one line of JSON, with the code of a user-defined learner that the process lacks."""
        message: Message = {"unit": [asdict(spec) for spec in unit.specs]}
        name = unit.specs[0].learner
        if name not in worker.learners:
            worker.learners.add(name)
            message["learner"] = packed(name)
        worker.send(message)

    def receive(self) -> list[tuple["_Process", Message | None]]:
        """Wait for one message; ignore messages of processes that have been replaced."""
        worker, message = self._inbox.get()
        if worker not in self.workers:
            return []
        if message is not None and "done" in message:
            message["unit"] = worker.units[0]
        return [(worker, message)]

    def remove(self, worker: "_Process") -> str:
        """Remove a process that has ended; return its exit code in words."""
        self.workers.remove(worker)
        return f"exit code {worker.stop()}"

    def close(self) -> None:
        """Ask all processes to end, then wait for each."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.stop()
        self.workers.clear()


Inbox = queue.Queue[tuple["_Process", Message | None]]


class _Process(Worker):
    """One process, its unit, and the threads that read its output."""

    def __init__(self, settings: dict[str, Any], inbox: "Inbox") -> None:
        super().__init__()
        self.size = 0.0  # estimated bytes of its unit
        self.learners = set[str]()  # names of the learners whose code it has
        answers, theirs = os.pipe()
        try:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "sparsehead.sweep.worker",
                    json.dumps({"answers": theirs, **settings}),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                errors="replace",
                env=os.environ | CHILD,  # must be set before any import in the child
                pass_fds=(theirs,),
                start_new_session=True,  # only the parent receives Ctrl-C
            )
        finally:
            os.close(theirs)
        threading.Thread(target=self._read, args=(answers, inbox), daemon=True).start()
        threading.Thread(target=self._read_printed, args=(inbox,), daemon=True).start()

    def send(self, message: Message) -> None:
        """Send one line of JSON to the process."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # the process has died; `_read` reports it
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def stop(self) -> int:
        """End the process, by force only if it does not stop; return its exit code."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self.process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _read(self, answers: int, inbox: "Inbox") -> None:
        """Put the worker's messages into the inbox, and None when the worker has ended."""
        try:
            with os.fdopen(answers, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.endswith("\n"):  # otherwise the worker was killed in the middle of a line
                        inbox.put((self, json.loads(line)))
        finally:
            inbox.put((self, None))

    def _read_printed(self, inbox: "Inbox") -> None:
        """Pass on the first line that the worker prints; read and drop the rest, so that its pipe never fills up."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            first = next((line.strip() for line in lines if line.strip()), None)
            if first is not None:
                inbox.put((self, {"printed": first[:80]}))
            for _ in lines:
                pass
