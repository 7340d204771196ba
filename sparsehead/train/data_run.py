"""The result of learning from a table: a formula in the names of its columns, with evidence for it."""

from dataclasses import asdict, dataclass
from typing import Any

from .._base.display import Card, ShortRepr, WithCard, clipped
from .._base.frame import Frame
from ..datasets import Dataset
from ..functions import SparseFunction
from ..heads.model import Model
from ..reading.occam import OccamBound
from ..reading.sampling import Agreement
from .spec import TrainSpec


@dataclass(frozen=True, repr=False)
class TableReading(ShortRepr):
    """The function read from a table with the help of a trained head.

    Args:
        function: the sparse function of the T columns.
        formula: the function, written with the names of the columns.
        agreement: agreement with the labels of held-out rows, which neither training nor the choice of function used.
        with_head: agreement of function and head on the held-out rows.
        certificate: the Occam bound on the function's error, from all rows. It assumes independent rows from one
            distribution. A wrong label in the table counts as an error of the function.
        better: whether it is proved, at the same confidence, that the function is right more often than the constants 0
            and 1.
        unseen: number of patterns of the function's columns that occur in no row; the head determines the function
            there.
        flips: for each column that was considered, the share of rows in which flipping it changes the head's label.
        method: how the function was found.
        notes: evidence against the certificate's assumption.
    """

    function: SparseFunction
    formula: str
    agreement: Agreement
    with_head: Agreement
    certificate: OccamBound
    better: bool
    unseen: int
    flips: dict[str, float]
    method: str = "columns ranked by the head, table by the labels, size by the Occam bound"
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The reading as JSON values."""
        found = {name: getattr(self, name) for name in ("formula", "better", "unseen", "flips", "method")}
        return {
            **found,
            "function": self.function.to_dict(),
            "agreement": asdict(self.agreement),
            "with_head": asdict(self.with_head),
            "certificate": self.certificate.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Rival:
    """The result of another method on the same rows.

    Args:
        name: "decision tree" or "logistic regression".
        agreement: agreement with the labels of the held-out rows.
        says: the tree's formula, or the regression's largest weights.
    """

    name: str
    agreement: Agreement
    says: str


@dataclass(frozen=True, eq=False, repr=False)
class TableRun(WithCard):
    """A head trained on a table, and the formula read from it.

    Args:
        data: the table as bits.
        spec: the head's settings; `m` is the number of rows that it was trained on.
        model: the head at its best check, which uses rows that it was not trained on.
        reading: the formula with its agreement and its bound.
        rivals: a decision tree and a logistic regression on the same rows; empty without scikit-learn.
        steps, restart: step and restart of the best check.
    """

    data: Dataset
    spec: TrainSpec
    model: Model
    reading: TableReading
    rivals: tuple[Rival, ...]
    steps: int
    restart: int
    seconds: float

    @property
    def solved(self) -> bool:
        """Return whether it is proved that the formula is right more often than the constants 0 and 1. A table cannot
        show more, since the true function and the number of wrong labels are unknown.
        """
        return self.reading.better

    @property
    def verdict(self) -> str:
        """One sentence: the formula, how often it is right, and what is proved about it."""
        r = self.reading
        proved = "proved better than a constant" if self.solved else "not proved better than a constant"
        return (
            f"{self.data.label} = {clipped(r.formula, 160)} in {spelled(r.agreement)} held-out rows; error at most "
            f"{r.certificate.bound:.3f}; {proved}"
        )

    def __repr__(self) -> str:
        return f"<TableRun: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, as `sparsehead learn --data --json` prints it."""
        return {
            "solved": self.solved,
            "label": self.data.label,
            "rows": self.data.m,
            "columns": list(self.data.names),
            "reading": self.reading.to_dict(),
            "rivals": [asdict(rival) for rival in self.rivals],
            "steps": self.steps,
            "restart": self.restart,
            "trained_on": self.spec.m,
            "seed": self.spec.seed,
            "seconds": round(self.seconds, 3),
        }

    def to_frame(self) -> Frame:
        """One row for each method: name, agreement with the held-out labels, its interval, formula or weights."""
        ours = Rival("head", self.reading.agreement, self.reading.formula)
        return Frame(
            [
                {"method": each.name, "agreement": each.agreement.value, "low": each.agreement.low,
                 "high": each.agreement.high, "rows": each.agreement.n, "says": each.says}
                for each in (ours, *self.rivals)
            ]
        )  # fmt: skip

    def _card(self) -> Card:
        certificate = self.reading.certificate
        facts = {"error at most": certificate.bound, "assumed": certificate.assumed, "seconds": self.seconds}
        return Card("Learned from a table", [self.verdict, *self.reading.notes], facts, self.to_frame())


def spelled(a: Agreement) -> str:
    """Write a share with its interval.

    >>> spelled(Agreement(0.95, 0.887, 0.984, 100))
    '95.0% [88.7%, 98.4%] of 100'
    """
    return f"{a.value:.1%} [{a.low:.1%}, {a.high:.1%}] of {a.n}"
