"""The workers of a Dask cluster: connect to them, send them units, receive their rows.

This process, the client, gives every unit to a worker that has the memory for it, and is the only one that writes the
store. It checks every row that a worker sends, as it checks rows of a file. Dask transports units and outcomes and
lists the workers; `dispatch` decides about the units of a lost worker, as for local processes.
"""

import json
import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any

from .._base.errors import SparseheadError
from ..store import Store
from ..store.rows import Damage, received_row
from ..train.learners.travel import packed
from . import remote
from .dispatch import Message, Unit, Worker, WorkerPool
from .local import SAFE_PATH
from .tls import changed_environment, first_line, require_certificate, scratch_folder, temporary_security

CONNECT = 5.0  # seconds to wait for a scheduler's answer
NOISY = ("distributed", "distributed.client", "tornado.application", "asyncio")  # log tracebacks


class DaskWorker(Worker):
    """One worker of the cluster, and the futures of its units."""

    def __init__(self, address: str, memory: float, threads: int) -> None:
        # Dask kills a worker at 0.95 of its memory limit.
        super().__init__(0.9 * memory / threads if memory else None, threads)
        self.address = address
        self.futures: dict[int, Any] = {}  # by id(unit)


class DaskPool(WorkerPool):
    """The workers that are connected to a scheduler now and whose software agrees with this program's."""

    def __init__(self, where: int | str) -> None:
        self.workers: list[DaskWorker] = []
        self._where = where
        self._settings: dict[str, Any] = {}
        self._topic = f"sparsehead-{uuid.uuid4().hex}"
        self._inbox: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._client: Any = None
        self._cluster: Any = None
        self._ended = threading.Event()
        self._undo = ExitStack()  # restores the settings that `_configure` changed

    def start(
        self, store: Store, *, runner: str, options: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        """Connect, and wait until there is a worker."""
        self._store, self._say = store, say
        self._settings = {"runner": runner, "options": options}
        if self._client is None:
            self._connect()
        while not self.workers:
            self._arrivals(*self._inbox.get())

    def _connect(self) -> None:
        from distributed import Client, LocalCluster
        from distributed.security import Security

        self._configure()
        if isinstance(self._where, int):
            security = temporary_security()
            self._cluster = LocalCluster(
                n_workers=self._where, threads_per_worker=1, processes=True, protocol="tls://", host="127.0.0.1",
                security=security, dashboard_address=None, silence_logs=50,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            )  # fmt: skip
            self._cluster.scheduler.http_server.stop()  # Dask starts one even without a dashboard
            address = self._cluster.scheduler_address
        else:
            address, security = self._where, Security()
            require_certificate(address, security)
        try:
            self._client = Client(
                address, security=security, timeout=CONNECT, name="sparsehead", set_as_default=False
            )
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise SparseheadError(
                f"no Dask scheduler answers at {address} within {CONNECT:.0f} s ({first_line(error)}); start one with "
                "`dask scheduler`, or use --cluster local:2, which needs no scheduler."
            ) from error
        self._where = address
        self._client.subscribe_topic(self._topic, lambda event: self._inbox.put(("progress", event[1])))
        threading.Thread(target=self._watch_workers, daemon=True).start()

    def _configure(self) -> None:
        """Change Dask's settings for the whole process, until `close` restores them."""
        import dask
        import distributed  # noqa: F401  load its defaults first: undoing an earlier setting would remove them

        for logger in map(logging.getLogger, NOISY):
            self._undo.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        if isinstance(self._where, int):
            # Dask restarts a worker that has ended, but gives up after 15 s, which is too short on a busy machine.
            self._undo.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}))
            for part in ("scheduler", "worker"):  # serve no web pages
                self._undo.enter_context(dask.config.set({f"distributed.{part}.http.routes": []}))
            scratch = self._undo.enter_context(scratch_folder())
            self._undo.enter_context(dask.config.set({"temporary-directory": scratch}))
            # Dask starts its processes by `python -c`, which would look for modules in the current folder first.
            self._undo.enter_context(changed_environment(SAFE_PATH))

    def largest_memory(self) -> float | None:
        """The memory for one thread of the largest worker."""
        sizes = [worker.memory for worker in self.workers]
        return None if None in sizes else max(memory for memory in sizes if memory is not None)

    def threads(self) -> int:
        """The number of threads of all workers."""
        return max(1, sum(worker.at_once for worker in self.workers))

    def free(self, size: float, *, ahead: bool) -> DaskWorker | None:
        """Return the worker with the fewest units among those that have the memory."""
        most = 2 if ahead else 1
        able = [w for w in self.workers if w.memory is None or w.memory >= size]
        open_ = [w for w in able if len(w.units) < most * w.at_once]
        return min(open_, key=lambda w: len(w.units) / w.at_once, default=None)

    def give(self, worker: DaskWorker, unit: Unit) -> None:
        """Submit the unit to this worker only; fetch the answer as soon as it is ready."""
        every = max(0.5, self.threads() / 20)  # seconds: 20 reports a second from all workers together
        specs = [asdict(spec) for spec in unit.specs]
        learner = packed(unit.specs[0].learner)
        asked = {"unit": specs, "topic": self._topic, "every": every, "learner": learner}
        text = json.dumps(asked | self._settings)
        try:
            future = self._client.submit(
                remote.run, text, key=f"sparsehead-{uuid.uuid4().hex}", workers=[worker.address],
                allow_other_workers=False, pure=False, retries=0,
            )  # fmt: skip
        except Exception as error:  # the connection is closed
            raise self._gone(first_line(error)) from error
        worker.futures[id(unit)] = future
        self._client.loop.add_callback(self._fetch, worker, unit, future)

    async def _fetch(self, worker: DaskWorker, unit: Unit, future: Any) -> None:
        """Wait for the answer in the client's event loop, and put it into the inbox."""
        from asyncio import CancelledError

        from distributed import CancelledError as FutureCancelled
        from distributed.scheduler import KilledWorker

        try:
            text, blobs = await self._client.gather(future, asynchronous=True)
            messages = json.loads(text)
        except KilledWorker:
            self._inbox.put(("left", [worker.address]))
        except (CancelledError, FutureCancelled):
            self._inbox.put(("answer", (worker, unit, [{"lost": True}], [])))
        except BaseException as error:  # including the exception that ended a worker's task
            why = f"{type(error).__name__}: {first_line(error)}"
            errors = [{"error": key, "message": why} for key in list(unit.waiting)]
            self._inbox.put(("answer", (worker, unit, [*errors, {"lost": True}], [])))
        else:
            self._inbox.put(("answer", (worker, unit, messages, blobs)))

    def receive(self) -> list[tuple[DaskWorker | None, Message | None]]:
        """Store the outcomes of all messages that have arrived and return the messages, each with its worker; a message
        about progress has None in place of the worker.
        """
        news = [self._inbox.get()]
        with suppress(queue.Empty):
            while len(news) < 1000:
                news.append(self._inbox.get_nowait())
        heard: list[tuple[DaskWorker | None, Message | None]] = []
        left: set[str] = set()  # several units may report the loss of one worker
        for kind, content in news:
            if kind == "answer":
                heard += [] if content[0].address in left else self._answer(*content)
            elif kind == "progress":
                heard.append((None, {"progress": json.loads(content)}))
            elif kind == "left":
                gone = [w for w in self.workers if w.address in content and w.address not in left]
                left |= {worker.address for worker in gone}
                heard += [(worker, None) for worker in gone]
            else:
                self._arrivals(kind, content)
        return heard

    def _answer(
        self, worker: DaskWorker, unit: Unit, messages: list[Message], blobs: list[bytes]
    ) -> list[tuple[Any, Message | None]]:
        """Commit the rows of a unit; return the messages for `dispatch`."""
        if worker not in self.workers or worker.futures.pop(id(unit), None) is None:
            return []  # the worker was already counted as lost, and its unit given to another one
        rows = []
        heard: list[tuple[Any, Message | None]] = []
        for message in messages:
            if "row" in message:
                arrays = {name: blobs[place] for name, place in message.pop("arrays").items()}
                row = tuple(message.pop("row"))
                try:
                    record = received_row(row, arrays)
                except Damage as why:
                    said = f"what its worker sent is damaged: {why}"
                    message = {"error": message["outcome"], "message": said}
                else:
                    message = {"outcome": record.spec_id, "made_by": record.made_by}
                    rows.append((row, arrays))
            elif "done" in message or "lost" in message:
                message["unit"] = unit
            heard.append((worker, message))
        self._store.add_rows(rows)
        return heard

    def _watch_workers(self) -> None:
        """Twice a second, in a separate thread, report new workers with their environments, and workers that have left.

        A scheduler that does not answer for 20 s counts as lost.
        """
        known: set[str] = set()
        answered = time.monotonic()
        while not self._ended.wait(0.5):
            try:
                there = set(self._client.nthreads())
                new = sorted(there - known)
                own = self._cluster is not None
                said = self._client.run(remote.introduce, own, workers=new, on_error="return") if new else {}
            except Exception as error:
                if time.monotonic() - answered > 20.0 or self._client.status in ("closed", "closing"):
                    self._inbox.put(("lost", first_line(error)))
                    return
                continue
            answered = time.monotonic()
            if not there and not known:
                self._inbox.put(("nobody", None))
            if known - there:
                self._inbox.put(("left", sorted(known - there)))
            if said:
                self._inbox.put(("joined", said))
            known = (known & there) | set(said)

    def _gone(self, why: str) -> SparseheadError:
        return SparseheadError(
            f"the scheduler at {self._where} is gone ({why}); finished outcomes are in the store, and the same "
            "command goes on from there."
        )

    def _arrivals(self, kind: str, content: Any) -> None:
        """Accept the new workers whose software agrees with this program's; say what differs."""
        if kind == "lost":
            raise self._gone(content)
        if kind == "nobody":
            self._say(
                f"the scheduler at {self._where} has no workers yet; this waits for some: `dask worker {self._where} "
                "--nthreads 1` starts one."
            )
        if kind != "joined":
            return
        refused = ""
        for address, said in sorted(content.items()):
            if isinstance(said, BaseException):
                refused = f"the worker at {address} has no sparsehead that can be used ({first_line(said)})"
                self._say(f"{refused}; it gets no work.")
                continue
            found = json.loads(said)
            what, usable = remote.difference(found["environment"])
            if usable:
                self.workers.append(DaskWorker(address, float(found["memory"]), found["threads"]))
                if what:
                    self._say(f"workers differ from this program, and are used: {what}.")
            else:
                refused = (
                    f"the worker at {address} differs from this program in what decides the numbers: {what}"
                )
                self._say(f"{refused}; it gets no work.")
        if refused and not self.workers:
            raise SparseheadError(f"no worker of {self._where} can be used: {refused}.")

    def remove(self, worker: DaskWorker) -> str:
        """Drop the futures of a lost worker, so that the sweep does not wait for them; return how it ended."""
        self.workers.remove(worker)
        with suppress(Exception):
            self._client.cancel(list(worker.futures.values()))
        worker.futures.clear()
        return f"{worker.address} left the cluster"

    def close(self) -> None:
        """Abandon running units and disconnect; stop the cluster if this pool started it."""
        self._ended.set()
        if self._client is not None:
            futures = [future for worker in self.workers for future in worker.futures.values()]
            with suppress(Exception):
                self._client.cancel(futures)
            with suppress(Exception):
                self._client.close(timeout=CONNECT)
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.close(timeout=CONNECT)
        self._client = self._cluster = None
        self.workers = []
        self._undo.close()
