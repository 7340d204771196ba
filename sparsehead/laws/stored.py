"""Make a law from the trials in a store, without running any."""

from collections.abc import Sequence
from dataclasses import replace

from .._base.errors import DomainError
from ..store import Record
from ..train.spec import TrainSpec
from .fits import fit_laws
from .law import LawResult
from .rounds import cells_of
from .theory import floors, slopes
from .thresholds import fitted


def stored_law(records: Sequence[Record]) -> LawResult:
    """Make the law from stored trials whose specs differ only in T, m and seed.

    Each threshold uses only the trials at its own T; its note says whether these bound it on one side only, or not at
    all.
    """
    if not records:
        raise DomainError("a law from the store needs at least one trial, got none.")
    cells = cells_of(records)
    first = TrainSpec(**records[0].spec)

    def make(T: int, m: int, seed: int) -> TrainSpec:
        return replace(first, T=T, m=m, seed=seed)

    laws = fit_laws(cells)
    return LawResult(
        thresholds={T: fitted(of_T, T=T) for T, of_T in cells.items()},
        fits=laws.fits,
        best=laws.best,
        note=laws.note,
        floor=floors(make, list(cells)),
        slopes=slopes(make, max(cells)),
        cells=cells,
        seconds=0.0,
        target=first.function if first.s is None else f"{first.function} of {first.s} bits",
        in_paper=(first.function, first.s) == ("and", 3),
    )
