"""Compare scores of positions with a support that is known."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base.arguments import shown
from .._base.display import Card, WithCard
from .._base.errors import DomainError, ShapeError
from .._base.frame import Frame
from .._base.types import Array, Float


@dataclass(frozen=True, repr=False)
class Recovery(WithCard):
    """Measures of how well one method's scores recover the support of one planted function.

    Args:
        recall_at_s: share of the support among the s positions with the largest scores (recall and precision are equal
            there). If scores are equal, this is the expectation over random orders of them.
        marked: the positions whose score is at least a quarter of the largest and above 1e-9.
        precision: share of the marked positions that are in the support; 0 if none is marked.
        recall: share of the support that is marked.
        covered: whether every position of the support is marked.
        s, T: the number of relevant positions, and of all.
    """

    recall_at_s: float
    marked: tuple[int, ...]
    precision: float
    recall: float
    covered: bool
    s: int
    T: int

    def __repr__(self) -> str:
        return (
            f"<Recovery: {self.recall_at_s:.3g} of the support among the {self.s} largest of {self.T} scores; "
            f"{len(self.marked)} marked, precision {self.precision:.3g}, recall {self.recall:.3g}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**asdict(self), "marked": list(self.marked)}

    def to_frame(self) -> Frame:
        """Return a table of one row, without the list of marked positions."""
        return Frame([{name: value for name, value in self.to_dict().items() if name != "marked"}])

    def _card(self) -> Card:
        facts = {name: value for name, value in self.to_dict().items() if name != "marked"}
        return Card("Recovery", [repr(self)[1:-1]], facts)


def position_scores(scores: Any, T: int) -> Float[Array, " T"]:
    """Return one score >= 0 for each position: the absolute value, averaged over examples if there are several.

    Args:
        scores: T numbers, or an array (n, T) of one row for each example; a torch tensor is converted.
    """
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu().numpy()
    try:
        table = np.asarray(scores)
        kind = table.dtype.kind
    except (TypeError, ValueError):  # rows of different lengths
        kind = "O"
    if kind not in "fiub":
        raise DomainError(f"scores are numbers, one for each of T={T} positions; got {shown(scores)}.")
    if table.ndim not in (1, 2) or table.shape[-1] != T or not len(table):
        raise ShapeError(
            f"scores of shape {table.shape} arrived; T={T} needs ({T},), or (n, {T}) for n examples."
        )
    table = np.abs(table.astype(np.float64))
    if not np.isfinite(table).all():
        raise DomainError("scores hold NaN or infinite entries; each position needs a finite number.")
    return table if table.ndim == 1 else table.mean(axis=0)


def recovery(scores: Any, support: tuple[int, ...], T: int) -> Recovery:
    """Return how well scores of T positions, larger for more relevant ones, recover `support`.

    >>> recovery([0.9, 0.1, 0.8, 0.0], (0, 2), 4)
    <Recovery: 1 of the support among the 2 largest of 4 scores; 2 marked, precision 1, recall 1>
    """
    by_position = position_scores(scores, T)
    zero = 1e-9  # of the output's range, which is 1 in a planted model: smaller scores are rounding errors
    by_position = np.where(by_position > zero, by_position, 0.0)
    s, relevant = len(support), np.isin(np.arange(T), support)
    last = np.sort(by_position)[-s]  # the score of the last of the s largest
    above, tied = by_position > last, by_position == last
    # Of the tied positions s - above.sum() are taken, each with the same probability.
    hits = (above & relevant).sum() + (s - above.sum()) * (tied & relevant).sum() / tied.sum()
    # of the largest score: positions above are marked; equal parts of an AND of 3 bits all are
    marked_share = 0.25
    marked = np.flatnonzero((by_position > 0) & (by_position >= marked_share * by_position.max()))
    found = int(relevant[marked].sum())
    return Recovery(
        recall_at_s=float(hits) / s,
        marked=tuple(int(t) for t in marked),
        precision=found / len(marked) if len(marked) else 0.0,
        recall=found / s,
        covered=found == s,
        s=s,
        T=T,
    )
