"""Count statements, errata and statements of neighbouring papers by verdict; the counts are never added up."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .claim import VERDICTS, Claim, Finding

NO_CHECK = "no check"


MORE_DATA = "more data needed"


def said(verdict: str) -> str:
    """Return a verdict as shown to readers; "undecided" is replaced by a phrase that says what is missing."""
    return MORE_DATA if verdict == "undecided" else verdict


def worded(n: int, verdict: str) -> str:
    """Return the verb or phrase for n claims with this verdict.

    >>> worded(2, "holds"), worded(1, "holds"), worded(3, "refuted"), worded(7, "undecided")
    ('hold', 'holds', 'refuted', 'need more data')
    """
    one, more = {"undecided": ("needs more data", "need more data")}.get(verdict, (verdict, verdict))
    return one if n == 1 else {"holds": "hold", "differs": "differ", "fails": "fail"}.get(verdict, more)


def counted(counts: Mapping[str, int]) -> str:
    """Return numbers of claims with their verdicts, without those that do not occur.

    >>> counted({"holds": 2, "differs": 1, "fails": 0})
    '2 hold, 1 differs'
    """
    return ", ".join(f"{n} {worded(n, verdict)}" for verdict, n in counts.items() if n)


@dataclass(frozen=True)
class Tally:
    """Counts of statements, errata and neighbours' statements by verdict; each adds up to the number of its claims.

    Args:
        statements: definitions, results, figures and our own claims, by verdict or NO_CHECK.
        errata: "demonstrated", "not demonstrated", "about wording only", "not run".
        measured: those of the statements that are judged by results files, by verdict.
        neighbours: statements about results of other papers, by verdict.
    """

    statements: dict[str, int]
    errata: dict[str, int]
    measured: dict[str, int]
    neighbours: dict[str, int]

    def sentence(self) -> str:
        """Return the counts in words, with the statements in three groups; verdicts that do not occur are left out."""
        recomputed = {v: n - self.measured.get(v, 0) for v, n in self.statements.items() if v != NO_CHECK}
        groups = [
            f"{sum(group.values())} {word} ({counted(group)})"
            for word, group in (("recomputed here", recomputed), ("measured", self.measured))
            if any(group.values())
        ]
        if none := self.statements[NO_CHECK]:
            groups.append(f"{none} with nothing to compute")
        errata = ", ".join(f"{n} {word}" for word, n in self.errata.items() if n)
        parts = [
            f"{sum(self.statements.values())} statements: {' + '.join(groups)}",
            f"{sum(self.errata.values())} errata: {errata}",
        ]
        if count := sum(self.neighbours.values()):
            parts.append(f"{count} about neighbouring papers: {counted(self.neighbours)}")
        return "; ".join(parts)


def verdict_of(claim: Claim, finding: Finding | None) -> str:
    """Return the finding's verdict; without a finding, NO_CHECK if the claim has no check, else "not run"."""
    if finding is not None:
        return finding.verdict
    return NO_CHECK if claim.check is None else "not run"


def tally(claims: Iterable[Claim], findings: Sequence[Finding], measured: Container[str] = ()) -> Tally:
    """Count the verdicts of `claims`; a claim without a finding counts as not run.

    Args:
        measured: labels of the claims that are judged by results files.
    """
    found = {finding.label: finding for finding in findings}
    words = {
        "holds": "demonstrated",
        "fails": "not demonstrated",
        NO_CHECK: "about wording only",
        "not run": "not run",
    }
    statements: Counter[str] = Counter()
    errata: Counter[str] = Counter()
    by_results: Counter[str] = Counter()
    neighbours: Counter[str] = Counter()
    for claim in claims:
        verdict = verdict_of(claim, found.get(claim.label))
        if claim.kind == "erratum":
            errata[words.get(verdict, words["fails"])] += 1
        elif claim.kind == "neighbour":
            neighbours[verdict] += 1
        else:
            statements[verdict] += 1
            by_results[verdict] += claim.label in measured
    return Tally(
        {v: statements[v] for v in (*VERDICTS, NO_CHECK)},
        {w: errata[w] for w in words.values()},
        {v: by_results[v] for v in VERDICTS},
        {v: neighbours[v] for v in VERDICTS},
    )
