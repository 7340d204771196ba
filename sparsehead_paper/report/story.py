"""The reproduction on one screen: seven chapters, each with its verdict, the paper's number and our number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparsehead.laws.published import LAW_AND

from ..claims.claim import Finding
from ..claims.formulas import plain
from ..claims.laws import CLOSE
from ..claims.measured import FILES
from ..claims.tally import MORE_DATA
from ..published import LAW_AND_FIT, LAW_AND_SLOPE_ERROR
from .backing import Backing

MARKS = {
    "holds": "✓ holds",
    "differs": "≈ differs",
    "refuted": "✗ refuted",
    "undecided": f"? {MORE_DATA}",
    "fails": "✗ fails",
    "not run": "○ not run",
    "no check": "– no check",
}
LONGEST = 150  # letters of a number with its interval


@dataclass(frozen=True)
class Chapter:
    """One row of the one-screen summary.

    Args:
        claim: the claim whose verdict is shown; figure: name of the figure shown beside it.
        verdict: "not run" if the claim has no finding.
        paper, ours: the paper's number, and our number with its interval.
        fresh, origin: for a measured claim, what fresh trials say, and when and where its results were measured.
    """

    title: str
    question: str
    claim: str
    figure: str
    verdict: str
    paper: str
    ours: str
    fresh: str = ""
    origin: str = ""

    @property
    def mark(self) -> str:
        """The verdict with its symbol."""
        return MARKS[self.verdict]


def _law(finding: Finding) -> tuple[str, str]:
    log = finding.data.get("fits", {}).get("log")
    paper = f"{LAW_AND_FIT[1]} ± {2 * LAW_AND_SLOPE_ERROR:.1f} samples more for each unit of $ln T$"
    if not log:
        return paper, finding.ours
    low, high = log.get("intervals", {}).get("b", (None, None))
    ends = ", ".join("…" if end is None else f"{end:.1f}" for end in (low, high))
    agree = len(finding.data.get("agree", ()))
    better = "; a power of $T$ describes it better" if log.get("delta_aic", 0.0) > CLOSE else ""
    met = f"{agree} of the paper's {len(LAW_AND)} points are met"
    return paper, f"{log['params']['b']:.1f} [{ends}]; {met}{better}"


# Title, question, claims of which the first that was run is shown, and the figure unless the finding names another.
TOPICS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("Law", "How many samples does a head need?", ("law-matched", "law-and"), "law"),
    (
        "Curves",
        "Is it learned above the threshold, not below? Steps: least/median/greatest.",
        ("curves-and",),
        "curves",
    ),
    ("Attention", "Does attention rest on the bits that matter?", ("attention-and",), "attention"),
    (
        "Parity",
        "Is parity of three bits learned? Steps: least/median/greatest.",
        ("parity-settings", "parity-curves"),
        "parity",
    ),
    ("Representation", "How large must the weights be?", ("representation-norms",), "norms"),
    ("Capacity", "Does capacity grow with ln T?", ("single-layer-capacity",), "bound-terms"),
    ("Reading", "Can the function be read back?", ("read-trained",), "reading"),
)


def story(findings: Sequence[Finding], backing: Mapping[str, Backing] | None = None) -> list[Chapter]:
    """Return all chapters; one whose claim has no finding has the verdict "not run"."""
    found = {finding.label: finding for finding in findings}
    chapters = []
    for title, question, claims, figure in TOPICS:
        known = [found[claim] for claim in claims if claim in found]
        if not known:
            unknown = "not checked in this run"
            chapters.append(Chapter(title, question, claims[-1], figure, "not run", "", unknown))
            continue
        finding = next((finding for finding in known if finding.verdict != "not run"), known[-1])
        claim, figure = finding.label, finding.data.get("figure", figure)
        # Of the settings of parity that were tried, "matched" is the paper's reading.
        paper, ours = finding.paper, finding.data.get("matched", finding.ours)
        if title == "Law":
            paper, ours = _law(finding)
        behind = (backing or {}).get(FILES.get(claim, ""))
        facts = (behind.short(), behind.origin) if behind else ("", "recomputed here")
        chapters.append(
            Chapter(title, question, claim, figure, finding.verdict, _short(paper), _short(ours), *facts)
        )
    return chapters


def _short(text: str) -> str:
    """Cut `text` to at most LONGEST characters, at the end of a clause."""
    if len(plain(text)) <= LONGEST:
        return text
    ends = (text.rfind(mark, LONGEST // 2, LONGEST - 2) for mark in ("; ", ", ", " "))
    cut = next((end for end in ends if end > 0), LONGEST - 2)
    kept = text[:cut]
    if kept.count("$") % 2:  # the cut lies within a formula
        kept = kept[: kept.rindex("$")]
    return kept.rstrip(";, ") + " …"


def story_rows(findings: Sequence[Finding], backing: Mapping[str, Backing]) -> list[dict[str, Any]]:
    """Return the chapters as JSON values."""
    keys = ("title", "claim", "verdict", "paper", "ours", "fresh")
    return [{key: plain(getattr(chapter, key)) for key in keys} for chapter in story(findings, backing)]
