"""The law: samples needed against context length, with everything that stands on the same axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from ..errors import DomainError
from ..measure.laws import FORMULAS, law_value
from ..measure.published import LAW_AND, Threshold
from .data import Real, Rows, finite, interval, number
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

OURS, PAPER, FLOOR, BOUND = "measured here", "the paper's figure 2", "information floor", "capacity bound"
DROPOUT = "measured here, with dropout"
FIT_NAMES = {name: f"fit {formula}" for name, formula in FORMULAS.items()}
FIT_POINTS = 60
BESIDE = 8  # pixels by which a second series at the same T stands aside
COLOURS = {
    OURS: BLUE, DROPOUT: SKY, PAPER: BLACK, FLOOR: GREEN, BOUND: RED,
    FIT_NAMES["log"]: BLUE, FIT_NAMES["power"]: ORANGE, FIT_NAMES["linear"]: PURPLE,
}  # fmt: skip
DASHES: dict[str, list[int]] = {
    OURS: [1, 0], DROPOUT: [1, 0], PAPER: [1, 0], FLOOR: [2, 2], BOUND: [8, 3],
    FIT_NAMES["log"]: [1, 0], FIT_NAMES["power"]: [6, 3], FIT_NAMES["linear"]: [10, 3, 2, 3],
}  # fmt: skip
SAMPLES = "samples m at which 80 % of trials succeed"
TIPS: list[Any] = [
    alt.Tooltip("series:N", title="series"),
    "T:Q",
    *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("m", "low", "high")),
    "trials:Q",
]
CONTEXT = "context length T (bits, log scale)"


def law_chart(
    thresholds: Rows,
    *,
    dropout: Rows = (),
    paper: Sequence[Threshold] = LAW_AND,
    floor: Rows = (),
    bound: Rows = (),
    fits: Mapping[str, Mapping[str, Any]] | None = None,
    target: str = "AND of 3 bits",
) -> Chart:
    """m_80 against T: ours with intervals, the paper's points, the floor, the fitted laws, the bound.

    Args:
        thresholds: {T, m80, low, high, trials}; an m80 of None means that no sample size tried was enough, and is
            drawn as a triangle at `low`. A low or high of None leaves that side open: the bar runs to the edge.
        dropout: the same for runs with the paper's dropout.
        paper: the points of the paper's figure 2; () for a target that the paper did not measure.
        floor, bound: {T, m}; the bound lies orders of magnitude higher and gets a second panel, logarithmic in m.
        fits: {"log" | "power" | "linear": {params: {a, b}, intervals: {b: [low, high]}, aic}}, as `law --json` prints
            them.
    Raises:
        DomainError: neither thresholds nor points of the paper were given.
    Paper: law-and
    """
    rows = [_threshold(row, OURS) for row in thresholds]
    dropped = [_threshold(row, DROPOUT) for row in dropout]
    printed = [
        {"T": p.T, "m": p.m, "low": p.m - p.bar, "high": p.m + p.bar, "series": PAPER, "trials": 40}
        for p in paper
    ]
    if not rows and not printed:
        raise DomainError("the law: there is nothing to draw yet, 0 thresholds arrived.")
    Ts = [row["T"] for row in [*rows, *dropped, *printed]]
    data = {
        "thresholds": rows,
        "dropout": dropped,
        "paper": printed,
        "lines": [*_line(floor, FLOOR), *(r for n, f in (fits or {}).items() for r in _fit(n, f, Ts))],
        "bound": _line(bound, BOUND),
    }
    used = [name for name in COLOURS if any(r["series"] == name for part in data.values() for r in part)]
    panels = [_panel(Ts, used, data, log=False)]
    if bound:
        panels.append(_panel(Ts, used, data, log=True))
    return finish(
        alt.vconcat(*panels).resolve_scale(color="shared", shape="shared", strokeDash="shared"),
        title=law_title(rows, target),
        subtitle=law_subtitle(rows, fits or {}, printed, bounded=bool(bound)),
        data=data,
    )


def _threshold(row: Mapping[str, Any], series: str) -> dict[str, Any]:
    known = finite(row["m80"])
    m = row["m80"] if known else row.get("low")
    return {
        "T": row["T"], "m": m, "low": row.get("low"), "high": row.get("high") if known else None,
        "trials": row.get("trials"), "series": series, "reached": known,
    }  # fmt: skip


def _line(rows: Rows, name: str) -> list[dict[str, Any]]:
    return [{"T": r["T"], "m": r["m"], "series": name} for r in rows if finite(r["m"])]


def _fit(name: str, fit: Mapping[str, Any], Ts: Sequence[Real]) -> list[dict[str, Any]]:
    """The fitted law over the range of T; where it is not positive it is left out."""
    if name not in FIT_NAMES:
        raise DomainError(f"fits are named {', '.join(FIT_NAMES)}; got {name!r}.")
    a, b = (float(fit["params"][key]) for key in ("a", "b"))
    low, high = min(Ts) / 1.15, max(Ts) * 1.15
    grid = [low * (high / low) ** (i / FIT_POINTS) for i in range(FIT_POINTS + 1)]
    values = [{"T": T, "m": law_value(name, a, b, T)} for T in grid]
    return _line([v for v in values if v["m"] > 0], FIT_NAMES[name])


def _panel(Ts: list[Real], used: list[str], data: Mapping[str, Rows], *, log: bool) -> Panel:
    parts = [data["thresholds"], data["dropout"], data["paper"], data["bound"] if log else ()]
    ms = [row[key] for part in parts for row in part for key in ("m", "low", "high") if finite(row.get(key))]
    ms += [row["m"] for row in data["lines"] if row["series"] == FLOOR]
    ms = [m for m in ms if m > 0] or [10, 100]
    x = alt.X("T:Q", **log_axis(CONTEXT, Ts))  # lines that reach further are cut off there
    if log:
        edges = min(ms) / 1.15, max(ms) * 1.15
        shown = log_axis("the same, log scale", ms)
    else:
        edges = 0, max(ms) * 1.08
        shown = {"scale": alt.Scale(domain=edges, nice=False), "axis": alt.Axis(title=SAMPLES, tickCount=6)}
    color = alt.Color("series:N", scale=alt.Scale(domain=used, range=[COLOURS[n] for n in used]), title=None)
    symbols = [{OURS: "circle", DROPOUT: "square", PAPER: "diamond"}.get(name, "stroke") for name in used]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=used, range=symbols), title=None)
    dashes = alt.Scale(domain=used, range=[DASHES[name] for name in used])
    look: dict[str, Any] = {"x": x, "y": alt.Y("m:Q", **shown), "color": color}
    lines = named("lines").mark_line(clip=True, strokeWidth=1.8)
    lines = lines.encode(
        **look, strokeDash=alt.StrokeDash("series:N", scale=dashes, title=None), tooltip=TIPS[:3]
    )
    layers = [lines, lines.properties(data=alt.NamedData(name="bound"))] if log else [lines]
    layers += _points("paper", look, shape, shown, edges, stroke=1.2, fill="white")
    for name, colour, shift in (("thresholds", BLUE, 0), ("dropout", SKY, BESIDE)):
        if not data[name]:
            continue
        layers += _points(name, look, shape, shown, edges, stroke=2.2, fill=colour, shift=shift)
        beyond = named(name).transform_filter("!datum.reached").encode(x=x, y=look["y"], tooltip=TIPS)
        layers.append(
            beyond.mark_point(
                shape="triangle-up", size=120, filled=True, opacity=1, color=colour, xOffset=shift
            )
        )
        if not log:  # the flat panel has no room for words
            layers.append(beyond.mark_text(text="not reached", dy=16, fontSize=11, color=colour))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT if not log else HEIGHT - 60)


def _points(
    name: str,
    look: Mapping[str, Any],
    shape: Any,
    shown: Mapping[str, Any],
    edges: tuple[Real, Real],
    *,
    stroke: float,
    fill: str,
    shift: int = 0,
) -> list[Panel]:
    """Points with bars; where an interval is open the bar runs to the edge of the plot."""
    base = named(name).transform_filter("datum.reached !== false")
    ends = {
        "from": f"isValid(datum.low) ? datum.low : {edges[0]}",
        "to": f"isValid(datum.high) ? datum.high : {edges[1]}",
    }
    bars = base.transform_calculate(**ends).mark_rule(strokeWidth=stroke, clip=True, xOffset=shift)
    bars = bars.encode(x=look["x"], y=alt.Y("from:Q", **shown), y2="to:Q", color=look["color"])
    points = base.mark_point(size=64, strokeWidth=1.7, opacity=1, fill=fill, xOffset=shift)
    return [bars, points.encode(**look, shape=shape, tooltip=TIPS)]


def law_title(rows: Rows, target: str) -> str:
    """What is seen: how far m_80 grew while T grew, or why that cannot be said yet."""
    solved = sorted((r for r in rows if r["reached"]), key=lambda r: r["T"])
    if not rows:
        return f"{target}: no threshold has been measured here yet; the paper's points"
    if not solved:
        return f"{target}: no sample size tried reaches 80 % success at any of {len(rows)} context lengths"
    first, last = solved[0], solved[-1]
    if len(solved) == 1:
        between = interval(first["low"], first["high"])
        return f"{target}: m80 = {number(first['m'])} {between} samples at T = {number(first['T'])}"
    verb = "grows" if last["m"] > first["m"] else "falls"
    return (
        f"{target}: m80 {verb} from {number(first['m'])} to {number(last['m'])} samples "
        f"while T grows from {number(first['T'])} to {number(last['T'])}"
    )


def law_subtitle(
    rows: Rows, fits: Mapping[str, Mapping[str, Any]], printed: Rows, *, bounded: bool = False
) -> list[str]:
    """The laws by AIC with the best one's exponent or slope, and what bars, triangles and the bound are."""
    lines = []
    aic = {name: float(fit["aic"]) for name, fit in fits.items() if finite(fit.get("aic"))}
    if len(aic) > 1:
        best = min(aic, key=lambda name: aic[name])
        ends = fits[best].get("intervals", {}).get("b") or (None, None)
        b = f"b = {number(fits[best]['params']['b'])} {interval(*ends)}"
        rest = ", ".join(f"{FORMULAS[n]} +{number(v - aic[best])}" for n, v in aic.items() if n != best)
        lines.append(f"Most likely law: {FORMULAS[best]}, {b}. AIC above it: {rest}.")
    if rows:
        theirs = "; the paper's are bootstrap standard deviations" if printed else ""
        lines.append(f"Bars: 95 % intervals of ours{theirs}.")
    missed = sum(not r["reached"] for r in rows)
    if missed:
        lines.append(f"Triangles: at {missed} T, no sample size tried was enough.")
    if bounded:
        lines.append("Bound: samples with which the written head's capacity guarantees 5 % error, 95 % sure.")
    return lines
