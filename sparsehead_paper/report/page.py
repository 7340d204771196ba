"""report.html: one-screen summary, figures, claims, errata, record of the run, in one file that needs no network.

The template is `templates/page.html`, filled in by Jinja2 with autoescape: whatever comes from a claim, a finding or
a results file is shown as text. Only MathML, scripts and styles, which this package makes, are marked as safe HTML.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from altair import Undefined
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sparsehead._base.files import make_folder, write_whole
from sparsehead.figures.render import chart_script, embedded, policy, render, specification
from sparsehead.figures.theme import count

from ..claims.claim import VERDICTS, labelled_code, marked_tests
from ..claims.formulas import plain
from ..claims.measured import FILES
from ..claims.registry import SECTIONS
from ..claims.tally import NO_CHECK, tally, verdict_of, worded
from .backing import Backing, fresh_sentence
from .catalogue import Drawn
from .mathematics import typeset
from .story import MARKS, story

PAPER = (
    "B. L. Edelman, S. Goel, S. Kakade, C. Zhang: Inductive Biases and Variable Creation in Self-Attention "
    "Mechanisms (ICML 2022, arXiv:2110.10090)"
)


@dataclass(frozen=True)
class Row:
    """A claim as shown on the page, with its finding (if any) and the code and tests that belong to it."""

    claim: Any
    finding: Any | None
    backing: Backing | None = None

    @property
    def verdict(self) -> str:
        return verdict_of(self.claim, self.finding)

    @property
    def test_names(self) -> tuple[str, ...]:
        return marked_tests(self.claim)

    @property
    def behind(self) -> list[str]:
        return [*(f"code {c}" for c in labelled_code(self.claim)), *(f"test {t}" for t in self.test_names)]

    @property
    def tests(self) -> str:
        return count(self.test_names, "test")

    @property
    def text(self) -> str:
        """Return the text of the row in lower case, which the page's filter searches."""
        found = self.finding
        parts = [self.claim.label, self.claim.statement, self.claim.kind, self.claim.where, *self.behind]
        return plain(" ".join([*parts, *([found.paper, found.ours, found.detail] if found else [])])).lower()


@dataclass(frozen=True)
class Heading:
    """A heading and the claims listed under it."""

    title: str
    rows: list[Row]
    citation: str = ""

    @property
    def id(self) -> str:
        return "claims-" + self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class FigureOnPage:
    """A figure as shown on the page, or the `problem` because of which it could not be drawn."""

    name: str
    line: str
    title: str
    caption: list[str]
    sets: list[str]
    fixed: bool
    problem: str = ""


def report_html(
    *,
    findings: Sequence[Any],
    claims: Iterable[Any],
    figures: Sequence[Drawn],
    run: Mapping[str, Any],
    problems: Sequence[str] = (),
    backing: Mapping[str, Backing] | None = None,
) -> str:
    """Return the whole page as HTML.

    Args:
        findings: results of the checks (label, verdict, paper, ours, detail); may be empty or incomplete.
        claims: every claim (label, kind, statement, where, code, tests). Claims of kind "erratum" are listed in
            the appendix, all others in the tables. A claim without a finding is shown as not run.
        run: facts about the run (command, machine, time): text by name, in the order to show them.
        problems: sentences for the top of the page, such as that a sweep is half finished.
        backing: by results file: how it was measured, and what fresh trials say.
    """
    found = {finding.label: finding for finding in findings}
    everything = list(claims)
    specs = {f.name: specification(f.chart) for f in figures if f.chart is not None}
    behind = backing or {}
    counts = tally(everything, findings, FILES)
    chapters = story(findings, behind)
    in_story = {chapter.figure for chapter in chapters}
    package = files(__package__)
    css, script = (
        Markup((package / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js")  # our own files
    )  # fmt: skip
    page_script = Markup(f"\n{script}")
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["typeset"] = typeset
    return environment.get_template("page.html").render(
        title="sparsehead: the paper, checked",
        paper=PAPER,
        policy=Markup(policy(chart_script(), page_script)),  # hashes and keywords only
        css=css,
        notes=_notes(findings, figures, problems),
        story=chapters,
        pictures={f.name: _picture(f.chart) for f in figures if f.chart is not None and f.name in in_story},
        marks=MARKS,
        tally=[
            {
                "verdict": v,
                "word": worded(n, v),
                "count": n,
                "meaning": VERDICTS.get(v, "there is nothing to compute"),
            }
            for v, n in counts.statements.items()
            if n
        ],
        counts=counts.sentence(),
        fresh=fresh_sentence(behind),
        figures=[_figure(f, specs.get(f.name), behind.get(f.needs or "")) for f in figures],
        chapters=_chapters(everything, found, behind),
        verdicts=(*VERDICTS, NO_CHECK),
        kinds=sorted({c.kind for c in everything if c.kind != "erratum"}),
        errata=_errata(everything, found),
        run=run,
        specs=Markup(embedded(specs)),  # escaped there for this place
        chart_script=Markup(chart_script()),
        page_script=page_script,
    )


def _picture(chart: Any) -> str:
    """Return a figure without its title as a small PNG in a data URL."""
    untitled = chart.copy(deep=False)
    untitled.title = Undefined
    return f"data:image/png;base64,{b64encode(render(untitled, 'png', scale=0.5)).decode()}"


def _notes(findings: Sequence[Any], figures: Sequence[Drawn], problems: Sequence[str]) -> list[str]:
    notes = list(problems)
    if not findings:
        notes.append("No claim has been checked yet; run `sparsehead reproduce`.")
    notes += [
        f"Figure {f.name} could not be drawn: {f.problem}" for f in figures if f.problem and not f.awaited
    ]
    return notes


def _chapters(
    claims: Sequence[Any], found: Mapping[str, Any], behind: Mapping[str, Backing]
) -> list[Heading]:
    """Group statements by chapter of the registry, experiments first, definitions last; then all others."""
    home = {entry.label: title for title, entries in SECTIONS.items() for entry in entries}
    by_title: dict[str, list[Row]] = {}
    for claim in claims:
        if claim.kind != "erratum":
            row = Row(claim, found.get(claim.label), behind.get(FILES.get(claim.label, "")))
            by_title.setdefault(home.get(claim.label, "Other"), []).append(row)
    order = {"Experiments": -1, "Definitions": len(SECTIONS)}
    titles = sorted(by_title, key=lambda title: order.get(title, 0))
    return [Heading(title, by_title[title]) for title in titles]


def _errata(claims: Sequence[Any], found: Mapping[str, Any]) -> list[Heading]:
    """Group errata by the document that they correct."""
    rows = [Row(claim, found.get(claim.label)) for claim in claims if claim.kind == "erratum"]
    notes = (
        "Lecture notes on the paper, of the same title, scribes Manuel Paez and Desmond DeVaul, April 7th 2025; "
        "they are not part of this repository"
    )
    parts = (
        Heading("Errata of the paper", [r for r in rows if "notes" not in r.claim.label], PAPER),
        Heading("Errata of the lecture notes", [r for r in rows if "notes" in r.claim.label], notes),
    )
    return [part for part in parts if part.rows]


def _figure(figure: Drawn, spec: Mapping[str, Any] | None, backing: Backing | None) -> FigureOnPage:
    if spec is None:
        return FigureOnPage(figure.name, figure.line, figure.name, [], [], False, figure.problem)
    title = spec.get("title", {})
    return FigureOnPage(
        name=figure.name,
        line=figure.line,
        title=" ".join(title.get("text", [figure.name])),
        caption=[*_sentences(title.get("subtitle", ())), *([backing.text()] if backing else [])],
        sets=[key for key, rows in spec.get("datasets", {}).items() if rows and not key.startswith("data-")],
        fixed=bool(spec.get("usermeta", {}).get("fixed")),
    )


def _sentences(lines: Sequence[str]) -> list[str]:
    """Join lines that were broken to fit a picture; a sentence ends with a full stop."""
    joined: list[str] = []
    for line in lines:
        if joined and not joined[-1].endswith("."):
            joined[-1] += " " + line
        else:
            joined.append(line)
    return joined


def write_report(path: Path, **content: Any) -> Path:
    """Write the page of `report_html(**content)` to `path`. An older page stays whole until the new one is complete.

    Raises:
        FileError: the file cannot be written.
    """
    text = report_html(**content)
    make_folder(path.parent)
    return write_whole(path, text.encode(), force=True)
