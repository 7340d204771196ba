"""What a claim is, how one is declared, and what checking one returns.

A claim is one decorated function: label, kind, place in print, statement and check stand in one spot.

    @claim("split-lemma", kind="lemma", where="paper lemma A.8", statement="...")
    def check_split_lemma(context: Context) -> Finding: ...

The code and the tests behind it are found by the label: see `evidence`. What has no check, a drawing or a remark
about wording, is declared as a plain `Claim(..)`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sparsehead._base.errors import DomainError

from .evidence import evidence
from .formulas import plain

KINDS = (
    "definition",
    "assumption",
    "lemma",
    "theorem",
    "corollary",
    "proposition",
    "figure",
    "remark",
    "ours",
    "erratum",
)
# What each verdict means; the order in which they are counted.
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
    """What checking a claim gave.

    Args:
        label: the claim's; filled in by the claim itself.
        verdict: one of VERDICTS. For an erratum the statement judged is ours: "holds" means that the fault of the
            printed form was demonstrated.
        paper: the number or statement as printed.
        ours: the number found, with an interval where it is random.
        detail: one or two sentences: what was computed, and why the verdict follows.
        data: JSON-able numbers behind it.
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

    def to_dict(self) -> dict[str, str]:
        """As JSON values: all but the data, formulas as plain text."""
        return {name: plain(getattr(self, name)) for name in ("label", "verdict", "paper", "ours", "detail")}


@dataclass(frozen=True)
class Context:
    """What a check may use: a seed for its samples, and options ("results": the folder with results files)."""

    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)


Check = Callable[[Context], Finding]


@dataclass(frozen=True)
class Claim:
    """One statement: of the paper, of the notes, ours, or an erratum of the first two.

    Args:
        label: kebab-case; what `Paper: label` in a docstring and `pytest.mark.claim(label)` refer to.
        kind: one of KINDS; "ours" marks what neither the paper nor the notes contain.
        where: its numbers in the paper and in the notes; they stand nowhere else.
        statement: what it says, in our words and with our constants.
        check: recomputes it for `sparsehead reproduce`; None where there is nothing to compute.
        about: for an erratum, the label of the claim that it corrects: the code behind that one is behind both.
        text_only: True for a remark about wording or a citation, which no code stands behind.
    """

    label: str
    kind: str
    where: str
    statement: str
    check: Check | None = None
    about: str | None = None
    text_only: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DomainError(
                f"claim {self.label}: kind {self.kind!r} is unknown; the kinds are {', '.join(KINDS)}."
            )

    def __call__(self, context: Context) -> Finding:
        """The Finding of its check, under the claim's label."""
        if self.check is None:
            raise DomainError(
                f"claim {self.label} has no check; its tests are {', '.join(self.tests) or 'none'}."
            )
        return replace(self.check(context), label=self.label)

    @property
    def code(self) -> tuple[str, ...]:
        """What implements it, as "package.module:name"; an erratum's code includes that of the claim it corrects."""
        behind = (evidence().get(label) for label in (self.label, self.about) if label)
        return tuple(dict.fromkeys(name for found in behind if found for name in found["code"]))

    @property
    def tests(self) -> tuple[str, ...]:
        """What tests it, as "tests/path.py::test_name" from the root of a checkout."""
        found = evidence().get(self.label)
        return tuple(found["tests"]) if found else ()

    @property
    def status(self) -> str:
        """ "implemented" when code stands behind it, "text only" when none can, else "not yet"."""
        if self.text_only:
            return "text only"
        return "implemented" if self.code else "not yet"


def claim(
    label: str, *, kind: str, where: str = "not in the paper", about: str | None = None
) -> Callable[[Check], Claim]:
    """Declare a claim by decorating its check; the first paragraph of the check's docstring is the statement."""

    def declare(check: Check) -> Claim:
        statement = " ".join((inspect.getdoc(check) or "").partition("\n\n")[0].split())
        return Claim(label, kind, where, statement, check, about)

    return declare


def finding(holds: bool, *, paper: str, ours: str, detail: str = "", **data: Any) -> Finding:
    """A Finding whose verdict is "holds" or "fails"."""
    return judged("holds" if holds else "fails", paper=paper, ours=ours, detail=detail, **data)


def judged(verdict: str, *, paper: str, ours: str, detail: str = "", **data: Any) -> Finding:
    """A Finding with any verdict; the claim puts its label on it."""
    return Finding("", verdict, paper, ours, detail, data)
