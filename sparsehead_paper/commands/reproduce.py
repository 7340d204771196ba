"""`sparsehead reproduce`: check every claim of the paper and write a report."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsehead._base.errors import DomainError
from sparsehead._base.fields import option
from sparsehead.cli.output import AsJson, emit, literal
from sparsehead.cli.progress import SweepLine

if TYPE_CHECKING:
    from ..report.reproduce import Reproduction

LINE = "Check every claim of the paper and write report.html."


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Options that select what to run."""

    quick: bool = option(False, "Fewer fresh trials: a first look in two minutes.")
    full: bool = option(False, "Measure everything anew, T up to 10^5: hours on two cores; resumes.")
    db: Path = option(Path("results.db"), "The store; repeating the command resumes from it.")
    out: Path = option(Path("reproduction"), "Folder for report.html, figures and what is measured.")
    workers: int = option(2, "Processes, one thread each.")
    train: bool = option(True, "--no-train reports on the results that OUT holds.")
    only: str | None = option(
        None, "Experiments by name, with commas, such as readings,law-matched; no report is written."
    )
    stored: bool = option(False, "With --only: run nothing, write what the store holds so far.")
    seed: int = option(2, "Which fresh trials are run, from 2 on; committed trials have 0 and 1.")
    add: bool = option(
        False, "With --only: what OUT's results files hold counts as done, though its store is elsewhere."
    )

    def check(self) -> None:
        """Raise an error for options that contradict each other or that need another option."""
        if self.quick and self.full:
            raise DomainError(
                "--quick and --full were both given; choose one, or neither for 5 minutes on two cores."
            )
        if self.stored and self.only is None:
            raise DomainError(
                "--stored goes with --only NAMES, which says what to collect; --no-train reports on OUT."
            )
        if self.seed < 2:
            raise DomainError(f"--seed {self.seed}: committed trials have the seeds 0 and 1; give 2 or more.")
        if self.add and self.only is None:
            raise DomainError("--add goes with --only NAMES, which says what to add to.")


def reproduce(
    scope: Scope,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser at the end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check every claim, compare fresh trials with the committed results, draw the figures, write report.html."""
    from ..report.reproduce import measure
    from ..report.reproduce import reproduce as run

    _check_store(scope.db, scope.out)
    scope.check()
    with (line := SweepLine()):
        how: dict[str, Any] = {"db": scope.db, "folder": scope.out, "workers": scope.workers}
        how |= {"report": line.report, "say": line.say}
        if scope.only is not None:
            names = [name.strip() for name in scope.only.split(",")]
            done = measure(names, stored=scope.stored, add=scope.add, **how)
        else:
            size = "quick" if scope.quick else "full" if scope.full else "default"
            result = run(size, train=scope.train, seed=scope.seed, **how)
    if scope.only is not None:
        emit(done.to_dict(), as_json, lambda console: console.print(literal(*done.summary().splitlines())))
        return
    emit(result.to_dict(), as_json, lambda console: show_story(console, result))
    if show:
        import webbrowser

        webbrowser.open(result.path.resolve().as_uri())


def _check_store(db: Path, out: Path) -> None:
    """Raise an error if the store's path is the folder OUT itself, or a file in OUT that might be overwritten."""
    from sparsehead._base.files import check_apart

    check_apart(out, db, what="folder")
    if db.suffix.lower() in (".html", ".json", ".csv", ".svg", ".png"):
        check_apart(out / db.name, db, what="store")


def show_story(console: Console, result: "Reproduction") -> None:
    """Print one row for each chapter, then the counts and the path of the report."""
    from ..claims.formulas import plain

    table = Table("", "verdict", "the paper", "ours", "fresh trials", box=None, pad_edge=False)
    colours = {"holds": "green", "differs": "yellow", "undecided": "yellow", "refuted": "red", "fails": "red"}
    for chapter in result.story:
        mark = Text(chapter.mark, style=colours.get(chapter.verdict, ""))
        texts = (literal(plain(text)) for text in (chapter.paper, chapter.ours, chapter.fresh))
        table.add_row(chapter.title, mark, *texts)
    console.print(table)
    console.print(literal(*result.summary().splitlines()))
