"""Sweeps on this machine: worker processes with one BLAS thread each, resumable, safe to kill.

Workers commit outcomes themselves (see `worker`), so the store is the only state. Repeating a sweep runs the
missing part. Workers are started as `python -m sparsehead.sweep.worker` and talk JSON lines over a pipe of their
own: nothing is pickled, a library that prints disturbs nothing, and a script needs no `if __name__ == "__main__"`
guard.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DomainError, SparseheadError, StoreError
from ..provenance import NOT_RECORDED, described, engine_identity, version_and_commit
from ..spec import TrainSpec, spec_id
from ..store import Record, Store
from ..train.loop import origin_of
from .units import cost, total_cost, units

RUNNER = "sparsehead.train.loop:run_trials"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
MAX_DEATHS = 2  # a spec whose worker dies this often is given up


@dataclass(frozen=True)
class Progress:
    """Where a sweep stands. `eta`: seconds to go, None before the first outcome; `trial`: a running trial's state."""

    done: int
    total: int
    seconds: float
    eta: float | None
    trial: dict[str, Any] | None = None


@dataclass(frozen=True)
class SweepResult:
    """What the store holds for the specs, by spec id, and why some are missing."""

    records: dict[str, Record]
    errors: dict[str, str] = field(default_factory=dict)
    ran: int = 0


def run_sweep(
    specs: Sequence[TrainSpec],
    db: str | Path,
    *,
    workers: int = 2,
    batch: int = 8,
    runner: str = RUNNER,
    options: dict[str, Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> SweepResult:
    """Run what the store lacks of `specs`, in `workers` processes; see `LocalSweep`."""
    with LocalSweep(db, workers=workers, batch=batch, runner=runner, options=options, say=say) as sweep:
        return sweep.run(specs, progress=progress)


class LocalSweep:
    """Worker processes that stay alive between calls of `run`; a context manager.

    Args:
        db: the store; made if it does not exist.
        workers: processes; they start when there is work.
        batch: most trials in one unit of work.
        runner: "module:function" with the signature of `run_trials(specs, on_outcome=, progress=, **options)`.
        options: keyword arguments for the runner; JSON values.
        say: gets sentences that a user should see, each once: outcomes of another version or engine that are
            reused, and what a worker printed. Without it they are Python warnings.
    """

    def __init__(
        self,
        db: str | Path,
        *,
        workers: int = 2,
        batch: int = 8,
        runner: str = RUNNER,
        options: dict[str, Any] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        if workers < 1:
            raise DomainError(f"a sweep needs at least one worker, got {workers}.")
        self.store = Store(db)
        self.workers, self.batch = workers, batch
        # Another engine's outcomes are another experiment. What a runner of the user's own will say is not known.
        own = {
            name: value for name, value in (options or {}).items() if name in ("engine", "dtype", "device")
        }
        self._engine = (lambda spec: origin_of(spec, **own)) if runner == RUNNER else None
        self._settings = {"db": str(db), "runner": runner, "options": options or {}, "parent": os.getpid()}
        self._pool: list[_Worker] = []
        self._inbox: Inbox = queue.Queue()
        self._tell, self._told = say or _warn, set[str]()

    def __enter__(self) -> "LocalSweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, busy or not, and close the store. What was committed stays."""
        for worker in self._pool:
            worker.process.terminate()
        for worker in self._pool:
            worker.stop()
        self._pool.clear()
        self.store.close()

    def run(
        self, specs: Sequence[TrainSpec], *, progress: Callable[[Progress], None] | None = None
    ) -> SweepResult:
        """Run what is missing; return all records. Ctrl-C and any other exception end the workers first."""
        self.store.check_in_place()
        known = self.store.find(specs, self._engine)
        missing = [spec for spec in dict.fromkeys(specs) if spec_id(spec) not in known]
        self._name_others(missing)
        reused = {described(record.made_by) for record in known.values()}
        if not missing:
            version, commit = version_and_commit()
            self._name_origins(reused, described({"version": version, "commit": commit}))
            return SweepResult(known)
        state = _State(missing, len(known), progress, reused)
        waiting = units(missing, batch=self.batch, workers=self.workers)
        try:
            while waiting or any(worker.busy for worker in self._pool):
                self._hand_out(waiting)
                self._listen(waiting, state)
        except BaseException:
            self.close()
            raise
        self.store.check_in_place()
        return SweepResult(self.store.find(specs, self._engine), state.errors, state.done - len(known))

    def _say(self, sentence: str) -> None:
        """Pass a sentence on, unless it was said before."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)

    def _name_others(self, missing: Sequence[TrainSpec]) -> None:
        """Say that outcomes of other engines are there and are not reused."""
        others = self.store.find(missing) if self._engine and len(self.store) else {}
        if others:
            made = "; and by ".join(sorted({described(record.made_by) for record in others.values()}))
            own = engine_identity(self._engine(missing[0])) if self._engine else ""
            self._say(
                f"{len(others)} outcomes in the store were made by {made}; they stay there and are not reused, "
                f"since this run uses {own}."
            )

    def _name_origins(self, reused: set[str], own: str) -> None:
        """Name the origins of reused outcomes when they differ from this program's own, or among each other."""
        # Before the first new outcome the engine is not known: then version and commit are compared.
        exact = NOT_RECORDED not in own
        base = own.split(", ")[0]
        if len(reused) > 1 or any(name != own if exact else name.split(", ")[0] != base for name in reused):
            made = "; and by ".join(sorted(reused))
            self._say(
                f"outcomes reused from the store were made by {made}; this is {own if exact else base}."
            )

    def _hand_out(self, waiting: list[list[TrainSpec]]) -> None:
        idle = [worker for worker in self._pool if not worker.busy]
        while waiting and (idle or len(self._pool) < self.workers):
            if not idle:
                self._pool.append(_Worker(self._settings, self._inbox))
                idle = [self._pool[-1]]
            idle.pop().give(waiting.pop(0))

    def _listen(self, waiting: list[list[TrainSpec]], state: "_State") -> None:
        worker, message = self._inbox.get()
        if worker not in self._pool:
            return  # output of a worker that was replaced by a new one
        if message is None:
            self._bury(worker, waiting, state)
        elif "printed" in message:
            self._say(
                f"a worker printed {message['printed']!r}; what workers print is not part of any result."
            )
        elif "fatal" in message:
            raise (StoreError if message["store"] else SparseheadError)(message["fatal"])
        elif "done" in message:
            worker.busy = False
        elif "progress" in message:
            state.report(message["progress"])
        elif "error" in message:
            state.errors[message["error"]] = message["message"]
            worker.unit.pop(message["error"], None)
        else:
            self._name_origins(state.reused, described(message["made_by"]))
            state.finished(worker.unit.pop(message["outcome"]))

    def _bury(self, worker: "_Worker", waiting: list[list[TrainSpec]], state: "_State") -> None:
        """A worker died. What it had committed counts; the rest is tried again, one spec at a time."""
        self._pool.remove(worker)
        code = worker.stop()
        for key, spec in worker.unit.items():
            state.deaths[key] += 1
            if self.store.find([spec], self._engine):
                state.finished(spec)
            elif state.deaths[key] < MAX_DEATHS:
                waiting.insert(0, [spec])
            else:
                state.errors[key] = (
                    f"its worker ended {MAX_DEATHS} times (exit code {code}); memory may be short"
                )


Inbox = queue.Queue[tuple["_Worker", dict[str, Any] | None]]


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=4)


class _Worker:
    """One process, the unit it works on, and the thread that listens to it."""

    def __init__(self, settings: dict[str, Any], inbox: "Inbox") -> None:
        self.unit: dict[str, TrainSpec] = {}  # what it has yet to deliver
        self.busy = False
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
                env=os.environ | ONE_THREAD,  # before any import in the child
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
        finally:
            os.close(theirs)
        threading.Thread(target=self._read, args=(answers, inbox), daemon=True).start()
        threading.Thread(target=self._overhear, args=(inbox,), daemon=True).start()

    def give(self, unit: list[TrainSpec]) -> None:
        """Hand over work."""
        self.unit = {spec_id(spec): spec for spec in unit}
        self.busy = True
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has died; the reader says so
            self.process.stdin.write(json.dumps({"unit": [asdict(spec) for spec in unit]}) + "\n")
            self.process.stdin.flush()

    def stop(self) -> int:
        """End the process, gently at first; its exit code."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self.process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _read(self, answers: int, inbox: "Inbox") -> None:
        """Pass on what the worker answers; None at its end, whatever ended it."""
        try:
            with os.fdopen(answers, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.endswith("\n"):  # else the worker was killed in the middle of a line
                        inbox.put((self, json.loads(line)))
        finally:
            inbox.put((self, None))

    def _overhear(self, inbox: "Inbox") -> None:
        """Pass on the first line that the worker prints; the rest is read so that it never has to wait."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            first = next((line.strip() for line in lines if line.strip()), None)
            if first is not None:
                inbox.put((self, {"printed": first[:80]}))
            for _ in lines:
                pass


class _State:
    """The counts behind the progress of one call of `run`."""

    def __init__(
        self,
        missing: list[TrainSpec],
        known: int,
        progress: Callable[[Progress], None] | None,
        reused: set[str],
    ) -> None:
        self.reused = reused
        self.done, self.total = known, known + len(missing)
        self.errors: dict[str, str] = {}
        self.deaths: Counter[str] = Counter()
        self._progress, self._start = progress, time.monotonic()
        self._cost_done, self._cost = 0.0, total_cost(missing)
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
