"""The evidence for the verdict on a measured claim: the origin of its results, and fresh trials beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..claims.measured import FILES
from ..studies.agreement import Agreement
from ..studies.folder import has_results
from ..studies.origin import origins
from ..studies.plans import command_for
from ..studies.spot import UNCHECKED


@dataclass(frozen=True)
class Backing:
    """Origin and checks of the results file of a claim.

    Args:
        origin: a sentence that says when, where and how long it was measured, and by which command.
        check: the comparison with fresh trials, if there is one.
        reason: if there is no comparison, why not.
    """

    origin: str
    check: Agreement | None = None
    reason: str = ""

    @property
    def mark(self) -> str:
        """The verdict on fresh trials, with its symbol."""
        if self.check is None:
            return ""
        return "✓ fresh trials agree" if self.check.agrees else "✗ fresh trials do not agree"

    def short(self) -> str:
        """Return the number of fresh trials and whether they agree; empty if there are none."""
        if self.check is None:
            return ""
        return f"{self.check.trials} fresh trials {'agree' if self.check.agrees else 'do not agree'}"

    def text(self) -> str:
        """Return the origin, and the comparison with fresh trials or the reason why there is none."""
        if self.check is not None:
            return f"{self.check.sentence()} {self.origin}"
        return f"{self.origin} Not run again here: {self.reason}." if self.reason else self.origin


def backings(folder: Path, checks: Mapping[str, Agreement], *, compared: bool) -> dict[str, Backing]:
    """Return the backing of each results file in `folder` that a claim or a check needs, by the file's name.

    Args:
        checks: comparisons with fresh trials, by results file.
        compared: whether fresh trials were run at all.
    """
    known, found = origins(folder), {}
    for file in dict.fromkeys([*FILES.values(), *checks]):
        if has_results(folder, file):
            origin = known[file].sentence(file) if file in known else f"`{command_for(file)}` measures it."
            reason = UNCHECKED.get(file, "`sparsehead reproduce` without --quick does")
            found[file] = Backing(origin, checks.get(file), reason if compared else "")
    return found


def made_checks(backing: Mapping[str, Backing]) -> dict[str, Agreement]:
    """Return the comparisons with fresh trials, by results file."""
    return {file: entry.check for file, entry in backing.items() if entry.check is not None}


def fresh_sentence(backing: Mapping[str, Backing]) -> str:
    """Return a sentence: with how many committed results fresh trials agree; empty if there are no fresh trials."""
    found = made_checks(backing)
    apart = [file for file, check in found.items() if not check.agrees]
    counts = f"{len(found) - len(apart)} agree, {len(apart)} do not{': ' if apart else ''}{', '.join(apart)}"
    trials = sum(check.trials for check in found.values())
    return f"{trials} fresh trials of {len(found)} committed results: {counts}." if found else ""
