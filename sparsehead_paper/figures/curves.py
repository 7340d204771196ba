"""Training curves: validation accuracy of many replicates, and the loss on parity."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

import altair as alt

from sparsehead._base.log_math import Real
from sparsehead.figures.colours import BLACK, BLUE, GREY, PAPER_POINT, RED
from sparsehead.figures.encodings import linear_axis
from sparsehead.figures.theme import WIDTH, Chart, Panel, Rows, finish, named, number, rows_of
from sparsehead.laws.intervals import wilson

from ..published import CURVES_AND, PARITY, SOLVED, Curves
from ..studies.curves import AccuracyPoint
from ..studies.parity import LossPoint, ParityRun, learned_step

POINTS = 8000  # of all curves of a chart; more are thinned, which keeps a page small


def validation_curves(curves: Sequence[AccuracyPoint], *, T: int = 300) -> Chart:
    """Draw best-of-restarts validation accuracy against training step, one panel for each sample size.

    The paper's success counts and first solved steps are shown beside ours if T and the sample sizes agree.

    Args:
        curves: points of all replicates; the curve of a solved run may end early.
    Paper: curves-and
    """
    paper = CURVES_AND
    rows = rows_of(curves, "validation curves")
    ms = sorted({r["m"] for r in rows}, reverse=True)
    summary = [_solved(rows, m) for m in ms]
    printed = _printed(paper, ms) if paper.T == T else []
    last = max(r[key] for part in (rows, printed) for r in part for key in ("step", "high") if key in r)
    panels = [_accuracy_panel(m, s, last, first=m == ms[-1]) for m, s in zip(ms, summary)]
    said = "; ".join(f"m = {number(s['m'])}: {s['solved']} of {s['replicates']} solved" for s in summary)
    shares = "; ".join(
        f"{s['share']:.2f} [{s['low']:.2f}, {s['high']:.2f}] at m = {number(s['m'])}" for s in summary
    )
    lines = [f"Share solved: {shares}. Thick: the median curve; dashed: accuracy 0.99."]
    if printed:
        counts = [(200, paper.solved_m200), (50, paper.solved_m50)]
        theirs = "; ".join(f"{k} of {paper.replicates} at m = {m}" for m, k in counts if m in ms)
        lines.append(
            f"The paper: {theirs}. Diamond and bar: its median first step above 0.99, least to greatest."
        )
    return finish(
        alt.vconcat(*panels, spacing=16),
        title=f"T = {number(T)}. {said}",
        subtitle=lines,
        data={
            "level": [{"level": SOLVED}],
            "curves": thin(rows, "m", "replicate"),
            "median": _median(rows, "m", "accuracy"),
            "solved": summary,
            "paper": printed,
        },
    )


def _rule(y: Any) -> Panel:
    """Return a dashed horizontal line across the panel."""
    return named("level").mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=y)


def _accuracy_panel(m: Any, summary: dict[str, Any], last: int, *, first: bool) -> Panel:
    colour = BLUE if summary["solved"] == summary["replicates"] else RED
    x = alt.X("step:Q", **linear_axis("training step" if first else None, 0, last, tickCount=6))
    ticks = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    shown = linear_axis(f"validation accuracy, m = {number(m)}", 0.4, 1.03, values=ticks)
    y = alt.Y("accuracy:Q", **shown)
    here = f"datum.m == {m}"
    curves, middle, first_steps = (
        named(name).transform_filter(here) for name in ("curves", "median", "paper")
    )
    replicates = curves.mark_line(strokeWidth=0.8, opacity=0.45, color=colour, clip=True)
    tips = ["m:Q", "replicate:N", "step:Q", "accuracy:Q"]
    return alt.layer(
        _rule(y=alt.Y("level:Q", scale=shown["scale"])),
        replicates.encode(x=x, y=y, detail="replicate:N", tooltip=tips),
        middle.mark_line(strokeWidth=3, color=colour, clip=True).encode(x=x, y=y),
        first_steps.mark_rule(color=BLACK, strokeWidth=1.2).encode(x=alt.X("low:Q"), x2="high:Q", y=y),
        first_steps.mark_point(opacity=1, fill="white", **PAPER_POINT).encode(
            x="step:Q", y=y, tooltip=["series:N", "low:Q", "step:Q", "high:Q"]
        ),
    ).properties(width=WIDTH, height=190)


def _solved(rows: Rows, m: Any) -> dict[str, Any]:
    """Return how many replicates of sample size m passed SOLVED: count, share with 95 % interval, median step."""
    here = [r for r in rows if r["m"] == m]
    replicates = {r["replicate"] for r in here}
    passed: dict[Any, list[Any]] = defaultdict(list)
    for r in here:
        if r["accuracy"] > SOLVED:
            passed[r["replicate"]].append(r["step"])
    steps = [min(found) for found in passed.values()]
    low, high = wilson(len(steps), len(replicates))
    return {
        "m": m, "solved": len(steps), "replicates": len(replicates), "share": len(steps) / len(replicates),
        "low": low, "high": high, "median_step": median(steps) if steps else None,
    }  # fmt: skip


def _printed(paper: Curves, ms: Sequence[Any]) -> list[dict[str, Any]]:
    low, middle, high = paper.first_step_m200
    row = {"m": 200, "low": low, "step": middle, "high": high, "accuracy": SOLVED, "series": "the paper"}
    return [row] if 200 in ms else []


def parity_curves(curves: Sequence[LossPoint], *, first: Sequence[ParityRun] = ()) -> Chart:
    """Draw loss against training step on parity of 3 bits: one line per seed, one panel per T, with the paper's steps.

    Args:
        curves: points of all runs.
        first: for each run, the step from which its smoothed loss stays below the paper's level (None: never);
            if not given, it is computed from the curves, which may be thinned.
    Paper: parity-curves
    """
    rows = rows_of(curves, "parity curves")
    Ts = sorted({r["T"] for r in rows})
    level = PARITY[0].level
    firsts = [f for T in Ts for f in learned(rows, T, level)]
    if first:
        firsts = [{"T": f.T, "seed": f.seed, "step": f.learned, "loss": level} for f in first]
    fallen = sum(f["step"] is not None for f in firsts)
    verdicts = {0: "is not learned yet", len(firsts): "is learned"}
    verdict = verdicts.get(fallen, f"is learned by {fallen} of {len(firsts)} seeds")
    printed = [
        {"T": p.T, **dict(zip(("low", "step", "high"), p.first_below)), "loss": p.level}
        for p in PARITY
        if p.T in Ts
    ]
    end = max(r[key] for part in (rows, printed) for r in part for key in ("step", "high") if key in r)
    panels = [_loss_panel(T, end, last=Ts[-1] == T) for T in Ts]
    seen = {p["T"]: f"; the paper's {p['step']} ({p['low']} to {p['high']})" for p in printed}
    return finish(
        alt.vconcat(*panels, spacing=16),
        title=f"Parity of 3 bits {verdict}",
        subtitle=[
            *(f"{_fallen(firsts, T)}{seen.get(T, '')}." for T in Ts),
            f"Rule: loss {level}. Ticks: where each seed's smoothed loss falls below it for good.",
            *["Diamonds, bars: the paper's median, least and greatest first step below it."] * bool(printed),
        ],
        data={
            "level": [{"level": level}],
            "curves": thin(rows, "T", "seed"),
            "first": firsts,
            "paper": printed,
        },
    )


def _loss_panel(T: Any, end: Real, *, last: bool) -> Panel:
    x = alt.X("step:Q", **linear_axis("training step" if last else None, 0, end, tickCount=6))
    axis = alt.Axis(title=f"cross-entropy (nats), T = {T}", tickCount=5)
    y = alt.Y("loss:Q", scale=alt.Scale(domainMin=0), axis=axis)
    here = f"datum.T == {T}"
    theirs = named("paper").transform_filter(here)
    return alt.layer(
        _rule(y="level:Q"),
        named("curves")
        .transform_filter(here)
        .mark_line(strokeWidth=1.1, opacity=0.7, color=BLUE)
        .encode(x=x, y=y, detail="seed:N", tooltip=["T:Q", "seed:N", "step:Q", "loss:Q"]),
        named("first")
        .transform_filter(here)
        .mark_tick(orient="vertical", thickness=2, size=16, color=BLUE)
        .encode(x="step:Q", y="loss:Q", tooltip=["seed:N", "step:Q"]),
        theirs.mark_rule(color=BLACK, strokeWidth=1.2).encode(x=alt.X("low:Q"), x2="high:Q", y="loss:Q"),
        theirs.mark_point(opacity=1, fill="white", **PAPER_POINT).encode(
            x="step:Q", y="loss:Q", tooltip=["low:Q", "step:Q", "high:Q"]
        ),
    ).properties(width=WIDTH, height=190)


def learned(rows: Rows, T: Any, level: float) -> list[dict[str, Any]]:
    """Return for each seed the step from which its smoothed loss stays below `level`; None if it never does."""
    found = []
    for seed in sorted({r["seed"] for r in rows if r["T"] == T}):
        curve = sorted((r["step"], r["loss"]) for r in rows if r["T"] == T and r["seed"] == seed)
        step = learned_step([s for s, _ in curve], [loss for _, loss in curve], level)
        found.append({"T": T, "seed": seed, "step": step, "loss": level})
    return found


def _fallen(firsts: Rows, T: Any) -> str:
    steps = [f["step"] for f in firsts if f["T"] == T and f["step"] is not None]
    seeds = sum(f["T"] == T for f in firsts)
    if not steps:
        return f"T = {T}: none of {seeds} seeds yet"
    count = "" if len(steps) == seeds else f", {len(steps)} of {seeds} seeds"
    return f"T = {T}: after {number(median(steps))} steps ({min(steps)} to {max(steps)}{count})"


def thin(rows: Rows, *curve: str) -> list[dict[str, Any]]:
    """Thin curves to about POINTS points: keep every k-th recorded step and each curve's last point."""
    every = -(-len(rows) // POINTS)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in curve)].append(dict(row))
    kept = []
    for group in groups.values():
        group.sort(key=lambda r: r["step"])
        kept += [row for i, row in enumerate(group) if i % every == 0 or i == len(group) - 1]
    return kept


def _median(rows: Rows, panel: str, field: str) -> list[dict[str, Any]]:
    """Return the median over curves at each step; a curve that ended early, as solved runs do, keeps its last value."""
    values: dict[Any, dict[Any, dict[Any, float]]] = defaultdict(lambda: defaultdict(dict))
    for r in rows:
        values[r[panel]][r["replicate"]][r["step"]] = r[field]
    out = []
    for name, curves in values.items():
        steps = sorted({step for curve in curves.values() for step in curve})
        level = dict.fromkeys(curves, 0.0)
        for step in steps:
            for key, curve in curves.items():
                level[key] = curve.get(step, level[key])
            out.append({panel: name, "step": step, field: median(level.values())})
    return out
