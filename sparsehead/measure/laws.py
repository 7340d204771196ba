"""The law m_80(T): a + b ln T, a T^b or a + b T, fitted to the trials themselves.

No threshold is estimated on the way: a law gives m_80 at every T, the success curve of `curves` gives the probability
of every trial, and (a, b, slope) maximise the likelihood of all of them. The slope in ln m is shared by all T.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DomainError
from ..types import Array, Float, Int
from .curves import TYPICAL_SLOPE, Cell, log_likelihood, merge, slope_penalty
from .intervals import chi2_quantile

LAWS = ("log", "power", "linear")
FORMULAS = {"log": "a + b ln T", "power": "a T^b", "linear": "a + b T"}
N_PARAMETERS = 3  # a, b, slope


@dataclass(frozen=True)
class LawFit:
    """One law's fit: a, b and the slope in ln m, profile intervals (None: open), AIC and its excess over the best."""

    law: str
    params: dict[str, float]
    intervals: dict[str, tuple[float | None, float | None]]
    log_likelihood: float
    aic: float
    delta_aic: float

    def __call__(self, T: float | int) -> float:
        """m_80 at T."""
        return float(_evaluate(self.law, self.params["a"], self.params["b"], np.array([float(T)]))[0])


@dataclass(frozen=True)
class LawFits:
    """The fits by name, which is best, and what should be said of them.

    `lack_of_fit`: for each law, twice the log-likelihood that free thresholds gain over it, on `degrees` degrees of
    freedom; much larger than that means that no choice of a and b describes the data.
    """

    fits: dict[str, LawFit] = field(default_factory=dict)
    best: str | None = None
    note: str = ""
    lack_of_fit: dict[str, float] = field(default_factory=dict)
    degrees: int = 0

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints: {log, power, linear: {params, intervals, aic, delta_aic}}."""
        return {
            name: {
                "params": fit.params,
                "intervals": fit.intervals,
                "aic": fit.aic,
                "delta_aic": fit.delta_aic,
            }
            for name, fit in self.fits.items()
        }


def law_value(law: str, a: float | int, b: float | int, T: float | int) -> float:
    """m_80(T) under a law.   Paper: law-and

    >>> round(law_value("log", -98.65, 29.65, 300), 1)  # the paper's line at T = 300
    70.5
    """
    return float(_evaluate(law, a, b, np.array([float(T)]))[0])


def fit_laws(
    cells: Mapping[int, Sequence[Cell]],
    *,
    target: float = 0.8,
    level: float = 0.95,
    laws: Sequence[str] = LAWS,
) -> LawFits:
    """Fit the laws to the trials at each T.

    A single T, or trials that were all solved or all failed, determine no law: the result then has no fits and a
    note that says so. A T at which all trials agree still counts; it bounds the law from one side.

    Args:
        cells: for each T, its cells (m, solved, trials).
        level: of the profile-likelihood intervals of a, b and the slope.
    Paper: law-and, law-decades
    """
    data = _Trials.of(cells, target)
    if (note := data.why_not()) is not None:
        return LawFits(note=note)
    found = {law: _maximise(law, data) for law in laws}
    aic = {law: 2 * N_PARAMETERS - 2 * data.plain(*_curve(law, x, data)) for law, x in found.items()}
    best = min(aic, key=lambda law: aic[law])
    fits = {
        law: LawFit(
            law=law,
            params=_params(law, x, data),
            intervals=_intervals(law, x, data, chi2_quantile(level) / 2),
            log_likelihood=N_PARAMETERS - aic[law] / 2,
            aic=aic[law],
            delta_aic=aic[law] - aic[best],
        )
        for law, x in found.items()
    }
    free = _free_log_likelihood(data, found[best])
    lack = {law: max(0.0, 2 * (free - fit.log_likelihood)) for law, fit in fits.items()}
    runner_up = sorted([*(fit.delta_aic for fit in fits.values()), math.inf])[1]
    note = (
        ""
        if runner_up >= 4
        else f"the data do not tell the laws apart: the second is within {runner_up:.1f} AIC"
    )
    return LawFits(fits, best, note, lack, len(data.Ts) - 2)


@dataclass(frozen=True, eq=False)
class _Trials:
    """Cells of all T as flat arrays; `which` is the index in Ts of a cell's T."""

    Ts: Float[Array, " n_T"]
    which: Int[Array, " cells"]
    log_m: Float[Array, " cells"]
    solved: Float[Array, " cells"]
    trials: Float[Array, " cells"]
    target: float

    @staticmethod
    def of(cells: Mapping[int, Sequence[Cell]], target: float) -> "_Trials":
        merged = {T: merge(cells[T]) for T in sorted(cells)}
        Ts = [T for T, group in merged.items() if group]
        if any(T < 2 for T in Ts):
            raise DomainError(f"a law is fitted at context lengths T >= 2, got T={min(Ts)}.")
        flat = [(i, cell) for i, T in enumerate(Ts) for cell in merged[T]]
        return _Trials(
            Ts=np.array(Ts, dtype=float),
            which=np.array([i for i, _ in flat], dtype=int),
            log_m=np.log(np.array([cell.m for _, cell in flat], dtype=float)),
            solved=np.array([cell.solved for _, cell in flat], dtype=float),
            trials=np.array([cell.trials for _, cell in flat], dtype=float),
            target=target,
        )

    def why_not(self) -> str | None:
        """Why no law can be fitted, or None."""
        if len(self.Ts) == 0:
            return "there are no trials, so there is no law to fit"
        if len(self.Ts) == 1:
            return f"all trials are at T={self.Ts[0]:.0f}; a law needs at least two context lengths"
        if self.solved.sum() in (0, self.trials.sum()):
            verb = "solved" if self.solved.any() else "failed"
            other = "smaller" if self.solved.any() else "larger"
            return (
                f"all {self.trials.sum():.0f} trials {verb}; a law needs some of each: begin at a {other} m "
                "(`sparsehead law --start`, in Python Adaptive(start=..))"
            )
        return None

    def plain(self, log_m80: Float[Array, " n_T"], log_slope: float) -> float:
        """The log-likelihood of all trials."""
        args = (
            self.log_m,
            self.solved,
            self.trials,
            log_m80[self.which],
            math.exp(min(9.0, log_slope)),
            self.target,
        )
        return float(log_likelihood(*args).sum())

    def loss(self, log_m80: Float[Array, " n_T"], log_slope: float) -> float:
        """Minus the penalised log-likelihood: what is minimised."""
        return -self.plain(log_m80, log_slope) - float(slope_penalty(log_slope))


def _axis(law: str, T: Float[Array, " n"]) -> Float[Array, " n"]:
    return T if law == "linear" else np.log(T)


def _evaluate(law: str, a: float | int, b: float | int, T: Float[Array, " n"]) -> Float[Array, " n"]:
    if law not in LAWS:
        raise DomainError(f"the laws are {', '.join(LAWS)}; got {law!r}.")
    return a * T**b if law == "power" else a + b * _axis(law, T)


def _curve(law: str, x: Sequence[float], data: _Trials) -> tuple[Float[Array, " n_T"], float]:
    """ln m_80 at every T, and ln slope, from x = (ln m_80 at the first T, at the last T, ln slope).

    Each law is the interpolation between its ends that is straight on its own axes, so m_80 stays positive between
    them and the search needs no constraints.
    """
    axis = _axis(law, data.Ts)
    part = (axis - axis[0]) / (axis[-1] - axis[0])
    if law == "power":
        return x[0] + part * (x[1] - x[0]), float(x[2])
    low, high = (math.exp(min(50.0, max(-50.0, v))) for v in x[:2])
    return np.log((1 - part) * low + part * high), float(x[2])


def _params(law: str, x: Sequence[float], data: _Trials) -> dict[str, float]:
    axis = _axis(law, data.Ts)
    ends = (x[0], x[1]) if law == "power" else (math.exp(x[0]), math.exp(x[1]))
    b = (ends[1] - ends[0]) / float(axis[-1] - axis[0])
    a = ends[0] - b * float(axis[0])
    return {"a": math.exp(a) if law == "power" else a, "b": b, "slope": math.exp(x[2])}


def _maximise(law: str, data: _Trials) -> list[float]:
    """The best (ln m_80 at both ends, ln slope), from several starts."""
    middle = float(np.average(data.log_m, weights=data.trials))
    starts = [
        [middle + low, middle + high, math.log(TYPICAL_SLOPE)] for low, high in ((0, 0), (-0.5, 0.5), (-1, 0))
    ]
    return _minimise(lambda x: data.loss(*_curve(law, x, data)), starts)


def _minimise(loss: Callable[[Sequence[float]], float], starts: Sequence[Sequence[float]]) -> list[float]:
    from scipy.optimize import minimize

    def plain(x: Any) -> float:
        value = loss([float(v) for v in x])
        return value if math.isfinite(value) else 1e9

    runs = [
        minimize(plain, start, method="L-BFGS-B", options={"ftol": 1e-9, "gtol": 1e-4}) for start in starts
    ]
    return [float(v) for v in min(runs, key=lambda run: run.fun).x]


def _intervals(
    law: str, x: Sequence[float], data: _Trials, drop: float
) -> dict[str, tuple[float | None, float | None]]:
    """Profile intervals of a, b and slope: the other two parameters are refitted at every value."""
    best = _params(law, x, data)
    least = data.loss(*_curve(law, x, data))

    def excess(name: str, value: float) -> float:
        return _profile_loss(law, name, value, best, data) - least - drop

    steps = {
        "a": max(1.0, 0.1 * abs(best["a"])),
        "b": 0.1 * abs(best["b"]) + 1e-6,
        "slope": 0.2 * best["slope"],
    }
    if law == "power":
        steps["a"] = 0.2 * best["a"]
    return {
        name: (_edge(excess, name, best[name], -step), _edge(excess, name, best[name], step))
        for name, step in steps.items()
    }


def _profile_loss(law: str, name: str, value: float, best: dict[str, float], data: _Trials) -> float:
    """The least loss with one parameter held at `value`; infinite where it allows no positive curve."""
    axis = _axis(law, data.Ts)
    if name == "slope":
        if value <= 0:
            return math.inf
        start = [math.log(law_value(law, best["a"], best["b"], T)) for T in (data.Ts[0], data.Ts[-1])]
        found = _minimise(
            lambda y: data.loss(_curve(law, [y[0], y[1], 0.0], data)[0], math.log(value)), [start]
        )
        return data.loss(_curve(law, [*found, 0.0], data)[0], math.log(value))

    def log_m80(y: float) -> Float[Array, " n_T"]:
        if law == "power":  # y is the free one of b and ln a
            return y * axis + math.log(value) if name == "a" else y + value * axis
        # y is the ln of how far the free one of a and b lies above the least value that keeps m_80 positive
        if name == "a":
            return np.log(value + (float((-value / axis).max()) + math.exp(y)) * axis)
        return np.log(value * axis + float((-value * axis).max()) + math.exp(y))

    if law == "power" and name == "a" and value <= 0:
        return math.inf
    begin = _free_start(law, name, value, best, axis)

    def loss(y: Sequence[float]) -> float:
        return data.loss(log_m80(float(y[0])), float(y[1])) if abs(y[0]) < 500 else math.inf

    return loss(_minimise(loss, [[begin, math.log(best["slope"])]]))


def _free_start(
    law: str, name: str, value: float, best: dict[str, float], axis: Float[Array, " n_T"]
) -> float:
    """Where the free parameter starts: the curve then passes through the best fit at the middle of the axis."""
    middle = float(axis.mean())
    if law == "power":
        height = math.log(best["a"]) + best["b"] * middle
        return (height - math.log(value)) / middle if name == "a" else height - value * middle
    height = best["a"] + best["b"] * middle
    if name == "a":
        return math.log(max(1e-9, (height - value) / middle - float((-value / axis).max())))
    return math.log(max(1e-9, height - value * middle - float((-value * axis).max())))


def _edge(excess: Callable[[str, float], float], name: str, best: float, step: float) -> float | None:
    """Where the profile leaves the interval on one side; None if it has not after 2^12 steps."""
    from scipy.optimize import brentq

    inner, outer = best, best + step
    for _ in range(13):
        value = excess(name, outer)
        while math.isinf(value) and abs(outer - inner) > 1e-6 * abs(
            best
        ):  # no positive curve there: come back
            middle = (inner + outer) / 2
            value = excess(name, middle)
            inner, outer = (middle, outer) if value <= 0 else (inner, middle)
        if value > 0:
            return float(brentq(lambda v: excess(name, v), inner, outer, rtol=1e-3)) if value < 1e8 else outer
        inner, outer = outer, best + 2 * (outer - best)
    return None


def _free_log_likelihood(data: _Trials, x: Sequence[float]) -> float:
    """The log-likelihood with a threshold of its own for every T, at the fitted slope refitted once."""
    from scipy.optimize import minimize_scalar

    def at(log_slope: float) -> float:
        total = 0.0
        for i in range(len(data.Ts)):
            mine = data.which == i
            bounds = data.log_m[mine].min() - 3, data.log_m[mine].max() + 3
            args = (data.log_m[mine], data.solved[mine], data.trials[mine])

            def loss(theta: float, args: Any = args) -> float:
                log_m, solved, trials = args
                slope = math.exp(log_slope)
                return -float(log_likelihood(log_m, solved, trials, float(theta), slope, data.target).sum())

            total -= float(minimize_scalar(loss, bounds=bounds, method="bounded").fun)
        return total + float(slope_penalty(log_slope))

    best = minimize_scalar(lambda v: -at(v), bounds=(x[2] - 1.5, x[2] + 1.5), method="bounded").x
    return at(float(best)) - float(slope_penalty(float(best)))
