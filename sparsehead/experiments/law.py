"""`law`: m_80 against T, measured trial by trial, with the fitted laws and the information floor beside it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..capacity.floor import floor_curve
from ..errors import DomainError
from ..functions import FAMILIES, kind
from ..measure.adaptive import Adaptive
from ..measure.curves import Cell, merge
from ..measure.laws import LawFits, fit_laws
from ..measure.published import GRID_M, GRID_TRIALS
from ..measure.thresholds import Threshold, fitted
from ..measure.thresholds import grid as grid_threshold
from ..rng import stream
from ..store import Record
from ..sweep import LocalSweep
from ..sweep.local import Progress
from ..task import balancing_p
from ..train.spec import TrainSpec, preset, spec_id, target_function
from .plans import trial_seed

METHODS = ("adaptive", "grid")
CAUTION = 1.15  # a first guess is raised by this: trials that fail cost five times those that succeed


@dataclass(frozen=True)
class LawResult:
    """What `law` returns.

    Args:
        thresholds: m_80 by T, each with its 95 % interval and the number of trials behind it.
        cells: the outcomes themselves, by T.
        laws: the laws fitted to all trials at once; where they determine none, its note says why.
        floor: by T, the samples that any learner needs; empty where theory has no such number.
        seconds: time spent in this call; trials that the store knew already cost none.
    """

    thresholds: dict[int, Threshold]
    cells: dict[int, list[Cell]]
    laws: LawFits
    floor: dict[int, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values: what `sparsehead law --json` prints and the law's chart draws."""
        rows = [
            {
                "T": T,
                "m80": t.m80,
                "low": t.low,
                "high": t.high,
                "trials": t.trials,
                "note": t.note,
                "bar": t.bar,
            }
            for T, t in self.thresholds.items()
        ]
        cells = [{"T": T, **asdict(cell)} for T, of_T in self.cells.items() for cell in of_T]
        return {
            "thresholds": rows,
            "fits": self.laws.to_json(),
            "best": self.laws.best,
            "note": self.laws.note,
            "floor": [{"T": T, "m": m} for T, m in self.floor.items()],
            "cells": cells,
            "seconds": self.seconds,
        }


def law(
    function: str = "and",
    *,
    Ts: Sequence[int],
    s: int | None = None,
    db: str | Path = "results.db",
    seed: int = 0,
    method: str = "adaptive",
    policy: Adaptive | None = None,
    preset_name: str = "fast",
    workers: int = 2,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> LawResult:
    """m_80(T) for a family (and, or, parity, majority, junta; needs s) or an expression, at each T.

    Trials go to the store `db` as they finish; repeating the call runs only what is missing.

    Args:
        method: "adaptive" spends trials where they tell most; "grid" is the paper's protocol, 40 trials at each
            m = 50, 60, .., 200.
        policy: how adaptive goes about it: width wanted, trials at most.
        settings: fields of `TrainSpec`: learner, encoding, H, d, restarts, dropout, ...
    Raises:
        DomainError: no T, an unknown method, or settings that cannot be meant.
    Paper: law-and
    """
    if not Ts:
        raise DomainError("law needs at least one context length T, got none.")
    if method not in METHODS:
        raise DomainError(f"method {method!r} is unknown; the methods are {', '.join(METHODS)}.")
    started = time.monotonic()

    def make(T: int, m: int, i: int) -> TrainSpec:
        return preset(preset_name, function=function, s=s, T=T, m=m, seed=trial_seed(seed, m, i), **settings)

    lengths = sorted(set(Ts))
    for T in lengths:
        make(T, 50, 0)  # settings that cannot be meant are refused before anything runs
    with LocalSweep(db, workers=workers) as sweep:
        if method == "grid":
            cells = _grid(sweep, lengths, make, progress)
            thresholds = {T: grid_threshold(cells[T], rng=stream(seed, "bootstrap", T)) for T in lengths}
        else:
            cells = _adaptive(sweep, lengths, make, policy or Adaptive(), progress)
            thresholds = {T: fitted(cells[T]) for T in lengths}
    return LawResult(thresholds, cells, fit_laws(cells), floors(make, lengths), time.monotonic() - started)


def _grid(
    sweep: LocalSweep,
    Ts: Sequence[int],
    make: Callable[[int, int, int], TrainSpec],
    progress: Callable[[Progress], None] | None,
) -> dict[int, list[Cell]]:
    specs = [make(T, m, i) for T in Ts for m in GRID_M for i in range(GRID_TRIALS)]
    return count(sweep.run(specs, progress=progress).records.values(), Ts)


def _adaptive(
    sweep: LocalSweep,
    Ts: Sequence[int],
    make: Callable[[int, int, int], TrainSpec],
    policy: Adaptive,
    progress: Callable[[Progress], None] | None,
) -> dict[int, list[Cell]]:
    """Rounds of proposals for every T that is under way, until none is left.

    A T joins once the T two places before it is finished, and starts from the law through the finished ones, so
    that long contexts, whose trials cost most, start near their threshold.
    """
    specs: dict[str, TrainSpec] = {}
    cells: dict[int, list[Cell]] = {T: [] for T in Ts}
    policies: dict[int, Adaptive] = {}
    finished: dict[int, float | None] = {}
    while len(finished) < len(Ts):
        for i, T in enumerate(Ts):
            if T not in policies and (i < 2 or Ts[i - 2] in finished):
                policies[T] = replace(policy, start=_first_guess(T, finished, policy.start))
        wanted: list[TrainSpec] = []
        for T in policies:
            proposed = [] if T in finished else policies[T].propose(cells[T])
            if not proposed and T not in finished:
                finished[T] = policies[T].threshold(cells[T]).m80
            for m, n in proposed:
                done = sum(cell.trials for cell in cells[T] if cell.m == m)
                wanted += [make(T, m, done + j) for j in range(n)]
        if not wanted:
            continue
        specs |= {spec_id(spec): spec for spec in wanted}
        result = sweep.run(wanted, progress=progress)
        if len(result.records) < len({spec_id(spec) for spec in wanted}):
            raise DomainError(
                "a trial could not be run: " + next(iter(result.errors.values()), "no reason given")
            )
        for T, new in count(result.records.values(), sorted({spec.T for spec in wanted})).items():
            cells[T] = cells[T] + new
    return {T: merge(of_T) for T, of_T in cells.items()}


def _first_guess(T: int, finished: dict[int, float | None], start: int) -> int:
    """Where to look first at T: the line through the last finished thresholds against ln T, raised a little."""
    known = sorted((t, m80) for t, m80 in finished.items() if m80 is not None)[-4:]
    if len(known) < 2:
        return start
    slope, intercept = np.polyfit(np.log([t for t, _ in known]), [m for _, m in known], 1)
    guess = CAUTION * (intercept + max(0.0, slope) * np.log(T))
    return int(max(2, round(guess)))


def count(records: Any, Ts: Sequence[int]) -> dict[int, list[Cell]]:
    """Records as cells by T, one per m."""
    tally: dict[int, dict[int, tuple[int, int]]] = {T: {} for T in Ts}
    record: Record
    for record in records:
        of_T = tally[record.spec["T"]]
        solved, trials = of_T.get(record.spec["m"], (0, 0))
        of_T[record.spec["m"]] = solved + record.solved, trials + 1
    return {T: [Cell(m, a, n) for m, (a, n) in sorted(of_T.items())] for T, of_T in tally.items()}


def floors(make: Callable[[int, int, int], TrainSpec], Ts: Sequence[int]) -> dict[int, int]:
    """The information floor at each T, where theory has one: conjunctions, disjunctions and parities."""
    spec = make(Ts[0], 50, 0)
    if spec.function in FAMILIES and spec.function not in ("and", "or", "parity"):
        return {}
    f = target_function(spec)
    name = kind(f)
    if name is None:
        return {}
    p = balancing_p(f) if spec.p is None else spec.p
    try:
        return dict(zip(Ts, floor_curve(name, s=f.s, Ts=list(Ts), p=p, rng=stream(0, "floor")), strict=True))
    except DomainError:  # theory has no floor here, e.g. for a parity of unbalanced bits
        return {}
