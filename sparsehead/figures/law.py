"""Chart of a law: samples needed by context length, with the paper's points, information floor, fits and bound."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from .._base.log_math import Real
from ..capacity.bound import bound as capacity_bound
from ..construct.build import build
from ..floor.floor import Floor
from ..functions import conjunction
from ..laws.fits import FORMULAS, LawFit, law_value
from ..laws.law import LawResult
from ..laws.published import LAW_AND, PrintedThreshold
from ..laws.thresholds import Threshold
from .colours import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from .encodings import by_name, linear_axis, log_axis
from .theme import HEIGHT, WIDTH, Chart, Panel, Rows, finish, finite, interval, named, number

CONTEXT, SAMPLES = "context length T (bits, log scale)", "samples m at which 80 % of trials succeed"
FLOOR, FLOOR_RUNS = "floor, one answer", "floor, as many answers as a trial has runs"
# Points by dataset: name, colour, shape, and pixels beside their T, so that none hides another at the same T.
POINTS = {
    "thresholds": ("measured here", BLUE, "circle", 0),
    "dropout": ("measured here, with dropout", SKY, "square", 7),
    "paper": ("the paper's figure 2", BLACK, "diamond", -4),
}
TIPS: list[Any] = [
    alt.Tooltip("series:N", title="series"),
    "T:Q",
    *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("m", "low", "high")),
    "trials:Q",
]


def law_figure(
    law: LawResult, *, dropout: LawResult | None = None, bound: Sequence[tuple[int, Real]] = ()
) -> Chart:
    """Draw a measured law, with the paper's points if the paper measured the same function.

    Args:
        dropout: the law measured with dropout; bound: pairs (T, m), m the samples that the capacity bound requires.
    """
    return law_chart(
        law.thresholds.values(),
        dropout=dropout.thresholds.values() if dropout else (),
        paper=LAW_AND if law.in_paper else (),
        floor=law.floor.values(),
        bound=bound,
        fits=law.fits,
        misfit=law.misfit,
        target=law.target,
    )


def bound_samples(Ts: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs (T, m): with m samples the capacity bound guarantees an error of 5 % (delta = 5 %).

    The bound is the realisable one, for heads with the norms of the constructed AND, without a union bound over norms.
    """
    points = []
    for T in sorted(set(Ts)):
        model = build(conjunction((0, T // 3, T - 1), T=T))
        found = capacity_bound(model, m=1000, form="ours", a_posteriori=False)
        if found.realizable_samples is not None:
            points.append((T, found.realizable_samples))
    return points


def law_chart(
    thresholds: Collection[Threshold],
    *,
    dropout: Collection[Threshold] = (),
    paper: Sequence[PrintedThreshold] = LAW_AND,
    floor: Collection[Floor] = (),
    bound: Sequence[tuple[int, Real]] = (),
    fits: Mapping[str, LawFit] | None = None,
    misfit: str = "",
    target: str = "AND of 3 bits",
) -> Chart:
    """Draw m_80 as a function of T: measured intervals, the paper's points, floor, fitted laws and bound.

    Args:
        thresholds: one per T; a threshold without trials was predicted, not measured, and is left out.
            If low or high is None, the interval is open on that side, and its bar runs to the edge.
            If m80 is None and low is not, no sample size tried was enough: a triangle points up at low. If only high
            is known, every sample size tried was enough: a triangle points down at high. If neither is known, T is
            not drawn and the subtitle says so.
        dropout: thresholds of runs with the paper's dropout.
        paper: the points of the paper's figure 2; () for a target that the paper did not measure.
        bound: pairs (T, m), drawn in a separate panel, logarithmic in m, because they are orders of magnitude larger.
        fits: fitted laws by name: "log", "power", "linear".
        misfit: how trials deviate from the fitted curve; if given, the subtitle contains it and no comparison of laws.
    Raises:
        DomainError: neither thresholds nor points of the paper were given.
    Paper: law-and
    """
    fits = fits or {}
    rows = [threshold_row(row, POINTS["thresholds"][0]) for row in thresholds if _measured(row)]
    dropped = [threshold_row(row, POINTS["dropout"][0]) for row in dropout if _measured(row)]
    printed = [
        {
            "T": p.T, "m": p.m, "low": p.m - p.bar, "high": p.m + p.bar,
            "series": POINTS["paper"][0], "trials": 40, "state": "known",
        }
        for p in paper
    ]  # fmt: skip
    if not rows and not printed:
        raise DomainError("the law: there is nothing to draw yet, 0 thresholds arrived.")
    Ts = [row["T"] for row in [*rows, *dropped, *printed]]
    lines = _line([(row.T, row.m) for row in floor], FLOOR)
    lines += _line([(row.T, row.m_guesses) for row in floor if row.m_guesses], FLOOR_RUNS)
    lines += [row for name, fit in fits.items() for row in _fit(name, fit, Ts)]
    bounds = _line(bound, "capacity bound")
    data = {"thresholds": rows, "dropout": dropped, "paper": printed, "lines": lines, "bound": bounds}
    panels = [*([_bound_strip(Ts, bounds)] if bounds else []), _panel(Ts, data)]
    return finish(
        alt.vconcat(*panels, spacing=10),
        title=law_title(rows, target),
        subtitle=law_subtitle(rows, {} if misfit else fits, printed, misfit, bounded=bool(bounds)),
        data=data,
    )


def _measured(row: Threshold) -> bool:
    """Return False for an m_80 without trials, which the joint design predicts from other T."""
    return bool(row.trials) or not finite(row.m80)


def threshold_row(row: Threshold, series: str) -> dict[str, Any]:
    """Return a row of the chart; "state" says whether m_80 is "known", "above" low, "below" high, or "open"."""
    low, high, m = row.low, row.high, row.m80
    if finite(m):
        state = "known"
    elif finite(low):
        state, m = "above", low
    elif finite(high):
        state, m = "below", high
    else:
        state, m = "open", None
    return {
        "T": row.T, "m": m, "low": low, "high": high, "trials": row.trials, "series": series, "state": state
    }  # fmt: skip


def _line(points: Sequence[tuple[Real, Real]], name: str) -> list[dict[str, Any]]:
    return [{"T": T, "m": m, "series": name} for T, m in points if finite(m)]


def _fit(name: str, fit: LawFit, Ts: Sequence[Real]) -> list[dict[str, Any]]:
    """Return the positive values of the fitted law at 61 points over the range of T."""
    if name not in FORMULAS:
        raise DomainError(f"fits are named {', '.join(FORMULAS)}; got {name!r}.")
    a, b = (fit.params[key] for key in ("a", "b"))
    low, high = min(Ts) / 1.15, max(Ts) * 1.15
    grid = [low * (high / low) ** (i / 60) for i in range(61)]
    values = [(T, law_value(name, a, b, T)) for T in grid]
    return _line([(T, m) for T, m in values if m > 0], f"fit {FORMULAS[name]}")


def _bound_strip(Ts: list[Real], bound: Rows) -> Panel:
    """Draw the capacity bound in a panel above the main one, with its own logarithmic axis."""
    low, high = (
        10.0 ** f(math.log10(g(r["m"] for r in bound))) for f, g in ((math.floor, min), (math.ceil, max))
    )
    high = max(high, 10 * low)
    label = "'10^' + format(log(datum.value) / LN10, 'd')"
    y = alt.Y(
        "m:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(title="bound", values=[low, high], labelExpr=label),
    )
    x = alt.X("T:Q", **{**log_axis(CONTEXT, Ts), "axis": None})
    line = named("bound").mark_line(clip=True, strokeWidth=1.8, color=RED, strokeDash=[8, 3])
    return line.encode(x=x, y=y, tooltip=TIPS[:3]).properties(width=WIDTH, height=64)


def _panel(Ts: list[Real], data: Mapping[str, Rows]) -> Panel:
    """Draw everything but the bound, with m from 0; points have a legend of shapes, lines a legend of dashes."""
    points = [row for name in POINTS for row in data[name]]
    ms = [row[key] for row in points for key in ("m", "low", "high") if finite(row.get(key))]
    ms += [row["m"] for row in data["lines"] if row["series"] in (FLOOR, FLOOR_RUNS)]
    # fits that reach further are cut off here
    top = max([m for m in ms if m > 0] or [100]) * 1.08
    x = alt.X("T:Q", **log_axis(CONTEXT, Ts))
    shown = linear_axis(SAMPLES, 0, top, tickCount=6)
    layers: list[Any] = []
    drawn = [name for name in POINTS if data[name]]
    if data["lines"]:
        used = {row["series"] for row in data["lines"]}
        # The legend of points above this one takes 18 pixels for each row of two.
        layers.append(_lines(x, alt.Y("m:Q", **shown), used, below=12 + 18 * -(-len(drawn) // 2)))
    styles = {POINTS[name][0]: POINTS[name] for name in drawn}
    at: dict[str, Any] = {"orient": "none", "legendX": 0, "legendY": HEIGHT + 50}
    legend: alt.Legend | None = alt.Legend(title=None, columns=2, **at)
    # the paper's points below ours
    for name in sorted(drawn, key=lambda name: name != "paper"):
        layers += _points(name, x, shown, top, styles, legend)
        legend = None
    return (
        alt.layer(*layers)
        .resolve_scale(color="independent", shape="independent", strokeDash="independent")
        .properties(width=WIDTH, height=HEIGHT)
    )


def _lines(x: alt.X, y: alt.Y, series: set[str], *, below: int) -> Panel:
    """Draw floor and fits, with their legend `below` pixels under the axis, below the legend of points."""
    # The size is the square of a line's length in the legend: 32 pixels show every dash pattern twice.
    legend = alt.Legend(
        title=None, symbolType="stroke", symbolSize=1000, columns=2, rowPadding=-14, offset=below
    )
    styles: dict[str, tuple[str, list[int]]] = {
        FLOOR: (GREEN, [2, 2]),
        FLOOR_RUNS: (GREEN, [1, 4]),
        f"fit {FORMULAS['log']}": (BLUE, [1, 0]),
        f"fit {FORMULAS['power']}": (ORANGE, [7, 3]),
        f"fit {FORMULAS['linear']}": (PURPLE, [9, 3, 2, 3]),
    }
    used = {name: style for name, style in styles.items() if name in series}
    lines = named("lines").mark_line(clip=True, strokeWidth=1.8)
    return lines.encode(
        x=x,
        y=y,
        color=by_name(alt.Color, "series", {n: colour for n, (colour, _) in used.items()}, legend=legend),
        strokeDash=by_name(alt.StrokeDash, "series", {n: d for n, (_, d) in used.items()}, legend=legend),
        tooltip=TIPS[:3],
    )


def _points(
    name: str,
    x: alt.X,
    shown: Mapping[str, Any],
    top: float,
    styles: Mapping[str, tuple[str, str, str, int]],
    legend: alt.Legend | None,
) -> list[Panel]:
    """Draw one series: points, bars that run to the edge where an interval is open, and triangles."""
    _, colour, _, shift = POINTS[name]
    colours = {series: style[1] for series, style in styles.items()}
    shapes = {series: style[2] for series, style in styles.items()}
    color = by_name(alt.Color, "series", colours, legend=legend)
    shape = by_name(alt.Shape, "series", shapes, legend=legend)
    y = alt.Y("m:Q", **shown)
    known = named(name).transform_filter("datum.state == 'known'")
    ends = {"from": "isValid(datum.low) ? datum.low : 0", "to": f"isValid(datum.high) ? datum.high : {top}"}
    bars = known.transform_calculate(**ends).mark_rule(strokeWidth=1.8, clip=True, xOffset=shift)
    quiet = by_name(alt.Color, "series", colours, legend=None)
    marks = known.mark_point(size=52, strokeWidth=1.8, opacity=1, xOffset=shift)
    layers = [
        bars.encode(x=x, y=alt.Y("from:Q", **shown), y2="to:Q", color=quiet),
        marks.encode(x=x, y=y, color=color, shape=shape, tooltip=TIPS),
    ]
    if name == "paper":
        return layers
    for state, triangle, words in (
        ("above", "triangle-up", "at least"),
        ("below", "triangle-down", "at most"),
    ):
        beyond = named(name).transform_filter(f"datum.state == '{state}'").encode(x=x, y=y, tooltip=TIPS)
        mark: dict[str, Any] = {"shape": triangle, "size": 110, "filled": True, "opacity": 1}
        layers.append(beyond.mark_point(color=colour, xOffset=shift, **mark))
        layers.append(beyond.mark_text(text=words, dy=16, fontSize=11, color=colour))
    return layers


def law_title(rows: Rows, target: str) -> str:
    """Return the title: m_80 at the smallest and the largest T at which it is known, or why it is not known."""
    known = sorted((r for r in rows if r["state"] == "known"), key=lambda r: r["T"])
    if not rows:
        return f"{target}: no threshold has been measured here yet; the paper's points"
    if known:
        first, last = known[0], known[-1]
        if len(known) == 1:
            between = interval(first["low"], first["high"])
            return f"{target}: m_80 = {number(first['m'])} {between} samples at T = {number(first['T'])}"
        start = f"{number(first['m'])} at T = {number(first['T'])}"
        return f"{target}: m_80 goes from {start} to {number(last['m'])} at T = {number(last['T'])}"
    lengths = "the context length" if len(rows) == 1 else f"all {len(rows)} context lengths"
    states = {r["state"] for r in rows}
    if states == {"above"}:
        return f"{target}: no sample size tried reaches 80 % success, at {lengths}"
    if states == {"below"}:
        return f"{target}: every sample size tried reaches 80 % success, at {lengths}"
    return f"{target}: the trials bound m_80 on one side only, at {lengths}"


def law_subtitle(
    rows: Rows, fits: Mapping[str, LawFit], printed: Rows, misfit: str = "", *, bounded: bool = False
) -> list[str]:
    """Return the subtitle: the misfit or the laws compared by AIC, and an explanation of bars, triangles and bound."""
    lines = [f"{misfit[:1].upper()}{misfit[1:]}."] if misfit else []
    aic = {name: fit.aic for name, fit in fits.items() if finite(fit.aic)}
    if len(aic) > 1:
        best = min(aic, key=lambda name: aic[name])
        ends = fits[best].intervals.get("b", (None, None))
        b = f"b = {number(fits[best].params['b'])} {interval(*ends)}"
        rest = ", ".join(f"+{v - aic[best]:.1f} for {FORMULAS[n]}" for n, v in aic.items() if n != best)
        lines.append(f"Least AIC: {FORMULAS[best]}, {b}; {rest}.")
    if any(r["state"] == "known" for r in rows):
        theirs = "; the paper's: one bootstrap standard deviation" if printed else ""
        lines.append(f"Bars: 95 % intervals{theirs}.")
    for state, words in (
        ("above", "Triangles upwards, at {} T: no sample size tried was enough; m_80 is larger."),
        ("below", "Triangles downwards, at {} T: every sample size tried was enough; m_80 is smaller."),
        ("open", "Not drawn, at {} T: the trials do not bound m_80."),
    ):
        found = sum(r["state"] == state for r in rows)
        if found:
            lines.append(words.format(found))
    if bounded:
        lines.append("Bound: samples with which the written head's capacity guarantees 5 % error, 95 % sure.")
    return lines
