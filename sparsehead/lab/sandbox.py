"""Parse uploaded files in a separate process, `python -m sparsehead.lab.sandbox`, with limits on memory and time.

The parent sends one line of JSON, {"task", "options"}, and then the file's bytes; the child prints {"answer": ..} or
{"error": sentence, "status": ..} on standard output and ends. No part of a request is ever used as a path: the child
writes the bytes to a temporary file whose name it chooses itself.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.errors import ParseError, SparseheadError, TooLarge

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..heads.model import Model

# What the description of an endpoint says about a body that is a file.
FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
CSV_FILE: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}
}


async def parse_upload(
    request: "Request", task: str, options: dict[str, Any], kind: str = "application/octet-stream"
) -> "Response":
    """Run `task` on the file in the request's body and respond with its result.

    Raises:
        HTTPException: the body has another type than `kind` (415); also the exceptions of `Sandbox.run`.
    """
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    said = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if said != kind:
        raise HTTPException(415, f"this takes a file as {kind}; got {said[:60] or 'no content type'}.")
    return JSONResponse(await request.app.state.sandbox.run(task, await request.body(), options))


class Sandbox:
    """Processes that parse files: at most `at_once` at a time, with at most `waiting` files in the queue."""

    def __init__(self, at_once: int = 2, waiting: int = 8) -> None:
        self.at_once, self.waiting = at_once, waiting
        self._free = asyncio.Semaphore(at_once)
        self._here = 0

    async def run(self, task: str, content: bytes, options: dict[str, Any]) -> Any:
        """Run `task` on the bytes of a file in a child process and return its result as JSON values.

        Raises:
            SparseheadError: the file is not valid for the task, or parsing exceeds the limit on memory or time.
            Busy: the queue of files is full.
        """
        from .answers import Busy

        if self._here >= self.at_once + self.waiting:
            raise Busy(
                f"{self.at_once} files are being parsed and {self.waiting} wait; try again in a moment."
            )
        self._here += 1
        try:
            async with self._free:
                return await _child(task, content, options)
        finally:
            self._here -= 1


async def _child(task: str, content: bytes, options: dict[str, Any]) -> Any:
    from ..sweep.local import CHILD

    # A child that is killed at one of its limits removes nothing: its temporary files are in a folder of ours.
    with tempfile.TemporaryDirectory(prefix="sparsehead-lab-", ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | CHILD | {"TMPDIR": folder}, start_new_session=True,
        )  # fmt: skip
        line = json.dumps({"task": task, "options": options}).encode() + b"\n"
        try:
            # wall-clock time: a busy machine is slow, and a process that computes nothing must end too
            async with asyncio.timeout(600):
                said, _ = await process.communicate(line + content)
        except TimeoutError:
            raise TooLarge("the file took longer than 10 minutes; a smaller model may do.") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
    if not said or len(said) > 16_000_000:
        raise TooLarge("the file needs more memory or time than an uploaded file gets; a smaller one may do.")
    found = json.loads(said)
    if "error" in found:
        raise (TooLarge if found.get("large") else ParseError)(found["error"])
    return found["answer"]


def main() -> None:
    """Run one task in the child process, after setting its limits."""
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))  # bytes of address space
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # seconds of processor time
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print; keep that out of the answer
    asked = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read()
    try:
        tasks = {
            "bound": _bound, "read": _read, "points": _points, "probe": _probe, "columns": _columns, "table": _table,
        }  # fmt: skip
        answer: dict[str, Any] = {"answer": tasks[asked["task"]](content, asked["options"])}
    except (TooLarge, MemoryError) as error:
        answer = {"error": str(error) or "the file needs too much memory.", "large": True}
    except SparseheadError as error:
        answer = {"error": " ".join(str(error).split())}
    answers.write(json.dumps(answer, allow_nan=False))
    answers.flush()


def loaded(content: bytes) -> Any:
    """Load the model from the bytes of its file, through a temporary file."""
    from ..heads.model_file import load

    with _file(content) as path:
        return load(path)


@contextmanager
def _file(content: bytes, name: str = "model.safetensors") -> Iterator[Path]:
    """Yield the path of a temporary file with these bytes; in error messages its name becomes "the file"."""
    with tempfile.TemporaryDirectory(prefix="sparsehead-lab-") as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            yield path
        except SparseheadError as error:
            said = str(error).replace(str(path), "the file").replace(path.name, "the file")
            raise type(error)(said) from None


def _bound(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    from ..capacity import bound

    return {**bound(loaded(content), **options).to_dict(), "floor": None}


def _read(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    return read_answer(loaded(content), **options)


def read_answer(model: "Model", **options: Any) -> dict[str, Any]:
    """Return the record of `read`, with its verdict in words and the shape of the model."""
    from ..reading import read

    reading = read(model, **options)
    shape = {"d": model.d, "heads": model.H, "layers": model.L, "encoding": model.encoding.kind}
    return {"verdict": reading.verdict, **reading.to_dict(), "model": shape}


def _probe(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    from ..probing.probe import probe
    from ..probing.screen import is_state_dict
    from .work import probed
    from .worker import finite

    with _file(content) as path:
        heads = options["heads"] if is_state_dict(path) else None  # the page's field is for a state dict
        return finite(probed(probe(path, **options | {"heads": heads})))


def _points(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    from ..covering.points_file import points_of

    points = points_of(content, "the file")
    if len(points) > options["most"]:
        raise TooLarge(
            f"the file has {len(points)} points, the page takes {options['most']}; `sparsehead cover` takes more."
        )
    return {"points": points}


def _columns(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Describe the columns of a table: their kinds, medians of numbers, and the first of their values."""
    import numpy as np

    from ..datasets.binary import check_complete, kind_of, spelled_values
    from ..datasets.files import csv_columns

    columns = csv_columns(content, "the file")
    rows = []
    for column in columns.values():
        check_complete(column)
        kind = kind_of(column)
        middle = float(np.median(column.values)) if kind == "numbers" else None
        values = sorted(set(spelled_values(column)))[: options["most_values"]]
        rows.append({"name": column.name, "kind": kind, "middle": middle, "values": values})
    return {"rows": len(next(iter(columns.values())).values), "columns": rows}


def _table(content: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Learn from a table; return the record of `sparsehead learn --data --json`, its verdict and all methods."""
    from ..datasets import dataset
    from ..datasets.dataset import cuts_of
    from ..train.learn import learn

    given = {
        "onehot": options["onehot"],
        "positive": options["positive"],
        "threshold": cuts_of(options["cut"]),
    }
    with _file(content, "table.csv") as path:
        data = dataset(path, options["label"], **given)
    if data.m * data.T > options["most_bits"]:
        raise TooLarge(
            f"the table has {data.m} rows of {data.T} bits, the page takes {options['most_bits']} in all; "
            "`sparsehead learn --data` takes more."
        )
    run = learn(data, seed=options["seed"], engine="compiled")
    return {"verdict": run.verdict, **run.to_dict(), "methods": list(run.to_frame())}


if __name__ == "__main__":
    main()
