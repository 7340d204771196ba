"""Laws of conjunctions: simulated for theoretical learners (without a free parameter), measured for presets.

A theoretical learner gives one answer from independent samples. Trials of a preset have five runs, and ambiguous
training sets are redrawn, as in other studies. `best` is also measured with one run and no redrawing, which is the
protocol of the theoretical learners; for the paper's task the two differences are measured separately, and with
`gated`. The theoretical laws depend on p and s in different ways. The law that a preset follows therefore indicates
which information gradient descent uses: positive examples alone (COMP), covariances, or both.

The settings are s = 3 at four values of p, and other s with balanced labels. Measured laws end at T = 1000, where a
failed trial takes seconds; those of `best` and `gated` for the paper's task extend to 10^4. Simulated laws go to 10^4.

    sparsehead reproduce --only predicted --db /elsewhere/predicted.db --out /elsewhere/predicted

resumes from its store. Simulated laws, whose trials take milliseconds, come first, then `best` with five runs and with
one, then `gated`, then variants of the paper's task, and `fast` last.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.floor.constants import per_ln_T
from sparsehead.functions.task import conjunction_p

from .law_stage import Law, Laws, LawsRecord

SIMULATED = ("scomp", "greedy", "dd", "comp", "one-step")
ALONE = "best, one run, no redraw"  # one answer from independent samples, as a theoretical learner gives
MEASURED: dict[str, dict[str, Any]] = {
    **{name: {"preset": name} for name in ("best", "gated", "fast")},
    # without what a trial has beyond one answer from independent samples: further runs, and redrawing
    ALONE: {"preset": "best", "restarts": 1, "unique": False},
    "best, one run": {"preset": "best", "restarts": 1},
    "gated, one run": {"preset": "gated", "restarts": 1},
    "gated, one run, no redraw": {"preset": "gated", "restarts": 1, "unique": False},
    "best, no redraw": {"preset": "best", "unique": False},
}


class Simulated(Law):
    """The simulated law of a theoretical learner; a trial takes milliseconds, so narrow intervals are affordable."""

    def seconds(self, db: Path) -> float:
        """Return the expected time: 20 ms per trial, which includes starting processes."""
        return 0.02 * self.most_trials * len(self.Ts)


def predicted(
    sizes: Sequence[int] = (3, 2, 4, 5, 6),
    Ts: tuple[int, ...] = (100, 300, 1000, 10_000),
    trials: int = 16,
    simulated: int = 240,
) -> Laws:
    """Return laws at s = 3 and p = 2^(-1/3) (balanced labels), .5, .65 and .9, and of other s at balanced labels.

    Args:
        trials, simulated: largest number of trials at each T, of measured and of simulated laws.
    """
    papers_task = (3, None)  # AND of three bits, labels balanced
    tasks = [(n, p) for n in sizes for p in ((None, 0.5, 0.65, 0.9) if n == 3 else (None,))]
    everywhere = (*SIMULATED, "best", ALONE, "gated")
    chosen = [(name, task) for name in everywhere for task in tasks]
    variants = [name for name in MEASURED if name not in (*everywhere, "fast")]
    chosen += [(name, papers_task) for name in variants if papers_task in tasks]
    chosen += [("fast", task) for task in tasks]
    laws: dict[str, Law] = {}
    for name, (s, p) in chosen:
        share = conjunction_p(s) if p is None else p
        label = f"{name}: AND of {s}, p = {share:.3g}"
        # balanced labels are the default, whose trials other studies may have run already
        given: dict[str, Any] = {} if p is None else {"p": p}
        plan: dict[str, Any] = {"s": s, "start": math.ceil(10 * per_ln_T("and", s=s, p=share).information)}
        if name in SIMULATED:
            settings = {"learner": name, **given}
            laws[label] = Simulated(f"predicted-{label}", Ts, simulated, settings, width=0.1, **plan)
            continue
        far = (s, p) == papers_task and name in ("best", "gated")
        settings = {**MEASURED[name], **given}
        lengths = tuple(T for T in Ts if far or T <= 1000)
        laws[label] = Law(f"predicted-{label}", lengths, trials, settings, **plan)
    groups = {label: label.partition(": ")[2] for label in laws}
    return Laws("predicted", "Predicted and measured laws", laws, groups)


def of_size(record: LawsRecord, s: int = 3) -> LawsRecord:
    """Return the laws of conjunctions of s bits, for a chart with one panel per p."""
    return LawsRecord(tuple(law for law in record.laws if law.group.startswith(f"AND of {s},")), record.state)


@dataclass(frozen=True)
class Ratio:
    """m_80 of a preset over that of a theoretical learner, or over the floor for one answer, in one setting."""

    preset: str
    learner: str
    group: str
    T: int
    measured: float
    predicted: float

    @property
    def ratio(self) -> float:
        """Return measured / predicted threshold; 1 if the preset needs as many samples as the learner."""
        return self.measured / self.predicted


def ratios(record: LawsRecord) -> list[Ratio]:
    """Return all pairs of a measured and a predicted threshold at equal p, s and T, both with two-sided intervals."""
    laws = {tuple(law.label.partition(": ")[::2]): law for law in record.laws}
    rows = []
    for (name, group), law in laws.items():
        if name not in MEASURED:
            continue
        for T, row in law.thresholds.items():
            if row.m80 is None:
                continue
            found = {each: laws[each, group].thresholds.get(T) for each in SIMULATED if (each, group) in laws}
            predicted = {each: row.m80 for each, row in found.items() if row and row.m80}
            if T in law.floor:
                predicted = {"floor": float(law.floor[T].m), **predicted}
            rows += [Ratio(name, each, group, T, row.m80, m) for each, m in predicted.items()]
    return rows


@dataclass(frozen=True)
class Nearness:
    """How near a preset's thresholds are to those of a theoretical learner: root mean square of ln(ratio).

    low, high: 95 % interval, by a bootstrap over settings, of the difference between this distance and that of the
    nearest learner; for the nearest learner itself, the difference from the second nearest.
    """

    learner: str
    settings: int
    distance: float
    low: float
    high: float


def nearness(rows: Sequence[Ratio], preset: str, repeats: int = 2000) -> list[Nearness]:
    """Return each learner's nearness to a preset, nearest first, over settings where every learner has a ratio.

    Paper: predicted-line
    """
    here = [row for row in rows if row.preset == preset]
    learners = list(dict.fromkeys(row.learner for row in here))
    table = {(row.learner, row.group, row.T): math.log(row.ratio) ** 2 for row in here}
    settings = list(dict.fromkeys((row.group, row.T) for row in here))
    whole = [each for each in settings if all((name, *each) in table for name in learners)]
    if not whole or len(learners) < 2:
        return []
    squares = np.array([[table[name, *each] for each in whole] for name in learners])
    distance = np.sqrt(squares.mean(axis=1))
    order = np.argsort(distance)
    draws = stream(0, "predicted", preset).integers(len(whole), size=(repeats, len(whole)))
    drawn = np.sqrt(squares[:, draws].mean(axis=2))
    found = []
    for i in order:
        other = order[1] if i == order[0] else order[0]
        low, high = np.quantile(drawn[i] - drawn[other], (0.025, 0.975))
        found.append(Nearness(learners[i], len(whole), float(distance[i]), float(low), float(high)))
    return found
