"""How many statements have which verdict, and how many errata were demonstrated; the two are never added up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .claim import VERDICTS, Claim, Finding

NO_CHECK = "no check"


@dataclass(frozen=True)
class Tally:
    """Counts by verdict; each of the two adds up to the number of its claims.

    Args:
        statements: definitions, results, figures and our own claims, by verdict or NO_CHECK.
        errata: "demonstrated", "not demonstrated", "about wording only", "not run".
    """

    statements: dict[str, int]
    errata: dict[str, int]

    def sentence(self) -> str:
        """Both in words; what does not occur is left out."""
        parts = ((self.statements, "statements"), (self.errata, "errata"))
        return "; ".join(
            f"{sum(counts.values())} {name}: {', '.join(f'{n} {word}' for word, n in counts.items() if n)}"
            for counts, name in parts
        )


def verdict_of(claim: Claim, finding: Finding | None) -> str:
    """The finding's verdict; without one NO_CHECK where there is nothing to compute, and else "not run"."""
    if finding is not None:
        return finding.verdict
    return NO_CHECK if claim.check is None else "not run"


def tally(claims: Iterable[Claim], findings: Sequence[Finding]) -> Tally:
    """The verdicts of `claims` counted; a claim that no finding is about counts as not run."""
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
