"""The reproduction on one screen: seven chapters, each with verdict, the paper's number, ours and a small chart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..claims.claim import Finding
from ..claims.formulas import plain
from ..published import LAW_AND_FIT, LAW_AND_SLOPE_ERROR

MARKS = {
    "holds": "✓ holds",
    "differs": "≈ differs",
    "refuted": "✗ refuted",
    "undecided": "? undecided",
    "fails": "✗ fails",
    "not run": "○ not run",
    "no check": "– no check",
}
STEPS = "Steps: least/median/greatest"
LONGEST = 150  # letters of a number with its interval


@dataclass(frozen=True)
class Chapter:
    """One line of the story.

    Args:
        title, question: what it is about, in a word and in a sentence.
        claim: the claim whose verdict is shown; figure: the figure of which a small form is shown.
        verdict: that of the claim's finding; "not run" where there is none.
        paper, ours: the numbers, ours with its interval.
    """

    title: str
    question: str
    claim: str
    figure: str
    verdict: str
    paper: str
    ours: str

    @property
    def mark(self) -> str:
        """The verdict with its sign."""
        return MARKS[self.verdict]


def _law(finding: Finding) -> tuple[str, str]:
    log = finding.data.get("fits", {}).get("log")
    paper = f"{LAW_AND_FIT[1]} ± {2 * LAW_AND_SLOPE_ERROR:.1f} samples more for each unit of $ln T$"
    if not log:
        return paper, finding.ours
    low, high = log.get("intervals", {}).get("b", (None, None))
    ends = ", ".join("…" if end is None else f"{end:.1f}" for end in (low, high))
    agree = len(finding.data.get("agree", ()))
    return paper, f"{log['params']['b']:.1f} [{ends}]; {agree} of the paper's points are met"


def _told(finding: Finding) -> tuple[str, str]:
    return finding.paper, finding.ours


def _parity(finding: Finding) -> tuple[str, str]:
    """Of the settings that were tried, the paper's reading."""
    return finding.paper, finding.data.get("matched", finding.ours)


Numbers = Callable[[Finding], tuple[str, str]]
# Title, question, claims of which the first that was run is told, figure unless the finding names another, numbers.
TOPICS: tuple[tuple[str, str, tuple[str, ...], str, Numbers], ...] = (
    ("Law", "How many samples does a head need?", ("law-matched", "law-and"), "law", _law),
    ("Curves", f"Is it learned above the threshold, not below? {STEPS}.", ("curves-and",), "curves", _told),
    ("Attention", "Does attention rest on the bits that matter?", ("attention-and",), "attention", _told),
    (
        "Parity",
        f"Is parity of three bits learned? {STEPS}.",
        ("parity-settings", "parity-curves"),
        "parity",
        _parity,
    ),
    ("Representation", "How large must the weights be?", ("representation-norms",), "norms", _told),
    ("Capacity", "Does capacity grow with ln T?", ("single-layer-capacity",), "bound-terms", _told),
    ("Reading", "Can the function be read back?", ("read-trained",), "reading", _told),
)


def story(findings: Sequence[Finding]) -> list[Chapter]:
    """The chapters, from whatever was found."""
    found = {finding.label: finding for finding in findings}
    chapters = []
    for title, question, claims, figure, numbers in TOPICS:
        told = [found[claim] for claim in claims if claim in found]
        if not told:
            unknown = "not checked in this run"
            chapters.append(Chapter(title, question, claims[-1], figure, "not run", "", unknown))
            continue
        finding = next((finding for finding in told if finding.verdict != "not run"), told[-1])
        claim, figure = finding.label, finding.data.get("figure", figure)
        paper, ours = numbers(finding)
        chapters.append(Chapter(title, question, claim, figure, finding.verdict, _short(paper), _short(ours)))
    return chapters


def _short(text: str) -> str:
    """At most LONGEST letters, cut where a part ends."""
    if len(plain(text)) <= LONGEST:
        return text
    ends = (text.rfind(mark, LONGEST // 2, LONGEST - 2) for mark in ("; ", ", ", " "))
    cut = next((end for end in ends if end > 0), LONGEST - 2)
    kept = text[:cut]
    if kept.count("$") % 2:  # the cut lies within a formula
        kept = kept[: kept.rindex("$")]
    return kept.rstrip(";, ") + " …"


def story_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The same as JSON values."""
    keys = ("title", "claim", "verdict", "paper", "ours")
    return [{key: plain(getattr(chapter, key)) for key in keys} for chapter in story(findings)]
