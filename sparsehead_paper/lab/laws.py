"""Laws measured by `reproduce`, for the lab's Law page."""

from collections.abc import Mapping

from sparsehead.laws.law import LawResult

from ..studies.folder import default_folder, has_results, read_results


def committed_laws() -> Mapping[str, tuple[str, LawResult]]:
    """Return the laws in the results folder as id -> (name, law)."""
    folder = default_folder()
    series = {
        "law": "AND of 3 bits on the paper's range",
        "law-decades": "AND of 3 bits over decades of T",
        "law-mingpt": "AND of 3 bits with dropout, as minGPT trains",
        "law-paper": "AND of 3 bits with the paper's settings",
    }
    present = {name: line for name, line in series.items() if has_results(folder, name)}
    return {name: (line, read_results(folder, name, LawResult)) for name, line in present.items()}
