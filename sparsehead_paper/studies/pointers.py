"""Tokens with pointers: the error of models with fewer heads than pointers, and the samples that three learners need,
against N and q.

    sparsehead reproduce --only pointers --out /elsewhere/pointers

    fewer heads    list the q = 4 tokens pointed to (d = 2, N = 8) with H = 1 .. 5 heads, fresh samples at every step
    laws           the mean of the tokens pointed to (d = 1) from m samples: over N at q = 1, and over q at N = 8

Errors are relative to the target's variance. A cell is learned if the median error over its seeds is below a quarter;
sizes m grow by factors of the root of 2. Each cell is also trained with fresh samples at every step (m = 0). If that is
learned, the number of steps suffices, and a failure at small m is due to the number of samples. Sizes were chosen
around the thresholds of a pilot with two seeds, so that the least fails and the largest does not.
Paper: token-regression-heads, token-laws
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from sparsehead._base.errors import DomainError
from sparsehead._base.jsonable import ResultsRecord, json_values
from sparsehead.store.results import write as write_table
from sparsehead.sweep import Progress

from .folder import read_results, write_results
from .interpreters import one_thread
from .stage import Stage, Workplace

if TYPE_CHECKING:
    from .token_learners import Problem

LEARNED = 0.25  # relative error
TEST = 4000  # fresh samples on which an error is measured
# Training of each learner: rates chosen in a pilot at N = 8, q = 1; steps so that the largest N is learned from fresh
# samples.
TRAINING: dict[str, dict[str, Any]] = {
    "heads": {"steps": 800, "rate": 3e-2},
    "feed-forward": {"steps": 4000, "rate": 3e-3},
    "recurrent": {"steps": 1500, "rate": 1e-2, "width": 32},
}
# By learner and (N, q): the least and the largest m, as exponents of the root of 2.
GRIDS: dict[str, dict[tuple[int, int], tuple[int, int]]] = {
    "heads": {(4, 1): (5, 8), (8, 1): (9, 13), (16, 1): (11, 15), (32, 1): (13, 17), (64, 1): (15, 19),
              (8, 2): (8, 15), (8, 4): (11, 15), (128, 1): (17, 21), (256, 1): (19, 23), (512, 1): (20, 24)},
    "feed-forward": {(4, 1): (10, 15), (8, 1): (15, 20), (16, 1): (21, 25), (8, 2): (14, 18), (8, 4): (12, 16)},
    "recurrent": {(4, 1): (8, 12), (8, 1): (12, 16), (16, 1): (16, 20), (8, 2): (14, 18), (8, 4): (16, 20)},
}  # fmt: skip


@dataclass(frozen=True)
class PointerRun:
    """One training run; m = 0 means fresh samples at every step. `error`: the smallest error measured, relative to the
    target's variance.
    """

    learner: str
    N: int
    q: int
    d: int
    ordered: bool
    heads: int
    m: int
    seed: int
    error: float


@dataclass(frozen=True)
class PointersRecord(ResultsRecord):
    """pointers.json: every run."""

    runs: tuple[PointerRun, ...]

    def errors(self, learner: str, N: int, q: int, m: int) -> list[float]:
        """Return the errors of the runs of one cell of the laws."""
        wanted = (learner, N, q, m, False)
        return [run.error for run in self.runs if (run.learner, run.N, run.q, run.m, run.ordered) == wanted]

    def by_heads(self) -> dict[int, list[float]]:
        """Return the errors of the runs that list their tokens, by the number of heads."""
        listing = sorted((run.heads, run.error) for run in self.runs if run.ordered)
        return {H: [error for _, error in group] for H, group in groupby(listing, key=lambda pair: pair[0])}

    def threshold(self, learner: str, N: int, q: int) -> tuple[int, int] | None:
        """Return (a, b): the cell is learned with b samples and with every larger number tried, but not with a, the
        next smaller number tried. If there is no smaller number, a is 0.

        Return None if the cell is not learned with the largest number.
        """
        wanted = (learner, N, q, False)
        sizes = sorted(
            {run.m for run in self.runs if run.m and (run.learner, run.N, run.q, run.ordered) == wanted}
        )
        failed = [m for m in sizes if median(self.errors(learner, N, q, m)) >= LEARNED]
        later = [m for m in sizes if not failed or m > failed[-1]]
        return (failed[-1] if failed else 0, later[0]) if later else None


@dataclass(frozen=True)
class Pointers(Stage):
    """The stage that trains all runs; it writes its results file after every cell, and `place.add` resumes from this
    file.
    """

    seeds: int = 5
    name: str = "pointers"

    def summary(self) -> tuple[str, str]:
        """Return what is measured, and the number of runs."""
        return "Learners of tokens with pointers", f"{sum(len(runs) for _, runs in self.cells())} runs"

    def seconds(self, db: Any) -> float:
        """Return the time measured once, in core-seconds."""
        return 400.0

    def cells(self) -> Iterator[tuple["Problem", list[tuple[int, int]]]]:
        """Yield each problem with the (seed, m) of its runs, the cheapest first."""
        from .token_learners import Problem

        for H in range(1, 6):
            settings = {**TRAINING["heads"], "steps": 600}
            listed = Problem(learner="heads", N=8, q=4, d=2, ordered=True, heads=H, **settings)
            yield listed, [(seed, 0) for seed in range(self.seeds)]
        for learner, grid in GRIDS.items():
            for (N, q), (low, high) in grid.items():
                sizes = [0, *(round(2 ** (k / 2)) for k in range(low, high + 1))]
                problem = Problem(learner=learner, N=N, q=q, **TRAINING[learner])
                yield problem, [(seed, m) for m in sizes for seed in range(self.seeds)]

    def run(self, place: Workplace) -> list[str]:
        """Train the runs that are missing; write pointers.json after every cell, and a table of all runs as CSV."""
        if place.stored:
            return ["pointers keeps no trials in the store; run it without --stored"]
        done = list(read_results(place.folder, self.name, PointersRecord).runs) if place.add else []
        cells = list(self.cells())
        total, start = sum(len(runs) for _, runs in cells), time.monotonic()
        report = place.progress(self.summary()[0])
        for number, (problem, runs) in enumerate(cells, start=1):
            done += _missing(problem, runs, done)
            record = PointersRecord(tuple(done), complete=number == len(cells) and self == Pointers())
            write_results(place.folder, self.name, record)
            if report is not None:
                spent = time.monotonic() - start
                report(Progress(len(done), total, spent, spent / len(done) * (total - len(done))))
        write_table([json_values(run) for run in done], place.folder / f"{self.name}.csv", force=True)
        return []


def _missing(
    problem: "Problem", runs: Sequence[tuple[int, int]], done: Sequence[PointerRun]
) -> list[PointerRun]:
    """Train those runs of a cell that are not among `done`."""
    from .token_learners import trained

    shape = (problem.learner, problem.N, problem.q, problem.d, problem.ordered, problem.heads)
    known = {(r.seed, r.m) for r in done if (r.learner, r.N, r.q, r.d, r.ordered, r.heads) == shape}
    todo = [run for run in runs if run not in known]
    if not todo:
        return []
    with one_thread():
        errors = trained(problem, todo, test=TEST if problem.ordered else TEST // 4)
    if not all(error < float("inf") for error in errors):
        raise DomainError(f"a run of {problem} diverged; lower its rate.")
    return [PointerRun(*shape, m, seed, round(error, 5)) for (seed, m), error in zip(todo, errors)]
