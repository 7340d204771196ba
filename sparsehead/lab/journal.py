"""The journal of unfinished jobs, and the results of finished ones, so that a link to a job outlives the server.

Neither is trusted: anyone who can write to the store's folder can edit these files. Each request in them must pass the
checks of its endpoint, so that resuming a job can do no more than a request to that endpoint.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .._base.errors import FileError, SparseheadError
from .._base.files import make_folder, read_json, shown_path, write_whole

# For each kind of job: complete a request, or raise one of REFUSALS where no endpoint would take it.
Kinds = Mapping[str, Callable[[Any], dict[str, Any]]]
REFUSALS = (SparseheadError, ValueError, TypeError, KeyError, OverflowError, RecursionError)


class Row(BaseModel):
    """One unfinished job."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    request: dict[str, Any]
    state: Literal["waiting", "running", "cancelled", "interrupted"]
    created: Annotated[float, Field(ge=0, le=10**11, allow_inf_nan=False)]

    def offered(self) -> str:
        """Return the state that the next server shows: "cancelled" or "interrupted"."""
        return "cancelled" if self.state == "cancelled" else "interrupted"


class _Journal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    jobs: Annotated[list[Row], Field(max_length=1000)]


def read_journal(path: Path, kinds: Kinds) -> list[Row]:
    """Return the valid jobs in a journal, with defaults filled in. If any is invalid, rename the file and print why."""
    if not os.path.lexists(path):
        return []
    rows, found, why = [], [], ""
    try:
        rows = _Journal.model_validate(read_json(path, wanted="a journal of jobs")).jobs
    except REFUSALS:
        why = "it is no journal of jobs"
    for row in rows:
        with suppress(*REFUSALS):
            found.append(row.model_copy(update={"request": kinds[row.kind](row.request)}))
    if len(found) < len(rows):
        why = f"{len(rows) - len(found)} of its {len(rows)} jobs cannot be asked for"
    if why:
        aside = path.with_name(f"{path.name}.set-aside")
        try:
            path.replace(aside)
            then = f"it is now {shown_path(aside.name)}"
        except OSError as error:
            then = f"it cannot be renamed ({error.strerror}), and the next job replaces it"
        print(f"{shown_path(path)}: {why}; {then}.", file=sys.stderr)
    return found


class Finished(BaseModel):
    """A finished job and its result."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    request: dict[str, Any]
    created: Annotated[float, Field(ge=0, le=10**11, allow_inf_nan=False)]
    points: Annotated[list[dict[str, Any]], Field(max_length=2000)]
    notes: Annotated[list[str], Field(max_length=20)]
    result: dict[str, Any]


def keep_finished(folder: Path, key: str, job: Finished) -> None:
    """Write the result of a job to a file, and remove the oldest files beyond 40."""
    most_kept = 40  # results of finished jobs
    with suppress(FileError, OSError):  # a full disk must not end the jobs
        make_folder(folder)
        write_whole(folder / f"{key}.json", job.model_dump_json().encode(), force=True)
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in files[:-most_kept]:
            path.unlink()


def read_finished(folder: Path, key: str, kinds: Kinds) -> Finished | None:
    """Return the job whose result is kept under this id; None if there is none, or if its request is not valid."""
    path = folder / f"{key}.json"
    with suppress(*REFUSALS, OSError):
        if path.is_file():
            found = Finished.model_validate(read_json(path, wanted="the result of a job"))
            return found.model_copy(update={"request": kinds[found.kind](found.request)})
    return None
