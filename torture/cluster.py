"""The same with a Dask cluster: kill -9 of client, workers and scheduler, and a cut network between client and cluster.

A cluster of the client's own (`local:2`) must end with it, however it ends. Elsewhere the scheduler and its workers are
processes that the client did not start. For the cut network they live in a network namespace that a pair of virtual
interfaces connects with the client's; that needs root and `ip`. Without them it is left out, and said.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ground import HERE, Client, Failed, Ground, Rows, descendants, one_line, until

NAMESPACE, OUTSIDE, INSIDE = "sparsehead-torture", "10.213.77.1", "10.213.77.2"
Figures = dict[str, object]


def available() -> bool:
    """Whether this version has clusters and Dask is installed."""
    return find_spec("sparsehead.sweep.cluster") is not None and find_spec("distributed") is not None


class Cluster:
    """A scheduler and two workers, which are started again after they were killed."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", inside: tuple[str, ...] = ()) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.host, self._inside, self._folder = host, inside, folder
        self.address = f"tcp://{host}:{self.port}"
        self.scheduler: Any = None
        self.workers: list[Any] = []
        self.complete()

    def complete(self) -> None:
        """Start what is not running; without its scheduler a worker is of no use."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.end()
            self.scheduler = self._start(
                "dask_scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard"
            )
            until(self._answers, "the scheduler answers")
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            options = [
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--local-directory",
                str(self._folder),
            ]
            self.workers.append(self._start("dask_worker", self.address, *options))

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _start(self, program: str, *arguments: str) -> Any:
        command = [*self._inside, sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        log = (self._folder / f"{program}.log").open("ab")
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
        return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)

    def end(self) -> None:
        """kill -9 of everything."""
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.workers, self.scheduler = [], None


def cluster_kills(ground: Ground, rng: random.Random, number: int) -> Figures:
    """kill -9 of client, workers and scheduler of a Dask cluster at random moments, `number` in all."""
    killed: Counter[str] = Counter()
    cluster = Cluster(ground.folder)
    try:
        while killed.total() < number:
            db = ground.folder / f"dask-{killed.total()}.db"
            rows: Rows = {}
            while killed.total() < number and len(rows) < ground.number:
                cluster.complete()
                client = ground.start(db, cluster=cluster.address)
                _disturb(client, cluster, rng, killed, number)
                code = client.wait()
                rows = ground.check_part(db, rows)
                if code == 2:
                    one_line(client.said())
                elif code not in (0, -signal.SIGKILL):
                    raise Failed(f"a client ended with {code}: {client.said()[-300:]}")
                if len(rows) < client.done:
                    raise Failed(f"{client.done} outcomes were announced, {len(rows)} are there")
            cluster.complete()
            ground.finish(db, rows, cluster=cluster.address)
    finally:
        cluster.end()
    return {"kills on a Dask cluster": killed.total(), **killed}


def _disturb(client: Client, cluster: Cluster, rng: random.Random, killed: Counter[str], number: int) -> None:
    while client.running and killed.total() < number:
        goal = client.done + rng.randrange(1, 15)
        until(lambda g=goal: client.done >= g or not client.running, "outcomes come")
        time.sleep(rng.random() * 0.05)
        victim = rng.choice(("of workers", "of workers", "of schedulers", "of clients"))
        if not client.running:
            return
        killed[victim] += 1
        if victim == "of clients":
            client.kill()
            return
        if victim == "of schedulers":
            cluster.scheduler.kill()
            return  # the client says so and ends
        rng.choice(cluster.workers).kill()
        cluster.complete()


ENDINGS = {
    "kill -9": [signal.SIGKILL],
    "SIGTERM": [signal.SIGTERM],
    "SIGHUP": [signal.SIGHUP],
    "Ctrl-C": [signal.SIGINT],
    "double Ctrl-C": [signal.SIGINT, signal.SIGINT],
}


def own_cluster(ground: Ground, rng: random.Random) -> Figures:
    """A client with scheduler and workers of its own (`local:2`) is ended in five ways: they end as well."""
    slowest = 0.0
    for name, sent in ENDINGS.items():
        db = ground.folder / f"own-{name.replace(' ', '-')}.db"
        client = ground.start(db, cluster="local:2")
        goal = rng.randrange(2, 20)
        until(lambda c=client, g=goal: c.done >= g or not c.running, "outcomes come")
        started = descendants(client.process.pid)
        for number in sent:
            client.kill(number)
            time.sleep(rng.random() * 0.1)
        if client.wait() == 0:
            raise Failed(f"{name} came too late to disturb anything")
        ended = time.monotonic()
        until(lambda s=started: not any(Path(f"/proc/{p}").exists() for p in s), f"{name}: no stray process")
        slowest = max(slowest, time.monotonic() - ended)
        if "Traceback" in client.said():
            raise Failed(f"{name}: {client.said()[-300:]}")
        rows = ground.check_part(db)
        if len(rows) < client.done:
            raise Failed(f"{name}: an announced outcome is lost")
        ground.finish(db, rows)
    return {"ways to end it": len(ENDINGS), "its workers were gone after s, at most": round(slowest, 1)}


@contextmanager
def namespace() -> Iterator[tuple[str, ...]]:
    """A network namespace that is connected with this one; what runs a command in it.

    Raises:
        OSError: this system does not let us.
    """
    if not shutil.which("ip") or os.geteuid() != 0:
        raise OSError("network namespaces need root and ip")
    lines = (
        f"netns add {NAMESPACE}", "link add sht0 type veth peer name sht1", f"link set sht1 netns {NAMESPACE}",
        f"addr add {OUTSIDE}/24 dev sht0", "link set sht0 up", f"-n {NAMESPACE} addr add {INSIDE}/24 dev sht1",
        f"-n {NAMESPACE} link set sht1 up", f"-n {NAMESPACE} link set lo up",
    )  # fmt: skip
    try:
        for line in lines:
            if subprocess.run(["ip", *line.split()], capture_output=True).returncode:
                raise OSError(f"ip {line}")
        yield ("ip", "netns", "exec", NAMESPACE)
    finally:
        subprocess.run(["ip", "link", "del", "sht0"], capture_output=True)
        subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True)


def cut_network(ground: Ground, rng: random.Random) -> Figures:
    """The network between client and scheduler is cut under a sweep: for two seconds, and for good."""
    try:
        with namespace() as inside:
            cluster = Cluster(ground.folder, INSIDE, inside)
            try:
                return _cut(ground, cluster)
            finally:
                cluster.end()
    except OSError as error:
        return {"not run": str(error)}


def _cut(ground: Ground, cluster: Cluster) -> Figures:
    db = ground.folder / "cut.db"
    client = ground.start(db, cluster=cluster.address)
    until(lambda: client.done >= 3 or not client.running, "outcomes come")
    _link("down")
    time.sleep(2)
    _link("up")
    before = client.done
    until(lambda: client.done >= before + 3 or not client.running, "outcomes come again")
    went_on = client.running or "finished" in client.said()
    _link("down")
    start = time.monotonic()
    code = client.wait()
    if code == 0 and "finished" not in client.said():
        raise Failed("a sweep without its scheduler ended as if it were complete")
    said = one_line(client.said()) if code else "the sweep had finished"
    seconds = time.monotonic() - start
    _link("up")
    rows = ground.check_part(db)
    if len(rows) < client.done:
        raise Failed("an announced outcome is lost")
    cluster.end()
    cluster.complete()
    ground.finish(db, rows, cluster=cluster.address)
    return {
        "after two seconds it went on": went_on,
        "cut for good, it ended after s": round(seconds),
        "saying": said[:90],
    }


def _link(state: str) -> None:
    subprocess.run(["ip", "link", "set", "sht0", state], check=True)
