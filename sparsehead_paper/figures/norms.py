"""Norms against context length: of heads written down in several ways, and of learned heads beside written ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from sparsehead.figures.colours import BLACK, BLUE, GREY, ORANGE, PURPLE, RED
from sparsehead.figures.theme import (
    HEIGHT,
    WIDTH,
    Chart,
    Panel,
    Rows,
    finish,
    finite,
    log_axis,
    named,
    need,
    number,
    rows_of,
)

from ..studies.records import NormPoint

CONTEXT = "context length T (bits, log scale)"
BUILDERS = {"ours": (BLUE, "circle"), "the paper's": (BLACK, "diamond"), "Tracr's": (ORANGE, "triangle-up")}
SOURCES = {
    "learned": (RED, "circle"),
    "written": (BLUE, "square"),
    "the paper's": (BLACK, "diamond"),
    "random": (GREY, "cross"),
}
SPARE = PURPLE, "triangle-down"


def norms_chart(norms: Rows, *, norm: str = "Frobenius norm of W_QK", target: str = "AND of 3 bits") -> Chart:
    """How the norm of a written head grows with T, for each builder that `norms` has.

    Args:
        norms: {T, builder, norm}, builder one of BUILDERS.
        norm: which norm of which matrix it is.
    Paper: sparse-representation
    """
    rows = need(norms, "norms of built heads", "T", "builder", "norm")
    names = _present(BUILDERS, [r["builder"] for r in rows])
    said = [_said(name, [r for r in rows if r["builder"] == name]) for name in names]
    return finish(
        _series_chart("norms", rows, "builder", {n: BUILDERS.get(n, SPARE) for n in names}, norm, bars=False),
        title=f"{target}: {_ends(names[0], [r for r in rows if r['builder'] == names[0]])}",
        subtitle=[*said, "Computed from the weights written down, so there is no interval."],
        data={"norms": rows},
    )


def learned_vs_built_norms(
    points: Sequence[NormPoint], *, norm: str = "Frobenius norm of W_QK", target: str = "AND of 3 bits"
) -> Chart:
    """The norm that gradient descent reaches beside the one that suffices.

    Args:
        points: source "learned", "written", "the paper's" or "random"; low and high bound the middle half of the
            runs; None or equal for written heads.
    Paper: norms-learned
    """
    rows = rows_of(points, "learned against built norms")
    names = _present(SOURCES, [r["source"] for r in rows])
    said = [_said(name, [r for r in rows if r["source"] == name]) for name in names]
    return finish(
        _series_chart("norms", rows, "source", {n: SOURCES.get(n, SPARE) for n in names}, norm, bars=True),
        title=f"{target}: {_compared(rows)}",
        subtitle=[*said, "Points: medians; bars: the middle half of the runs." + _early(names)],
        data={"norms": rows},
    )


def _early(names: Sequence[str]) -> str:
    """What "random" stands for: `collect.learned_norms` takes the first recorded step, not the initial weights."""
    return " Random: the first recorded step." if "random" in names else ""


def _said(name: str, rows: Rows) -> str:
    return f"{name[:1].upper()}{name[1:]}: {growth(rows)}."


def _ends(name: str, rows: Rows) -> str:
    """The norm at the least and at the greatest T, for the title.

    >>> _ends("ours", [{"T": 10, "norm": 2.0}, {"T": 1000, "norm": 20.0}])
    'norm 2 at T = 10, 20 at T = 1,000 (ours)'
    """
    found = sorted((r["T"], r["norm"]) for r in rows if finite(r["norm"]))
    if not found:
        return f"no finite norm ({name})"
    shown = list(dict.fromkeys((found[0], found[-1])))
    return f"norm {', '.join(f'{number(n)} at T = {number(T)}' for T, n in shown)} ({name})"


def _compared(rows: Rows) -> str:
    """Learned beside written, for the title: at how many of the T that both have the learned norm is the smaller."""
    by = {
        source: {r["T"]: r["norm"] for r in rows if r["source"] == source and finite(r["norm"])}
        for source in ("learned", "written")
    }
    both = sorted(by["learned"].keys() & by["written"].keys())
    below = sum(by["learned"][T] < by["written"][T] for T in both)
    if not both:
        return "norms of heads"
    if below == len(both):
        return "learned heads stay below the written one at every T"
    return f"learned heads lie below the written one at {below} of {len(both)} T"


def _present(known: Mapping[str, Any], given: Sequence[str]) -> list[str]:
    return [*(n for n in known if n in given), *sorted({g for g in given if g not in known})]


def growth(rows: Rows) -> str:
    """From where to where a series goes over its range of T, and the factor between.

    >>> growth([{"T": 10, "norm": 2.0}, {"T": 1000, "norm": 20.0}])
    '2 to 20 (×10 for ×100 in T)'
    """
    found = sorted((r["T"], r["norm"]) for r in rows if finite(r["norm"]) and r["norm"] > 0)
    if not found:
        return "nothing finite"
    (T0, n0), (T1, n1) = found[0], found[-1]
    if T1 == T0:
        return f"{number(n0)} at T = {number(T0)}"
    return f"{number(n0)} to {number(n1)} (×{n1 / n0:.3g} for ×{number(T1 / T0)} in T)"


def _series_chart(
    data: str, rows: Rows, field: str, style: Mapping[str, tuple[str, str]], norm: str, *, bars: bool
) -> Panel:
    names = list(style)
    values = [r[k] for r in rows for k in ("norm", "low", "high") if finite(r.get(k)) and r[k] > 0]
    x = alt.X("T:Q", **log_axis(CONTEXT, [r["T"] for r in rows]))
    shown = log_axis(f"{norm} (log scale)", values)
    color = alt.Color(
        f"{field}:N", title=None, scale=alt.Scale(domain=names, range=[style[n][0] for n in names])
    )
    shape = alt.Shape(
        f"{field}:N", title=None, scale=alt.Scale(domain=names, range=[style[n][1] for n in names])
    )
    tips = [f"{field}:N", "T:Q", alt.Tooltip("norm:Q", format=".4~g")]
    y = alt.Y("norm:Q", **shown)
    base = named(data)
    layers = [base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=color)]
    if bars:
        layers.append(
            base.mark_rule(strokeWidth=1.6).encode(x=x, y=alt.Y("low:Q", **shown), y2="high:Q", color=color)
        )
    point = base.mark_point(size=70, strokeWidth=1.8, opacity=1, fill="white")
    layers.append(point.encode(x=x, y=y, color=color, shape=shape, tooltip=tips))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
