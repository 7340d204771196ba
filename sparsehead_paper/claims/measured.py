"""What the checks of experiments read: results files, and the finding of a check that lacks its data."""

from pathlib import Path
from typing import TypeVar

from sparsehead._base.jsonable import ResultsRecord

from ..studies.folder import has_results, read_results, remedy
from ..studies.plans import command_for
from .claim import Context, Finding, judged

R = TypeVar("R", bound=ResultsRecord)


def _folder(context: Context) -> Path | None:
    folder = context.options.get("results")
    return None if folder is None else Path(folder)


def results(context: Context, name: str, kind: type[R]) -> R | None:
    """The record in NAME.json of the context's results folder; None without a folder or such a file.

    Raises:
        FileError: the file holds no such record.
    """
    folder = _folder(context)
    if folder is None or not has_results(folder, name):
        return None
    return read_results(folder, name, kind)


def not_run(context: Context, name: str, paper: str, lacks: str = "no results yet") -> Finding:
    """Nothing to compare: what is lacking, and the exact command that measures what NAME.json holds."""
    folder = _folder(context)
    command = command_for(name) if folder is None else remedy(folder, name)
    return judged("not run", paper=paper, ours=lacks, detail=f"`{command}` measures it.")
