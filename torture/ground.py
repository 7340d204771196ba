"""What every scenario needs: sweeps that can be killed, what the store holds, and what must hold afterwards."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from client import specs

from sparsehead.store import Store
from sparsehead.store.repair import check
from sparsehead.train.spec import spec_id

HERE = Path(__file__).resolve().parent
PATIENCE = (
    300.0  # seconds after which something that must happen has not; generous, since the machine may be busy
)
Rows = dict[str, tuple[Any, ...]]


class Failed(Exception):
    """Something that must hold does not: lost, twice, wrong, or left behind."""


class Client:
    """A running sweep: its process, and what it has said so far."""

    def __init__(self, db: Path, number: int, *, workers: int = 2, cluster: str = "", **options: Any) -> None:
        self.db, self.number = db, number
        self.output = db.with_name(f"{db.name}.said.{time.monotonic_ns()}")
        environment = os.environ | {"OMP_NUM_THREADS": "1"} | options.pop("env", {})
        self._sink = self.output.open("wb")
        before = options.pop("preexec_fn", None)
        arguments = [str(db), str(number), str(workers), *([cluster] if cluster else [])]
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "client.py"), *arguments],
            stdout=self._sink, stderr=self._sink, stdin=subprocess.DEVNULL, env=environment,
            preexec_fn=lambda: _as_in_a_terminal(before), **options,
        )  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def done(self) -> int:
        """How many outcomes it has announced."""
        counts = [line.split()[1] for line in self.said().splitlines() if line.startswith("done ")]
        return int(counts[-1]) if counts else 0

    def said(self) -> str:
        """Everything it has printed."""
        return self.output.read_text(errors="replace")

    def workers(self) -> list[int]:
        """The ids of its live worker processes."""
        return [process for process in workers_of(self.db) if _parent_named(process) == str(self.process.pid)]

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(timeout=PATIENCE)
        self._sink.close()
        return code

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal."""
        if self.running:
            self.process.send_signal(number)


def _as_in_a_terminal(more: Callable[[], None] | None) -> None:
    """In the child: signals that a shell or nohup let this runner ignore have their usual effect."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if more is not None:
        more()


def workers_of(db: Path) -> list[int]:
    """The ids of the live sweep workers on a store, whoever started them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if "sparsehead.sweep.worker" in command and f'"{db}"' in command and state != "Z":
            found.append(int(folder.name))
    return found


def descendants(process: int) -> list[int]:
    """The ids of the live processes that a process has started, and that those have."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(folder.name))
    found, todo = [], [process]
    while todo:
        new = children.get(todo.pop(), [])
        found += new
        todo += new
    return found


def _parent_named(process: int) -> str:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    return command.split('"parent": ')[-1].split("}")[0].split(",")[0]


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until the condition holds.

    Raises:
        Failed: it never did.
    """
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {PATIENCE:g} s")
        time.sleep(0.01)


def no_stray(db: Path) -> None:
    """Every worker of the store ends by itself, soon after its client."""
    until(lambda: not workers_of(db), "workers without a client end")


def rows_of(db: Path) -> Rows:
    """All rows by id, with who made them when; the store must be sound from end to end.

    Rows that say that a trial could not be run are left out: they count as missing, and the sweep tries it again.
    """
    if not db.exists() or db.stat().st_size == 0:
        return {}
    found = check(db)
    if found.damage:
        raise Failed(f"damage without a disturbance that could explain it: {found.damage[0]}")
    with Store(db, readonly=True) as store:
        records = list(store.records())
        if len({record.id for record in records}) != len(store):
            raise Failed("an outcome stands there twice")
        return {
            record.id: (
                record.spec_id,
                record.outcome,
                record.made_by,
                record.created,
                store.history(record.id),
            )
            for record in records
            if record.outcome["status"] != "failed"
        }


def numbers(rows: Rows) -> dict[str, Any]:
    """The outcomes by spec, without times."""
    found: dict[str, Any] = {}
    for spec, outcome, _, _, history in rows.values():
        if spec in found:
            raise Failed(f"two outcomes of the spec {spec}")
        found[spec] = ({name: value for name, value in outcome.items() if name != "seconds"}, history)
    return found


class Ground:
    """The reference of an undisturbed sweep, and the checks against it."""

    def __init__(self, folder: Path, number: int, *, workers: int = 2) -> None:
        self.folder, self.number, self.workers = folder, number, workers
        client = self.start("undisturbed.db")
        if client.wait() != 0:
            raise Failed(f"the undisturbed sweep ended with: {client.said()[-300:]}")
        self.expected = numbers(rows_of(client.db))
        if set(self.expected) != {spec_id(spec) for spec in specs(number)}:
            raise Failed("the undisturbed sweep is not complete")

    def start(self, name: str | Path, **options: Any) -> Client:
        """A client that runs the sweep into the store of this name."""
        return Client(self.folder / name, self.number, **{"workers": self.workers, **options})

    def check_part(self, db: Path, earlier: Rows | None = None) -> Rows:
        """The rows, if they are part of the expected ones and hold all that was there earlier, unchanged."""
        rows = rows_of(db)
        for spec, found in numbers(rows).items():
            if self.expected.get(spec) != found:
                raise Failed(f"the outcome of {spec} is not that of an undisturbed sweep")
        for key, row in (earlier or {}).items():
            if rows.get(key) != row:
                raise Failed(f"the outcome {key} was there and is {'lost' if key not in rows else 'changed'}")
        return rows

    def finish(self, db: Path, earlier: Rows | None = None, **options: Any) -> Rows:
        """Repeat the sweep without disturbance: it completes, with the expected numbers and no process left."""
        client = self.start(db, **options)
        code = client.wait()
        if code != 0:
            raise Failed(f"the repeated sweep ended with {code}: {client.said()[-300:]}")
        rows = self.check_part(db, earlier)
        if len(rows) != len(self.expected):
            raise Failed(f"{len(rows)} outcomes instead of {len(self.expected)}")
        no_stray(db)
        return rows


def one_line(said: str) -> str:
    """What a client said on its way out: one sentence.

    Raises:
        Failed: a traceback, or nothing.
    """
    if "Traceback" in said:
        raise Failed(f"a traceback: {said[-300:]}")
    lines = [line for line in said.splitlines() if line.startswith("sparsehead: ")]
    if not lines:
        raise Failed(f"no word: {said[-300:]!r}")
    return lines[-1]


@contextmanager
def full_disk(folder: Path, size: int) -> Iterator[Callable[[], None]]:
    """A file system of `size` bytes at `folder`; the function that it yields makes room. Needs root.

    Raises:
        OSError: this system does not let us mount.
    """
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]).returncode:
        raise OSError("no mount")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", str(folder)], check=True)
