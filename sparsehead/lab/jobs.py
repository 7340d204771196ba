"""Long work: a queue of jobs, each run in a separate process; any number of pages can follow a job.

A job's id is a hash of its kind and request, so that equal requests share one job. Every finished trial is stored at
once; cancelling a job loses only trials that are still running. Unfinished jobs are listed in a journal, a file beside
the store, and the next server offers to resume them; results of finished ones are kept in a folder beside the store.
"""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .._base.errors import FileError
from .._base.files import write_whole
from ..sweep.local import CHILD
from .answers import Busy, Unknown
from .journal import Finished, Kinds, keep_finished, read_finished, read_journal


@dataclass(eq=False)
class Job:
    """One job; for its kinds and their requests see `work.KINDS`.

    Args:
        state: waiting, running, done, failed, cancelled or interrupted (the server ended).
        progress: the worker's last report; points: the points of the curve so far; notes: messages to show the user.
        earlier: whether an earlier server ran the job; starting it then runs it again, since models and code may have
            changed.
        since: increases when points are dropped or replaced, so that a page that follows the job draws them afresh.
    """

    id: str
    kind: str
    request: dict[str, Any]
    state: str = "waiting"
    created: float = field(default_factory=time.time)
    progress: dict[str, Any] | None = None
    points: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None
    error: str = ""
    since: int = 0
    earlier: bool = False
    process: Any = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_open(self) -> bool:
        """Return whether the job waits or runs."""
        return self.state in ("waiting", "running")

    def summary(self) -> dict[str, Any]:
        """Return the job without points and result, for lists."""
        names = ("id", "kind", "request", "state", "created", "progress", "notes", "error")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the job with points and result."""
        return {**self.summary(), "points": self.points, "result": self.result}

    def touch(self) -> None:
        """Notify the pages that follow the job."""
        self.changed.set()
        self.changed = asyncio.Event()

    def clear(self) -> None:
        """Discard progress, result and notes of an earlier attempt."""
        self.progress, self.result, self.error, self.earlier = None, None, "", False
        self.points, self.notes, self.since = [], [], self.since + 1


def job_id(kind: str, request: dict[str, Any]) -> str:
    """Return sixteen hex digits: a hash of kind and request."""
    text = json.dumps([kind, request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Jobs:
    """The queue of jobs; created and used in the server's event loop.

    Args:
        db: the store; the journal is a file beside it.
        kinds: kind -> check that a request found in the journal must pass.
        running: the most jobs that run at once; waiting: the most jobs that wait.
        models: name -> path of the models that may be probed; a request contains a name, never a path.
        pickle: whether the weights of these models may be pickled.
    """

    def __init__(
        self, db: Path, *, kinds: Kinds, running: int, waiting: int,
        models: Mapping[str, Path] = MappingProxyType({}), pickle: bool = False,
    ) -> None:  # fmt: skip
        self.db, self.running, self.waiting, self.models, self.pickle = db, running, waiting, models, pickle
        self.journal = db.with_name(f"{db.name}.jobs.json")
        self.finished, self._kinds = db.with_name(f"{db.name}.jobs"), kinds
        left = [
            Job(job_id(row.kind, row.request), row.kind, row.request, row.offered(), row.created)
            for row in read_journal(self.journal, kinds)
        ]
        self.jobs: dict[str, Job] = {job.id: job for job in left}
        self.followers = 0
        self.stopping = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, kind: str, request: dict[str, Any], *, again: bool = False) -> Job:
        """Start a job and return it; return the equal job if it waits, runs or (without `again`) is done.

        Raises:
            Busy: the queue is full.
        """
        key = job_id(kind, request)
        job = self.jobs.get(key)
        done = job is not None and job.state == "done" and not job.earlier
        if job is not None and (job.is_open or (done and not again)):
            return job
        if sum(other.state == "waiting" for other in self.jobs.values()) >= self.waiting:
            raise Busy(f"The queue is full ({self.waiting} jobs); cancel one or wait for one to end.")
        job = self.jobs.pop(key, None) or Job(key, kind, request)
        job.clear()
        job.state = "waiting"
        self.jobs[key] = job  # last in the queue
        over = [job.id for job in self.jobs.values() if not job.is_open]
        for oldest in over[:-40]:
            del self.jobs[oldest]
        self._changed(job)
        self._schedule()
        return job

    def get(self, key: str) -> Job:
        """Return the job with this id; raise `Unknown` if there is none."""
        job = self._known(key)
        if job is None:
            raise Unknown(
                "there is no such job; it may have been forgotten, and asking for the same starts it again."
            )
        return job

    def _known(self, key: str) -> Job | None:
        """Return the job with this id, from the file of its result if an earlier server ran it."""
        if key not in self.jobs:
            found = read_finished(self.finished, key, self._kinds)
            if found is not None and job_id(found.kind, found.request) == key:
                fields = {name: getattr(found, name) for name in Finished.model_fields}
                self.jobs[key] = Job(key, state="done", earlier=True, **fields)
        return self.jobs.get(key)

    def cancel(self, key: str) -> Job:
        """Cancel the job; its finished trials stay in the store, and it can be resumed."""
        job = self.get(key)
        if job.is_open:
            job.state = "cancelled"
            _end(job)
            self._changed(job)
            self._schedule()
        return job

    def resume(self, key: str) -> Job:
        """Restart an unfinished job; trials already in the store are not run again."""
        job = self.get(key)
        return self.start(job.kind, job.request)

    async def close(self) -> None:
        """End every process; mark running and waiting jobs as interrupted and list them in the journal."""
        self.stopping.set()
        for job in self.jobs.values():
            if job.is_open:
                job.state = "interrupted"
                _end(job)
                job.touch()
        self._write_journal()
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def follow(self, key: str) -> AsyncIterator[tuple[str, Any]]:
        """Yield the events of a job as (name, data): "job" when its state or progress changed, "points" with new points
        ("from" is the index of the first), "result" at the end. The first events contain all earlier points."""
        job = self.get(key)
        if self.followers >= 100:
            raise Busy("100 pages follow jobs already; close one and try again.")
        self.followers += 1
        try:
            seen, epoch = -1, job.since  # -1: nothing was sent yet
            while True:
                changed = job.changed
                if epoch != job.since:
                    seen, epoch = -1, job.since
                yield "job", job.summary()
                if len(job.points) > seen:
                    first, seen = max(0, seen), len(job.points)
                    yield "points", {"from": first, "points": job.points[first:]}
                if not job.is_open:
                    if job.result is not None:
                        yield "result", job.result
                    return
                await self._wait(changed)
                if self.stopping.is_set():
                    return
        finally:
            self.followers -= 1

    async def _wait(self, changed: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (changed, self.stopping)]
        try:
            # a quiet stream shows every 15 seconds that it is alive
            await asyncio.wait(waits, timeout=15.0, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _schedule(self) -> None:
        """Start waiting jobs in the order in which they came, up to `running` at once."""
        for job in self.jobs.values():
            if sum(other.state == "running" for other in self.jobs.values()) >= self.running:
                return
            if job.state == "waiting" and job.id not in self._tasks:
                job.state = "running"
                self._changed(job)
                self._tasks[job.id] = asyncio.ensure_future(self._run(job))

    async def _run(self, job: Job) -> None:
        try:
            await self._attend(job)
        except Exception as error:
            job.error = job.error or f"the job's process could not be run ({type(error).__name__})."
        finally:
            _end(job)
            self._tasks.pop(job.id, None)
            if job.state == "running":
                job.state = "done" if job.result is not None else "failed"
                if job.result is None:
                    job.error = job.error or "its process ended; memory may be short."
                else:
                    fields = {name: getattr(job, name) for name in Finished.model_fields}
                    keep_finished(self.finished, job.id, Finished(**fields))
                self._changed(job)
            if not self.stopping.is_set():
                self._schedule()

    async def _attend(self, job: Job) -> None:
        """Run the job's process and record its events until it ends."""
        job.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sparsehead.lab.worker", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | CHILD, start_new_session=True, limit=2**24,  # bytes of one event
        )  # fmt: skip
        if job.state != "running":  # cancelled while it started
            return
        asked = {"kind": job.kind, "request": job.request, "db": str(self.db), "parent": os.getpid()}
        if job.kind == "probe":
            asked["models"] = {name: str(path) for name, path in self.models.items()}
            asked["pickle"] = self.pickle
        job.process.stdin.write(json.dumps(asked).encode() + b"\n")
        with suppress(ConnectionError):
            await job.process.stdin.drain()
        async for line in job.process.stdout:
            if job.state != "running":
                return
            self._note(job, json.loads(line))
        await job.process.wait()

    def _note(self, job: Job, event: dict[str, Any]) -> None:
        shown_once = ("attention", "support")  # of a trial's state: shown while it runs, kept with the result
        if "progress" in event:
            job.progress = event["progress"]
            if trial := job.progress.get("trial"):
                job.points.append({name: value for name, value in trial.items() if name not in shown_once})
        if "point" in event:
            job.points.append(event["point"])
        if len(job.points) > 2000:  # keep every other one
            job.points, job.since = job.points[::2], job.since + 1
        if "say" in event and len(job.notes) < 20:
            job.notes.append(event["say"])
        job.result = event.get("result", job.result)
        job.error = event.get("error", job.error)
        job.touch()

    def _changed(self, job: Job) -> None:
        job.touch()
        self._write_journal()

    def _write_journal(self) -> None:
        rows = [
            {"kind": job.kind, "request": job.request, "state": job.state, "created": job.created}
            for job in self.jobs.values()
            if job.is_open or job.state in ("cancelled", "interrupted")
        ]
        if not rows and not self.journal.exists():
            return
        with suppress(FileError):  # a full disk must not end the jobs; they are in the store
            write_whole(self.journal, json.dumps({"jobs": rows}).encode(), force=True)


def _end(job: Job) -> None:
    """End the job's process; the workers of its sweep then end by themselves."""
    if job.process is not None and job.process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.process.pid, signal.SIGKILL)
