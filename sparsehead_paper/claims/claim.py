"""The library's `Claim`, and additional facts about a claim that only the reproduction needs: code, tests, status."""

from functools import partial

from sparsehead._base.claim import VERDICTS, Check, Claim, Context, Finding, NotRun, claim, finding, judged

from .evidence import evidence
from .formulas import plain

erratum = partial(claim, kind="erratum")
neighbour = partial(claim, kind="neighbour")

__all__ = [
    "EXACT", "ROUNDING", "VERDICTS", "Check", "Claim", "Context", "Finding", "NotRun", "claim", "erratum", "finding",
    "judged", "neighbour",
]  # fmt: skip
ROUNDING = 1e-12  # relative rounding of a few dozen float64 operations
EXACT = 1e-9  # above any rounding in float64, below any change of a constant


def finding_json(found: Finding) -> dict[str, str]:
    """Return a finding as JSON values, without its data and with formulas as plain text."""
    return {name: plain(getattr(found, name)) for name in ("label", "verdict", "paper", "ours", "detail")}


def labelled_code(claim: Claim) -> tuple[str, ...]:
    """Return the code of a claim as "package.module:name"; for an erratum also the code of the claim it corrects."""
    behind = (evidence().get(label) for label in (claim.label, claim.about) if label)
    return tuple(dict.fromkeys(name for found in behind if found for name in found["code"]))


def marked_tests(claim: Claim) -> tuple[str, ...]:
    """Return the tests of a claim as "tests/path.py::test_name", relative to the root of a checkout."""
    found = evidence().get(claim.label)
    return tuple(found["tests"]) if found else ()


def machine_checked(claim: Claim) -> tuple[str, ...]:
    """Return the theorems that Coq checks as "proofs/File.v::name", relative to the root of a checkout."""
    found = evidence().get(claim.label)
    return tuple(found.get("proofs", ())) if found else ()


def status(claim: Claim) -> str:
    """Return "implemented" for a claim with code, "text only" for a claim that cannot have any, else "not yet"."""
    if claim.text_only:
        return "text only"
    return "implemented" if labelled_code(claim) else "not yet"
