"""Run `reproduce`: experiments, checks, figures and report, in this order; each step saves its result to disk."""

import platform
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparsehead._base.arguments import duration
from sparsehead._base.errors import FileError
from sparsehead._base.files import make_folder, write_whole
from sparsehead._base.jsonable import json_values
from sparsehead._base.provenance import processor, version_and_commit
from sparsehead.figures.render import render
from sparsehead.store import Store
from sparsehead.sweep import Progress

from ..claims.claim import finding_json
from ..claims.formulas import plain
from ..claims.measured import FILES
from ..claims.registry import CLAIMS, Claim, Context, Finding, run_checks
from ..claims.tally import Tally, said, tally
from ..studies import plans
from ..studies.folder import committed, has_results, read_results, write_results
from ..studies.origin import note_origin
from ..studies.records import RunRecord
from ..studies.spot import FRESH_SEED, checks
from ..studies.stage import Report, Stage, Workplace
from ..studies.times import REPORT_SECONDS, TimeToGo
from .backing import Backing, backings, fresh_sentence, made_checks
from .catalogue import FIGURES, Drawn, draw_all
from .page import write_report
from .story import Chapter, story, story_rows

TotalReport = Callable[[str, Progress, float], None]


@dataclass(frozen=True)
class Reproduction:
    """Result of `reproduce`: findings, the `Backing` of measured claims, path of the report, time, problems."""

    findings: tuple[Finding, ...]
    path: Path
    seconds: float
    problems: tuple[str, ...] = ()
    backing: Mapping[str, Backing] = field(default_factory=dict)

    @property
    def tally(self) -> Tally:
        """The number of statements with each verdict, and the number of errata demonstrated."""
        return tally(CLAIMS.values(), self.findings, FILES)

    def to_dict(self) -> dict[str, Any]:
        """Return this result as JSON values."""
        return {
            "report": str(self.path),
            "statements": self.tally.statements,
            "errata": self.tally.errata,
            "story": story_rows(self.findings, self.backing),
            "findings": [finding_json(finding) for finding in self.findings],
            "fresh": [
                {
                    "file": file,
                    "agrees": check.agrees,
                    "trials": check.trials,
                    "text": plain(check.sentence()),
                }
                for file, check in made_checks(self.backing).items()
            ],
            "problems": list(self.problems),
            "seconds": self.seconds,
        }

    @property
    def story(self) -> list[Chapter]:
        """Return the chapters of the one-screen summary, with verdicts and numbers."""
        return story(self.findings, self.backing)

    def summary(self) -> str:
        """Return terminal text shown below the chapters: counts, names of statements that fail, path of the report."""
        fresh = fresh_sentence(self.backing)
        lines = [self.tally.sentence() + ".", *([fresh] if fresh else [])]
        by_verdict: dict[str, list[str]] = {}
        for finding in self.findings:
            by_verdict.setdefault(said(finding.verdict), []).append(finding.label)
        missing = by_verdict.pop("not run", [])
        lines += [f"{v}: {', '.join(labels)}" for v, labels in by_verdict.items() if v != "holds"]
        if missing:
            lines.append(f"not run: {', '.join(missing)}; the report names what runs them")
        return "\n".join([*lines, *self.problems, f"{duration(self.seconds)}; the report is {self.path}"])


def reproduce(
    scale: str,
    *,
    db: Path,
    folder: Path,
    workers: int,
    report: TotalReport,
    say: Callable[[str], None],
    train: bool = True,
    seed: int = FRESH_SEED,
) -> Reproduction:
    """Run trials of `scale` missing from the store, check every claim, draw every figure, write folder/report.html.

    "full" measures every experiment and writes its results files to the folder. The other scales judge by the committed
    results and compare them with fresh trials, which are written to folder/fresh. If interrupted, call it again:
    finished trials are not repeated. It also writes every figure as SVG and PNG, and run.json, which records what was
    run.

    Args:
        report: called with a stage's title, its progress, and the remaining seconds of all stages together.
        train: if False, run no trials; report on folder/fresh if it exists, else on the folder's results files.
        seed: decides which fresh trials are run.
    """
    plans.check_scale(scale)
    started = time.monotonic()
    make_folder(folder)
    problems: list[str] = []
    fresh = folder / "fresh"
    compared = scale != "full" if train else fresh.is_dir()
    data = committed() if compared else folder
    stages = plans.plan(scale, seed) if train else []
    expected = [stage.seconds(db) / workers for stage in stages]
    say(plan_text(stages, expected, workers))
    to_go = TimeToGo([*expected, REPORT_SECONDS])

    def told(title: str, progress: Progress) -> None:
        to_go.see(progress)
        report(title, progress, to_go.seconds())

    place = Workplace(db, fresh if compared else folder, workers, report=told, say=say)
    for stage in stages:
        problems += _run(stage, place)
        to_go.next_stage()
    say(f"Checking the claims; {minutes(to_go.seconds())} to go")
    context = Context(options={"results": str(data)})
    findings = run_checks(context=context, progress=_tell(say))
    backing = backings(data, checks(data, fresh) if compared else {}, compared=compared)
    say("Drawing the figures and writing the report")
    figures = draw_all(data, fresh=fresh if compared else None)
    _save_charts(figures, folder)
    if train:
        write_results(folder, "run", run_info(scale, time.monotonic() - started, workers, db))
    path = write_report(
        folder / "report.html",
        findings=findings,
        claims=CLAIMS.values(),
        figures=figures,
        run=_read_run(folder),
        problems=problems,
        backing=backing,
    )
    return Reproduction(tuple(findings), path, time.monotonic() - started, tuple(problems), backing)


def _run(stage: Stage, place: Workplace) -> list[str]:
    """Run a stage and note when, where and how long it ran; return the reasons why trials could not be run."""
    began = time.monotonic()
    problems = stage.run(place)
    if not place.stored:
        note_origin(place.folder, stage.files, seconds=time.monotonic() - began, workers=place.workers)
    return problems


@dataclass(frozen=True)
class Measurement:
    """Result of `measure`: the results files written, the charts drawn from them, problems."""

    folder: Path
    files: tuple[str, ...]
    charts: tuple[str, ...]
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return this result as JSON values."""
        return {
            "folder": str(self.folder),
            "files": list(self.files),
            "charts": list(self.charts),
            "problems": list(self.problems),
        }

    def summary(self) -> str:
        """Return the result as text for the terminal."""
        lines = [f"wrote {', '.join(f'{name}.json' for name in self.files)} in {self.folder}"]
        lines += [f"drew {', '.join(self.charts)}"] if self.charts else []
        return "\n".join([*lines, *self.problems])


def measure(
    names: Sequence[str],
    *,
    db: Path,
    folder: Path,
    workers: int,
    report: Report,
    say: Callable[[str], None],
    stored: bool = False,
    add: bool = False,
) -> Measurement:
    """Run single experiments of the full scale and draw their figures, without writing a report.

    Args:
        names: experiments to run, such as "readings" or "law-matched".
        stored: run nothing, and write results files from the trials already in the store.
        add: do not repeat trials that the folder's results files already contain; see `Workplace`.
    """
    stages = plans.only(names)
    make_folder(folder)
    problems: list[str] = []
    place = Workplace(db, folder, workers, stored=stored, add=add, report=report, say=say)
    for stage in stages:
        problems += _run(stage, place)
    files = tuple(name for stage in stages for name in stage.files)
    figures = draw_all(folder, [name for name, entry in FIGURES.items() if entry.needs in files])
    problems += [f"figure {figure.name}: {figure.problem}" for figure in figures if figure.chart is None]
    _save_charts(figures, folder)
    drawn = tuple(figure.name for figure in figures if figure.chart is not None)
    return Measurement(folder, files, drawn, tuple(problems))


def plan_text(stages: Sequence[Stage], expected: Sequence[float], workers: int) -> str:
    """Return the plan as text: for each stage its purpose, number of trials and expected time; the total last."""
    rows = [(*stage.summary(), seconds) for stage, seconds in zip(stages, expected, strict=True)]
    rows.append(("Checks, figures and report", "", REPORT_SECONDS))
    wide, longest = max(len(title) for title, _, _ in rows), max(len(trials) for _, trials, _ in rows)
    lines = [f"  {title:{wide}}  {trials:>{longest}}  {minutes(seconds)}" for title, trials, seconds in rows]
    total = minutes(sum(expected) + REPORT_SECONDS)
    return "\n".join(["The plan:", *lines, f"In all {total} with {_processes(workers)}, from experience."])


def _processes(workers: int) -> str:
    return "1 worker process" if workers == 1 else f"{workers} worker processes"


def minutes(seconds: float) -> str:
    """Return a remaining time in words.

    >>> minutes(0.0), minutes(42.0), minutes(310.0), minutes(9000.0)
    ('no time', 'about 42 s', 'about 5 min', 'about 2.5 h')
    """
    return "no time" if seconds < 1 else f"about {duration(seconds, 0)}"


def _save_charts(figures: Sequence[Drawn], folder: Path) -> None:
    """Save every chart that could be drawn, as SVG and as PNG."""
    for figure in figures:
        if figure.chart is not None:
            for form in ("svg", "png"):
                write_whole(folder / f"{figure.name}.{form}", render(figure.chart, form), force=True)


def _read_run(folder: Path) -> dict[str, str]:
    """Return the fields of run.json by name, or a sentence that says why the file cannot be read."""
    if not has_results(folder, "run"):
        return {"Command": "not recorded: the run has not finished"}
    try:
        return {
            name.capitalize(): text
            for name, text in json_values(read_results(folder, "run", RunRecord)).items()
        }
    except FileError as error:
        return {"Command": f"not known: {error}"}


def run_info(scale: str, seconds: float, workers: int, db: Path) -> RunRecord:
    """Return command, version, machine and time of a run, for the last section of the report."""
    version, commit = version_and_commit()
    with Store(db, readonly=True) as store:
        each = [record.outcome.get("seconds") or 0.0 for record in store.records()]
    trials, spent = len(each), sum(each)
    option = {"quick": " --quick", "default": "", "full": " --full"}[scale]
    return RunRecord(
        command=f"sparsehead reproduce{option}",
        version=version + (f" ({commit})" if commit else ""),
        machine=f"{processor()}; {_processes(workers)} of one thread",
        python=platform.python_version(),
        time=f"{duration(seconds)} in this call; {trials} stored trials took {spent / 3600:.2f} core-hours",
        finished=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )


def _line(finding: Finding) -> str:
    """Return a finding as one terminal line of at most 79 characters; the report shows it in full."""
    text = f"{said(finding.verdict)}: {finding.label}: {plain(finding.ours)}"
    return "  " + textwrap.shorten(text, 77, placeholder=" …")


def _tell(say: Callable[[str], None]) -> Callable[[Claim, Finding | None], None]:
    def progress(claim: Claim, finding: Finding | None) -> None:
        if finding is not None and finding.verdict not in ("holds", "not run"):
            say(_line(finding))

    return progress
