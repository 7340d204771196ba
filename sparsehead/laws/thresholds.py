"""Estimate m_80, the number of samples at which 80 % of trials succeed, from trials at several m.

`grid` takes the smallest m that reaches 80 %, as the paper does. `fitted` fits the success curve; its interval is also
valid for any other curve that rises with m.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._base.types import Array, Float
from .curves import Cell, agree, log_likelihood, merge, slope_penalty
from .intervals import chi2_quantile, percentile
from .misfit import misfits


@dataclass(frozen=True)
class Threshold:
    """m_80 at one T with its 95 % interval. None means that the trials give no value or bound; `note` says why.

    `bar` is the standard deviation over bootstrap resamples (method "grid"); other methods have the `slope` in ln m.
    """

    in_file: ClassVar = ("T", "m80", "low", "high", "trials", "note", "bar", "side")

    T: int
    m80: float | None
    low: float | None
    high: float | None
    trials: int = 0
    note: str = ""
    bar: float | None = None
    slope: float | None = None
    method: str = ""

    @property
    def log_width(self) -> float:
        """Return ln(high / low); infinite while a side is open."""
        return math.log(self.high / self.low) if self.low and self.high else math.inf

    @property
    def side(self) -> str:
        """The bounded ends of the interval: "both", "at most" (only the upper), "at least" (only the lower), "none"."""
        if self.low is None:
            return "none" if self.high is None else "at most"
        return "at least" if self.high is None else "both"


def grid(
    cells: Iterable[Cell],
    *,
    T: int,
    target: float = 0.8,
    n_boot: int = 100,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Threshold:
    """The paper's protocol: the smallest m with a share of successes of at least `target`, averaged over resamples.

    Each bootstrap resample redraws the trials of every cell with replacement and takes the smallest m that reaches the
    target. The value is the mean over resamples and the bar their standard deviation. This explains values such as 52.8
    on a grid of tens: the mean of 100 multiples of 10 is a multiple of 0.1, as all printed values are. The value is
    biased downwards if several cells lie near the target, and a value at the first m is only an upper bound.
    A resample that never reaches the target counts as the last m in mean and bar. If there are too many of them, the
    interval has no upper end.

    Paper: law-and, law-grid
    """
    merged = merge(cells)
    trials = sum(cell.trials for cell in merged)
    if not merged:
        return Threshold(T, None, None, None, 0, "no trials", method="grid")
    ms = np.array([cell.m for cell in merged], dtype=float)
    n = np.array([cell.trials for cell in merged])
    share = np.array([cell.solved / cell.trials for cell in merged])
    resampled = rng.binomial(n, share, size=(n_boot, len(merged))) / n
    passed = resampled >= target - 1e-12  # so that 32 of 40 count as 80 %
    if not (share >= target - 1e-12).any():
        note = f"no m up to {ms[-1]:.0f} reaches {target:.0%}: m_80 is larger"
        return Threshold(T, None, float(ms[-1]), None, trials, note, method="grid")
    reached = passed.any(axis=1)
    first = np.where(reached, ms[passed.argmax(axis=1)], ms[-1])
    low, high = percentile(first, level)
    notes = [f"the grid starts at {ms[0]:.0f}: m_80 may be smaller"] if first.mean() <= ms[0] else []
    # True if the upper percentile lies among resamples that never reach the target.
    open_above = (~reached).mean() > (1 - level) / 2
    if open_above:
        notes.append(f"the grid ends at {ms[-1]:.0f}: m_80 may be larger")
    bar = float(first.std())
    upper = None if open_above else high
    note = "; ".join(notes)
    return Threshold(T, float(first.mean()), low, upper, trials, note, bar=bar, method="grid")


def fitted(cells: Iterable[Cell], *, T: int, target: float = 0.8, level: float = 0.95) -> Threshold:
    """The m at which a share `target` succeeds, by penalised maximum likelihood, with an interval.

    The curve is that of `curves.log_likelihood`; only the slope has a penalty. The profile interval contains every
    threshold whose log-likelihood, at its best slope, is within 1.25 chi2_1(level)/2 of the maximum.
    The returned interval is the hull of that one and `rising_bounds`, so that it does not depend on the curve's shape.
    If all trials were solved or all failed, there is no m_80, only a bound.
    """
    merged = merge(cells)
    trials, solved = sum(cell.trials for cell in merged), sum(cell.solved for cell in merged)
    if not merged:
        return Threshold(T, None, None, None, 0, "no trials", method="fitted")
    least, most = rising_bounds(merged, target=target, level=level)
    if agree(merged):
        seen = f"no {'failure' if solved else 'success'} in {trials} trials"
        end, word = (most, "most") if solved else (least, "least")
        note = f"{seen}: too few to bound m_80" if end is None else f"at {word} {end:g}: {seen}"
        return Threshold(T, None, least, most, trials, note, method="fitted")
    m80, low, high, slope = curve_interval(merged, target, level)
    low = min(low, least) if low and least else None
    high = max(high, most) if high and most else None
    notes = [] if low and high else ["the trials leave one side open; more of them are needed"]
    notes += [found.words for found in misfits({0: merged}, {0: math.log(m80)}, slope, target)]
    return Threshold(T, m80, low, high, trials, "; ".join(notes), slope=slope, method="fitted")


def rising_bounds(
    cells: Iterable[Cell], *, target: float = 0.8, level: float = 0.95
) -> tuple[float | None, float | None]:
    """Return bounds on m_80 that hold for every success curve that rises with m; None where the trials give no bound.

    On a rising curve, if m_80 were at most m, every trial at m or above would succeed with probability at least
    `target`. Conclude m_80 > m if consecutive cells from m upwards have so few successes that this has probability at
    most q. Conclude m_80 <= m in the same way from cells from m downwards. q is (1 - level)/2, as in Clopper and
    Pearson's interval, or 1 - level if all trials agree and bound one side only. tests/laws/test_coverage.py simulates
    how often m_80 lies between the bounds.
    """
    from scipy.special import bdtr

    merged = merge(cells)
    solved, trials = (
        np.concatenate([[0], np.cumsum([getattr(cell, name) for cell in merged])])
        for name in ("solved", "trials")
    )
    q = 1 - level if agree(merged) else (1 - level) / 2
    low: float | None = None
    high: float | None = None
    for j, cell in enumerate(merged):
        few = bdtr(solved[j + 1 :] - solved[j], trials[j + 1 :] - trials[j], target)
        if few.min() <= q:
            low = float(cell.m)
        n = trials[j + 1] - trials[: j + 1]
        failed = n - (solved[j + 1] - solved[: j + 1])
        if high is None and bdtr(failed, n, 1 - target).min() <= q:
            high = float(cell.m)
    return low, high


def curve_interval(
    merged: Sequence[Cell], target: float, level: float
) -> tuple[float, float | None, float | None, float]:
    """Return m_80, the ends of its profile interval, and the slope of the fitted curve."""
    span = math.log(merged[0].m) - 2.5, math.log(merged[-1].m) + 2.5
    # Factor on the drop in likelihood: adaptive batches and stopping reduce coverage to 90 %; this restores 95 %.
    caution = 1.25
    drop = caution * chi2_quantile(level) / 2
    thetas = np.linspace(*span, 61)
    log_slopes = np.linspace(math.log(0.7), math.log(70), 26)
    profile, slopes = _profile(merged, thetas, log_slopes, target)
    inside = np.flatnonzero(profile >= profile.max() - drop - 2)
    around = thetas[max(0, inside[0] - 1)], thetas[min(60, inside[-1] + 1)]
    thetas = np.linspace(*around, 101)
    near = np.linspace(slopes[inside].min() - 0.2, slopes[inside].max() + 0.2, len(log_slopes))
    profile, slopes = _profile(merged, thetas, near, target)
    best = int(profile.argmax())
    low, high = _crossings(thetas, profile, float(profile.max() - drop))
    return float(np.exp(thetas[best])), low, high, float(np.exp(slopes[best]))


def _profile(
    cells: Sequence[Cell], thetas: Float[Array, " n"], log_slopes: Float[Array, " k"], target: float
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return the best penalised log-likelihood at each threshold, and the ln slope that attains it."""
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
    """Return the m at which the profile rises above `cut`, and the m at which it falls below `cut`; None for a crossing
    that does not occur.
    """
    inside = np.flatnonzero(profile >= cut)
    ends: list[float | None] = []
    for edge, beyond in ((inside[0], inside[0] - 1), (inside[-1], inside[-1] + 1)):
        if not 0 <= beyond < len(thetas):
            ends.append(None)
            continue
        part = (cut - profile[beyond]) / (profile[edge] - profile[beyond])
        ends.append(float(np.exp(thetas[beyond] + part * (thetas[edge] - thetas[beyond]))))
    return ends[0], ends[1]
