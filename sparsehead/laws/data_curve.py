"""`learning_curve`: how the accuracy of a learned formula grows with the number of rows of a table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base.arguments import several, whole
from .._base.display import Card, WithCard, clipped
from .._base.errors import DomainError
from .._base.frame import Frame
from .._base.rng import stream
from .._base.types import Array, Shaped
from ..datasets import Dataset, dataset
from ..functions import SparseFunction
from ..functions.task import Sample
from ..train.formulas import least_bound, rank_columns
from ..train.from_data import best_head, split_rows
from .intervals import wilson


@dataclass(frozen=True)
class CurvePoint:
    """Results for subsets of m rows.

    Args:
        m: number of rows in each training subset.
        accuracy: mean share of held-out rows on which the learned formula is right.
        low, high: 95 % interval for fresh rows (Student's t), from the spread between subsets and the number of
            held-out rows. Subsets of nearly all rows overlap, so for these the spread and the interval are too small.
        same: share of subsets that give the same formula as all rows.
        same_low, same_high: the 95 % interval of `same` (Wilson).
        draws: number of subsets.
    """

    m: int
    accuracy: float
    low: float
    high: float
    same: float
    same_low: float
    same_high: float
    draws: int


@dataclass(frozen=True, eq=False, repr=False)
class DataCurve(WithCard):
    """The learning curve of one table; `formula` is learned from all rows that are not held out."""

    points: tuple[CurvePoint, ...]
    formula: str
    held_out: int

    def to_frame(self) -> Frame:
        """One row for each m."""
        return Frame([asdict(point) for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON values."""
        return {
            "formula": self.formula,
            "held_out": self.held_out,
            "points": [asdict(p) for p in self.points],
        }

    def __repr__(self) -> str:
        seen = "; ".join(f"m={p.m}: {p.accuracy:.3f} [{p.low:.3f}, {p.high:.3f}]" for p in self.points[:6])
        return f"<DataCurve of {clipped(self.formula, 100)}: {seen}>"

    def _card(self) -> Card:
        facts = {"held-out rows": self.held_out}
        return Card("Learning curve", [f"the formula of all rows: {self.formula}"], facts, self.to_frame())


def learning_curve(
    X: Any,
    y: Any = None,
    *,
    seed: int,
    sizes: Sequence[int] | None = None,
    draws: int = 8,
    held_out: float = 0.2,
    most: int = 6,
    **settings: Any,
) -> DataCurve:
    """Measure the accuracy of the formula learned from m rows of a table, for several m.

    All formulas are tested on the same held-out rows; for each m, `draws` subsets are drawn from the other rows.

    Args:
        X, y: a table, as in `dataset`. seed: determines the split, the subsets and the initialisations.
        sizes: the values of m; by default 1/16, 1/8, 1/4, 1/2 and all of the rows that are not held out.
        held_out, most, settings: as in `learn(X, y, ..)`; restarts is 1 by default.
    Raises:
        DomainError: a size is below 20 or above the rows that are not held out, or the table cannot be learned from.

    >>> bits = stream(0, "example").integers(0, 2, (200, 6))
    >>> learning_curve(bits, bits[:, 1] & bits[:, 4], seed=0, sizes=[40, 160], draws=2, n_steps=100).formula
    'x1 & x4'
    """
    data = dataset(X, y)
    whole("seed", seed, least=0)
    whole("draws", draws, least=2)
    numbers, others = split_rows(data, held_out, seed)
    seen, kept = data.rows(numbers), data.rows(others)
    n = len(seen[1])
    wanted = _sizes(sizes, n)
    preset, changed = settings.pop("preset", "best"), {"restarts": 1, **settings}

    def learned(sample: Sample, number: int) -> SparseFunction:
        model = best_head(sample, number, preset, changed, None, {})[1]
        return least_bound(sample, list(rank_columns(model, sample[0])), most=most, delta=0.05)

    whole_formula = learned(seen, seed)
    points = []
    for m in wanted:
        found = [learned(data.rows(_subset(data, numbers, m, seed, draw)), draw) for draw in range(draws)]
        points.append(_point(m, [float((f(kept[0]) == kept[1]).mean()) for f in found],
                             sum(f == whole_formula for f in found), len(kept[1])))  # fmt: skip
    return DataCurve(tuple(points), data.formula(whole_formula), len(kept[1]))


def _sizes(sizes: Any, n: int) -> list[int]:
    """Return the sizes in ascending order, without repetitions."""
    least_rows = 20  # in a subset
    shares = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # default sizes: shares of the rows not held out
    if sizes is None:
        return sorted({m for m in (round(share * n) for share in shares) if m >= least_rows} | {n})
    wanted = sorted({whole("each size", m) for m in several("sizes", sizes, "numbers of rows")})
    if not wanted or wanted[0] < least_rows or wanted[-1] > n:
        raise DomainError(f"sizes are from {least_rows} to the {n} rows that are not held out; got {wanted}.")
    return wanted


def _subset(data: Dataset, numbers: Shaped[Array, " n"], m: int, seed: int, draw: int) -> Shaped[Array, " m"]:
    """Draw m of the rows `numbers` in random order; redraw until both labels occur."""
    rng = stream(seed, "curve", m, draw)
    for _ in range(1000):
        rows = rng.permutation(numbers)[:m]
        if len(np.unique(data.labels[rows])) == 2:
            return rows
    raise DomainError(f"subsets of m={m} rows hardly ever have both labels; use larger sizes.")


def _point(m: int, accuracies: list[float], same: int, rows: int) -> CurvePoint:
    from scipy.stats import t

    n, mean = len(accuracies), float(np.mean(accuracies))
    share = (rows * mean + 1) / (rows + 2)  # not 0 or 1, where the estimated variance of a row would be 0
    variance = np.var(accuracies, ddof=1) / n + share * (1 - share) / rows
    half = float(t.ppf(0.975, n - 1) * np.sqrt(variance))
    low, high = wilson(same, n)
    return CurvePoint(m, mean, max(0.0, mean - half), min(1.0, mean + half), same / n, low, high, n)
