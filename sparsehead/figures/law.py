"""The law: samples needed against context length, with everything that stands on the same axes."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt

from .._base.errors import DomainError
from .._base.log_math import Real
from ..floor.floor import Floor
from ..laws.fits import FORMULAS, LawFit, law_value
from ..laws.published import LAW_AND, PrintedThreshold
from ..laws.thresholds import Threshold
from .data import Rows, finite, interval, number
from .theme import (
    BLACK,
    BLUE,
    GREEN,
    HEIGHT,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    WIDTH,
    Chart,
    Panel,
    finish,
    log_axis,
    named,
)

OURS, PAPER, FLOOR, BOUND = "measured here", "the paper's figure 2", "floor, one answer", "capacity bound"
FLOOR_RUNS = "floor, as many answers as a trial has runs"
DROPOUT = "measured here, with dropout"
FIT_NAMES = {name: f"fit {formula}" for name, formula in FORMULAS.items()}
FIT_POINTS = 60
COLOURS = {
    OURS: BLUE, DROPOUT: SKY, PAPER: BLACK, FLOOR: GREEN, FLOOR_RUNS: GREEN, BOUND: RED,
    FIT_NAMES["log"]: BLUE, FIT_NAMES["power"]: ORANGE, FIT_NAMES["linear"]: PURPLE,
}  # fmt: skip
SHAPES = {OURS: "circle", DROPOUT: "square", PAPER: "diamond"}
# Pixels by which a series stands beside its T; with points that are outlines, none hides another at the same T.
ASIDE = {"paper": -4, "thresholds": 0, "dropout": 7}
DASHES: dict[str, list[int]] = {
    FLOOR: [2, 2], FLOOR_RUNS: [1, 4], BOUND: [8, 3], FIT_NAMES["log"]: [1, 0], FIT_NAMES["power"]: [7, 3],
    FIT_NAMES["linear"]: [9, 3, 2, 3],
}  # fmt: skip
# The square of the length in pixels of a line in the legend: 32 show every dash pattern twice.
DASH_LEGEND = 1000
POWER = "'10^' + format(log(datum.value) / LN10, 'd')"
STRIP = 64  # height of the panel with the bound
COLUMNS, ROW = 2, 18  # of either legend, also on a narrow page; pixels that a row of the upper one takes
SAMPLES = "samples m at which 80 % of trials succeed"
# What a triangle stands for, by what the trials leave open: the shape, where it stands, the words beside it.
OPEN = {
    "above": ("triangle-up", "at least"),
    "below": ("triangle-down", "at most"),
}
TIPS: list[Any] = [
    alt.Tooltip("series:N", title="series"),
    "T:Q",
    *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("m", "low", "high")),
    "trials:Q",
]
CONTEXT = "context length T (bits, log scale)"


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
    """m_80 against T: ours with intervals, the paper's points, the floor, the fitted laws, the bound.

    Args:
        thresholds: by T; one without trials is foreseen, not measured, and is left out.
            A low or high of None leaves that side open: the bar runs to the edge.
            An m80 of None with a `low` means that no sample size tried was enough: a triangle upwards at `low`. With
            a `high` alone every sample size tried was enough: a triangle downwards at `high`. With neither, T is not
            drawn and the subtitle says so.
        dropout: the same for runs with the paper's dropout.
        paper: the points of the paper's figure 2; () for a target that the paper did not measure.
        bound: pairs (T, m); it lies orders of magnitude higher and gets a strip of its own, logarithmic in m.
        fits: by name of the law: "log", "power", "linear".
        misfit: how trials depart from the fitted curve; the subtitle then says this and does not compare the laws.
    Raises:
        DomainError: neither thresholds nor points of the paper were given.
    Paper: law-and
    """
    rows = [threshold_row(row, OURS) for row in thresholds if measured(row)]
    dropped = [threshold_row(row, DROPOUT) for row in dropout if measured(row)]
    printed = [
        {"T": p.T, "m": p.m, "low": p.m - p.bar, "high": p.m + p.bar, "series": PAPER, "trials": 40, "state": "known"}
        for p in paper
    ]  # fmt: skip
    if not rows and not printed:
        raise DomainError("the law: there is nothing to draw yet, 0 thresholds arrived.")
    Ts = [row["T"] for row in [*rows, *dropped, *printed]]
    lines = _line([(row.T, row.m) for row in floor], FLOOR)
    lines += _line([(row.T, row.m_guesses) for row in floor if row.m_guesses], FLOOR_RUNS)
    lines += [row for name, fit in (fits or {}).items() for row in _fit(name, fit, Ts)]
    data = {
        "thresholds": rows,
        "dropout": dropped,
        "paper": printed,
        "lines": lines,
        "bound": _line(bound, BOUND),
    }
    panels = [_panel(Ts, data)]
    if data["bound"]:
        panels.insert(0, _bound_strip(Ts, data["bound"]))
    return finish(
        alt.vconcat(*panels, spacing=10),
        title=law_title(rows, target),
        subtitle=law_subtitle(
            rows, {} if misfit else fits or {}, printed, misfit, bounded=bool(data["bound"])
        ),
        data=data,
    )


def measured(row: Threshold) -> bool:
    """False where a number stands without trials: the joint design foresees it from other T."""
    return bool(row.trials) or not finite(row.m80)


def threshold_row(row: Threshold, series: str) -> dict[str, Any]:
    """A row of the chart. `state`: "known", or what the trials say where m_80 itself is not bounded by them."""
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
    """The fitted law over the range of T; where it is not positive it is left out."""
    if name not in FIT_NAMES:
        raise DomainError(f"fits are named {', '.join(FIT_NAMES)}; got {name!r}.")
    a, b = (fit.params[key] for key in ("a", "b"))
    low, high = min(Ts) / 1.15, max(Ts) * 1.15
    grid = [low * (high / low) ** (i / FIT_POINTS) for i in range(FIT_POINTS + 1)]
    values = [(T, law_value(name, a, b, T)) for T in grid]
    return _line([(T, m) for T, m in values if m > 0], FIT_NAMES[name])


def _bound_strip(Ts: list[Real], bound: Rows) -> Panel:
    """The capacity bound above the main panel, on whole decades of its own."""
    low, high = (
        10.0 ** f(math.log10(g(r["m"] for r in bound))) for f, g in ((math.floor, min), (math.ceil, max))
    )
    high = max(high, 10 * low)
    y = alt.Y(
        "m:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(title="bound", values=[low, high], labelExpr=POWER),
    )
    x = alt.X("T:Q", **{**log_axis(CONTEXT, Ts), "axis": None})
    line = named("bound").mark_line(
        clip=True, strokeWidth=1.8, color=COLOURS[BOUND], strokeDash=DASHES[BOUND]
    )
    return line.encode(x=x, y=y, tooltip=TIPS[:3]).properties(width=WIDTH, height=STRIP)


def _panel(Ts: list[Real], data: Mapping[str, Rows]) -> Panel:
    """Everything but the bound, m from 0. Points and lines have a legend each: of shapes, and of dashes."""
    points = [row for name in ASIDE for row in data[name]]
    ms = [row[key] for row in points for key in ("m", "low", "high") if finite(row.get(key))]
    ms += [row["m"] for row in data["lines"] if row["series"] in (FLOOR, FLOOR_RUNS)]
    edges = 0, max([m for m in ms if m > 0] or [100]) * 1.08
    # lines that reach further are cut off there
    x = alt.X("T:Q", **log_axis(CONTEXT, Ts))
    shown: dict[str, Any] = {
        "scale": alt.Scale(domain=edges, nice=False),
        "axis": alt.Axis(title=SAMPLES, tickCount=6),
    }
    layers: list[Any] = []
    present = [name for name in SHAPES if any(row["series"] == name for row in points)]
    if data["lines"]:
        below = 12 + ROW * -(-len(present) // COLUMNS)
        layers.append(_lines(x, alt.Y("m:Q", **shown), [row["series"] for row in data["lines"]], below))
    named_once = False
    for name in ASIDE:
        if data[name]:
            layers += _points(name, x, shown, edges, present, legend=not named_once)
            named_once = True
    return (
        alt.layer(*layers)
        .resolve_scale(color="independent", shape="independent", strokeDash="independent")
        .properties(width=WIDTH, height=HEIGHT)
    )


def _lines(x: alt.X, y: alt.Y, series: Sequence[str], below: int) -> Panel:
    """Floor and fits, their legend `below` pixels under the axis, where the legend of points ends."""
    used = [name for name in DASHES if name in series]
    legend = alt.Legend(
        title=None,
        symbolType="stroke",
        symbolSize=DASH_LEGEND,
        columns=COLUMNS,
        rowPadding=-14,
        offset=below,
    )
    colours = alt.Scale(domain=used, range=[COLOURS[name] for name in used])
    dashes = alt.Scale(domain=used, range=[DASHES[name] for name in used])
    return (
        named("lines")
        .mark_line(clip=True, strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            color=alt.Color("series:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend),
            tooltip=TIPS[:3],
        )
    )


def _points(
    name: str,
    x: alt.X,
    shown: Mapping[str, Any],
    edges: tuple[Real, Real],
    present: Sequence[str],
    *,
    legend: bool,
) -> list[Panel]:
    """One series: points with bars, which run to the edge of the plot where the interval is open; and triangles."""
    shift = ASIDE[name]
    shapes = alt.Scale(domain=list(present), range=[SHAPES[n] for n in present])
    colours = alt.Scale(domain=list(present), range=[COLOURS[n] for n in present])
    at: dict[str, Any] = {"orient": "none", "legendX": 0, "legendY": HEIGHT + 50}
    shown_legend = alt.Legend(title=None, columns=COLUMNS, **at) if legend else None
    color = alt.Color("series:N", scale=colours, legend=shown_legend)
    shape = alt.Shape("series:N", scale=shapes, legend=shown_legend)
    y = alt.Y("m:Q", **shown)
    known = named(name).transform_filter("datum.state == 'known'")
    ends = {
        "from": f"isValid(datum.low) ? datum.low : {edges[0]}",
        "to": f"isValid(datum.high) ? datum.high : {edges[1]}",
    }
    bars = known.transform_calculate(**ends).mark_rule(strokeWidth=1.8, clip=True, xOffset=shift)
    quiet = alt.Color("series:N", scale=colours, legend=None)
    layers = [bars.encode(x=x, y=alt.Y("from:Q", **shown), y2="to:Q", color=quiet)]
    marks = known.mark_point(size=52, strokeWidth=1.8, opacity=1, xOffset=shift)
    layers.append(marks.encode(x=x, y=y, color=color, shape=shape, tooltip=TIPS))
    if name == "paper":
        return layers
    for state, (triangle, words) in OPEN.items():
        beyond = named(name).transform_filter(f"datum.state == '{state}'").encode(x=x, y=y, tooltip=TIPS)
        mark: dict[str, Any] = {
            "shape": triangle,
            "size": 110,
            "filled": True,
            "opacity": 1,
            "xOffset": shift,
        }
        layers.append(beyond.mark_point(color=COLOURS[_series(name)], **mark))
        layers.append(beyond.mark_text(text=words, dy=16, fontSize=11, color=COLOURS[_series(name)]))
    return layers


def _series(name: str) -> str:
    return DROPOUT if name == "dropout" else OURS


def law_title(rows: Rows, target: str) -> str:
    """What is seen: m_80 at the least and the greatest T at which it is known, or why that cannot be said."""
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
    """A misfit, the laws by AIC with the best one's exponent or slope, and what bars, triangles and the bound are."""
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
