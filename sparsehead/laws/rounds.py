"""Rounds of trials until every threshold is known; a sweep runs those that the store lacks."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
MakeSpec = Callable[[int, int, int], TrainSpec]  # (T, m, seed) -> the trial
# cells by T -> by T the next (m, number of trials); nothing when enough is known
Propose = Callable[[Mapping[int, Sequence[Cell]]], Mapping[int, Sequence[tuple[int, int]]]]


@dataclass(frozen=True)
class RoundProgress:
    """Where the measurement stands: the round, the context lengths still open, and the sweep within the round."""

    round: int
    open_Ts: tuple[int, ...]
    trials: int
    sweep: Progress | None


def trial_seed(base: int, *, T: int, m: int, trial: int) -> int:
    """The seed of trial number `trial` of the cell (T, m) in the sweep named by `base`.

    The first 53 bits of SHA-256 of the four numbers. Trials of different cells therefore use different streams for
    support, data, initialisation and dropout, which the fitted laws assume; n trials have two equal seeds with
    probability below n^2 / 2^54, and 53 bits survive JSON readers that know only doubles.

    Raises:
        DomainError: `base` or `trial` is negative.
    """
    if base < 0 or trial < 0:
        raise DomainError(f"a seed and a trial's number are whole numbers >= 0, got {base} and {trial}.")
    digest = hashlib.sha256(f"{base},{T},{m},{trial}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 11


def adaptive_cells(
    make_spec: MakeSpec,
    propose: Propose,
    sweep: AnySweep,
    *,
    seed: int,
    known: Mapping[int, Sequence[Cell]] | None = None,
    progress: Callable[[RoundProgress], None] | None = None,
) -> dict[int, list[Cell]]:
    """Run rounds of trials until `propose` has no more of them; all trials, as cells by T.

    Proposals depend on outcomes alone, so after a kill the same rounds come again, find what was done in the store,
    and go on from there. With a `StoredSweep` the cells are those that the store holds. A cell of n trials in `known`
    stands for the trials 0 .. n - 1 at its m, which are not run again.
    """
    cells: dict[int, list[Cell]] = {T: merge(own) for T, own in (known or {}).items()}
    for number in range(1, 10_000):
        wanted = propose(cells)
        specs = [
            make_spec(T, m, trial_seed(seed, T=T, m=m, trial=trial))
            for T, proposals in wanted.items()
            for m, n in proposals
            for trial in _next(cells.get(T, []), m, n)
        ]
        if not specs:
            return cells
        spent = sum(cell.trials for group in cells.values() for cell in group)
        open_Ts = tuple(T for T, proposals in wanted.items() if proposals)
        for T, found in _run(
            specs, sweep, _inside(progress, number, open_Ts, spent), first=not spent
        ).items():
            cells[T] = merge([*cells.get(T, []), *found])
        if isinstance(sweep, StoredSweep) and not sweep.complete:
            return cells
    raise AssertionError("a policy with a limit on trials proposes finitely often")


def each_alone(policies: Mapping[int, Adaptive]) -> Propose:
    """The proposals of every T's own policy, which looks at the trials of that T only."""
    return lambda cells: {T: policy.propose(cells.get(T, ())) for T, policy in policies.items()}


def grid_cells(
    make_spec: MakeSpec,
    Ts: Iterable[int],
    ms: Sequence[int],
    sweep: AnySweep,
    *,
    trials: int = 40,
    seed: int,
    shard: Shard | None = None,
    progress: Callable[[RoundProgress], None] | None = None,
) -> dict[int, list[Cell]]:
    """The paper's protocol: `trials` trials at every (T, m), or the shard's part of them.   Paper: law-and, law-grid"""
    lengths = tuple(Ts)
    specs = [
        make_spec(T, m, trial_seed(seed, T=T, m=m, trial=trial))
        for T in lengths
        for m in ms
        for trial in range(trials)
    ]
    specs = specs if shard is None else shard.part(specs)
    return {
        T: merge(found)
        for T, found in _run(specs, sweep, _inside(progress, 1, lengths, 0), first=True).items()
    }


def cells_of(records: Iterable[Record]) -> dict[int, list[Cell]]:
    """Stored outcomes as cells by T."""
    found: dict[int, list[Cell]] = {}
    for record in records:
        found.setdefault(record.spec["T"], []).append(Cell(record.spec["m"], int(record.solved), 1))
    return {T: merge(group) for T, group in sorted(found.items())}


def _run(
    specs: list[TrainSpec], sweep: AnySweep, progress: Callable[[Progress], None] | None, *, first: bool
) -> dict[int, list[Cell]]:
    """The outcomes as cells by T. A trial in which the learner failed counts as not learned, unless all of the `first`
    round did."""
    result = sweep.run(specs, progress=progress)
    if result.errors:
        key, why = next(iter(result.errors.items()))
        spec = next(spec for spec in specs if spec_id(spec) == key)
        raise SparseheadError(
            f"{len(result.errors)} of {len(specs)} trials could not be run; the first, T={spec.T}, m={spec.m}, "
            f"seed={spec.seed}: {why}"
        )
    failed = {spec: result.failed[spec_id(spec)] for spec in specs if spec_id(spec) in result.failed}
    if failed and first and not result.records:
        why = next(iter(failed.values()))
        raise SparseheadError(f"all {len(failed)} trials of the first round failed; the first: {why}.")
    sweep.failed |= failed
    cells = cells_of(result.records.values())
    for spec in failed:
        cells[spec.T] = merge([*cells.get(spec.T, []), Cell(spec.m, 0, 1)])
    return cells


def failures(sweep: AnySweep) -> str:
    """How many trials of a sweep failed, and the first of them with its reason; empty if there are none."""
    for spec, why in sweep.failed.items():
        return (
            f"{len(sweep.failed)} trials failed and count as not learned; the first, T={spec.T}, m={spec.m}, "
            f"seed={spec.seed}: {why}."
        )
    return ""


def _next(cells: list[Cell], m: int, n: int) -> range:
    """The numbers of the next n trials at m."""
    done = sum(cell.trials for cell in cells if cell.m == m)
    return range(done, done + n)


def _inside(
    progress: Callable[[RoundProgress], None] | None, number: int, open_Ts: tuple[int, ...], spent: int
) -> Callable[[Progress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(RoundProgress(number, open_Ts, spent + state.done, state))
