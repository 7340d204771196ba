"""Compare interpretations of the paper's text by the evidence for each: the probability of the paper's numbers.

The paper says "Adam" and "10^-4 weight decay" and points to minGPT for the rest. An interpretation specifies the
settings that this leaves open: how the decay is applied and to which parameters, whether gradients are clipped, how
linear maps are initialised, whether there is dropout. Trials under an interpretation give a probability for each of the
paper's numbers (`NUMBERS`; see `evidence`). The numbers come from three experiments of the paper, which may have been
run with different settings, so there are three comparisons: "law" (thresholds and training curves), "attention" and
"parity".

Results files and charts call an interpretation a reading of the text, and a comparison a race.   Paper: readings
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.curves import Cell
from sparsehead.laws.published import GRID_M, GRID_TRIALS, LAW_AND
from sparsehead.store import Record, Store
from sparsehead.train.spec import INITS, TrainSpec

from ..published import ATTENTION_AND, CURVES_AND, PARITY
from .attention import attention_specs
from .evidence import Shapes, Values, log_count, log_threshold
from .parity import PARITY_STEPS, parity_runs
from .stage import conjunctions

DECAY_SETTINGS = {
    "AdamW on matrices": {"optimiser": "adamw", "decay": "matrices"},
    "L2 on matrices": {"optimiser": "adam", "decay": "matrices"},
    "L2 on all": {"optimiser": "adam", "decay": "all"},
}


@dataclass(frozen=True)
class Interpretation:
    """One interpretation of the paper's text."""

    decay: str
    clip: str
    init: str
    dropout: float

    @property
    def name(self) -> str:
        """The interpretation in words."""
        return f"{self.decay}, {self.clip}, {self.init} init, dropout {self.dropout:g}"

    @property
    def settings(self) -> dict[str, Any]:
        """The interpretation as fields of a spec; runs do not stop early."""
        return {
            **DECAY_SETTINGS[self.decay],
            "clip": 1.0 if self.clip == "clipped" else 0.0,
            "init": self.init,
            "dropout": self.dropout,
            "stall": 0,
        }


INTERPRETATIONS = tuple(
    Interpretation(*choice)
    for choice in product(DECAY_SETTINGS, ("clipped", "not clipped"), INITS, (0.1, 0.0))
)


@dataclass(frozen=True)
class PaperNumber:
    """One of the paper's numbers, and the race (comparison) to which it belongs."""

    name: str
    race: str
    paper: str


@dataclass(frozen=True)
class NumberEvidence:
    """Evidence from the trials of one interpretation: ln P(a number of the paper | the trials), and our value of this
    number in words.
    """

    name: str
    trials: int
    log_evidence: float
    ours: str


@dataclass(frozen=True)
class Standing:
    """An interpretation in one race. `behind`: by how many nats its evidence was below the best one's at the last
    comparison. `left`: the paper's number after which the interpretation was dropped; "" if it was not dropped.
    """

    behind: float | None
    left: str = ""


@dataclass(frozen=True)
class ComparedInterpretation:
    """One interpretation, with its evidence for each number and its standing in each race."""

    name: str
    decay: str
    clip: str
    init: str
    dropout: float
    numbers: tuple[NumberEvidence, ...]
    standings: dict[str, Standing]


@dataclass(frozen=True)
class InterpretationsRecord(ResultsRecord):
    """readings.json; `state` describes the progress of each race."""

    numbers: tuple[PaperNumber, ...]
    readings: tuple[ComparedInterpretation, ...]
    state: str


@dataclass(frozen=True)
class Number:
    """One of the paper's numbers, with the trials and the formula that give its evidence.

    Args:
        name, race: name of the number, and the race to which it belongs.
        paper: the number as printed or as digitised.
        specs: (interpretation, n) -> specs of the interpretation's first n trials for this number.
        log_evidence: (records of trials, store) -> ln P(the paper's number | these trials).
        in_words: (records, store) -> our value of the number, in words.
    """

    name: str
    race: str
    paper: str
    specs: Callable[[Interpretation, int], list[TrainSpec]]
    log_evidence: Callable[[Sequence[Record], Store], float]
    in_words: Callable[[Sequence[Record], Store], str]


def _and_trials(T: int, m: int) -> Callable[[Interpretation, int], list[TrainSpec]]:
    return lambda reading, n: conjunctions(T=T, m=m, trials=range(n), **reading.settings)


def _count(records: Sequence[Record]) -> str:
    return f"{sum(r.solved for r in records)}/{len(records)}"


def _share(m: int) -> Callable[[Sequence[Record], Store], str]:
    return lambda records, _: f"m={m}: {_count(records)}"


def _steps(values: Sequence[float | int]) -> str:
    ordered = sorted(values)
    return f"{ordered[0]:.0f}/{ordered[len(ordered) // 2]:.0f}/{ordered[-1]:.0f}" if ordered else "-"


def _first_steps() -> Number:
    low, middle, high = map(float, CURVES_AND.first_step_m200)
    n = CURVES_AND.replicates

    def log_evidence(records: Sequence[Record], _: Store) -> float:
        return _solved_after(
            [float(r.outcome["steps"]) for r in records if r.solved], len(records), n, low, middle, high
        )

    def in_words(records: Sequence[Record], _: Store) -> str:
        return f"{_count(records)}, {_steps([r.outcome['steps'] for r in records if r.solved])}"

    paper = f"40/40, {low:g}/{middle:g}/{high:g}"
    return Number("first steps, T=300, m=200", "law", paper, _and_trials(300, 200), log_evidence, in_words)


def _solved_after(steps: Sequence[float], runs: int, n: int, low: float, middle: float, high: float) -> float:
    """Return ln P(n of n solved) plus ln density of the least, middle and largest step, given the steps of our runs."""
    # Steps are known to 10 of 100.
    shapes = Shapes(centres=(math.log(10), math.log(10_000)), widths=(0.1, 2.0))
    seen = Values.seen([math.log(step) for step in steps], shapes)
    when = seen.log_order(math.log(low), math.log(middle), math.log(high), n)
    return log_count(n, n, seen=len(steps), of=runs) + when


def _solved_share() -> Number:
    def log_evidence(records: Sequence[Record], _: Store) -> float:
        seen = sum(r.solved for r in records)
        return log_count(CURVES_AND.solved_m50, CURVES_AND.replicates, seen=seen, of=len(records))

    paper = f"{CURVES_AND.solved_m50}/{CURVES_AND.replicates}"
    return Number("solved, T=300, m=50", "law", paper, _and_trials(300, 50), log_evidence, _share(50))


def _threshold(T: int, m: int) -> Number:
    """Return the paper's threshold at T as a `Number`, with trials at the m of its grid nearest to the threshold."""
    point = next(p for p in LAW_AND if p.T == T)

    def log_evidence(records: Sequence[Record], _: Store) -> float:
        cell = Cell(m, sum(r.solved for r in records), len(records))
        return log_threshold(point.m, point.bar, [cell], grid=GRID_M, trials=GRID_TRIALS)

    paper = f"{point.m:g} +- {point.bar:g}" if point.bar else f"{point.m:g} or less"
    return Number(f"m_80, T={T}", "law", paper, _and_trials(T, m), log_evidence, _share(m))


def _attention() -> Number:
    total = sum(ATTENTION_AND.on_support)

    def specs(reading: Interpretation, n: int) -> list[TrainSpec]:
        return attention_specs("fast", n, **reading.settings)

    def log_evidence(records: Sequence[Record], _: Store) -> float:
        seen = Values.seen([_logit(mass) for mass in _masses(records)], Shapes((-14.0, 14.0), (0.5, 5.0)))
        return seen.log_density(_logit(total))

    def in_words(records: Sequence[Record], _: Store) -> str:
        x = sorted(_masses(records))
        return f"{x[0]:.3f}/{x[len(x) // 2]:.3f}/{x[-1]:.3f}"

    return Number("attention on the support", "attention", f"{total:.3f}", specs, log_evidence, in_words)


def _masses(records: Sequence[Record]) -> list[float]:
    """Return the final attention on the support of each run; runs with weights that are not finite are left out."""
    return [r.outcome["support_mass"] or 0.0 for r in records]


def _logit(x: float) -> float:
    inside = min(max(x, 1e-6), 1 - 1e-6)
    return math.log(inside / (1 - inside))


def _parity(T: int) -> Number:
    p = next(curve for curve in PARITY if curve.T == T)

    def specs(reading: Interpretation, n: int) -> list[TrainSpec]:
        return parity_runs("fast", n, T=T, n_steps=PARITY_STEPS[T], **reading.settings)

    def steps(records: Sequence[Record], store: Store) -> list[float]:
        return [s for r in records if (s := _first_below(store.history(r.id), p.level)) is not None]

    def log_evidence(records: Sequence[Record], store: Store) -> float:
        return _solved_after(steps(records, store), len(records), p.seeds, *map(float, p.first_below))

    def in_words(records: Sequence[Record], store: Store) -> str:
        found = steps(records, store)
        return f"{len(found)}/{len(records)} in {PARITY_STEPS[T]}, {_steps(found)}"

    low, middle, high = p.first_below
    return Number(f"parity, T={T}", "parity", f"10/10, {low}/{middle}/{high}", specs, log_evidence, in_words)


def _first_below(history: dict[str, list[float]], level: float) -> float | None:
    return next((s for s, loss in zip(history["step"], history["loss"]) if loss < level), None)


NUMBERS = (
    _first_steps(),
    _threshold(100, 50),
    _solved_share(),
    _threshold(300, 70),
    _threshold(1000, 110),
    _attention(),
    _parity(10),
    _parity(15),
)
