"""Results files as the checks of experiments read them."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from ..studies.folder import R, has_results, read_results, remedy
from ..studies.plans import command_for
from .claim import Context, NotRun, judged

LEVEL = 0.05  # a p-value below this decides a verdict


def _folder(context: Context) -> Path | None:
    folder = context.options.get("results")
    return None if folder is None else Path(folder)


def results_if_any(context: Context, name: str, kind: type[R]) -> R | None:
    """Read NAME.json in the context's results folder; None without a folder or such a file.

    Raises:
        FileError: the file holds no record of this kind.
    """
    folder = _folder(context)
    if folder is None or not has_results(folder, name):
        return None
    return read_results(folder, name, kind)


def results(context: Context, name: str, kind: type[R], paper: str = "no number") -> R:
    """Read NAME.json in the context's results folder.

    Raises:
        NotRun: there is no such file; `paper` is the number to compare with.
        FileError: the file holds no record of this kind.
    """
    found = results_if_any(context, name, kind)
    if found is None:
        raise not_run(context, name, paper)
    return found


def spread(steps: Iterable[int]) -> str:
    """The least, the median and the greatest step; "-" without any."""
    found = sorted(steps)
    return f"{found[0]}/{median(found):g}/{found[-1]}" if found else "-"


def not_run(context: Context, name: str, paper: str = "no number", lacks: str = "no results yet") -> NotRun:
    """Make the exception of a check that has nothing to compare; it names the command that measures NAME.json."""
    folder = _folder(context)
    command = command_for(name) if folder is None else remedy(folder, name)
    return NotRun(judged("not run", paper=paper, ours=lacks, detail=f"`{command}` measures it."))
