"""The list of claims, and how to check them.

>>> claim("tf-scalar").kind
'definition'
"""

from collections.abc import Callable, Iterable

from . import capacity, definitions, errata, experiments, generalization, representation
from .claim import Claim, Context, Finding, exists, resolve

__all__ = ["CLAIMS", "SECTIONS", "Claim", "Context", "Finding", "claim", "run_check", "run_checks"]

SECTIONS: dict[str, tuple[Claim, ...]] = {
    "Definitions": definitions.CLAIMS,
    "Capacity": capacity.CLAIMS,
    "Generalisation and lower bounds": generalization.CLAIMS,
    "Representation": representation.CLAIMS,
    "Experiments": experiments.CLAIMS,
    "Errata of the paper": errata.PAPER,
    "Errata of the lecture notes": errata.NOTES,
}
CLAIMS: dict[str, Claim] = {c.label: c for section in SECTIONS.values() for c in section}

Progress = Callable[[Claim, Finding | None], None]


def claim(label: str) -> Claim:
    """The claim of that label.

    Raises:
        KeyError: no claim has it.
    """
    return CLAIMS[label]


def run_checks(
    labels: Iterable[str] | None = None, *, context: Context | None = None, progress: Progress | None = None
) -> list[Finding]:
    """Check the claims named by `labels` (default: all), in the registry's order.

    Args:
        context: passed to every check.
        progress: called with (claim, None) before a check and with (claim, finding) after it.
    Returns:
        one Finding per claim that can be checked or has to be; claims without a check, which only define
        something or have nothing to compute, are left out.
    """
    context = context or Context()
    wanted = set(CLAIMS) if labels is None else {claim(label).label for label in labels}
    findings = []
    for entry in CLAIMS.values():
        if entry.label not in wanted or entry.check is None:
            continue
        if progress:
            progress(entry, None)
        findings.append(run_check(entry, context))
        if progress:
            progress(entry, findings[-1])
    return findings


def run_check(entry: Claim, context: Context) -> Finding:
    """One claim's Finding. A check that breaks is reported as not run, so that the others still are."""
    if entry.check is None or not exists(entry.check):
        return Finding(entry.label, "not run", entry.where, "", "not implemented yet")
    try:
        result: Finding = resolve(entry.check)(context)
    except Exception as error:  # the report must stand, whatever one check does
        broken = f"the check itself broke: {type(error).__name__}: {error}"
        return Finding(entry.label, "not run", entry.where, "", broken)
    return result
