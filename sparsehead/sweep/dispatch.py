"""A sweep: the trials that the store lacks are given to workers in units, and their outcomes are collected.

A `Crew` is the set of workers: processes of this machine (`local`), or a Dask cluster (`cluster`, `dask_crew`). What
does not depend on where units run is here: which trials are missing, how large a unit is, which worker has the memory
for it, and what happens to the trials of a worker that has ended (after MAX_DEATHS of them a trial counts as failed).
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
MAX_DEATHS = 3  # a spec whose worker ends this often is given up

Message = dict[str, Any]


class SweepSettings(TypedDict, total=False):
    """The settings that every sweep takes, wherever it runs; `Sweep` says what each is."""

    batch: int
    runner: str
    options: dict[str, Any] | None
    say: Callable[[str], None] | None


@dataclass(eq=False)
class Unit:
    """Trials that were given to a worker together; `waiting` are those not yet delivered, by spec id."""

    specs: list[TrainSpec]
    waiting: dict[str, TrainSpec] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = {spec_id(spec): spec for spec in self.specs}


class Worker:
    """A place where units run.

    Args:
        room: bytes that its trials may take; None where that is not known.
        at_once: units that it runs side by side; those given beyond this wait for one of them.
    """

    def __init__(self, room: int | float | None = None, at_once: int = 1) -> None:
        self.room, self.at_once = room, at_once
        self.units: list[Unit] = []  # given and not ended, oldest first

    def settle(self, key: str) -> TrainSpec:
        """The spec with this id, which is delivered or cannot be run."""
        return next(unit.waiting.pop(key) for unit in self.units if key in unit.waiting)


class Crew(ABC):
    """Workers, as the dispatcher sees them."""

    workers: list[Any]

    @abstractmethod
    def start(
        self, store: Store, *, runner: str, options: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        """Get ready to give units to `runner` with `options`; called at the beginning of every run.

        Rows that workers do not commit themselves go to `store`, sentences for the user to `say`.
        """

    @abstractmethod
    def room(self) -> int | float | None:
        """Bytes that the largest worker has for a trial; None where that is not known."""

    @abstractmethod
    def threads(self) -> int:
        """How many units can run at once."""

    @abstractmethod
    def free(self, size: float, *, ahead: bool) -> Any:
        """A worker that takes a unit of `size` bytes now, or None; with `ahead` it may be busy with another one."""

    @abstractmethod
    def give(self, worker: Any, unit: Unit) -> None:
        """Hand over work."""

    @abstractmethod
    def receive(self) -> list[tuple[Any, Message | None]]:
        """Wait for news: messages as `worker` has them, and None for a worker that has ended.

        "done" and "lost", a unit that is to be run again through no fault of its own, come with their "unit".
        """

    @abstractmethod
    def remove(self, worker: Any) -> str:
        """A worker has ended: clean up, and say how it ended."""

    @abstractmethod
    def close(self) -> None:
        """Stop the workers that are ours, busy or not."""


class Sweep:
    """Runs specs through a crew and a store; a context manager.

    Args:
        db: the store; made if it does not exist.
        crew: where units run.
        batch: most trials in one unit of work; how many it is depends on the time they take.
        runner: "module:function" with the signature of `run_trials(specs, on_outcome=, progress=, **options)`.
        options: keyword arguments for the runner; JSON values.
        say: gets sentences that a user should see, each once. Without it they are Python warnings.
    """

    def __init__(
        self,
        db: str | Path,
        crew: Crew,
        *,
        batch: int = MOST_TRIALS,
        runner: str = RUNNER,
        options: dict[str, Any] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.crew, self.batch = crew, batch
        self.runner, self.options = runner, options or {}
        self.store = Store(db)
        self.failed: dict[TrainSpec, str] = {}  # trials in which a learner of the user's own failed, and why
        # Another engine's outcomes are another experiment. What a runner of the user's own will say is not known.
        own = {name: self.options[name] for name in ("engine", "dtype", "device") if name in self.options}
        self._engine = (lambda spec: origin_of(spec, **own)) if runner == RUNNER else None
        self._dtype = own.get("dtype", "float32")
        self._tell = say or partial(warnings.warn, stacklevel=4)
        self._told = set[str]()

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, busy or not, and close the store. What was committed stays."""
        self.crew.close()
        self.store.close()

    def run(
        self, specs: Sequence[TrainSpec], *, progress: Callable[[Progress], None] | None = None
    ) -> SweepResult:
        """Run what is missing; return all records. Ctrl-C and any other exception end the workers first.

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
            self.crew.start(self.store, runner=self.runner, options=self.options, say=self.say)
            self._refuse_too_large(missing)
            while backlog or any(worker.units for worker in self.crew.workers):
                self._hand_out(backlog, ahead=not state.deaths)
                for worker, message in self.crew.receive():
                    self._handle(worker, message, backlog, state)
        except BaseException:
            self.close()
            raise
        self.store.check_in_place()
        found, ran = self.store.find(specs, self._engine), state.done - len(known)
        return SweepResult(found, state.errors, ran, state.failed)

    def say(self, sentence: str) -> None:
        """Pass a sentence on, unless it was said before."""
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)

    def _name_others(self, missing: Sequence[TrainSpec]) -> None:
        """Say that outcomes of other engines, or of other code of the same name, are there and are not reused."""
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
            own = engine_identity(self._engine(missing[0])) if self._engine else ""
            self.say(
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
            self.say(f"outcomes reused from the store were made by {made}; this is {own if exact else base}.")

    def _bytes(self, spec: TrainSpec) -> float:
        return trial_bytes(spec, T=spec.T, m=spec.m, dtype=self._dtype)

    def _refuse_too_large(self, missing: Sequence[TrainSpec]) -> None:
        """Refuse a sweep with a trial that no worker can hold, before anything runs."""
        room = self.crew.room()
        shapes = {(spec.T, spec.m, spec.learner): spec for spec in missing}
        largest = max(shapes.values(), key=self._bytes)
        if room is not None and self._bytes(largest) > room:
            raise TooLarge(
                f"a trial with T={largest.T}, m={largest.m} needs about {text_of(self._bytes(largest))} of memory, and "
                f"the largest worker has {text_of(room)} for a trial; use larger workers, or a smaller T or m."
            )

    def _hand_out(self, backlog: Backlog, *, ahead: bool) -> None:
        """Give units to workers that are free and have the memory for them.

        Once a worker has been lost, none gets a unit ahead of time: whose unit ends its worker is then to blame.
        """
        while backlog:
            each = backlog.seconds(backlog.first)
            # while a worker of a cluster runs a trial shorter than a second it already gets the next unit
            short = each is not None and each < 1.0
            worker = self.crew.free(self._bytes(backlog.first), ahead=ahead and short)
            if worker is None:
                if self.crew.workers and not any(worker.units for worker in self.crew.workers):
                    self._refuse_too_large([backlog.first])  # the large workers have left
                return
            unit = Unit(backlog.take(self.crew.threads()))
            worker.units.append(unit)
            self.crew.give(worker, unit)

    def _handle(self, worker: Any, message: Message | None, backlog: Backlog, state: State) -> None:
        """Act on one message of a worker (`worker` lists them); None says that it has ended."""
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
        """A worker has ended. What was committed counts; the rest is tried again, one spec at a time."""
        how = self.crew.remove(worker)
        for key, spec in [item for unit in worker.units for item in unit.waiting.items()]:
            state.deaths[key] += 1
            if self.store.find([spec], self._engine):
                state.finished(spec)
            elif state.deaths[key] < MAX_DEATHS:
                backlog.again(spec)
            else:
                reason = f"its worker ended {MAX_DEATHS} times ({how}); memory may be short"
                self._give_up(spec, reason, state.failed if "@" in spec.learner else state.errors)

    def _give_up(self, spec: TrainSpec, reason: str, reasons: dict[str, str]) -> None:
        """Store that the spec failed, and why. It counts as missing: repeating the sweep tries it again."""
        reasons[spec_id(spec)] = reason
        self.store.add(spec, {"status": FAILED, "reason": reason}, engine={"engine": "none"})
