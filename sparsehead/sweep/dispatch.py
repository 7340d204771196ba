"""A sweep: give the trials that the store lacks to workers, in units, and collect the outcomes.

A `WorkerPool` holds the workers: processes of this machine (`local`) or a Dask cluster (`cluster`, `dask_pool`). This
file makes the decisions that are the same for every pool: which trials are missing, how large a unit is, which worker
has the memory for it, and what happens to the trials of a worker that has ended.
"""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from .._base.errors import SparseheadError, StoreError, TooLarge
from .._base.memory import text_of
from .._base.provenance import NOT_RECORDED, described, engine_identity, version_and_commit
from ..store import Store
from ..store.rows import FAILED
from ..train.footprint import trial_bytes
from ..train.loop import origin_of
from ..train.spec import TrainSpec, spec_id
from .progress import Progress, State, SweepResult
from .units import MOST_TRIALS, Backlog

RUNNER = "sparsehead.train.loop:run_trials"

Message = dict[str, Any]


class SweepSettings(TypedDict, total=False):
    """The settings of every sweep, wherever it runs; `Sweep` explains them."""

    batch: int
    runner: str
    options: dict[str, Any] | None
    say: Callable[[str], None] | None


@dataclass(eq=False)
class Unit:
    """Trials that were given to a worker together; `waiting` are those without an outcome yet, by spec id."""

    specs: list[TrainSpec]
    waiting: dict[str, TrainSpec] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = {spec_id(spec): spec for spec in self.specs}


class Worker:
    """A process that runs units.

    Args:
        memory: bytes that one of its units may take; None if unknown.
        at_once: number of units that it runs in parallel; further ones wait in its queue.
    """

    def __init__(self, memory: int | float | None = None, at_once: int = 1) -> None:
        self.memory, self.at_once = memory, at_once
        self.units: list[Unit] = []  # running or queued, oldest first

    def settle(self, key: str) -> TrainSpec:
        """Stop waiting for the trial with this id, and return its spec."""
        return next(unit.waiting.pop(key) for unit in self.units if key in unit.waiting)


class WorkerPool(ABC):
    """The workers of a sweep: the interface that `Sweep` uses."""

    workers: list[Any]

    @abstractmethod
    def start(
        self, store: Store, *, runner: str, options: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        """Prepare to run units by `runner` with `options`; called at the beginning of every run.

        Rows that workers do not commit themselves go to `store`, sentences for the user to `say`.
        """

    @abstractmethod
    def largest_memory(self) -> int | float | None:
        """Bytes that the largest worker has for a trial; None if unknown."""

    @abstractmethod
    def threads(self) -> int:
        """The number of units that can run at once."""

    @abstractmethod
    def free(self, size: float, *, ahead: bool) -> Any:
        """Return a worker that can take a unit of `size` bytes now, or None; with `ahead` it may still be busy."""

    @abstractmethod
    def give(self, worker: Any, unit: Unit) -> None:
        """Send the unit to the worker."""

    @abstractmethod
    def receive(self) -> list[tuple[Any, Message | None]]:
        """Wait for messages (`worker` lists them); return each with its worker, None if that worker has ended.

        "done" and "lost" messages contain a "unit". A lost unit must run again, but this does not count as a failure of
        its trials.
        """

    @abstractmethod
    def remove(self, worker: Any) -> str:
        """Clean up after a worker that has ended; return how it ended."""

    @abstractmethod
    def close(self) -> None:
        """Stop the workers that this pool started, busy or not."""


class Sweep:
    """Run specs by a pool of workers and keep the outcomes in a store; a context manager.

    Args:
        db: the store; created if it does not exist.
        pool: the workers.
        batch: largest number of trials in one unit; the number depends on the time that trials take.
        runner: "module:function" with the signature of `run_trials(specs, on_outcome=, progress=, **options)`.
        options: keyword arguments for the runner; JSON values.
        say: called with each sentence that the user should see, once. Without it they become Python warnings.
    """

    def __init__(
        self,
        db: str | Path,
        pool: WorkerPool,
        *,
        batch: int = MOST_TRIALS,
        runner: str = RUNNER,
        options: dict[str, Any] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.pool, self.batch = pool, batch
        self.runner, self.options = runner, options or {}
        self.store = Store(db)
        self.failed: dict[TrainSpec, str] = {}  # trials in which a user-defined learner failed, and why
        # Outcomes of another engine belong to another experiment. The engine of a user-defined runner is unknown.
        engine = {name: self.options[name] for name in ("engine", "dtype", "device") if name in self.options}
        self._engine = (lambda spec: origin_of(spec, **engine)) if runner == RUNNER else None
        self._dtype = engine.get("dtype", "float32")
        self._tell = say or partial(warnings.warn, stacklevel=4)
        self._told = set[str]()

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, busy or not, and close the store. Committed outcomes stay."""
        self.pool.close()
        self.store.close()

    def run(
        self, specs: Sequence[TrainSpec], *, progress: Callable[[Progress], None] | None = None
    ) -> SweepResult:
        """Run the missing trials; return all records. Ctrl-C and other exceptions stop the workers first.

        Raises:
            TooLarge: no worker has the memory for one of the trials.
        """
        self.store.check_in_place()
        known = self.store.find(specs, self._engine)
        missing = [spec for spec in dict.fromkeys(specs) if spec_id(spec) not in known]
        self._name_others(missing)
        reused = {described(record.made_by) for record in known.values()}
        if not missing:
            version, commit = version_and_commit()
            self._name_origins(reused, described({"version": version, "commit": commit}))
            return SweepResult(known)
        state, backlog = State(missing, len(known), progress, reused), Backlog(missing, batch=self.batch)
        try:
            self.pool.start(self.store, runner=self.runner, options=self.options, say=self.say)
            self._refuse_too_large(missing)
            while backlog or any(worker.units for worker in self.pool.workers):
                self._hand_out(backlog, ahead=not state.deaths)
                for worker, message in self.pool.receive():
                    self._handle(worker, message, backlog, state)
        except BaseException:
            self.close()
            raise
        self.store.check_in_place()
        found, ran = self.store.find(specs, self._engine), state.done - len(known)
        return SweepResult(found, state.errors, ran, state.failed)

    def say(self, sentence: str) -> None:
        """Show the user a sentence, unless it was shown before."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)

    def _name_others(self, missing: Sequence[TrainSpec]) -> None:
        """Say that the store has outcomes of another engine, or of changed code, which are not reused."""
        for name in {spec.learner for spec in missing if "@" in spec.learner}:
            of_name = name.rpartition("@")[0].partition("==")[0]
            known = [each for each in self.store.learners() if re.split("==|@", each)[0] == of_name != each]
            for other in sorted({*known} - {name}):
                self.say(
                    f"the store has outcomes of {other}; this is {name}, whose code or version is another one: they "
                    "are different experiments, and none of those outcomes is used."
                )
        others = self.store.find(missing) if self._engine and len(self.store) else {}
        if others:
            made = "; and by ".join(sorted({described(record.made_by) for record in others.values()}))
            engine = engine_identity(self._engine(missing[0])) if self._engine else ""
            self.say(
                f"{len(others)} outcomes in the store were made by {made}; they stay there and are not reused, "
                f"since this run uses {engine}."
            )

    def _name_origins(self, reused: set[str], own: str) -> None:
        """Say which versions and engines made reused outcomes, if they differ from `own` or from each other."""
        # Before the first new outcome the engine is unknown: compare only version and commit.
        exact = NOT_RECORDED not in own
        base = own.split(", ")[0]
        if len(reused) > 1 or any(name != own if exact else name.split(", ")[0] != base for name in reused):
            made = "; and by ".join(sorted(reused))
            self.say(f"outcomes reused from the store were made by {made}; this is {own if exact else base}.")

    def _bytes(self, spec: TrainSpec) -> float:
        return trial_bytes(spec, T=spec.T, m=spec.m, dtype=self._dtype)

    def _refuse_too_large(self, missing: Sequence[TrainSpec]) -> None:
        """Raise TooLarge if no worker has the memory for one of the trials."""
        memory = self.pool.largest_memory()
        shapes = {(spec.T, spec.m, spec.learner): spec for spec in missing}
        largest = max(shapes.values(), key=self._bytes)
        if memory is not None and self._bytes(largest) > memory:
            raise TooLarge(
                f"a trial with T={largest.T}, m={largest.m} needs about {text_of(self._bytes(largest))} of memory, and "
                f"the largest worker has {text_of(memory)} for a trial; use larger workers, or a smaller T or m."
            )

    def _hand_out(self, backlog: Backlog, *, ahead: bool) -> None:
        """Give units to workers that are free and have the memory for them.

        `ahead` is False once a worker was lost: with one unit per thread, it is clear which unit ended the worker.
        """
        while backlog:
            each = backlog.seconds(backlog.first)
            # A cluster's worker gets its next unit early if trials take less than a second.
            short = each is not None and each < 1.0
            worker = self.pool.free(self._bytes(backlog.first), ahead=ahead and short)
            if worker is None:
                if self.pool.workers and not any(worker.units for worker in self.pool.workers):
                    self._refuse_too_large([backlog.first])  # workers with more memory may have left
                return
            unit = Unit(backlog.take(self.pool.threads()))
            worker.units.append(unit)
            self.pool.give(worker, unit)

    def _handle(self, worker: Any, message: Message | None, backlog: Backlog, state: State) -> None:
        """Act on one message of a worker (`worker` lists them); None means that the worker has ended."""
        if message is None:
            self._worker_ended(worker, backlog, state)
        elif "printed" in message:
            self.say(
                f"a worker printed {message['printed']!r}; what workers print is not part of any result."
            )
        elif "fatal" in message:
            raise (StoreError if message["store"] else SparseheadError)(message["fatal"])
        elif "done" in message or "lost" in message:
            unit = message["unit"]
            worker.units.remove(unit)
            if "lost" in message:
                for spec in unit.waiting.values():
                    backlog.again(spec)
            else:
                backlog.measured(unit.specs, message["done"])
                state.errors |= dict.fromkeys(unit.waiting, "its worker ended the unit without an outcome")
        elif "progress" in message:
            state.report(message["progress"])
        elif message.get("failed"):
            self._give_up(worker.settle(message["error"]), message["message"], state.failed)
        elif "error" in message:
            state.errors[message["error"]] = message["message"]
            worker.settle(message["error"])
        else:
            self._name_origins(state.reused, described(message["made_by"]))
            state.finished(worker.settle(message["outcome"]))

    def _worker_ended(self, worker: Any, backlog: Backlog, state: State) -> None:
        """Count the outcomes that the ended worker committed; try its other trials again, each in its own unit."""
        how = self.pool.remove(worker)
        most_deaths = 3  # a trial counts as failed after its worker has ended this often
        for key, spec in [item for unit in worker.units for item in unit.waiting.items()]:
            state.deaths[key] += 1
            if self.store.find([spec], self._engine):
                state.finished(spec)
            elif state.deaths[key] < most_deaths:
                backlog.again(spec)
            else:
                reason = f"its worker ended {most_deaths} times ({how}); memory may be short"
                self._give_up(spec, reason, state.failed if "@" in spec.learner else state.errors)

    def _give_up(self, spec: TrainSpec, reason: str, reasons: dict[str, str]) -> None:
        """Store that the trial failed, and why. It counts as missing: repeating the sweep tries it again."""
        reasons[spec_id(spec)] = reason
        self.store.add(spec, {"status": FAILED, "reason": reason}, engine={"engine": "none"})
