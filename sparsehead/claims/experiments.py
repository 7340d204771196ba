"""Verdicts on the experiments, computed from intervals. They read the results files that `reproduce` has written.

A check without its results is "not run". "holds": the paper's number lies in our interval, or ours in the paper's;
"differs": the form of the claim holds and the number does not.
"""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

from ..measure.intervals import clopper_pearson, wilson
from ..measure.published import (
    ATTENTION_AND,
    CURVES_AND,
    LAW_AND,
    LAW_AND_FIT,
    LAW_AND_SLOPE_ERROR,
    PARITY,
)
from .claim import Context, Finding, claim

ONLY_FULL = ("law-grid", "law-dropout", "law-decades", "dropout-cost")  # what smaller scales leave out
ENOUGH = 0.99  # attention on the support that counts as "lies on it"
MEDIAN_STEPS = (60, 140)  # around the paper's median first step, 99


def _results(context: Context, name: str) -> dict[str, Any] | None:
    folder = context.options.get("results")
    path = None if folder is None else Path(folder) / f"{name}.json"
    return json.loads(path.read_text()) if path is not None and path.is_file() else None


def _not_run(label: str, paper: str) -> Finding:
    how = "sparsehead reproduce" + (" --full" if label in ONLY_FULL else "")
    return Finding(label, "not run", paper, "no results yet", f"`{how}` measures it.")


@claim(
    "law-and",
    kind="figure",
    where="paper figure 2; notes figure 5",
    statement="3-sparse AND, balanced labels: the smallest m at which 80 % of trials reach 99 % validation accuracy "
    "grows like log T. The paper's points for T = 100..1100 fit m = -98.65 + 29.65 ln T.",
)
def check_law(context: Context) -> Finding:
    """m_80(T) against the paper's points, and which law describes the trials best."""
    return _against_the_paper(context, "law-and", "law")


@claim(
    "law-grid",
    kind="figure",
    where="paper figure 2 and appendix C",
    statement="The same by the paper's own protocol, without dropout: at each of its 18 context lengths and each m "
    "= 50, 60, .., 200, forty trials of five restarts; the smallest m with at least 80 % solved.",
)
def check_law_grid(context: Context) -> Finding:
    """The same by the paper's own protocol."""
    return _against_the_paper(context, "law-grid", "law-grid")


@claim(
    "law-dropout",
    kind="figure",
    where="paper figure 2 and appendix C",
    statement="The same with the paper's dropout of 0.1, at some of its context lengths.",
)
def check_law_dropout(context: Context) -> Finding:
    """The same with the paper's dropout, at few T."""
    return _against_the_paper(context, "law-dropout", "law-paper")


def _against_the_paper(context: Context, label: str, name: str) -> Finding:
    """Points, form and slope of a measured law against the paper's."""
    paper = f"m_80 = {LAW_AND_FIT[0]} + {LAW_AND_FIT[1]} ln T on T = 100..1100"
    data = _results(context, name)
    rows = _measured(data)
    if data is None or not rows:
        return _not_run(label, paper)
    points = {point.T: point for point in LAW_AND}
    compared = [(row, points[row["T"]]) for row in rows if row["T"] in points and row["low"] and row["high"]]
    agree = [
        row["T"]
        for row, point in compared
        if row["low"] <= point.m + 2 * point.bar and row["high"] >= point.m - 2 * point.bar
    ]
    fits = data.get("fits", {})
    log = fits.get("log", {})
    slope_agrees, slope = _slope(log)
    holds = log.get("delta_aic", 0.0) <= 4 and len(agree) >= 0.8 * len(compared) and slope_agrees
    detail = (
        f"Our 95 % interval meets the paper's point +- 2 bars at {len(agree)} of {len(compared)} T. "
        + (f"{slope} {_above_best(fits)} " if fits else "")
        + data.get("note", "")
    )
    evidence = {"agree": agree, "fits": fits}
    return Finding(label, "holds" if holds else "differs", paper, _points(rows), detail, evidence)


@claim(
    "law-decades",
    kind="ours",
    where="not in the paper",
    statement="From T = 100 to T = 10^5, a hundred times further than the paper, the number of samples that a head "
    "needs without dropout is described by a + b ln T as well as by any other law.",
)
def check_law_decades(context: Context) -> Finding:
    """Whether a + b ln T describes the trials over decades of T as well as any law."""
    data = _results(context, "law-decades")
    rows, fits = _measured(data), (data or {}).get("fits", {})
    if data is None or len(rows) < 2 or "log" not in fits:
        return _not_run("law-decades", "no number")
    _, slope = _slope(fits["log"])
    verdict = "holds" if fits["log"]["delta_aic"] <= 4 else "differs"
    return Finding(
        "law-decades", verdict, "no number", _points(rows), f"{slope} {_above_best(fits)}", {"fits": fits}
    )


def _measured(data: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [row for row in (data or {}).get("thresholds", []) if row["m80"] is not None]


def _points(rows: list[dict[str, Any]]) -> str:
    return "; ".join(f"T={r['T']}: {r['m80']:.0f} [{_show(r['low'])}, {_show(r['high'])}]" for r in rows)


def _above_best(fits: dict[str, Any]) -> str:
    above = [f"{name} {fit['delta_aic']:+.1f}" for name, fit in fits.items()]
    return f"AIC above the best law: {', '.join(above)}."


def _slope(log: dict[str, Any]) -> tuple[bool, str]:
    """Whether the growth per ln T agrees with the paper's within both intervals, and the sentence that says so."""
    low, high = log.get("intervals", {}).get("b", (None, None))
    b, error = LAW_AND_FIT[1], 2 * LAW_AND_SLOPE_ERROR
    agrees = (low is None or low <= b + error) and (high is None or high >= b - error)
    word = "agrees with" if agrees else "differs from"
    ours = log.get("params", {}).get("b", float("nan"))
    return (
        agrees,
        f"Growth per ln T: {ours:.1f} [{_show(low)}, {_show(high)}], which {word} the paper's {b} +- {error:.1f}.",
    )


@claim(
    "curves-and",
    kind="figure",
    where="paper figure 3 left; notes figure 6 left",
    statement="T = 300, best of five restarts: with m = 200 all 40 replicates are solved, first above .99 at "
    "iteration 59/99/409 (least/median/most); with m = 50, below the threshold, 24 of 40. Training "
    "accuracy reaches 100 % either way.",
)
def check_curves(context: Context) -> Finding:
    """Shares solved at m = 50 and m = 200, and the median first step."""
    p = CURVES_AND
    low, mid, high = p.first_step_m200
    paper = f"m=200: {p.solved_m200}/{p.replicates}, first step {low}/{mid}/{high}; m=50: {p.solved_m50}/{p.replicates}"
    data = _results(context, "curves")
    trials = (data or {}).get("trials", [])
    above, below = ([t for t in trials if t["m"] == m] for m in (200, 50))
    if not above or not below:
        return _not_run("curves-and", paper)
    solved_above, solved_below = (sum(t["solved"] for t in group) for group in (above, below))
    steps = sorted(t["steps"] for t in above if t["solved"])
    allowed = clopper_pearson(p.solved_m50, p.replicates, 0.99)
    share = solved_below / len(below)
    typical = median(steps) if steps else float("nan")
    checks = {
        "the share at m = 50 lies in the 99 % interval of the paper's": allowed[0] <= share <= allowed[1],
        "all are solved at m = 200": solved_above == len(above),
        "the median first step is between 60 and 140": MEDIAN_STEPS[0] <= typical <= MEDIAN_STEPS[1],
    }
    ci = wilson(solved_below, len(below))
    ours = (
        f"m=200: {solved_above}/{len(above)}, first step {steps[0] if steps else '-'}/{typical:g}/"
        f"{steps[-1] if steps else '-'}; m=50: {solved_below}/{len(below)} [{ci[0]:.2f}, {ci[1]:.2f}]"
    )
    failed = [what for what, good in checks.items() if not good]
    fitted = sum(t["train_accuracy"] > 0.999 for t in below) / len(below)
    detail = "; ".join(f"not so: {what}" for what in failed) or "; ".join(checks)
    detail += f". Training accuracy reached 100 % in {fitted:.0%} of the runs at m = 50."
    dropped = (_results(context, "curves-paper") or {}).get("trials", [])
    if dropped:
        shares = [[t["solved"] for t in dropped if t["m"] == m] for m in (200, 50)]
        told = [f"m={m}: {sum(share)}/{len(share)}" for m, share in zip((200, 50), shares, strict=True)]
        detail += f" With the paper's dropout: {', '.join(told)}."
    return Finding("curves-and", "differs" if failed else "holds", paper, ours, detail, {"steps": steps})


@claim(
    "attention-and",
    kind="figure",
    where="paper figure 3 right; notes figure 6 right",
    statement="T = 50, m = 300, I = {5, 20, 30}, one head: after training the attention lies on I (mean weights "
    ".294/.274/.428) and vanishes elsewhere (.0034 in total per sample).",
)
def check_attention(context: Context) -> Finding:
    """Attention of the one head on the three relevant positions."""
    a = ATTENTION_AND
    paper = f"{sum(a.on_support):.3f} on the support, {a.irrelevant_total} on all irrelevant positions"
    data = _results(context, "attention")
    runs = [run for run in (data or {}).get("runs", []) if run["solved"]]
    if not runs:
        return _not_run("attention-and", paper)
    totals = sorted(run["total"] for run in runs)
    rest = median(run["irrelevant_total"] for run in runs)
    ours = (
        f"{median(totals):.3f} on the support (median of {len(runs)} seeds, {totals[0]:.3f} to {totals[-1]:.3f}), "
        f"{rest:.4f} on all irrelevant positions"
    )
    dropped = [
        run["total"] for run in (_results(context, "attention-paper") or {}).get("runs", []) if run["solved"]
    ]
    detail = f"{a.steps} steps without dropout."
    if dropped:
        detail += f" With the paper's dropout: {median(dropped):.3f} on the support (median of {len(dropped)} seeds)."
    verdict = "holds" if median(totals) >= ENOUGH else "differs"
    return Finding("attention-and", verdict, paper, ours, detail, {"runs": runs})


@claim(
    "parity-curves",
    kind="figure",
    where="paper figure 4; notes figure 7",
    statement="3-sparse parity with fresh batches of 2048: all ten seeds learn it; the loss first falls below .35 "
    "at iterations 156-247 (median 206) for T = 10 and 381-1029 (median 538) for T = 15.",
)
def check_parity(context: Context) -> Finding:
    """The step at which the smoothed loss on parity falls below .35 for good."""
    paper = "; ".join(f"T={p.T}: {'/'.join(map(str, p.first_below))}" for p in PARITY)
    first = (_results(context, "parity") or {}).get("first_below", [])
    parts, good = [], []
    for p in PARITY:
        runs = [row["learned"] for row in first if row["T"] == p.T]
        learned = sorted(step for step in runs if step is not None)
        if not learned:
            continue
        middle = median(learned)
        parts.append(
            f"T={p.T}: {learned[0]}/{middle:g}/{learned[-1]} ({len(learned)} of {len(runs)} learned)"
        )
        good.append(len(learned) == len(runs) and p.first_below[0] <= middle <= p.first_below[2])
    if len(parts) < len(PARITY):
        return _not_run("parity-curves", paper)
    detail = "Least/median/most over seeds; our median is compared with the paper's range. Its optimiser is unstated."
    return Finding("parity-curves", "holds" if all(good) else "differs", paper, "; ".join(parts), detail)


@claim(
    "dropout-cost",
    kind="ours",
    where="not in the paper",
    statement="At T = 1000, m = 80, a single run with the paper's dropout of 0.1 succeeds less often than the same "
    "run without it on the same data.",
)
def check_dropout(context: Context) -> Finding:
    """Success of single runs with and without dropout, by an exact sign test on the pairs."""
    data = _results(context, "dropout") or {}
    by_seed: dict[int, dict[bool, bool]] = {}
    for run in data.get("runs", []):
        by_seed.setdefault(run["seed"], {})[run["dropout"] > 0] = run["solved"]
    pairs = [pair for pair in by_seed.values() if len(pair) == 2]
    if not pairs:
        return _not_run("dropout-cost", "no number")
    with_it, without = (sum(pair[key] for pair in pairs) for key in (True, False))
    only_without = sum(pair[False] and not pair[True] for pair in pairs)
    discordant = sum(pair[False] != pair[True] for pair in pairs)
    chance = sum(math.comb(discordant, k) for k in range(only_without, discordant + 1)) / 2**discordant
    shares = [wilson(k, len(pairs)) for k in (with_it, without)]
    ours = (
        f"T={data['T']}, m={data['m']}: {with_it}/{len(pairs)} [{shares[0][0]:.2f}, {shares[0][1]:.2f}] with dropout, "
        f"{without}/{len(pairs)} [{shares[1][0]:.2f}, {shares[1][1]:.2f}] without"
    )
    test = f"one-sided sign test on {discordant} unequal pairs: p = {chance:.3g}"
    detail = f"Single runs of 1000 steps on the same data; {test}."
    return Finding("dropout-cost", "holds" if chance < 0.05 else "differs", "no number", ours, detail)


@claim(
    "norms-learned",
    kind="ours",
    where="not in the paper",
    statement="How the norm of W_QK that gradient descent reaches grows with T, beside the norm that suffices.",
)
def check_norms_learned(context: Context) -> Finding:
    """||W_QK||_F of learned heads against T, beside written ones."""
    points = (_results(context, "learned-norms") or {}).get("points", [])
    learned = [p for p in points if p["source"] == "learned"]
    written = {p["T"]: p["norm"] for p in points if p["source"] == "written"}
    if len(learned) < 2:
        return _not_run("norms-learned", "no number")
    ours = "; ".join(f"T={p['T']}: {p['norm']:.1f} learned, {written[p['T']]:.1f} written" for p in learned)
    below = sum(p["high"] <= written[p["T"]] for p in learned)
    detail = (
        "||W_QK||_F B_X^2, the bound on scores; medians over seeds when validation accuracy first exceeds .99. "
        f"The learned head's middle half lies below the written head's at {below} of {len(learned)} T."
    )
    return Finding("norms-learned", "holds", "no number", ours, detail, {"points": points})


@claim(
    "bound-along-training",
    kind="ours",
    where="not in the paper",
    statement="The capacity bound of the weights at each recorded step of training, beside the accuracy.",
)
def check_bound_along_training(context: Context) -> Finding:
    """The capacity of the weights along training."""
    points = (_results(context, "bound-training") or {}).get("points", [])
    if not points:
        return _not_run("bound-along-training", "no number")
    first, last = points[0], points[-1]
    ours = (
        f"step {first['step']}: C = {first['bound']:.2g}, accuracy {first['accuracy']:.2f}; "
        f"step {last['step']}: C = {last['bound']:.2g}, accuracy {last['accuracy']:.2f}"
    )
    detail = "C is eps^2 ln N of the head class with the norms at that step; it grows while the head learns."
    return Finding("bound-along-training", "holds", "no number", ours, detail)


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
