"""The claims of all chapters in one table, and how to check them.

>>> CLAIMS["tf-scalar"].kind
'definition'
"""

from collections.abc import Callable, Iterable
from types import ModuleType

from sparsehead._base.errors import FileError
from sparsehead._base.plugins import Registry

from . import (
    capacity,
    covering,
    decoders,
    definitions,
    depth,
    errata_notes_capacity,
    errata_notes_covering,
    errata_notes_sparse,
    errata_paper,
    experiments,
    floor,
    generalization,
    laws,
    limits,
    linear_covers,
    lipschitz,
    neighbours,
    neighbours_inputs,
    neighbours_measured,
    neighbours_noise,
    neighbours_tokens,
    reading,
    representation,
    selection,
    sparse_functions,
    studies,
    trained,
)
from .claim import Claim, Context, Finding

__all__ = ["CLAIMS", "SECTIONS", "Claim", "Context", "Finding", "run_checks"]


def _claims(*files: ModuleType) -> tuple[Claim, ...]:
    """Return the claims declared in these files, in order of declaration."""
    return tuple(entry for file in files for entry in vars(file).values() if isinstance(entry, Claim))


# A new chapter is a new file and its name here.
SECTIONS: dict[str, tuple[Claim, ...]] = {
    "Definitions": _claims(definitions, covering, sparse_functions),
    "Capacity": _claims(lipschitz, capacity, depth, linear_covers),
    "Generalisation and lower bounds": _claims(generalization, floor),
    "Representation": _claims(representation, selection, limits, decoders),
    "Reading": _claims(reading),
    "Experiments": _claims(laws, experiments, studies, trained),
    "Neighbours": _claims(
        neighbours, neighbours_tokens, neighbours_noise, neighbours_inputs, neighbours_measured
    ),
    "Errata of the paper": _claims(errata_paper),
    "Errata of the lecture notes": _claims(errata_notes_covering, errata_notes_capacity, errata_notes_sparse),
}
if added := tuple(Registry[Claim]("claim", {}).values()):
    SECTIONS["Installed packages"] = added
CLAIMS: dict[str, Claim] = {entry.label: entry for section in SECTIONS.values() for entry in section}

ClaimProgress = Callable[[Claim, Finding | None], None]


def run_checks(
    labels: Iterable[str] | None = None,
    *,
    context: Context | None = None,
    progress: ClaimProgress | None = None,
) -> list[Finding]:
    """Check the claims named by `labels` (default: all), in the registry's order.

    An error in one check does not stop the others: a check with a damaged results file gets the verdict "not run"; a
    check that raises any other exception gets "fails".

    Args:
        context: passed to every check.
        progress: called with (claim, None) before a check and with (claim, finding) after it.
    Returns:
        one Finding per claim that has a check.
    Raises:
        KeyError: no claim has one of the labels.
    """
    context = context or Context()
    wanted = set(CLAIMS) if labels is None else {CLAIMS[label].label for label in labels}
    findings = []
    for entry in CLAIMS.values():
        if entry.label not in wanted or entry.check is None:
            continue
        if progress:
            progress(entry, None)
        try:
            found = entry(context)
        except FileError as error:
            found = Finding(entry.label, "not run", entry.where, "", str(error))
        except Exception as error:
            broken = f"the check itself broke: {type(error).__name__}: {error}"
            found = Finding(entry.label, "fails", entry.where, "", broken)
        findings.append(found)
        if progress:
            progress(entry, found)
    return findings
