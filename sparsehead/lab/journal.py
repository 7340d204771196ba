"""The journal of unfinished jobs. It is not trusted: anyone who can write to the store's folder can edit this file.

Each request in the journal must pass the checks of its endpoint, so that resuming a job can do no more than a request
to that endpoint.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .._base.errors import SparseheadError
from .._base.files import read_json, shown_path

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
