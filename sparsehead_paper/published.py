"""The paper's experiments: settings and printed or digitised numbers, written once.

Figures, verdicts and protocols take numbers and settings from this file. Numbers that the paper
shows only in figures are digitised from its vector graphics; their error bars seem to be standard deviations of about
100 bootstrap resamples. Source: Edelman, Goel, Kakade, Zhang (ICML 2022), section 6 and appendix C.
Paper: law-and, curves-and, attention-and, parity-curves
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsehead.laws.published import LAW_AND

SOLVED = 0.99  # validation accuracy above which the paper counts a run as solved


LAW_AND_FIT = (-98.65, 29.65)  # least squares m = a + b ln T through these points, R^2 = .915
LAW_AND_SLOPE_ERROR = 2.26  # standard error of b, from R^2 and the 18 points


@dataclass(frozen=True)
class Curves:
    """Figure 3 left: validation accuracy of the best of five restarts at T = 300, s = 3, for 40 replicates."""

    T: int = 300
    s: int = 3
    replicates: int = 40
    solved_m50: int = 24
    solved_m200: int = 40
    first_step_m200: tuple[int, int, int] = (59, 99, 409)  # min, median, max


@dataclass(frozen=True)
class AttentionMap:
    """Figure 3 right: one head of width 64, trained on 300 samples for 500 steps; mean attention over 100 inputs."""

    T: int = 50
    m: int = 300
    support: tuple[int, ...] = (5, 20, 30)
    steps: int = 500
    inputs: int = 100
    on_support: tuple[float, ...] = (0.294, 0.274, 0.428)
    on_cls: float = 7e-4
    irrelevant_median: float = 1.2e-6
    irrelevant_total: float = 0.0034


@dataclass(frozen=True)
class ParityCurves:
    """Figure 4: (min, median, max) over 10 seeds of the iteration at which the loss first falls below .35."""

    T: int
    first_below: tuple[int, int, int]
    s: int = 3
    batch: int = 2048
    seeds: int = 10
    level: float = 0.35


CURVES_AND = Curves()
ATTENTION_AND = AttentionMap()
PARITY = (ParityCurves(10, (156, 206, 247)), ParityCurves(15, (381, 538, 1029)))


def printed_misfit(law: Callable[[NDArray[Any]], NDArray[Any]]) -> float:
    """Return the least sum, over a and b, of ((m - a - b law(T))/bar)^2 at points with bars.   Paper: law-points

    >>> round(printed_misfit(np.log), 1), round(printed_misfit(lambda T: T), 1)
    (10.7, 10.4)
    """
    points = [point for point in LAW_AND if point.bar > 0]
    T, m, bar = (np.array([getattr(point, name) for point in points]) for name in ("T", "m", "bar"))
    design = np.stack([np.ones(len(points)), law(T.astype(float))], axis=1) / bar[:, None]
    coefficients, *_ = np.linalg.lstsq(design, m / bar, rcond=None)
    return float(np.sum((m / bar - design @ coefficients) ** 2))
