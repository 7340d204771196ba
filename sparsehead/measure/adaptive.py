"""Where to spend the next trials: a policy that looks at all outcomes so far and proposes batches."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..arguments import real, whole
from ..errors import DomainError
from .curves import TYPICAL_SLOPE, Cell, merge, offset
from .thresholds import Threshold, fitted


@dataclass(frozen=True)
class Adaptive:
    """Finds m_80 with batches of trials on both sides of it.

    While all trials agree, it walks by factors until they do not. Then each round puts one batch where the fitted
    curve reaches `shares[0]` and one where it reaches `shares[1]`, close enough to the target for the curve's shape
    elsewhere not to matter. It stops when ln(high/low) <= width or the trials are spent. A proposal depends on the
    outcomes alone, so a sweep that is repeated proposes the same trials and finds them done.

    Args:
        start: the first guess at m_80. Being wrong costs a round per factor of 2.5.
        batch: trials proposed at one m at once.
        width: wanted ln(high/low) of the 95 % interval; 0.25 is about +-12 %.
        max_trials: spend no more than this.
        m_min, m_max: never propose beyond these.
    """

    start: int = 60
    batch: int = 8
    width: float = 0.25
    max_trials: int = 160
    target: float = 0.8
    level: float = 0.95
    shares: tuple[float, float] = (0.65, 0.91)
    m_min: int = 2
    m_max: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.m_min <= self.start <= self.m_max:
            raise DomainError(f"start must lie in [{self.m_min}, {self.m_max}], got {self.start}.")
        whole("batch", self.batch)
        whole("max_trials (--trials)", self.max_trials)
        real("width (--width)", self.width, above=0)

    def propose(self, cells: Iterable[Cell]) -> list[tuple[int, int]]:
        """The next (m, number of trials) batches; none when the threshold is known well enough."""
        merged = merge(cells)
        trials, solved = sum(c.trials for c in merged), sum(c.solved for c in merged)
        if not merged:
            return self._batches([float(self.start), 1.4 * self.start], 0)
        if trials >= self.max_trials:
            return []
        if solved in (0, trials):
            edge, factor = (merged[-1].m, 1.6) if solved == 0 else (merged[0].m, 1 / 1.6)
            if (edge, solved > 0) in ((self.m_max, False), (self.m_min, True)):
                return []
            return self._batches([edge * factor, edge * factor**2], trials)
        threshold = self.threshold(merged)
        if threshold.log_width <= self.width or threshold.m80 is None:
            return []
        # a flat first fit must not scatter trials.
        slope = max(threshold.slope or TYPICAL_SLOPE, TYPICAL_SLOPE / 2)
        steps = [(offset(share) - offset(self.target)) / slope for share in self.shares]
        return self._batches([threshold.m80 * math.exp(step) for step in steps], trials)

    def threshold(self, cells: Iterable[Cell]) -> Threshold:
        """The estimate from all trials so far."""
        return fitted(cells, target=self.target, level=self.level)

    def _batches(self, wanted: list[float], spent: int) -> list[tuple[int, int]]:
        """Whole numbers within bounds, no more trials than are left."""
        proposals: dict[int, int] = {}
        for m in wanted:
            n = min(self.batch, self.max_trials - spent)
            if n > 0:
                whole = min(self.m_max, max(self.m_min, round(m)))
                proposals[whole] = proposals.get(whole, 0) + n
                spent += n
        return list(proposals.items())
