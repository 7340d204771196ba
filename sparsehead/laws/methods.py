"""The three methods of `law`: the paper's grid, all T together, each T separately."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._base.rng import stream
from ..sweep.shards import Shard
from .adaptive import Adaptive
from .curves import Cell
from .joint import Joint
from .published import GRID_M, GRID_TRIALS
from .rounds import TrialSource, adaptive_cells, each_alone, grid_cells
from .thresholds import Threshold, fitted, grid

Measured = tuple[dict[int, list[Cell]], dict[int, Threshold]]


def by_grid(trials: TrialSource, lengths: Sequence[int], part: Shard) -> Measured:
    """Measure by the paper's protocol: 40 trials at every m of its grid."""
    cells = grid_cells(trials, lengths, GRID_M, each=GRID_TRIALS, shard=part)
    return cells, {T: grid(cells[T], T=T, rng=stream(trials.seed, "bootstrap", T)) for T in lengths}


def jointly(trials: TrialSource, policies: dict[int, Adaptive]) -> Measured:
    """Measure all T together: put each round of trials where it narrows the intervals most; see `Joint`."""
    joint = Joint(policies)
    cells = adaptive_cells(trials, policies, joint.propose)
    return cells, joint.thresholds(cells)


def one_by_one(trials: TrialSource, policies: dict[int, Adaptive]) -> Measured:
    """Measure each T separately, all T up to 1500 at the same time.

    Longer contexts, which cost most, follow one after another; each starts from a guess based on earlier thresholds.
    """
    short = {T: policy for T, policy in policies.items() if T <= 1500}
    cells = adaptive_cells(trials, short, each_alone(short))
    for T in (T for T in policies if T not in short):
        policy = replace(policies[T], start=_first_guess(T, cells, policies[T]))
        cells |= adaptive_cells(trials, [T], each_alone({T: policy}))
    return cells, {T: fitted(cells[T], T=T) for T in policies}


def above_floor(policy: Adaptive, floor: int) -> Adaptive:
    """Restrict the policy to m >= 0.8 times the floor; with fewer samples, nearly all training sets are ambiguous."""
    m_min = max(policy.m_min, round(0.8 * floor))
    return replace(policy, m_min=m_min, start=max(policy.start, m_min))


def _first_guess(T: int, cells: dict[int, list[Cell]], policy: Adaptive) -> int:
    """Return a guess at m_80: the thresholds at the last T's, extrapolated linearly in ln T, plus 15 %. The guess is
    high on purpose, since a failed trial costs five times as much as a solved one.
    """
    known = [(t, m80) for t in cells if (m80 := fitted(cells[t], T=t).m80) is not None][-4:]
    if len(known) < 2:
        return policy.start
    slope, intercept = np.polyfit(np.log([t for t, _ in known]), [m for _, m in known], 1)
    return int(max(policy.m_min, round(1.15 * (intercept + max(0.0, slope) * np.log(T)))))
