"""Laws of conjunctions: simulated for theoretical learners (without a free parameter), measured for presets.

A theoretical learner gives one answer from independent samples. Trials of a preset have, as elsewhere, five runs, and
ambiguous training sets are drawn again; at s = 3, `best` is also measured with one run, without redrawing, and with one
run and no redrawing, as for the theoretical learners. The theoretical laws depend on p in different ways, so the one
that a preset follows tells what gradient descent uses: positive examples alone (COMP), covariances, or both.

    sparsehead reproduce --only predicted --db /elsewhere/predicted.db --out /elsewhere/predicted

resumes from its store. The most informative laws come first: s = 3 before other s, simulated laws before measured ones.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparsehead.floor.constants import per_ln_T
from sparsehead.functions.task import conjunction_p

from .law_stage import Law, Laws, LawsRecord

SIMULATED = ("scomp", "greedy", "dd", "comp", "one-step")
# Of `best` at s = 3: what a trial has beyond one answer from independent samples, taken away.
VARIANTS: dict[str, dict[str, Any]] = {
    "best": {},
    "best, one run": {"restarts": 1},
    "best, no redraw": {"unique": False},
    "best, one run, no redraw": {"restarts": 1, "unique": False},
}
# A failure takes half a minute at T = 3000, minutes at 10^4.
FEWER = {3000: {"max_trials": 24}, 10_000: {"max_trials": 16}}


class Simulated(Law):
    """The simulated law of a theoretical learner; a trial takes milliseconds, so narrow intervals are affordable."""

    def seconds(self, db: Path) -> float:
        """Return the expected time: 20 ms per trial, which includes starting processes."""
        return 0.02 * self.most_trials * len(self.Ts)


def predicted(
    sizes: Sequence[int] = (3, 2, 4, 5, 6),
    Ts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000),
    trials: int = 40,
) -> Laws:
    """Return laws at p = .5, .65, 2^(-1/s) (balanced labels) and .9; simulated ones have ten times the trials."""
    laws: dict[str, Law] = {}
    for s in sizes:
        for p in (None, 0.5, 0.65, 0.9):
            share = conjunction_p(s) if p is None else p
            group = f"AND of {s}, p = {share:.3g}"
            # balanced labels are the default, whose trials other studies may have run already
            given = {} if p is None else {"p": p}
            start = math.ceil(10 * per_ln_T("and", s=s, p=share).information)  # about the floor at T = 10^4
            for name in SIMULATED:
                settings = {"learner": name, **given}
                laws[f"{name}: {group}"] = Simulated(
                    f"predicted-{name}: {group}", Ts, 10 * trials, settings, width=0.1, s=s, start=start
                )
            presets: dict[str, dict[str, Any]] = {**VARIANTS} if s == 3 else {"best": {}}
            presets = {name: {"preset": "best", **changes} for name, changes in presets.items()}
            fewer = {"exceptions": {T: FEWER[T] for T in Ts if T in FEWER}}
            for name, changes in {**presets, "fast": {"preset": "fast"}}.items():
                settings = {**changes, **given, **fewer}
                laws[f"{name}: {group}"] = Law(
                    f"predicted-{name}: {group}", Ts, trials, settings, s=s, start=start
                )
    groups = {label: label.partition(": ")[2] for label in laws}
    return Laws("predicted", "Predicted and measured laws", laws, groups)


def of_size(record: LawsRecord, s: int = 3) -> LawsRecord:
    """Return the laws of conjunctions of s bits, for a chart with one panel per p."""
    return LawsRecord(tuple(law for law in record.laws if law.group.startswith(f"AND of {s},")), record.state)
