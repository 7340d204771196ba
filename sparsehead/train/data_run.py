"""The result of learning from a table: a formula in the names of its columns, and how far it can be trusted."""

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

BY_HEAD = "columns ranked by the head, table by the labels, size by the Occam bound"


@dataclass(frozen=True, repr=False)
class TableReading(ShortRepr):
    """The function read from a table by way of a trained head.

    Args:
        function: the sparse function of the T columns.
        formula: the same in the names of the columns.
        agreement: with the labels of the held-out rows, which neither training nor the choice has seen.
        with_head: how often function and head agree on the held-out rows.
        certificate: the Occam bound on the function's error, from all rows. It assumes independent rows of one
            distribution; the error counts wrong labels in the table as errors of the function.
        better: proved, at the same confidence, that the function is right more often than either constant.
        unseen: patterns of the function's columns that no row has; the head decided on them.
        flips: by column, the share of rows whose label by the head changes with it; the columns that were considered.
        method: how the function was found.
        notes: what speaks against the certificate's assumption.
    """

    function: SparseFunction
    formula: str
    agreement: Agreement
    with_head: Agreement
    certificate: OccamBound
    better: bool
    unseen: int
    flips: dict[str, float]
    method: str = BY_HEAD
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able values."""
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
    """What another method makes of the same rows.

    Args:
        name: "decision tree" or "logistic regression".
        agreement: with the labels of the held-out rows.
        says: the tree's formula, or the regression's largest weights.
    """

    name: str
    agreement: Agreement
    says: str


@dataclass(frozen=True, eq=False, repr=False)
class TableRun(WithCard):
    """A head trained on a table, and what was read from it.

    Args:
        data: the table as bits.
        spec: the head's settings; `m` are the rows that it was trained on.
        model: the head at its best check on rows that it was not trained on.
        reading: the formula with its agreement and its bound.
        rivals: a decision tree and a logistic regression of the same rows; empty without scikit-learn.
        steps, restart: where the best check was.
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
        """Whether the formula is proved to be right more often than either constant. No table can show more: which
        function made its labels, and how many of them are wrong, is not known.
        """
        return self.reading.better

    @property
    def verdict(self) -> str:
        """One sentence: the formula, how often it is right, and what is proved."""
        r = self.reading
        proved = "proved better than a constant" if self.solved else "not proved better than a constant"
        return (
            f"{self.data.label} = {clipped(r.formula, 160)} in {spelled(r.agreement)} held-out rows; error at most "
            f"{r.certificate.bound:.3f}; {proved}"
        )

    def __repr__(self) -> str:
        return f"<TableRun: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able values: what `sparsehead learn --data --json` prints."""
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
        """One row for each method: name, agreement with the held-out labels, its interval, and what it says."""
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
    """A share with its interval.

    >>> spelled(Agreement(0.95, 0.887, 0.984, 100))
    '95.0% [88.7%, 98.4%] of 100'
    """
    return f"{a.value:.1%} [{a.low:.1%}, {a.high:.1%}] of {a.n}"
