"""Laws of all functions of two and three bits, and what predicts their order.

There are 12 such functions up to permutations of positions and negation of bits and label. Bits are uniform
(p = 1/2), so negation changes nothing. Predictions of the order are the constants of `per_ln_T` (samples per ln T that
types of learners need), globality, leap and average sensitivity. Spearman's correlation with m_80 of preset `best`
says how good each is.

If no statistic of single positions shows every relevant one, as for parities, thresholds grow fast with T; each T is
then measured separately, since the joint design takes them as smooth in T. At m = 500 a failure takes up to half a
minute, so no larger m is tried; a function that needs more counts as harder than all others.

    sparsehead reproduce --only every-function --db /elsewhere/every.db --out /elsewhere/every
"""

import math
from dataclasses import dataclass

import numpy as np

from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Float
from sparsehead.floor.constants import per_ln_T
from sparsehead.functions import SparseFunction, parse
from sparsehead.functions.analysis import influences
from sparsehead.probing.influence import spearman

from ..theory.difficulty import globality, inequivalent, leap
from .law_stage import Law, Laws, LawsRecord


def every_function(Ts: tuple[int, ...] = (30, 100, 300), trials: int = 32, most: int = 500) -> Laws:
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
    return Laws("every-function", "All functions of two and three bits", laws, groups)


@dataclass(frozen=True)
class Order:
    """Spearman's correlation of a prediction with the measured thresholds at one T, with a 95 % interval."""

    prediction: str
    T: int
    correlation: float
    low: float
    high: float


def predictions(f: SparseFunction) -> dict[str, float]:
    """Return what each prediction says about f, larger for harder functions; inf if such a learner always fails."""
    constants = per_ln_T(f, p=0.5)
    return {
        "information": constants.information,
        "single position": constants.position,
        "covariance": constants.covariance,
        "globality": float(globality(f)),
        "leap": float(leap(f)),
        "sensitivity": float(influences(f).sum()),
    }


def orders(record: LawsRecord, repeats: int = 2000) -> list[Order]:
    """Return the correlation of each prediction with m_80 at each T; the intervals are a bootstrap over functions.

    A threshold above the largest m that was tried counts as larger than all others.
    """
    laws = record.laws
    said = [predictions(parse(law.label, T=30)) for law in laws]
    rng = stream(0, "every-function", "bootstrap")
    found = []
    for T in sorted({T for law in laws for T in law.thresholds}):
        measured = np.array([law.thresholds[T].m80 or math.inf for law in laws])
        for name in said[0]:
            predicted = np.array([row[name] for row in said])
            draws = rng.integers(len(laws), size=(repeats, len(laws)))
            values = [_correlation(predicted[draw], measured[draw]) for draw in draws]
            low, high = np.quantile([v for v in values if not math.isnan(v)], (0.025, 0.975))
            found.append(Order(name, T, _correlation(predicted, measured), float(low), float(high)))
    return found


def _correlation(x: Float[Array, " n"], y: Float[Array, " n"]) -> float:
    found = spearman(x, y)
    return math.nan if found is None else found
