"""m_80: the number of samples at which 80 % of trials succeed, from trials at several m.

`grid` reads it off as the paper does; `fitted` fits the success curve and gives a profile-likelihood interval.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..types import Array, Float
from .curves import Cell, log_likelihood, merge, slope_penalty
from .intervals import chi2_quantile, percentile

LOG_SLOPES = np.linspace(math.log(0.7), math.log(70), 26)
# On the likelihood drop: batches, and stopping once the interval is short, cost coverage (90 -> 95 %).
LIKELIHOOD_CAUTION = 1.25


@dataclass(frozen=True)
class Threshold:
    """m_80 with an interval. None stands for "not bounded by these trials"; `note` says why.

    `bar` is the bootstrap's standard deviation (grid), `slope` the fitted slope in ln m (fitted).
    """

    m80: float | None
    low: float | None
    high: float | None
    trials: int
    method: str
    note: str = ""
    bar: float | None = None
    slope: float | None = None

    @property
    def log_width(self) -> float:
        """ln(high / low); infinite while a side is open."""
        return math.log(self.high / self.low) if self.low and self.high else math.inf


def grid(
    cells: Iterable[Cell],
    *,
    target: float = 0.8,
    n_boot: int = 100,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Threshold:
    """The paper's protocol: the smallest m with at least `target` successes, averaged over bootstrap resamples.

    Each resample redraws the trials of every cell with replacement and takes the smallest m that reaches the
    target. The value is the mean over resamples and the bar their standard deviation. This is how values such as
    52.8 arise on a grid of tens: the mean of 100 multiples of 10 is a multiple of 0.1, as all printed values are.
    The first m to pass is too small when several cells lie near the target, and a value at the first m is censored.
    A resample that reaches the target nowhere counts as the last m in mean and bar; where these are
    too many for the interval, its upper end is open.

    Paper: law-and, law-grid
    """
    merged = merge(cells)
    trials = sum(cell.trials for cell in merged)
    if not merged:
        return Threshold(None, None, None, 0, "grid", "no trials")
    ms = np.array([cell.m for cell in merged], dtype=float)
    n = np.array([cell.trials for cell in merged])
    share = np.array([cell.solved / cell.trials for cell in merged])
    resampled = rng.binomial(n, share, size=(n_boot, len(merged))) / n
    passed = resampled >= target - 1e-12  # 32 of 40 is 80 %
    if not (share >= target - 1e-12).any():
        note = f"no m up to {ms[-1]:.0f} reaches {target:.0%}: m_80 is larger"
        return Threshold(None, float(ms[-1]), None, trials, "grid", note)
    reached = passed.any(axis=1)
    first = np.where(reached, ms[passed.argmax(axis=1)], ms[-1])
    low, high = percentile(first, level)
    notes = [f"the grid starts at {ms[0]:.0f}: m_80 may be smaller"] if first.mean() <= ms[0] else []
    # then the upper percentile lies among resamples that reach the target nowhere
    open_above = (~reached).mean() > (1 - level) / 2
    if open_above:
        notes.append(f"the grid ends at {ms[-1]:.0f}: m_80 may be larger")
    bar = float(first.std())
    upper = None if open_above else high
    return Threshold(float(first.mean()), low, upper, trials, "grid", "; ".join(notes), bar=bar)


def fitted(cells: Iterable[Cell], *, target: float = 0.8, level: float = 0.95) -> Threshold:
    """The m at which a share `target` succeeds, by penalised maximum likelihood, with its profile interval.

    The curve is that of `curves.log_likelihood`; the penalty is on the slope alone. The interval holds every
    threshold whose best likelihood over slopes is within LIKELIHOOD_CAUTION * chi2_1(level)/2 of the maximum.
    """
    merged = merge(cells)
    trials, solved = sum(cell.trials for cell in merged), sum(cell.solved for cell in merged)
    if not merged:
        return Threshold(None, None, None, 0, "fitted", "no trials")
    span = math.log(merged[0].m) - 2.5, math.log(merged[-1].m) + 2.5
    drop = LIKELIHOOD_CAUTION * chi2_quantile(level) / 2
    thetas = np.linspace(*span, 61)
    profile, slopes = _profile(merged, thetas, LOG_SLOPES, target)
    inside = np.flatnonzero(profile >= profile.max() - drop - 2)
    around = thetas[max(0, inside[0] - 1)], thetas[min(60, inside[-1] + 1)]
    thetas = np.linspace(*around, 101)
    near = np.linspace(slopes[inside].min() - 0.2, slopes[inside].max() + 0.2, len(LOG_SLOPES))
    profile, slopes = _profile(merged, thetas, near, target)
    best = int(profile.argmax())
    low, high = _crossings(thetas, profile, float(profile.max() - drop))
    if solved in (0, trials):
        side = (
            f"all {trials} trials with m >= {merged[0].m} were solved: m_80 is smaller"
            if solved
            else f"none of {trials} trials with m <= {merged[-1].m} was solved: m_80 is larger"
        )
        return Threshold(None, None if solved else low, high if solved else None, trials, "fitted", side)
    note = "" if low and high else "the trials leave one side open; more of them are needed"
    return Threshold(
        float(np.exp(thetas[best])), low, high, trials, "fitted", note, slope=float(np.exp(slopes[best]))
    )


def _profile(
    cells: Sequence[Cell], thetas: Float[Array, " n"], log_slopes: Float[Array, " k"], target: float
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The best penalised log-likelihood at each threshold, and the ln slope that attains it."""
    log_m = np.log([cell.m for cell in cells])
    solved = np.array([cell.solved for cell in cells], dtype=float)
    trials = np.array([cell.trials for cell in cells], dtype=float)
    slopes = np.exp(log_slopes)[None, :, None]
    each = log_likelihood(log_m, solved, trials, thetas[:, None, None], slopes, target)
    table = each.sum(axis=-1) + slope_penalty(log_slopes)
    return table.max(axis=1), log_slopes[table.argmax(axis=1)]


def _crossings(
    thetas: Float[Array, " n"], profile: Float[Array, " n"], cut: float
) -> tuple[float | None, float | None]:
    """Where the profile rises above and falls below the cut, as m; None where it does not."""
    inside = np.flatnonzero(profile >= cut)
    ends: list[float | None] = []
    for edge, beyond in ((inside[0], inside[0] - 1), (inside[-1], inside[-1] + 1)):
        if not 0 <= beyond < len(thetas):
            ends.append(None)
            continue
        part = (cut - profile[beyond]) / (profile[edge] - profile[beyond])
        ends.append(float(np.exp(thetas[beyond] + part * (thetas[edge] - thetas[beyond]))))
    return ends[0], ends[1]
