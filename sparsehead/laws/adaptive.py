"""Choose the next trials at one T: a policy that proposes batches from all outcomes so far."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .._base.arguments import real, whole
from .._base.errors import DomainError
from .curves import TYPICAL_SLOPE, Cell, agree, merge, offset
from .thresholds import curve_interval, rising_bounds


@dataclass(frozen=True)
class Adaptive:
    """Find m_80 with batches of trials on both sides of it.

    While all trials agree (all solved or all failed), halve or double m, with two trials each time. After that, each
    round puts one batch where the fitted curve reaches `shares[0]` and one where it reaches `shares[1]`. On a side
    without a bound from `rising_bounds`, the batch goes further out, to the m at which .5 or .95 is reached. The first
    batches are small. Stop when the curve's interval is narrow enough and both sides are bounded, when m_80 lies
    outside m_min .. m_max, or after max_trials trials. Proposals depend only on outcomes, so a repeated sweep proposes
    the same trials and finds them in the store.

    Args:
        start: the first guess at m_80. A wrong guess costs two trials per factor of 2.
        batch: number of trials proposed at one m.
        width: wanted ln(high/low) of the fitted curve's 95 % interval; 0.25 is about +-12 %. The interval of `fitted`,
            which does not assume the curve's shape, is then about 1.5 times as wide.
        max_trials: largest number of trials.
        m_min, m_max: smallest and largest m to propose.
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
        """Return the next batches as (m, number of trials); empty when the threshold is known well enough."""
        merged = merge(cells)
        trials = sum(cell.trials for cell in merged)
        probe_trials = 2  # trials at one m while all trials agree
        if not merged:
            return self._batches([float(self.start)], merged, probe_trials)
        if trials >= self.max_trials:
            return []
        low, high = rising_bounds(merged, target=self.target, level=self.level)
        if (high is not None and high <= self.m_min) or (low is not None and low >= self.m_max):
            return []
        if agree(merged):
            solved = merged[0].solved > 0
            edge = merged[0].m / 2 if solved else merged[-1].m * 2.0
            walking = merged[0].m > self.m_min if solved else merged[-1].m < self.m_max
            return self._batches([edge], merged, probe_trials if walking else self.batch)
        m80, below, above, slope = curve_interval(merged, self.target, self.level)
        if low and high and below and above and math.log(above / below) <= self.width:
            return []
        slope = max(slope, TYPICAL_SLOPE / 2)  # a flat first fit would spread trials too far
        outer_shares = (0.5, 0.95)  # shares of success at which few trials bound m_80 for every rising curve
        shares = (self.shares[0] if low else outer_shares[0], self.shares[1] if high else outer_shares[1])
        steps = [(offset(share) - offset(self.target)) / slope for share in shares]
        wanted = [m80 * math.exp(step) for step in steps]
        return self._batches(wanted, merged, min(self.batch, max(probe_trials, trials // 2)))

    def _batches(self, wanted: list[float], merged: list[Cell], most: int) -> list[tuple[int, int]]:
        """Return the batches for the wanted m. Each m is rounded to a whole number from m_min to m_max, or to an
        earlier m within 2 % of it; batches shrink so that max_trials is not exceeded.
        """
        spent, proposals = sum(cell.trials for cell in merged), dict[int, int]()
        for m in wanted:
            n = min(most, self.batch, self.max_trials - spent)
            if n > 0:
                place = min(self.m_max, max(self.m_min, round(m)))
                tried = min((cell.m for cell in merged), key=lambda at: abs(at - place), default=place)
                place = tried if abs(math.log(tried / place)) <= 0.02 else place
                proposals[place] = proposals.get(place, 0) + n
                spent += n
        return list(proposals.items())
