"""Other interpretations of "best of five restarts", to find out whether one of them makes the success curve flatter.

The paper's bars imply a flatter success curve than that of preset "paper" (`bars`). The paper's text defines a trial,
but a program may by mistake run trials in another way. Here every dataset is trained from all five initialisations to
the end, so that several protocols can be compared on the same runs:

    five runs       a trial succeeds if any of its runs passes at any check (the text; the library's protocol)
    one run         only the first initialisation counts
    lowest loss     only the run with the lowest final training loss counts, at all of its checks
    last check      any of the five runs, but only the last check counts
    same start      five runs; every dataset has the same five initialisations and dropout masks

    sparsehead reproduce --only protocols --db /elsewhere/protocols.db --out /elsewhere/protocols
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.types import Array, Shaped
from sparsehead.laws.curves import Cell
from sparsehead.laws.smooth import posterior
from sparsehead.store import Store
from sparsehead.train.data import Holdout, check_on, training_set
from sparsehead.train.loop import origin_of
from sparsehead.train.outcome import Outcome
from sparsehead.train.spec import TrainSpec, spec_id
from sparsehead.train.transformer.engine import Engine
from sparsehead.train.transformer.engines import make_engine

from .stage import Experiment, conjunctions

SIZES = (45, 60, 80)  # around the threshold of preset "paper" at T = 300


class Column(IntEnum):
    """Columns of a trial's array, one row per run: passed at some check, passed at the last, final training loss."""

    PASSED, PASSED_LAST, LOSS = range(3)


PROTOCOLS: dict[str, Callable[[Shaped[Array, "runs 3"]], bool]] = {
    "five runs": lambda runs: bool(runs[:, Column.PASSED].any()),
    "one run": lambda runs: bool(runs[0, Column.PASSED]),
    "lowest loss": lambda runs: bool(runs[np.argmin(runs[:, Column.LOSS]), Column.PASSED]),
    "last check": lambda runs: bool(runs[:, Column.PASSED_LAST].any()),
}


@dataclass(frozen=True)
class ProtocolCurve:
    """The success curve under one protocol: solved trials by m, m_80 and slope in ln m with 95 % intervals."""

    protocol: str
    cells: tuple[Cell, ...]
    m80: tuple[float, float, float]
    slope: tuple[float, float, float]


@dataclass(frozen=True)
class ProtocolsRecord(ResultsRecord):
    """protocols.json. `runs`: by m, for every dataset the number of its five runs that passed."""

    preset: str
    T: int
    curves: tuple[ProtocolCurve, ...]
    runs: dict[int, list[int]]


def protocols(T: int = 300, trials: int = 32, preset: str = "paper") -> Experiment:
    """Return the experiment. Its trials are ordered so that every m has its first dataset before any m has
    its second.
    """
    specs = [spec for i in range(trials) for m in SIZES for spec in _specs(T, m, i, preset)]
    runner = "sparsehead_paper.studies.protocols:run_all_restarts"
    title = f"Protocols of a trial, T = {T}"
    return Experiment("protocols", title, tuple(specs), {"protocols": collect_protocols}, runner)


def _specs(T: int, m: int, i: int, preset: str) -> list[TrainSpec]:
    # `keep_training` distinguishes these trials in the store from the usual ones, which end at the first success.
    return conjunctions(T=T, m=m, trials=[i], preset=preset, keep_training=True)


def run_all_restarts(specs: Sequence[TrainSpec], *, on_outcome: Callable[..., None], **options: Any) -> None:
    """Train every spec's dataset from all of its initialisations, and from those of one shared seed."""
    shared_seed = 1  # of the initialisations and dropout masks in protocol "same start"
    for spec in specs:
        started = time.perf_counter()
        engine, sample, holdout = make_engine(spec, **options), training_set(spec), Holdout(spec)
        found = []
        for start in (spec, replace(spec, seed=shared_seed)):
            rows = []
            for restart in range(spec.restarts):
                engine.start(start, restart, sample)
                rows.append(_run(engine, spec, holdout))
            found.append(np.array(rows))
        runs = found[0]
        solved = PROTOCOLS["five runs"](runs)
        outcome = Outcome(
            spec_id=spec_id(spec),
            status="solved" if solved else "budget_spent",
            steps=spec.n_steps,
            restarts_used=spec.restarts,
            train_accuracy=engine.train_accuracy(),
            val_accuracy=float(runs[:, Column.PASSED].max()),
            support_mass=None,
            seconds=time.perf_counter() - started,
            made_by=origin_of(spec),
        )
        on_outcome(spec, outcome, {"runs": runs, "same_start": found[1]})


def _run(engine: Engine, spec: TrainSpec, holdout: Holdout) -> tuple[float, float, float]:
    """Train one run to its end; return its row, see `Column`."""
    passes, losses = [], [float("nan")]
    for _ in range(spec.n_steps // spec.check_every):
        losses += engine.advance(spec.check_every)
        passes.append(check_on(engine.predict, holdout, spec.allowed_errors)[1])
    last = float(np.mean(losses[-spec.check_every :]))
    return float(any(passes)), float(passes[-1]), last if np.isfinite(last) else float("inf")


def collect_protocols(store: Store, experiment: Experiment) -> ProtocolsRecord:
    """Return the success curve of each protocol from the runs in the store."""
    found: list[tuple[int, dict[str, Array]]] = [
        (record.spec["m"], store.arrays(record.id)) for record in experiment.records(store)
    ]
    judged = {name: [(m, judge(arrays["runs"])) for m, arrays in found] for name, judge in PROTOCOLS.items()}
    judged["same start"] = [(m, PROTOCOLS["five runs"](arrays["same_start"])) for m, arrays in found]
    first = experiment.specs[0]
    counts = {
        m: [int(arrays["runs"][:, Column.PASSED].sum()) for size, arrays in found if size == m] for m in SIZES
    }
    curves = tuple(_curve(name, first.T, verdicts) for name, verdicts in judged.items() if verdicts)
    return ProtocolsRecord("paper", first.T, curves, counts)


def _curve(name: str, T: int, verdicts: Iterable[tuple[int, bool]]) -> ProtocolCurve:
    by_size: dict[int, list[bool]] = {}
    for m, solved in verdicts:
        by_size.setdefault(m, []).append(solved)
    cells = tuple(Cell(m, sum(solved), len(solved)) for m, solved in sorted(by_size.items()))
    known = posterior({T: cells}, guess=60)
    m80, slope = (
        tuple(float(np.exp(known.mean[i] + z * known.spread[i])) for z in (0.0, -1.96, 1.96)) for i in (0, -1)
    )
    return ProtocolCurve(name, cells, m80, slope)  # type: ignore[arg-type]
