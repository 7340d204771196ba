"""The three ways in which `law` spends its trials: on the paper's grid, on all T together, on each T by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._base.rng import stream
from ..sweep import Progress
from ..sweep.shards import Shard
from .adaptive import Adaptive
from .curves import Cell
from .joint import Joint
from .published import GRID_M, GRID_TRIALS
from .rounds import AnySweep, MakeSpec, Propose, RoundProgress, adaptive_cells, each_alone, grid_cells
from .thresholds import Threshold, fitted
from .thresholds import grid as grid_threshold

SIDE_BY_SIDE = 1500  # context lengths up to here are measured side by side (adaptive)
LEAST_OF_FLOOR = 0.8  # no m below this share of the information floor is tried
GUESS_CAUTION = 1.15  # a first guess is raised by this: trials that fail cost five times those that succeed


@dataclass(frozen=True)
class TrialSource:
    """Where trials come from: the sweep that runs them, the spec of each, the seed, a callback for progress; and cells
    by T that were measured elsewhere."""

    sweep: AnySweep
    make: MakeSpec
    seed: int
    progress: Callable[[RoundProgress], None] | None
    known: Mapping[int, Sequence[Cell]] = field(default_factory=dict)

    def cells(self, policies: Mapping[int, Adaptive], propose: Propose) -> dict[int, list[Cell]]:
        """Rounds of trials at the T of `policies` until `propose` has no more of them."""
        known = {T: self.known[T] for T in policies if T in self.known}
        return adaptive_cells(
            self.make, propose, self.sweep, seed=self.seed, known=known, progress=self.progress
        )


Measured = tuple[dict[int, list[Cell]], dict[int, Threshold]]


def by_grid(trials: TrialSource, lengths: Sequence[int], part: Shard) -> Measured:
    """The paper's protocol: 40 trials at every m of its grid."""
    inside = _outside(trials.progress, lengths)
    found = grid_cells(
        trials.make, lengths, GRID_M, trials.sweep,
        trials=GRID_TRIALS, seed=trials.seed, shard=part, progress=inside,
    )  # fmt: skip
    cells = {T: found.get(T, []) for T in lengths}
    return cells, {T: grid_threshold(cells[T], T=T, rng=stream(trials.seed, "bootstrap", T)) for T in lengths}


def jointly(trials: TrialSource, policies: dict[int, Adaptive]) -> Measured:
    """All T together: each round of trials goes where it tells most about all thresholds."""
    joint = Joint(policies)
    found = trials.cells(policies, joint.propose)
    cells = {T: found.get(T, []) for T in policies}
    return cells, joint.thresholds(cells)


def one_by_one(trials: TrialSource, policies: dict[int, Adaptive]) -> Measured:
    """Each T by itself."""
    found = _adaptive(trials, policies)
    cells = {T: found.get(T, []) for T in policies}
    return cells, {T: fitted(cells[T], T=T) for T in policies}


def above_floor(policy: Adaptive, floor: int) -> Adaptive:
    """The policy, kept from sample sizes so far below the floor that unambiguous training sets hardly exist."""
    m_min = max(policy.m_min, round(LEAST_OF_FLOOR * floor))
    return replace(policy, m_min=m_min, start=max(policy.start, m_min))


def _adaptive(trials: TrialSource, policies: dict[int, Adaptive]) -> dict[int, list[Cell]]:
    """Short contexts together; then long ones, whose trials cost most, each from the law through those before it."""
    short = {T: policy for T, policy in policies.items() if T <= SIDE_BY_SIDE}
    cells = trials.cells(short, each_alone(short))
    for T, policy in policies.items():
        if T not in short:
            own = {T: replace(policy, start=_first_guess(T, cells, policy))}
            cells |= trials.cells(own, each_alone(own))
    return cells


def _outside(
    progress: Callable[[RoundProgress], None] | None, Ts: Sequence[int]
) -> Callable[[Progress], None] | None:
    """A grid is one round over all T."""
    return (
        None if progress is None else lambda state: progress(RoundProgress(1, tuple(Ts), state.done, state))
    )


def _first_guess(T: int, cells: dict[int, list[Cell]], policy: Adaptive) -> int:
    """Where to look first at T: the line through the last known thresholds against ln T, raised a little."""
    known = [(t, m80) for t in cells if (m80 := fitted(cells[t], T=t).m80) is not None][-4:]
    if len(known) < 2:
        return policy.start
    slope, intercept = np.polyfit(np.log([t for t, _ in known]), [m for _, m in known], 1)
    return int(max(policy.m_min, round(GUESS_CAUTION * (intercept + max(0.0, slope) * np.log(T)))))
