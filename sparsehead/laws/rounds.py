"""Run rounds of trials until every threshold is known; a sweep runs the trials that the store lacks."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from .._base.errors import DomainError, SparseheadError
from ..store import Record
from ..sweep.dispatch import Sweep
from ..sweep.progress import Progress
from ..sweep.shards import Shard
from ..sweep.stored import StoredSweep
from ..train.spec import TrainSpec, spec_id
from .adaptive import Adaptive
from .curves import Cell, merge

AnySweep: TypeAlias = Sweep | StoredSweep
MakeSpec = Callable[[int, int, int], TrainSpec]  # (T, m, seed) -> spec of the trial
# From all cells by T to the next (m, number of trials) by T; empty when enough is known.
Propose = Callable[[Mapping[int, Sequence[Cell]]], Mapping[int, Sequence[tuple[int, int]]]]


@dataclass(frozen=True)
class TrialSource:
    """Everything needed to run trials: a sweep, a function that makes the spec of each trial, the seed, and a callback
    for progress. `known` holds cells, by T, that were measured elsewhere; a known cell of n trials replaces trials 0 ..
    n - 1 at its m.
    """

    sweep: AnySweep
    make: MakeSpec
    seed: int
    progress: Callable[[Progress], None] | None = None
    known: Mapping[int, Sequence[Cell]] = field(default_factory=dict)

    def spec(self, T: int, m: int, trial: int) -> TrainSpec:
        """The spec of trial number `trial` of the cell (T, m)."""
        return self.make(T, m, trial_seed(self.seed, T=T, m=m, trial=trial))

    def run(
        self, specs: list[TrainSpec], *, round: int, Ts: tuple[int, ...], before: int
    ) -> dict[int, list[Cell]]:
        """Run one round and return its outcomes as cells by T; `before` is the number of trials in earlier rounds.

        A trial in which a user-defined learner failed counts as not learned.

        Raises:
            SparseheadError: some trials could not be run, or the learner failed in all trials of the first round.
        """
        report = self.progress
        inside = (
            None
            if report is None
            else lambda state: report(replace(state, round=round, open_Ts=Ts, trials=before + state.done))
        )
        result = self.sweep.run(specs, progress=inside)
        if result.errors:
            key, why = next(iter(result.errors.items()))
            spec = next(spec for spec in specs if spec_id(spec) == key)
            raise SparseheadError(
                f"{len(result.errors)} of {len(specs)} trials could not be run; the first, T={spec.T}, m={spec.m}, "
                f"seed={spec.seed}: {why}"
            )
        failed = {spec: result.failed[spec_id(spec)] for spec in specs if spec_id(spec) in result.failed}
        if failed and not before and not result.records:
            why = next(iter(failed.values()))
            raise SparseheadError(f"all {len(failed)} trials of the first round failed; the first: {why}.")
        self.sweep.failed |= failed
        cells = cells_of(result.records.values())
        for spec in failed:
            cells[spec.T] = merge([*cells.get(spec.T, []), Cell(spec.m, 0, 1)])
        return cells


def trial_seed(base: int, *, T: int, m: int, trial: int) -> int:
    """Return the seed of trial number `trial` of the cell (T, m), for a sweep with seed `base`.

    It is the first 53 bits of SHA-256 of the four numbers. Trials of different cells therefore use independent streams
    for support, data, initialisation and dropout, as the fitted laws assume. Two of n trials have equal seeds with
    probability below n^2 / 2^54. JSON readers that store numbers as doubles keep 53 bits exactly.

    Raises:
        DomainError: `base` or `trial` is negative.
    """
    if base < 0 or trial < 0:
        raise DomainError(f"a seed and a trial's number are whole numbers >= 0, got {base} and {trial}.")
    digest = hashlib.sha256(f"{base},{T},{m},{trial}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 11


def adaptive_cells(trials: TrialSource, Ts: Iterable[int], propose: Propose) -> dict[int, list[Cell]]:
    """Run rounds of trials at `Ts` until `propose` returns none; return all trials as cells by T.

    Proposals depend on outcomes only. After a kill, a repeated call therefore proposes the same rounds, finds finished
    trials in the store and continues from there. With a `StoredSweep` the cells are those that the store has.
    """
    cells = {T: merge(trials.known.get(T, ())) for T in Ts}
    for number in range(1, 10_000):
        wanted = propose(cells)
        done = {(T, cell.m): cell.trials for T, group in cells.items() for cell in group}
        specs = [
            trials.spec(T, m, done.get((T, m), 0) + i)
            for T, proposals in wanted.items()
            for m, n in proposals
            for i in range(n)
        ]
        if not specs:
            return cells
        open_Ts = tuple(T for T, proposals in wanted.items() if proposals)
        found = trials.run(specs, round=number, Ts=open_Ts, before=sum(done.values()))
        cells |= {T: merge([*cells[T], *new]) for T, new in found.items()}
        if isinstance(trials.sweep, StoredSweep) and not trials.sweep.complete:
            return cells
    raise AssertionError("a policy with a limit on trials proposes finitely often")


def each_alone(policies: Mapping[int, Adaptive]) -> Propose:
    """Return a `Propose` that applies to every T its own policy, which uses only the trials at that T."""
    return lambda cells: {T: policy.propose(cells.get(T, ())) for T, policy in policies.items()}


def grid_cells(
    trials: TrialSource, Ts: Sequence[int], ms: Sequence[int], *, each: int, shard: Shard | None = None
) -> dict[int, list[Cell]]:
    """Run the paper's protocol: `each` trials at every (T, m), or a shard of them.   Paper: law-and, law-grid"""
    specs = [trials.spec(T, m, trial) for T in Ts for m in ms for trial in range(each)]
    specs = specs if shard is None else shard.part(specs)
    return {T: [] for T in Ts} | trials.run(specs, round=1, Ts=tuple(Ts), before=0)


def cells_of(records: Iterable[Record]) -> dict[int, list[Cell]]:
    """Count stored outcomes as cells by T."""
    found: dict[int, list[Cell]] = {}
    for record in records:
        found.setdefault(record.spec["T"], []).append(Cell(record.spec["m"], int(record.solved), 1))
    return {T: merge(group) for T, group in sorted(found.items())}


def failures(sweep: AnySweep) -> str:
    """Say how many trials of a sweep failed, and why the first did; empty if none failed."""
    for spec, why in sweep.failed.items():
        return (
            f"{len(sweep.failed)} trials failed and count as not learned; the first, T={spec.T}, m={spec.m}, "
            f"seed={spec.seed}: {why}."
        )
    return ""
