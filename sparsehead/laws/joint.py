"""Choose the next trials when all context lengths are measured together."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from .adaptive import Adaptive
from .curves import Cell, agree, merge, offset, score_and_information
from .intervals import normal_quantile
from .misfit import misfits
from .smooth import Posterior, posterior
from .thresholds import Threshold, fitted

SHARES = (0.5, 0.65, 0.8, 0.9, 0.95)  # expected shares of success at which a trial may be placed
# Factor on the posterior's spread: choosing m and stopping time from the outcomes would reduce coverage.
SPREAD_CAUTION = 1.15
LAW_CAUTION = 1.4  # factor on the drop in likelihood of a law fitted to such trials, for the same reason
RESTARTS = 5  # a trial fails after this many initialisations
SETUP = 31_000  # cost of an initialisation before training, in bits of a training set (T m): measured, T = 100 .. 1000
BATCH = 4  # trials placed together


def expected_cost(T: float | int, m: float | int, share: float) -> float:
    """The expected cost of a trial that succeeds with probability `share`: expected initialisations times SETUP + T m.

    Each of RESTARTS initialisations succeeds with the same probability, and the first success ends the trial.
    """
    each = -math.expm1(math.log1p(-share) / RESTARTS)
    return share / each * (SETUP + T * m)


@dataclass(frozen=True)
class Joint:
    """Find m_80 at all T together: put each batch where it narrows the intervals most for its cost.

    A round starts from `smooth.posterior` of all trials. The candidates are all T and all shares in SHARES; the next
    batch is the one with the largest decrease, per expected cost, of the sum of ln(width / wanted width)^+ over all T
    and the slope. Then predict the widths after this batch and choose another batch, until all predicted widths are
    small enough, or until the round has half as many trials as were run before. Stop when every interval is as narrow
    as its policy asks and every T has both solved and failed trials, or when the largest numbers of trials are reached.

    The intervals assume one slope for all T and thresholds that change smoothly with T; the intervals of `Adaptive` do
    not. benchmarks/law_design.py measures their coverage, also for thresholds with a kink.

    Args:
        policies: for each T the wanted width, the largest number of trials, and bounds on m.
    """

    policies: Mapping[int, Adaptive]

    def __post_init__(self) -> None:
        if not self.policies:
            raise DomainError("a joint design needs at least one context length, got none.")

    def propose(self, cells: Mapping[int, Sequence[Cell]]) -> dict[int, list[tuple[int, int]]]:
        """Return the next batches by T, as (m, number of trials); empty when all thresholds are known well enough."""
        Ts = sorted(self.policies)
        merged = {T: merge(cells.get(T, ())) for T in Ts}
        spent = {T: sum(cell.trials for cell in merged[T]) for T in Ts}
        if not any(spent.values()):
            # A wrong first guess at a long context is expensive: start with T up to 30 times the least.
            near = [T for T in Ts if 30 * Ts[0] >= T]
            ends = {near[0], near[len(near) // 2], near[-1]}
            return {T: self.policies[T].propose([]) for T in Ts if T in ends}
        if all(agree(merged[T]) for T in Ts):
            walk = {T: self.policies[T].propose(merged[T]) for T in Ts if merged[T]}
            if any(walk.values()):
                return walk
        known = self._posterior(merged)
        wanted = self._wanted()
        open_Ts = np.array([spent[T] < self.policies[T].max_trials for T in Ts])
        if (known.spread <= wanted)[np.append(open_Ts, open_Ts.any())].all():
            return self._last_batches(known, merged)
        return self._round(known, wanted, spent)

    def thresholds(self, cells: Mapping[int, Sequence[Cell]]) -> dict[int, Threshold]:
        """Estimate all thresholds from all trials so far; a T whose own trials all agree (all solved or all failed)
        gets only the bound that these give.

        If one curve with one slope does not describe the trials, widen each interval so that it contains the interval
        from the trials at its T alone, and name the misfit in the note.
        """
        Ts = sorted(self.policies)
        merged = {T: merge(cells.get(T, ())) for T in Ts}
        first = self.policies[Ts[0]]
        alone = {T: fitted(merged[T], T=T, target=first.target, level=first.level) for T in Ts}
        if all(agree(merged[T]) for T in Ts):
            return alone
        known = self._posterior(merged)
        half = SPREAD_CAUTION * normal_quantile((1 + first.level) / 2) * known.spread[:-1]
        log_m80 = {T: float(known.mean[i]) for i, T in enumerate(Ts)}
        departures = "; ".join(one.words for one in misfits(merged, log_m80, known.slope, first.target))
        together = {
            T: Threshold(
                T,
                math.exp(known.mean[i]),
                math.exp(known.mean[i] - half[i]),
                math.exp(known.mean[i] + half[i]),
                sum(cell.trials for cell in merged[T]),
                departures if merged[T] else "no trials at this T: foreseen from the others",
                slope=known.slope,
                method="joint",
            )
            for i, T in enumerate(Ts)
        }
        found = {T: _widened(together[T], alone[T]) if departures else together[T] for T in Ts}
        return {T: alone[T] if merged[T] and agree(merged[T]) else found[T] for T in Ts}

    def _posterior(self, merged: Mapping[int, Sequence[Cell]]) -> Posterior:
        first = self.policies[min(self.policies)]
        return posterior(merged, guess=first.start, target=first.target)

    def _wanted(self) -> Float[Array, " k"]:
        """The wanted standard deviations of ln m_80 at each T, and of ln slope."""
        policies = [self.policies[T] for T in sorted(self.policies)]
        spreads = [p.width / (2 * SPREAD_CAUTION * normal_quantile((1 + p.level) / 2)) for p in policies]
        # 0.12 for ln slope: stopping earlier would favour slopes that happened to come out too steep.
        return np.array([*spreads, 0.12])

    def _last_batches(
        self, known: Posterior, merged: Mapping[int, Sequence[Cell]]
    ) -> dict[int, list[tuple[int, int]]]:
        """Propose one batch at every T whose trials all agree, so that each threshold rests on trials at its own T.

        At a T without trials the batch goes to the predicted threshold. If all trials were solved (failed), it goes to
        the m at which the least (largest) share of SHARES is expected.
        """
        found = {}
        for i, T in enumerate(sorted(self.policies)):
            policy = self.policies[T]
            if not agree(merged[T]) or (merged[T] and not policy.propose(merged[T])):
                continue
            solved, trials = (sum(getattr(cell, name) for cell in merged[T]) for name in ("solved", "trials"))
            share = policy.target if not trials else SHARES[0] if solved else SHARES[-1]
            aim = known.mean[i] + (offset(share) - offset(policy.target)) / known.slope
            m = int(np.clip(round(math.exp(aim)), policy.m_min, policy.m_max))
            found[T] = [(m, min(BATCH, policy.max_trials - trials))]
        return found

    def _round(
        self, known: Posterior, wanted: Float[Array, " k"], spent: dict[int, int]
    ) -> dict[int, list[tuple[int, int]]]:
        Ts, done = sorted(self.policies), sum(spent.values())
        left = max(min(32, done), done // 2)
        places = _Candidates.around(known, self.policies)
        covariance, proposals = known.covariance, dict[int, dict[int, int]]()
        spent = dict(spent)
        while left > 0:
            spread = np.sqrt(np.diag(covariance))
            room = np.array([self.policies[Ts[i]].max_trials - spent[Ts[i]] for i in places.which])
            if (spread <= wanted).all() or not (room > 0).any():
                break
            gain, after = places.gains(covariance, wanted)
            best = int(np.where(room > 0, gain, -np.inf).argmax())
            T, m = Ts[places.which[best]], int(places.m[best])
            n = min(BATCH, int(room[best]))
            proposals.setdefault(T, {})
            proposals[T][m] = proposals[T].get(m, 0) + n
            spent[T], left, covariance = spent[T] + n, left - n, after(best)
        return {T: sorted(batches.items()) for T, batches in sorted(proposals.items())}


def _widened(together: Threshold, alone: Threshold) -> Threshold:
    """Widen the interval from all T (`together`) to contain the interval from one T (`alone`)."""
    if not alone.trials or together.low is None or together.high is None:
        return together
    low = None if alone.low is None else min(together.low, alone.low)
    high = None if alone.high is None else max(together.high, alone.high)
    return replace(together, low=low, high=high)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidate places for the next batch of trials.

    For each place: the index of T; m; the gradient of the success curve's argument x (see `curves`) by (ln m_80, ln
    slope); the information of a batch about x; and the cost of a batch.
    """

    which: list[int]
    m: Float[Array, " places"]
    gradient: Float[Array, "places k"]
    information: Float[Array, " places"]
    cost: Float[Array, " places"]

    @staticmethod
    def around(known: Posterior, policies: Mapping[int, Adaptive]) -> "_Candidates":
        """Return, for every T and every share of SHARES, the m at which that share is expected to succeed."""
        Ts, slope, n = sorted(policies), known.slope, len(policies)
        which = [i for i in range(n) for _ in SHARES]
        aim = np.array(
            [(offset(share) - offset(policies[Ts[i]].target)) / slope for i in range(n) for share in SHARES]
        )
        least, most = (
            np.array([getattr(policies[Ts[i]], name) for i in which]) for name in ("m_min", "m_max")
        )
        m = np.clip(np.round(np.exp(known.mean[which] + aim)), least, most)
        above = slope * (np.log(m) - known.mean[which])
        gradient = np.zeros((len(which), n + 1))
        gradient[np.arange(len(which)), which] = -slope
        gradient[:, n] = above
        x = above + np.array([offset(policies[Ts[i]].target) for i in which])
        _, information = score_and_information(x, np.zeros_like(x), np.full_like(x, BATCH))
        share = 1 / (1 + np.exp(-x))
        cost = [expected_cost(Ts[i], float(m[j]), float(share[j])) for j, i in enumerate(which)]
        return _Candidates(which, m, gradient, information, BATCH * np.array(cost))

    def gains(
        self, covariance: Float[Array, "k k"], wanted: Float[Array, " k"]
    ) -> tuple[Float[Array, " places"], Callable[[int], Float[Array, "k k"]]]:
        """Return each place's gain per cost, and a function: index of a place -> covariance after a batch there."""
        along = self.gradient @ covariance
        variance = (along * self.gradient).sum(axis=1)
        # If x is uncertain, the information is averaged over values of x, most of which give less.
        information = self.information / np.sqrt(1 + 0.4 * variance)
        rate = information / (1 + information * variance)
        before = np.diag(covariance)
        after = np.maximum(1e-12, before - rate[:, None] * along**2)
        too_wide = np.maximum(0.0, np.log(before / wanted**2))
        gain = (too_wide - np.maximum(0.0, np.log(after / wanted**2))).sum(axis=1) / self.cost
        return gain, lambda j: covariance - rate[j] * np.outer(along[j], along[j])
