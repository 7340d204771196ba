"""A measured law as a results file holds it, `sparsehead law --json` prints it and the law's chart draws it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from .curves import Cell
from .thresholds import side

Ends = tuple[float | None, float | None]  # of an interval; None is an open end


@dataclass(frozen=True, kw_only=True)
class ResultsRecord:
    """Base of what a results file holds; `schema` is the version of its layout.

    `complete`: whether the experiment was run to its planned end.
    """

    schema: ClassVar[int] = 1
    complete: bool = True


@dataclass(frozen=True)
class ThresholdRow:
    """m_80 at one T with its 95 % interval. None: the trials do not bound it; `note` says why.

    `bar` is the bootstrap's standard deviation where the paper's protocol was followed. `side` names the ends that are
    not open: "both", "at most", "at least" or "none"; it follows from them.
    """

    T: int
    m80: float | None
    low: float | None
    high: float | None
    trials: int = 0
    note: str = ""
    bar: float | None = None
    side: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", side(self.low, self.high))


@dataclass(frozen=True)
class CellRow:
    """The trials at one (T, m): how many there were, how many succeeded."""

    T: int
    m: int
    solved: int
    trials: int


@dataclass(frozen=True)
class FloorRow:
    """Samples at T from which the best learner with one answer succeeds in 80 % of cases: at least m, at most `enough`.

    `guesses` answers, as many as a trial has runs, need at least `m_guesses`. Both are for independent samples. None:
    not known.
    """

    T: int
    m: int
    enough: int | None = None
    status: str = "lower bracket"
    guesses: int | None = None
    m_guesses: int | None = None


@dataclass(frozen=True)
class FitRow:
    """One fitted law: parameters a, b and slope, their 95 % intervals, AIC, and AIC above the best law."""

    params: dict[str, float]
    intervals: dict[str, Ends]
    aic: float
    delta_aic: float


@dataclass(frozen=True)
class LawRecord(ResultsRecord):
    """A measured law, in law.json, law-grid.json, ..: m_80 against T.

    Args:
        fits: by name of the law ("log", "power", "linear"); empty where the trials determine none.
        best: the law with the least AIC; None where there is no fit, or a misfit keeps the laws from being compared.
        note: why there is no fit, or that the laws cannot be told apart.
        target: the function, for a chart's title.
        in_paper: whether the paper's figure 2 has points for this function.
    """

    thresholds: tuple[ThresholdRow, ...]
    fits: dict[str, FitRow]
    best: str | None
    note: str
    floor: tuple[FloorRow, ...]
    cells: tuple[CellRow, ...]
    seconds: float
    target: str = "AND of 3 bits"
    in_paper: bool = True

    @property
    def misfit(self) -> str:
        """How trials depart from the fitted success curve, as the notes say it; empty where they do not."""
        notes = (self.note, *(row.note for row in self.thresholds))
        return next((note[note.index("misfit") :] for note in notes if "misfit" in note), "")

    def cells_by_T(self) -> dict[int, list[Cell]]:
        """The trials, as `law(known=..)` takes them."""
        return cells_by_T(self.cells)


def cells_by_T(rows: Iterable[CellRow]) -> dict[int, list[Cell]]:
    """Rows of trials as cells by T."""
    found: dict[int, list[Cell]] = {}
    for row in rows:
        found.setdefault(row.T, []).append(Cell(row.m, row.solved, row.trials))
    return found
