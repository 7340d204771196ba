"""Claims: statements that `sparsehead reproduce` checks.

A claim is one decorated function. The decorator gives its label, its kind and its place in the paper, the function
checks it, and the first paragraph of the docstring is the statement.

    @claim("split-lemma", kind="lemma", where="paper lemma A.8")
    def check_split_lemma(context: Context) -> Finding: ...

A statement without a check, such as a drawing or a remark about wording, is declared as a plain `Claim(..)`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from .errors import DomainError

# The meaning of each verdict, in the order in which they are counted.
VERDICTS = {
    "holds": "the statement was recomputed and is true of what was computed",
    "differs": "a statement of the paper is true in form or in part, with another number than the paper's",
    "refuted": "a statement of ours that the measured data contradict",
    "undecided": "a statement of ours for which the data are too few to tell",
    "fails": "the check found the statement false of this code, or broke",
    "not run": "there are no data to compare; the finding names the command that measures them",
}


@dataclass(frozen=True)
class Finding:
    """The result of checking a claim.

    Args:
        label: the label of the claim; calling the claim fills it in.
        verdict: one of VERDICTS. An erratum is our statement that the printed form is wrong; its verdict "holds" means
            that the fault was demonstrated.
        paper: the number or statement as printed.
        ours: the number that we found, with an interval if it is random.
        detail: one or two sentences: what was computed, and why the verdict follows.
        data: the numbers behind the verdict, as JSON values.
    """

    label: str
    verdict: str
    paper: str
    ours: str
    detail: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise DomainError(
                f"finding {self.label}: verdict {self.verdict!r} is unknown; use {', '.join(VERDICTS)}."
            )


@dataclass(frozen=True)
class Context:
    """The inputs of a check: a seed for its samples, and options ("results": the folder with results files)."""

    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)


class NotRun(Exception):
    """Raised by a check that has nothing to compare; its finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


@runtime_checkable
class Check(Protocol):
    """A function that recomputes one statement."""

    def __call__(self, context: Context, /) -> Finding:
        """Return the result, made by `finding` or `judged`."""


@dataclass(frozen=True)
class Claim:
    """One statement with its check, made by `@claim`.

    `reproduce` finds claims by the entry point group `sparsehead.claims`, checks them and reports their verdicts.

    Args:
        label: kebab-case; docstrings ("Paper:") and tests (`pytest.mark.claim`) refer to it.
        kind: such as "lemma"; "ours" for a statement that is neither in the paper nor in the lecture notes on it,
            "neighbour" for one about a result of another paper, which `where` cites.
        where: its number in the paper and in the notes.
        statement: the statement in our words and with our constants.
        check: recomputes the statement; None if there is nothing to compute.
        about: for an erratum, the label of the claim that it corrects; both refer to the same code.
        text_only: True for a remark about wording or a citation, which has no code.
    """

    label: str
    kind: str
    where: str
    statement: str
    check: Check | None = None
    about: str | None = None
    text_only: bool = False

    def __post_init__(self) -> None:
        stated = ("definition", "assumption", "lemma", "theorem", "corollary", "proposition")
        kinds = (*stated, "figure", "remark", "ours", "neighbour", "erratum")
        if self.kind not in kinds:
            known = f"the kinds are {', '.join(kinds)}"
            raise DomainError(f"claim {self.label}: kind {self.kind!r} is unknown; {known}.")

    def __call__(self, context: Context) -> Finding:
        """Run the check, and put the claim's label on the finding."""
        if self.check is None:
            raise DomainError(f"claim {self.label} has no check; docs/paper.md names its tests.")
        try:
            found = self.check(context)
        except NotRun as missing:
            found = missing.finding
        return replace(found, label=self.label)


def claim(
    label: str, *, kind: str, where: str = "not in the paper", about: str | None = None
) -> Callable[[Check], Claim]:
    """Declare a claim by decorating its check; the first paragraph of the check's docstring is the statement."""

    def declare(check: Check) -> Claim:
        statement = " ".join((inspect.getdoc(check) or "").partition("\n\n")[0].split())
        return Claim(label, kind, where, statement, check, about)

    return declare


def finding(holds: bool, *, paper: str = "-", ours: str, detail: str = "", **data: Any) -> Finding:
    """Return a Finding whose verdict is "holds" or "fails"."""
    return judged("holds" if holds else "fails", paper=paper, ours=ours, detail=detail, **data)


def judged(verdict: str, *, paper: str = "no number", ours: str, detail: str = "", **data: Any) -> Finding:
    """Return a Finding with any verdict; the claim puts its label on it."""
    return Finding("", verdict, paper, ours, detail, data)
