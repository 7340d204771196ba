"""The functions that a Dask worker runs: they receive units as JSON and return rows as JSON and bytes.

No class of this package crosses the network, so Dask pickles only names of functions, text and bytes. The code of a
user-defined learner is sent as text, which `train.learners.travel` unpacks.
"""

import json
import platform
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .._base.errors import SparseheadError
from .._base.provenance import version_and_commit
from ..store.rows import new_row
from ..train.learners.guard import ends_when_stuck
from ..train.learners.travel import unpack
from ..train.spec import spec_id
from ..train.transformer.library import Missing, library
from .worker import load_function, run_unit


class Abandoned(BaseException):
    """Raised inside a unit that the sweep has abandoned, to end it."""


def environment() -> dict[str, str]:
    """Return versions of software, and the instruction set of the compiled engine, by name."""
    release, commit = version_and_commit()
    kernel = library("float32")
    level = "none" if isinstance(kernel, Missing) else kernel.level
    found = {"sparsehead": release, "compiled engine": level, "torch": _version("torch"), "commit": commit}
    found |= {name: _version(name) for name in ("numpy", "distributed")}
    return found | {"Python": platform.python_version()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def difference(theirs: dict[str, str]) -> tuple[str, bool]:
    """Describe how a worker's environment differs from this one; return also whether the worker can be used."""
    here = environment()
    names = [name for name in here if theirs.get(name) != here[name]]
    words = [f"{name} {theirs.get(name) or 'unknown'} (here {here[name] or 'unknown'})" for name in names]
    # These determine the numbers: a worker that differs in one of them is not used. Other differences are reported.
    must_agree = ("sparsehead", "compiled engine", "torch")
    return ", ".join(words), not set(names) & set(must_agree)


def introduce(started_here: bool, dask_worker: Any) -> str:
    """Return a worker's environment, memory in bytes (0: no limit) and threads, as JSON.

    If this program started the cluster, stop the HTTP server that Dask starts in every worker.
    """
    if started_here:
        dask_worker.http_server.stop()
    limit = dask_worker.memory_manager.memory_limit or 0
    threads = dask_worker.state.nthreads
    return json.dumps({"environment": environment(), "memory": limit, "threads": threads})


def run(text: str) -> tuple[str, list[bytes]]:
    """Run one unit.

    Args:
        text: JSON with the unit's specs, runner and options, the topic for progress, and how often to report it.
    Returns:
        Messages as JSON (`worker` lists them), and byte strings, one for each array. An outcome's message has its
        row with checksum as "row"; its "arrays" maps names of arrays to indices of byte strings.
    """
    settings = json.loads(text)
    messages: list[dict[str, Any]] = []
    blobs: list[bytes] = []

    def keep(spec: Any, outcome: Any, arrays: dict[str, Any] | None) -> None:
        row, packed = new_row(spec, outcome, arrays)
        places = {name: len(blobs) + i for i, name in enumerate(packed)}
        blobs.extend(packed.values())
        messages.append({"outcome": spec_id(spec), "row": row, "arrays": places})

    report = _reporter(settings["topic"])

    def tell(message: dict[str, Any]) -> None:
        if "progress" in message:
            report(message["progress"])
        else:
            messages.append(message)

    try:
        runner = load_function(settings["runner"])
    except Exception as error:
        fatal = f"{settings['runner']} cannot be loaded by a worker: {error}"
        return json.dumps([{"fatal": fatal, "store": False}]), []
    try:
        unpack(settings["learner"])
    except SparseheadError as error:
        return json.dumps([{"fatal": str(error), "store": False}]), []
    ends_when_stuck()
    with redirect_stdout(
        sys.stderr
    ):  # silenced, since a worker on this machine shares the client's standard output
        run_unit(settings["unit"], runner, settings["options"], keep, tell, settings["every"])
    return json.dumps(messages, default=str), blobs


def _reporter(topic: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that sends a trial's state to the client, and ends the unit if the client has abandoned it."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def report(state: dict[str, Any]) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Abandoned
        worker.log_event(topic, json.dumps(state, default=str))

    return report
