"""Count statements by verdict, and errata demonstrated; the two counts are never added up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .claim import VERDICTS, Claim, Finding

NO_CHECK = "no check"


@dataclass(frozen=True)
class Tally:
    """Counts of statements and of errata by verdict; each adds up to the number of its claims.

    Args:
        statements: definitions, results, figures and our own claims, by verdict or NO_CHECK.
        errata: "demonstrated", "not demonstrated", "about wording only", "not run".
    """

    statements: dict[str, int]
    errata: dict[str, int]

    def sentence(self) -> str:
        """Return both counts in words; verdicts that do not occur are left out."""
        parts = ((self.statements, "statements"), (self.errata, "errata"))
        return "; ".join(
            f"{sum(counts.values())} {name}: {', '.join(f'{n} {word}' for word, n in counts.items() if n)}"
            for counts, name in parts
        )


def verdict_of(claim: Claim, finding: Finding | None) -> str:
    """Return the finding's verdict; without a finding, NO_CHECK if the claim has no check, else "not run"."""
    if finding is not None:
        return finding.verdict
    return NO_CHECK if claim.check is None else "not run"


def tally(claims: Iterable[Claim], findings: Sequence[Finding]) -> Tally:
    """Count the verdicts of `claims`; a claim without a finding counts as not run."""
    found = {finding.label: finding for finding in findings}
    words = {
        "holds": "demonstrated",
        "fails": "not demonstrated",
        NO_CHECK: "about wording only",
        "not run": "not run",
    }
    statements: Counter[str] = Counter()
    errata: Counter[str] = Counter()
    for claim in claims:
        verdict = verdict_of(claim, found.get(claim.label))
        if claim.kind == "erratum":
            errata[words.get(verdict, words["fails"])] += 1
        else:
            statements[verdict] += 1
    return Tally({v: statements[v] for v in (*VERDICTS, NO_CHECK)}, {w: errata[w] for w in words.values()})
