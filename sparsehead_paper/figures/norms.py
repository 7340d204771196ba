"""Norms against context length: of heads from several constructions, and of learned heads beside written ones."""

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from sparsehead.figures.colours import BLACK, BLUE, GREY, ORANGE, PURPLE, RED
from sparsehead.figures.encodings import by_name, log_axis
from sparsehead.figures.theme import (
    HEIGHT,
    WIDTH,
    Chart,
    Panel,
    Rows,
    finish,
    finite,
    named,
    need,
    number,
    rows_of,
)

from ..studies.norms import NormPoint


def norms_chart(norms: Rows) -> Chart:
    """Draw the Frobenius norm of W_QK of written heads against T, one series for each builder in `norms`.

    Args:
        norms: rows {T, builder, norm}.
    Paper: sparse-representation
    """
    rows = need(norms, "norms of built heads", "T", "builder", "norm")
    known = {"ours": (BLUE, "circle"), "the paper's": (BLACK, "diamond"), "Tracr's": (ORANGE, "triangle-up")}
    styles = _styles(known, [r["builder"] for r in rows])
    first = next(iter(styles))
    return finish(
        _series_chart(rows, "builder", styles, "Frobenius norm of W_QK", bars=False),
        title=f"AND of 3 bits: {_ends(first, [r for r in rows if r['builder'] == first])}",
        subtitle=[
            *_growths(rows, "builder", styles),
            "Computed from the weights written down, so there is no interval.",
        ],
        data={"norms": rows},
    )


def learned_vs_built_norms(points: Sequence[NormPoint], *, norm: str = "Frobenius norm of W_QK") -> Chart:
    """Draw the norm that gradient descent reaches beside the norm of a written head that suffices.

    Args:
        points: `source` is "learned", "written", "the paper's" or "random"; `low` and `high` are the quartiles over
            runs; for written heads they are None or equal.
    Paper: norms-learned
    """
    rows = rows_of(points, "learned against built norms")
    known = {
        "learned": (RED, "circle"),
        "written": (BLUE, "square"),
        "the paper's": (BLACK, "diamond"),
        "random": (GREY, "cross"),
    }
    styles = _styles(known, [r["source"] for r in rows])
    # `collect.learned_norms` takes the first recorded step, not the initial weights.
    random = " Random: the first recorded step." if "random" in styles else ""
    return finish(
        _series_chart(rows, "source", styles, norm, bars=True),
        title=f"AND of 3 bits: {_compared(rows)}",
        subtitle=[
            *_growths(rows, "source", styles),
            f"Points: medians; bars: the middle half of the runs.{random}",
        ],
        data={"norms": rows},
    )


def _styles(known: Mapping[str, tuple[str, str]], given: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return colour and shape of each series in `given`; unknown series share one style and come last."""
    others = sorted({name for name in given if name not in known})
    return {n: known[n] for n in known if n in given} | dict.fromkeys(others, (PURPLE, "triangle-down"))


def _growths(rows: Rows, field: str, names: Iterable[str]) -> list[str]:
    return [
        f"{name[:1].upper()}{name[1:]}: {growth([r for r in rows if r[field] == name])}." for name in names
    ]


def _ends(name: str, rows: Rows) -> str:
    """Return a phrase for the title: the norm at the least and at the greatest T.

    >>> _ends("ours", [{"T": 10, "norm": 2.0}, {"T": 1000, "norm": 20.0}])
    'norm 2 at T = 10, 20 at T = 1,000 (ours)'
    """
    found = sorted((r["T"], r["norm"]) for r in rows if finite(r["norm"]))
    if not found:
        return f"no finite norm ({name})"
    shown = list(dict.fromkeys((found[0], found[-1])))
    return f"norm {', '.join(f'{number(n)} at T = {number(T)}' for T, n in shown)} ({name})"


def _compared(rows: Rows) -> str:
    """Return a phrase for the title: at how many T with both norms the learned norm is below the written one."""
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


def growth(rows: Rows) -> str:
    """Return the norms at the least and at the greatest T and the factor between them, as text.

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
    rows: Rows, field: str, styles: Mapping[str, tuple[str, str]], norm: str, *, bars: bool
) -> Panel:
    values = [r[k] for r in rows for k in ("norm", "low", "high") if finite(r.get(k)) and r[k] > 0]
    x = alt.X("T:Q", **log_axis("context length T (bits, log scale)", [r["T"] for r in rows]))
    shown = log_axis(f"{norm} (log scale)", values)
    color = by_name(alt.Color, field, {name: colour for name, (colour, _) in styles.items()}, title=None)
    shape = by_name(alt.Shape, field, {name: shape for name, (_, shape) in styles.items()}, title=None)
    tips = [f"{field}:N", "T:Q", alt.Tooltip("norm:Q", format=".4~g")]
    y = alt.Y("norm:Q", **shown)
    base = named("norms")
    layers = [base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=color)]
    if bars:
        rule = base.mark_rule(strokeWidth=1.6)
        layers.append(rule.encode(x=x, y=alt.Y("low:Q", **shown), y2="high:Q", color=color))
    point = base.mark_point(size=70, strokeWidth=1.8, opacity=1, fill="white")
    layers.append(point.encode(x=x, y=y, color=color, shape=shape, tooltip=tips))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
