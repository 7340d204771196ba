"""The contract of claims, which is the library's, and what the paper's reproduction knows of a claim besides."""

from functools import partial

from sparsehead._base.claim import VERDICTS, Check, Claim, Context, Finding, NotRun, claim, finding, judged

from .evidence import evidence
from .formulas import plain

erratum = partial(claim, kind="erratum")

__all__ = [
    "EXACT", "ROUNDING", "VERDICTS", "Check", "Claim", "Context", "Finding", "NotRun", "claim", "erratum", "finding",
    "judged",
]  # fmt: skip
ROUNDING = 1e-12  # relative rounding of a few dozen float64 operations
EXACT = 1e-9  # above any rounding in float64, below any change of a constant


def finding_json(found: Finding) -> dict[str, str]:
    """A finding as JSON values: all but its data, formulas as plain text."""
    return {name: plain(getattr(found, name)) for name in ("label", "verdict", "paper", "ours", "detail")}


def labelled_code(claim: Claim) -> tuple[str, ...]:
    """The code of a claim, as "package.module:name"; an erratum's includes that of the claim it corrects."""
    behind = (evidence().get(label) for label in (claim.label, claim.about) if label)
    return tuple(dict.fromkeys(name for found in behind if found for name in found["code"]))


def marked_tests(claim: Claim) -> tuple[str, ...]:
    """The tests of a claim, as "tests/path.py::test_name" from the root of a checkout."""
    found = evidence().get(claim.label)
    return tuple(found["tests"]) if found else ()


def status(claim: Claim) -> str:
    """ "implemented" for a claim with code, "text only" for one that can have none, else "not yet"."""
    if claim.text_only:
        return "text only"
    return "implemented" if labelled_code(claim) else "not yet"
