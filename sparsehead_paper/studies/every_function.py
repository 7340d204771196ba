"""Laws of all functions of two and three bits, and predictions of the order of their thresholds.

There are 12 such functions up to permutations of positions and negation of bits and label. Bits are uniform
(p = 1/2), so negation changes nothing. Predictions of the order are the constants of `per_ln_T` (samples per ln T that
types of learners need), globality, leap and average sensitivity. Spearman's correlation with m_80 of preset `best`
says how good each is.

For functions such as parities, no statistic of single positions shows every relevant position, and thresholds grow fast
with T. For these functions each T is measured separately, since the joint design assumes thresholds that are smooth in
T. At m = 500 a failure takes up to half a minute, so no larger m is tried; a function that needs more counts as harder
than all others.

    sparsehead reproduce --only every-function --db /elsewhere/every.db --out /elsewhere/every
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsehead._base.rng import stream
from sparsehead.floor.constants import per_ln_T
from sparsehead.functions import SparseFunction, parse
from sparsehead.functions.analysis import influences
from sparsehead.laws.thresholds import Threshold
from sparsehead.probing.influence import spearman
from sparsehead.store.results import write as write_table

from ..theory.difficulty import globality, inequivalent, leap
from .folder import read_results
from .law_stage import Law, Laws, LawsRecord
from .stage import Workplace


class AllFunctions(Laws):
    """The stage; it also writes every-function-table.csv, with each function's degrees of difficulty and thresholds."""

    def run(self, place: Workplace) -> list[str]:
        """Measure the laws, then write the table."""
        problems = super().run(place)
        rows = table(read_results(place.folder, self.name, LawsRecord))
        write_table(rows, place.folder / f"{self.name}-table.csv", force=True)
        return problems


def every_function(Ts: tuple[int, ...] = (30, 100, 300), trials: int = 32, most: int = 500) -> AllFunctions:
    """Return one law of preset `best` per function; no trial has more than `most` samples."""
    laws: dict[str, Law] = {}
    groups: dict[str, str] = {}
    for s in (2, 3):
        for f in inequivalent(s):
            text = str(f)
            groups[text] = f"functions of {s} bits"
            constants = per_ln_T(f, p=0.5)
            start = math.ceil(6 * constants.information)
            method = "joint" if math.isfinite(constants.position) else "adaptive"
            limits = {T: {"m_max": most} for T in Ts}
            settings = {"preset": "best", "p": 0.5, "method": method, "exceptions": limits}
            laws[text] = Law(
                f"every-function: {text}",
                Ts,
                trials,
                settings,
                width=0.35,
                function=text,
                s=None,
                start=start,
            )
    return AllFunctions("every-function", "All functions of two and three bits", laws, groups)


@dataclass(frozen=True)
class Order:
    """Spearman's correlation of a prediction with the measured thresholds at one T, with a 95 % interval."""

    prediction: str
    T: int
    correlation: float
    low: float
    high: float


def predictions(f: SparseFunction) -> dict[str, float]:
    """Return each prediction's number for f, larger for harder functions; inf if such a learner always fails."""
    constants = per_ln_T(f, p=0.5)
    return {
        "information": constants.information,
        "single position": constants.position,
        "covariance": constants.covariance,
        "globality": float(globality(f)),
        "leap": float(leap(f)),
        "sensitivity": float(influences(f).sum()),
    }


def table(record: LawsRecord) -> list[dict[str, Any]]:
    """Return one row for each function: its predictions, and at each T the floor and m_80 with its interval."""
    rows = []
    for law in record.laws:
        row: dict[str, Any] = {"function": law.label, **predictions(parse(law.label, T=30))}
        for T, found in law.thresholds.items():
            row |= {f"floor {T}": getattr(law.floor.get(T), "m", None), f"m_80 {T}": found.m80}
            row |= {f"low {T}": found.low, f"high {T}": found.high, f"trials {T}": found.trials}
        rows.append(row)
    return rows


def orders(record: LawsRecord, repeats: int = 2000) -> list[Order]:
    """Return the correlation of each prediction with m_80 at each T; the intervals are a bootstrap over functions.

    A function that no trial learned counts as harder than all others; for one that every trial learned, the upper bound
    on m_80 is used. Functions without trials are left out.   Paper: function-order
    """
    rng = stream(0, "every-function", "bootstrap")
    found = []
    for T in sorted({T for law in record.laws for T in law.thresholds}):
        laws = [law for law in record.laws if T in law.thresholds and law.thresholds[T].trials]
        measured = np.array([_difficulty(law.thresholds[T]) for law in laws])
        said = [predictions(parse(law.label, T=30)) for law in laws]
        draws = rng.integers(len(laws), size=(repeats, len(laws)))
        for name in said[0] if said else ():
            predicted = np.array([row[name] for row in said])
            correlation = spearman(predicted, measured)
            if correlation is None:
                continue
            values = [spearman(predicted[draw], measured[draw]) for draw in draws]
            low, high = np.quantile([v for v in values if v is not None], (0.025, 0.975))
            found.append(Order(name, T, correlation, float(low), float(high)))
    return found


def _difficulty(found: Threshold) -> float:
    """Return m_80; if all trials were solved, the bound on it; infinity if all failed."""
    return found.m80 or found.high or math.inf
