"""What a claim is, and what checking one returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..errors import DomainError

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
VERDICTS = ("holds", "differs", "fails", "not run")
CHECKS = "sparsehead.claims.checks"


@dataclass(frozen=True)
class Claim:
    """One statement: of the paper, of the notes, or an erratum of either.

    Args:
        label: kebab-case; what `Paper: label` in a docstring refers to.
        kind: one of KINDS; "ours" marks what neither the paper nor the notes contain.
        statement: what it says, in our words and with our constants.
        where: its numbers in the paper and in the notes; they stand nowhere else.
        code: what implements it, as "package.module:name".
        tests: what tests it, as "tests/path.py::test_name".
        check: the function that recomputes it for `sparsehead reproduce`, as "package.module:name".
        text_only: True for a remark about wording or a citation, which nothing can compute.
    """

    label: str
    kind: str
    statement: str
    where: str
    code: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    check: str | None = None
    text_only: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DomainError(
                f"claim {self.label}: kind {self.kind!r} is unknown; the kinds are {', '.join(KINDS)}."
            )

    @property
    def status(self) -> str:
        """ "implemented" when code and a test stand behind it and its check, if it names one, exists."""
        if self.text_only:
            return "text only"
        alive = bool(self.code and self.tests) and (self.check is None or exists(self.check))
        return "implemented" if alive else "not yet"


@dataclass(frozen=True)
class Finding:
    """What checking a claim gave.

    Args:
        verdict: "holds", "differs" (true in form, another number), "fails", or "not run". For an erratum the
            statement judged is ours: "holds" means that the fault of the printed form was demonstrated.
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


@dataclass(frozen=True)
class Context:
    """What a check may use: the results store (None: checks of experiments are not run), a seed for its samples."""

    store: Any = None
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)


Check = Callable[[Context], Finding]


def finding(label: str, holds: bool, *, paper: str, ours: str, detail: str = "", **data: Any) -> Finding:
    """A Finding whose verdict is "holds" or "fails"."""
    return Finding(label, "holds" if holds else "fails", paper, ours, detail, data)


def resolve(reference: str) -> Any:
    """The object that "package.module:name" names."""
    module, _, name = reference.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def exists(reference: str) -> bool:
    """Whether `reference` names something that is there."""
    try:
        resolve(reference)
    except (ModuleNotFoundError, AttributeError):
        return False
    return True
