"""Heat map of success: the share of trials solved at each context length and sample size."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import altair as alt

from sparsehead._base.jsonable import rows_by_length
from sparsehead.figures.colours import RED
from sparsehead.figures.theme import WIDTH, Chart, count, finish, finite, named, need, number
from sparsehead.laws.curves import Cell
from sparsehead.laws.intervals import wilson
from sparsehead.laws.thresholds import Threshold

ROWS = 24  # sample sizes beyond this many are gathered into bands, so that a cell stays readable
HEIGHT = 400  # pixels
LABEL_WIDTH = 34  # pixels that a cell's count takes, in 12 pixels of height; in a smaller cell it is left out


def success_heat_map(cells: Mapping[int, list[Cell]], *, thresholds: Collection[Threshold] = ()) -> Chart:
    """Draw the share of solved trials at each (T, m), with 95 % intervals in the tooltip, and m_80 as triangles.

    Args:
        cells: trials by T; several records of one cell are added up. If an adaptive sweep visited more than ROWS
            sample sizes, they are grouped into bands of equal ratio.
        thresholds: m80 for each T, drawn over the cells.
    Paper: law-and
    """
    gathered = gather(cells)
    order = sorted({c["T"] for c in gathered})
    width = max(300, min(WIDTH + 120, 46 * len(order)))
    marks = [{"T": t.T, "m80": t.m80} for t in thresholds if finite(t.m80) and t.T in set(order)]
    low, high = min(c["m_low"] for c in gathered), max(c["m_high"] for c in gathered)
    wide = high / low > 8
    scale = alt.Scale(type="log" if wide else "linear", domain=[low, high], nice=False)
    _label(gathered, low, high, width / len(order), log=wide)
    label = "datum.value >= 10000 ? format(datum.value, '~s') : format(datum.value, 'd')"
    axis = alt.Axis(title="context length T (bits)", labelAngle=0, labelExpr=label)
    x = alt.X("T:O", sort=order, axis=axis)
    y = alt.Y("m_low:Q", scale=scale, axis=alt.Axis(title="training samples m" + " (log scale)" * wide))
    legend = alt.Legend(
        title="share of trials solved", format="%", gradientLength=220, values=[0, 0.25, 0.5, 0.75, 1],
        direction="horizontal",
    )  # fmt: skip
    share = alt.Color("share:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=legend)
    tips: list[Any] = ["T:O", "m:N", "solved:Q", "trials:Q"]
    tips += [alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "low", "high")]
    layers = [named("cells").mark_rect().encode(x=x, y=y, y2="m_high:Q", color=share, tooltip=tips)]
    labelled = [bool(cell["label"]) for cell in gathered]
    if any(labelled):
        ink = alt.condition("datum.share > 0.55", alt.value("black"), alt.value("white"))
        # a narrow page squeezes the columns
        roomy = alt.ExprRef(f"bandwidth('x') >= {LABEL_WIDTH} ? 1 : 0")
        text = named("cells").mark_text(fontSize=9, opacity=roomy)
        layers.append(text.encode(x=x, y=alt.Y("middle:Q", scale=scale), text="label:N", color=ink))
    if marks:
        # at the cell's border, clear of its label
        edge = alt.X("T:O", sort=order, bandPosition=0.05)
        mark = named("thresholds").mark_point(
            shape="triangle-right", size=60, filled=True, color=RED, opacity=1
        )
        white = {"stroke": alt.value("white"), "strokeWidth": alt.value(1.5)}
        layers.append(mark.encode(x=edge, y=alt.Y("m80:Q", scale=scale), tooltip=["T:O", "m80:Q"], **white))
    ms = [cell.m for group in cells.values() for cell in group]
    solved, trials = sum(c["solved"] for c in gathered), sum(c["trials"] for c in gathered)
    said = "Colour: the share solved."
    said += " Numbers: solved / trials, where a cell has room." * any(labelled)
    return finish(
        alt.layer(*layers).properties(width=width, height=HEIGHT),
        title=f"AND of 3 bits: {number(solved)} of {number(trials)} trials solved at {count(order, 'context length')}, "
        f"m from {number(min(ms))} to {number(max(ms))}",
        width=width,
        subtitle=said + " Red triangles: m_80." * bool(marks),
        data={"cells": gathered, "thresholds": marks},
    )


def _label(cells: list[dict[str, Any]], low: float, high: float, column: float, *, log: bool) -> None:
    """For each cell, set the m at which its count is printed, and the printed count (empty if it does not fit into the
    cell).
    """

    def place(m: float) -> float:
        part = math.log(m / low) / math.log(high / low) if log else (m - low) / (high - low)
        return HEIGHT * part

    for cell in cells:
        ends = cell["m_low"], cell["m_high"]
        cell["middle"] = math.sqrt(ends[0] * ends[1]) if log else sum(ends) / 2
        roomy = column >= LABEL_WIDTH and place(ends[1]) - place(ends[0]) >= 12
        cell["label"] = f"{cell['solved']}/{cell['trials']}" if roomy else ""


def gather(found: Mapping[int, list[Cell]]) -> list[dict[str, Any]]:
    """Add up cells of equal (T, m), or of equal T and band of m; return them with success share and 95 % interval."""
    cells = need(rows_by_length(found), "success heat map")
    ms = sorted({float(c["m"]) for c in cells})
    if len(ms) <= ROWS:
        edges = _edges(ms)
    else:  # bands of equal ratio
        ratio = (ms[-1] * 1.0001 / ms[0]) ** (1 / ROWS)
        edges = [ms[0] * ratio**i for i in range(ROWS + 1)]
    sums: dict[tuple[Any, int], list[int]] = defaultdict(lambda: [0, 0])
    for c in cells:
        band = max(i for i, edge in enumerate(edges[:-1]) if c["m"] >= edge * (1 - 1e-9))
        total = sums[c["T"], band]
        total[0] += c["solved"]
        total[1] += c["trials"]
    return [_cell(T, edges[b], edges[b + 1], ms, k, n) for (T, b), (k, n) in sorted(sums.items()) if n]


def _cell(T: Any, low: float, high: float, ms: list[float], solved: int, trials: int) -> dict[str, Any]:
    inside = [m for m in ms if low * (1 - 1e-9) <= m < high * (1 - 1e-9)]
    name = number(inside[0]) if len(inside) < 2 else f"{number(inside[0])} to {number(inside[-1])}"
    least, greatest = wilson(solved, trials)
    return {
        "T": T, "m": name, "m_low": low, "m_high": high,
        "solved": solved, "trials": trials, "share": solved / trials, "low": least, "high": greatest,
    }  # fmt: skip


def _edges(ms: list[float]) -> list[float]:
    """Return cell borders half-way between neighbouring sample sizes."""
    if len(ms) == 1:
        return [ms[0] * 0.9, ms[0] * 1.1]
    inner = [(a + b) / 2 for a, b in pairwise(ms)]
    return [max(ms[0] - (inner[0] - ms[0]), ms[0] / 2), *inner, ms[-1] + (ms[-1] - inner[-1])]
