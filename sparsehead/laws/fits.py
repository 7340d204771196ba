"""Fit the laws m_80(T) = a + b ln T, a T^b and a + b T to the outcomes of trials.

Thresholds are not estimated first: a law gives m_80 at every T, the success curve of `curves` then gives the
probability of every outcome, and (a, b, slope) maximise the likelihood of all outcomes. All T share one slope in ln m.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from .._base.display import ShortRepr
from .._base.errors import DomainError
from .._base.types import Array, Float
from .curves import TYPICAL_SLOPE, Cell, merge
from .intervals import chi2_quantile
from .misfit import Misfit, misfits
from .scoring import Curve, CurveFamily, Trials, least

FORMULAS = {"log": "a + b ln T", "power": "a T^b", "linear": "a + b T"}


@dataclass(frozen=True, repr=False)
class LawFit(ShortRepr):
    """The fit of one law: a, b and slope in ln m, their profile intervals (None for an open end), AIC, and AIC minus
    the least AIC of all laws.
    """

    in_file: ClassVar = ("params", "intervals", "aic", "delta_aic")
    named_by: ClassVar = "law"
    n_parameters: ClassVar = 3  # a, b, slope

    params: dict[str, float]
    intervals: dict[str, tuple[float | None, float | None]]
    aic: float
    delta_aic: float
    law: str = ""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of all trials under this law."""
        return self.n_parameters - self.aic / 2

    def __call__(self, T: float | int) -> float:
        """Return m_80 at T under this law."""
        return law_value(self.law, self.params["a"], self.params["b"], T)


@dataclass(frozen=True, repr=False)
class LawFits(ShortRepr):
    """The fits by name, the name of the best, and a note for the reader.

    `lack_of_fit`: for each law, twice the log-likelihood gained by a free threshold at every T, on `degrees` degrees of
    freedom. A value much larger than `degrees` means that no choice of a and b describes the data.
    """

    fits: dict[str, LawFit] = field(default_factory=dict)
    best: str | None = None
    note: str = ""
    lack_of_fit: dict[str, float] = field(default_factory=dict)
    degrees: int = 0


def law_value(law: str, a: float | int, b: float | int, T: float | int) -> float:
    """Return m_80(T) under a law with these a and b.   Paper: law-and

    >>> round(law_value("log", -98.65, 29.65, 300), 1)  # the paper's line at T = 300
    70.5
    """
    if law not in FORMULAS:
        raise DomainError(f"the laws are {', '.join(FORMULAS)}; got {law!r}.")
    at = np.array([float(T)])
    return float((a * at**b if law == "power" else a + b * _axis(law, at))[0])


def fit_laws(
    cells: Mapping[int, Sequence[Cell]],
    *,
    target: float = 0.8,
    level: float = 0.95,
    laws: Sequence[str] = tuple(FORMULAS),
    caution: float = 1.0,
) -> LawFits:
    """Fit the laws to the trials at all T.

    A fit needs two T with both solved and failed trials; otherwise there are no fits, and a note says why. Another T
    whose trials all agree (all solved or all failed) bounds the law from one side. If the trials do not follow one
    success curve with one slope (`misfit`), a note says so and no law is best. `level` is that of the
    profile-likelihood intervals. The ends of an interval are where the log-likelihood has dropped by `caution` times
    the usual amount; use more than 1 for adaptively placed trials.
    Paper: law-and, law-decades
    """
    data = Trials.of({T: group for T, group in cells.items() if merge(group)}, target)
    if (data.Ts < 2).any():
        raise DomainError(f"a law is fitted at context lengths T >= 2, got T={data.Ts.min():.0f}.")
    if (note := _why_not(data)) is not None:
        return LawFits(note=note)
    found = {law: _maximise(law, data) for law in laws}
    curves = {law: _between_ends(law, data.Ts)(x) for law, (x, _) in found.items()}
    aic = {law: 2 * LawFit.n_parameters - 2 * data.plain(c.log_m80, c.log_slope) for law, c in curves.items()}
    best = min(aic, key=lambda law: aic[law])
    fits = {
        law: LawFit(
            law=law,
            params=_params(law, x, data.Ts),
            intervals=_intervals(law, x, loss, data, caution * chi2_quantile(level) / 2),
            aic=aic[law],
            delta_aic=aic[law] - aic[best],
        )
        for law, (x, loss) in found.items()
    }
    free = _free_curve(data, curves[best])
    gained = data.plain(free.log_m80, free.log_slope)
    lack = {law: max(0.0, 2 * (gained - fit.log_likelihood)) for law, fit in fits.items()}
    log_m80 = {int(T): float(own) for T, own in zip(data.Ts, free.log_m80)}
    departures = misfits({T: cells[T] for T in log_m80}, log_m80, math.exp(free.log_slope), target)
    return LawFits(fits, None if departures else best, _note(fits, departures), lack, len(data.Ts) - 2)


def _note(fits: Mapping[str, LawFit], departures: Sequence[Misfit]) -> str:
    """Return why there is no best law: a misfit, or a second law that is nearly as good; "" if there is one."""
    if departures:
        said = "; ".join(one.words for one in departures)
        return f"{said}: AIC does not tell which law is right, and intervals of a and b may be too short"
    runner_up = sorted([*(fit.delta_aic for fit in fits.values()), math.inf])[1]
    if runner_up >= 4:
        return ""
    return f"the data do not tell the laws apart: the second is within {runner_up:.1f} AIC"


def _why_not(data: Trials) -> str | None:
    """Return the reason why no law can be fitted, or None if laws can be fitted."""
    if len(data.Ts) == 0:
        return "there are no trials, so there is no law to fit"
    if len(data.Ts) == 1:
        return f"all trials are at T={data.Ts[0]:.0f}; a law needs at least two context lengths"
    if data.solved.sum() in (0, data.trials.sum()):
        verb = "solved" if data.solved.any() else "failed"
        other = "smaller" if data.solved.any() else "larger"
        return (
            f"all {data.trials.sum():.0f} trials {verb}; a law needs some of each: begin at a {other} m "
            "(`sparsehead law --start`, in Python Adaptive(start=..))"
        )
    solved, trials = (np.bincount(data.which, weights=each) for each in (data.solved, data.trials))
    known = int(((solved > 0) & (solved < trials)).sum())
    if known < 2:
        return f"only {known} of {len(data.Ts)} context lengths saw both success and failure; a law needs two"
    return None


def _axis(law: str, T: Float[Array, " n"]) -> Float[Array, " n"]:
    return T if law == "linear" else np.log(T)


def _between_ends(law: str, Ts: Float[Array, " n_T"]) -> CurveFamily:
    """Return the law as a family of curves in x = (ln m_80 at the first T, ln m_80 at the last T, ln slope).

    Each law is a straight line on its own axes, so the two ends determine it. m_80 is then positive for every x.
    """
    axis = _axis(law, Ts)
    part = (axis - axis[0]) / (axis[-1] - axis[0])
    slope_by_x = np.array([0.0, 0.0, 1.0])

    def curve(x: Float[Array, " 3"]) -> Curve:
        weights = np.stack([1 - part, part, np.zeros_like(part)], axis=1)
        if law == "power":
            return Curve(weights @ x, weights, float(x[2]), slope_by_x)
        shares = weights * np.exp(np.clip([x[0], x[1], 0.0], -50.0, 50.0))
        m80 = shares.sum(axis=1)
        return Curve(np.log(m80), shares / m80[:, None], float(x[2]), slope_by_x)

    return curve


def _params(law: str, x: Float[Array, " 3"], Ts: Float[Array, " n_T"]) -> dict[str, float]:
    axis = _axis(law, Ts)
    ends = (x[0], x[1]) if law == "power" else (math.exp(x[0]), math.exp(x[1]))
    b = float(ends[1] - ends[0]) / float(axis[-1] - axis[0])
    a = float(ends[0]) - b * float(axis[0])
    return {"a": math.exp(a) if law == "power" else a, "b": b, "slope": math.exp(x[2])}


def _maximise(law: str, data: Trials) -> tuple[Float[Array, " 3"], float]:
    """Return the best (ln m_80 at the first T, at the last T, ln slope) from several starts, and its loss."""
    middle = float(np.average(data.log_m, weights=data.trials))
    starts = [
        [middle + low, middle + high, math.log(TYPICAL_SLOPE)] for low, high in ((0, 0), (-0.5, 0.5), (-1, 0))
    ]
    return least(data, _between_ends(law, data.Ts), starts)


def _intervals(
    law: str, x: Float[Array, " 3"], loss: float, data: Trials, drop: float
) -> dict[str, tuple[float | None, float | None]]:
    """Return profile intervals of a, b and slope; the other two parameters are refitted at every value."""
    best = _params(law, x, data.Ts)
    steps = {
        "a": 0.2 * best["a"] if law == "power" else max(1.0, 0.1 * abs(best["a"])),
        "b": 0.1 * abs(best["b"]) + 1e-6,
        "slope": 0.2 * best["slope"],
    }

    def end(name: str, step: float) -> float | None:
        def rise(value: float, anchors: Sequence[float]) -> float:
            return _profile_loss(law, name, value, x, data, anchors) - loss

        everywhere = (0.0, 0.5, 1.0)
        place = _edge(partial(rise, anchors=(0.5,)), best[name], step, drop)
        if place is None or name == "slope" or rise(place, everywhere) > 0.98 * drop:
            return place
        return _edge(partial(rise, anchors=everywhere), best[name], step, drop)

    return {name: (end(name, -step), end(name, step)) for name, step in steps.items()}


def _profile_loss(
    law: str, name: str, value: float, best: Float[Array, " 3"], data: Trials, anchors: Sequence[float]
) -> float:
    """Return the least loss with one parameter fixed at `value`; infinite if no curve with it is positive.

    With a or b fixed, the search starts from curves that equal the best fit at one T. `anchors` are these places, from
    0 (the first T) to 1 (the last T). The middle is usually a good start, but not if there are few trials at one end.
    """
    if value <= 0 and (name == "slope" or (law == "power" and name == "a")):
        return math.inf
    if name == "slope":
        return least(data, _with_slope(_between_ends(law, data.Ts), math.log(value)), [best[:2].tolist()])[1]
    axis = _axis(law, data.Ts)
    first, last = best[:2] if law == "power" else np.exp(best[:2])
    places = [(axis[0] + part * (axis[-1] - axis[0]), first + part * (last - first)) for part in anchors]
    starts = [[_free_start(law, name, value, *place, axis), float(best[2])] for place in places]
    return least(data, _with_fixed(law, name, value, axis), starts)[1]


def _with_slope(family: CurveFamily, log_slope: float) -> CurveFamily:
    """Return the family with its last parameter, ln slope, fixed."""

    def curve(x: Float[Array, " k"]) -> Curve:
        full = family(np.append(x, log_slope))
        return Curve(full.log_m80, full.log_m80_by_x[:, :-1], log_slope, np.zeros(len(x)))

    return curve


def _with_fixed(law: str, name: str, value: float, axis: Float[Array, " n_T"]) -> CurveFamily:
    """Return the law with a or b fixed at `value`, as a family of curves in (y, ln slope).

    For a power, y is the other parameter: b, or ln a. For the other laws, let e be the least value of the other
    parameter for which m_80 is positive; y is the logarithm of that parameter minus e.
    """
    slope_by_x = np.array([0.0, 1.0])
    ones = np.ones_like(axis)
    held, along = (ones, axis) if name == "a" else (axis, ones)
    least_free = float((-value * held / along).max())

    def curve(x: Float[Array, " 2"]) -> Curve:
        if law == "power":
            log_m80 = float(x[0]) * along + (math.log(value) if name == "a" else value) * held
            by_y = along
        else:
            y = float(np.clip(x[0], -500, 500))
            # Avoids cancellation: the terms in brackets are zero at the T where m_80 is least.
            m80 = (value * held + least_free * along).clip(min=0.0) + math.exp(y) * along
            log_m80, by_y = np.log(m80), math.exp(y) * along / m80
        return Curve(log_m80, np.stack([by_y, np.zeros_like(axis)], axis=1), float(x[1]), slope_by_x)

    return curve


def _free_start(
    law: str, name: str, value: float, at: float, height: float, axis: Float[Array, " n_T"]
) -> float:
    """Return the other parameter, chosen so that the curve at `at` equals `height` (ln m_80 for a power, else m_80)."""
    held = math.log(value) if law == "power" and name == "a" else value
    free = float((height - held) / at if name == "a" else height - held * at)
    if law == "power":
        return free
    least_free = float((-value / axis).max() if name == "a" else (-value * axis).max())
    return math.log(max(1e-9, free - least_free))


def _edge(rise: Callable[[float], float], best: float, step: float, drop: float) -> float | None:
    """Search from `best` in the direction of `step`; return the value where the profile has risen by `drop`, or the
    last value with a positive curve.

    None if the profile has not risen that far after 2^12 steps. `rise` is infinite where no curve is positive.
    """
    inner, at_inner, outer = best, 0.0, best + step
    for _ in range(13):
        at_outer = rise(outer)
        while math.isinf(at_outer):
            middle = (inner + outer) / 2
            if abs(outer - inner) <= 1e-6 * abs(best):
                return inner
            at_middle = rise(middle)
            if at_middle <= drop:
                inner, at_inner = middle, at_middle
            else:
                outer, at_outer = middle, at_middle
        if at_outer > drop:
            return _crossing(rise, (inner, at_inner), (outer, at_outer), drop)
        inner, at_inner, outer = outer, at_outer, best + 2 * (outer - best)
    return None


def _crossing(
    rise: Callable[[float], float], below: tuple[float, float], above: tuple[float, float], drop: float
) -> float:
    """Find where `rise` equals `drop` between two points (value, rise), to a thousandth of the interval's half width.

    A profile is nearly a parabola, so the square root of the rise is nearly linear, and regula falsi on it needs two or
    three evaluations. In each step the height of the end point that is kept is halved (the Illinois rule).
    """
    aim = math.sqrt(drop)
    (low, at_low), (high, at_high) = ((v, math.sqrt(max(0.0, r)) - aim) for v, r in (below, above))
    for _ in range(50):
        place = low - at_low * (high - low) / (at_high - at_low)
        here = math.sqrt(max(0.0, rise(place))) - aim
        if abs(here) <= 1e-3 * aim:
            break
        if here < 0:
            low, at_low, at_high = place, here, at_high / 2
        else:
            high, at_high, at_low = place, here, at_low / 2
    return place


def _free_curve(data: Trials, near: Curve) -> Curve:
    """Return the best curve with a free threshold at every T and a common slope.

    A threshold may lie up to a factor e^3 beyond the m tried at its T; further away the likelihood hardly changes.
    """
    n = len(data.Ts)
    least_log = np.array([data.log_m[data.which == i].min() for i in range(n)]) - 3
    most_log = np.array([data.log_m[data.which == i].max() for i in range(n)]) + 3
    middle, half = (least_log + most_log) / 2, (most_log - least_log) / 2
    slope_by_x = np.append(np.zeros(n), 1.0)

    def curve(x: Float[Array, " k"]) -> Curve:
        bent = np.tanh(x[:-1])
        by_x = np.append(np.diag(half * (1 - bent**2)), np.zeros((n, 1)), axis=1)
        return Curve(middle + half * bent, by_x, float(x[-1]), slope_by_x)

    start = np.arctanh(np.clip((near.log_m80 - middle) / half, -0.99, 0.99))
    x, _ = least(data, curve, [[*start.tolist(), near.log_slope]])
    return curve(x)
