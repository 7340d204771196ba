"""Read results files for the checks of experiments."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from ..studies.folder import R, has_results, read_results, remedy
from ..studies.plans import command_for
from .claim import Context, NotRun, judged

LEVEL = 0.05  # a p-value below this decides a verdict
# The results file by which each claim about an experiment is judged.
FILES = {
    "law-and": "law", "law-dropout": "law-mingpt", "curves-and": "curves-paper", "attention-and": "attention-paper",
    "parity-curves": "parity", "dropout-cost": "dropout", "norms-learned": "learned-norms",
    "bound-along-training": "bound-training", "readings-together": "readings", "law-slope": "slope",
    "failures-sign": "failures", "law-functions": "functions", "read-trained": "reading", "read-certificate": "reading",
    "support-appears": "appearance", "law-bars": "law-matched", "taught-one-step": "taught-parity",
    "token-regression-heads": "pointers", "token-laws": "pointers",
    "taught-own-steps": "taught-parity", "untaught-parity": "taught-parity", "difficulty-order": "functions",
    "predicted-line": "predicted", "function-order": "every-function", "flipped-laws": "input-laws",
    "flipped-heads": "input-laws", "shifted-laws": "input-laws", "correlated-laws": "input-laws",
    **{
        label: label
        for label in (
            "law-grid", "law-decades", "law-matched", "law-literal", "law-matched-beyond", "law-matched-decades",
            "law-best", "law-gated", "readings", "slope-norms", "parity-settings",
        )
    },
}  # fmt: skip


def _folder(context: Context) -> Path | None:
    folder = context.options.get("results")
    return None if folder is None else Path(folder)


def results_if_any(context: Context, name: str, kind: type[R]) -> R | None:
    """Read NAME.json in the context's results folder; None if there is no folder or no such file.

    Raises:
        FileError: the file does not contain a record of type `kind`.
    """
    folder = _folder(context)
    if folder is None or not has_results(folder, name):
        return None
    return read_results(folder, name, kind)


def results(context: Context, name: str, kind: type[R], paper: str = "no number") -> R:
    """Read NAME.json in the context's results folder.

    Raises:
        NotRun: there is no such file; `paper` is the paper's number, shown in the finding.
        FileError: the file does not contain a record of type `kind`.
    """
    found = results_if_any(context, name, kind)
    if found is None:
        raise not_run(context, name, paper)
    return found


def spread(steps: Iterable[int]) -> str:
    """Return the least, the median and the greatest step as text; "-" if there are none."""
    found = sorted(steps)
    return f"{found[0]}/{median(found):g}/{found[-1]}" if found else "-"


def not_run(context: Context, name: str, paper: str = "no number", lacks: str = "no results yet") -> NotRun:
    """Return the exception of a check without data to compare; it names the command that measures NAME.json."""
    folder = _folder(context)
    command = command_for(name) if folder is None else remedy(folder, name)
    return NotRun(judged("not run", paper=paper, ours=lacks, detail=f"`{command}` measures it."))
