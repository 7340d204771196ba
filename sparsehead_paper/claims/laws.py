"""The law: the number of samples a head needs, as a function of T (paper figure 2; notes figure 5).

Verdicts are computed from intervals in the results files that `reproduce` writes. The verdict is "not run" if no T
of the results has a point of the paper, or if there is no fit; it is "undecided" if the trials do not match the fitted
success curve (a misfit), because AIC cannot compare laws then.
"""

from collections.abc import Mapping

import numpy as np

from sparsehead._base.jsonable import json_values
from sparsehead.laws.fits import LawFit, fit_laws, law_value
from sparsehead.laws.joint import LAW_CAUTION
from sparsehead.laws.law import LawResult
from sparsehead.laws.published import LAW_AND, PrintedThreshold
from sparsehead.laws.thresholds import Threshold

from ..published import LAW_AND_FIT, LAW_AND_SLOPE_ERROR, printed_misfit
from ..studies.bars import implied_slope, log_evidence
from ..studies.law_stage import LawsRecord
from ..studies.predicted import SIMULATED, nearness, ratios
from .claim import Context, Finding, claim, judged
from .measured import not_run, results, results_if_any

CLOSE = 4.0  # AIC above the best law up to which a law describes the data as well: usual practice


@claim("law-and", kind="figure", where="paper figure 2; notes figure 5")
def check_law(context: Context) -> Finding:
    """For the AND of three bits with balanced labels, the smallest number $m$ of samples at which 80 % of trials
    reach 99 % validation accuracy grows like $log T$. The paper's points for $T = 100..1100$ fit $m = -98.65 +
    29.65 ln T$.
    """
    return _against_the_paper(context, "law")


@claim("law-points", kind="ours", where="paper figure 2")
def check_law_points(context: Context) -> Finding:
    """The paper's points alone do not distinguish $log T$ from $T$: $m = a + b ln T$ and $m = a + b T$ fit its 17
    points with error bars equally well (weighted sums of squares within 4 of each other).
    """
    log, line = printed_misfit(np.log), printed_misfit(lambda T: T)
    ours = f"weighted squares {log:.1f} for $a + b ln T$ and {line:.1f} for $a + b T$"
    detail = (
        "Each point less its law, over its bar, squared and summed; $a$ and $b$ are the best for each law."
    )
    verdict = "holds" if abs(log - line) <= CLOSE else "refuted"
    return judged(verdict, ours=ours, detail=detail)


@claim("law-bars", kind="ours", where="paper figure 2")
def check_law_bars(context: Context) -> Finding:
    """The paper's error bars imply a success curve less steep in $ln m$ than the one measured with preset "paper": the
    95 % interval of the logistic slope that the bars imply lies below the interval of the measured slope.
    """
    data = results(context, "law-matched", LawResult)
    if not data.fits:
        raise not_run(context, "law-matched")
    implied, best = implied_slope(), min(data.fits.values(), key=lambda fit: fit.delta_aic)
    low, high = best.intervals["slope"]
    verdict = (
        "holds" if implied.high < (low or 0) else "undecided" if implied.high < (high or 0) else "refuted"
    )
    others = {"literal": "law-literal", "mingpt": "law-mingpt"}
    measured = {name: results_if_any(context, file, LawResult) for name, file in others.items()}
    evidence = {
        name: log_evidence(law.cells)
        for name, law in {"paper": data, **measured}.items()
        if law is not None and law.cells
    }
    ours = (
        f"slope {implied.slope:.1f} [{implied.low:.1f}, {implied.high:.1f}] from points and bars; "
        f"preset paper has {best.params['slope']:.1f} [{low:.1f}, {high:.1f}]"
    )
    detail = (
        "ln of the probability density of points and bars: "
        + ", ".join(f"preset {name} {found:.1f}" for name, found in evidence.items())
        + f", any smooth law with any slope {implied.log_evidence:.1f}."
    )
    return judged(verdict, ours=ours, detail=detail, evidence=evidence)


@claim("law-grid", kind="figure", where="paper figure 2 and appendix C")
def check_law_grid(context: Context) -> Finding:
    """The law of 3-sparse AND by the paper's own protocol, without dropout: at each of its 18 context lengths and each
    $m = 50, 60, .., 200$, forty trials of five restarts; the smallest $m$ with at least 80 % solved.
    """
    return _against_the_paper(context, "law-grid")


@claim("law-dropout", kind="figure", where="paper figure 2 and appendix C")
def check_law_dropout(context: Context) -> Finding:
    """The law of 3-sparse AND with the paper's dropout of 0.1, at some of its context lengths."""
    return _against_the_paper(context, "law-mingpt")


def _against_the_paper(context: Context, name: str) -> Finding:
    """Compare points, form and slope of a measured law with the paper's; all three must agree."""
    paper = f"$m_80 = {LAW_AND_FIT[0]} + {LAW_AND_FIT[1]} ln T$ on $T = 100..1100$"
    data = results(context, name, LawResult, paper)
    rows, fits = _measured(data), data.fits
    points = {point.T: point for point in LAW_AND}
    compared = [row for row in rows if row.T in points and row.low and row.high and row.trials]
    foreseen = [row.T for row in rows if not row.trials]
    if not compared or "log" not in fits:
        lacks = "no T of the paper has a threshold with both ends" if not compared else "no fit"
        raise not_run(context, name, paper, lacks if rows else "no results yet")
    agree = [row.T for row in compared if meets(row, points[row.T])]
    slope_agrees, slope = _slope(fits["log"])
    holds = fits["log"].delta_aic <= CLOSE and len(agree) >= 0.8 * len(compared) and slope_agrees
    detail = (
        f"Our 95 % interval meets the paper's point +- 2 bars at {len(agree)} of {len(compared)} $T$. "
        f"{slope} {_above_best(fits)} {_within_halves(data)} {'' if data.misfit else data.note}"
    )
    if foreseen:
        listed = ", ".join(map(str, foreseen))
        detail += f" Foreseen from the others, without trials of their own, and not counted: $T = {listed}$."
    obstacle = _obstacle(data.complete, data.misfit)
    return judged(
        "undecided" if obstacle else "holds" if holds else "differs",
        paper=paper,
        ours=_points(rows),
        detail=detail + obstacle,
        agree=agree,
        fits=json_values(fits),
        figure=name,
    )


def meets(row: Threshold, point: PrintedThreshold) -> bool:
    """Return whether our interval overlaps the paper's point +- 2 bars; a point without a bar is an upper bound."""
    below = row.low is not None and row.low <= point.m + 2 * point.bar
    above = row.high is not None and row.high >= point.m - 2 * point.bar
    return below and (point.bar == 0 or above)


@claim("law-decades", kind="ours")
def check_law_decades(context: Context) -> Finding:
    """From $T = 100$ to $T = 10^5$, a hundred times beyond the paper's range, the number of samples that a head
    needs without dropout is described by $a + b ln T$ as well as by any other law: its AIC (Akaike's criterion;
    smaller is better) is within 4 of the best.
    """
    return _over_decades(context, "law-decades")


@claim("law-matched", kind="figure", where="paper figure 2 and appendix C")
def check_law_matched(context: Context) -> Finding:
    """The law of 3-sparse AND under preset "paper", the interpretation of the text that fits most of the paper's
    figures: dropout 0.1, AdamW on matrices, gradients clipped, PyTorch's initialisation; at the paper's 18 context
    lengths, all measured together with $ln m_80$ smooth in $ln T$.
    """
    return _against_the_paper(context, "law-matched")


@claim("law-literal", kind="figure", where="paper figure 2 and appendix C")
def check_law_literal(context: Context) -> Finding:
    """The law of 3-sparse AND under preset "literal", the literal interpretation of the text: dropout 0.1, Adam with an
    L2 penalty of $1e-4$ on all parameters, gradients not clipped, minGPT's initialisation.
    """
    return _against_the_paper(context, "law-literal")


@claim("law-matched-beyond", kind="ours")
def check_law_matched_beyond(context: Context) -> Finding:
    """Under preset "paper", with dropout, $a + b ln T$ describes the number of samples as well as any other law, if
    fitted to all trials from $T = 100$ to $T = 3000$, three times beyond the paper's range (its AIC, Akaike's
    criterion, is within 4 of the best).
    """
    name = "law-matched-beyond"
    beyond, near = results(context, name, LawResult), results(context, "law-matched", LawResult)
    if not beyond.cells or not near.cells:
        raise not_run(context, name)
    both = fit_laws({**near.cells, **beyond.cells}, caution=LAW_CAUTION)
    obstacle = _obstacle(near.complete and beyond.complete, "" if both.best else both.note)
    verdict = "undecided" if obstacle else "holds" if both.fits["log"].delta_aic <= CLOSE else "refuted"
    seen = "; ".join(
        f"$T={T}$, $m={c.m}$: {c.solved} of {c.trials}" for T in beyond.cells for c in beyond.cells[T]
    )
    foreseen = "; ".join(
        f"{kind} {law_value(kind, fit.params['a'], fit.params['b'], max(beyond.cells)):.0f}"
        for kind, fit in fit_laws(near.cells, caution=LAW_CAUTION).fits.items()
    )
    detail = (
        f"$m_80$ there as the laws fitted to $T <= 1100$ foresee it: {foreseen}. With these trials: "
        f"{_above_best(both.fits)}{obstacle}"
    )
    return judged(verdict, ours=f"{_points(_measured(beyond))} ({seen})", detail=detail)


@claim("law-matched-decades", kind="ours")
def check_law_matched_decades(context: Context) -> Finding:
    """Under preset "paper" without dropout, from $T = 100$ to $T = 10^5$, the number of samples is described by $a + b
    ln T$ as well as by any other law: its AIC (Akaike's criterion) is within 4 of the best.
    """
    return _over_decades(context, "law-matched-decades")


@claim("law-best", kind="ours")
def check_law_best(context: Context) -> Finding:
    """With preset "best", whose settings are the same rule at every $T$, a head learns the AND of three from at most
    1.4 times the samples that every learner needs, at every $T$ from 100 to $10^5$.
    """
    return _near_the_floor(context, "law-best")


@claim("law-gated", kind="ours")
def check_law_gated(context: Context) -> Finding:
    """With preset "gated", whose settings are the same rule at every $T$, a head learns the AND of three from at most
    1.4 times the samples that every learner needs for one answer, at every $T$ from 100 to $10^5$ (trials have five
    runs and redraw ambiguous data).
    """
    return _near_the_floor(context, "law-gated")


@claim("predicted-line", kind="ours")
def check_predicted_line(context: Context) -> Finding:
    """Of several theoretical learners, greedy selection by covariance needs the number of samples that is nearest to
    that of preset "best": over all $p$, $s$ and $T$ measured, the root mean square of the logarithm of the ratio of
    thresholds is smallest for this learner.
    """
    data = results(context, "predicted", LawsRecord)
    found = nearness(ratios(data), "best")
    if not found:
        raise not_run(context, "predicted")
    first, second = found[:2]
    compared = [law for law in data.laws if law.label.partition(": ")[0] in (*SIMULATED, "best")]
    sure = first.high < 0 and all(law.complete for law in compared)
    verdict = "undecided" if not sure else "holds" if first.learner == "greedy" else "refuted"
    ours = "; ".join(f"{row.learner} {row.distance:.3f}" for row in found)
    detail = (
        f"{first.settings} settings. {first.learner} less {second.learner}: [{first.low:.3f}, {first.high:.3f}] by a "
        f"bootstrap over settings. {sum(law.complete for law in compared)} of {len(compared)} laws compared are whole. "
        "Trials of best have five runs; learners of theory give one answer."
    )
    return judged(verdict, ours=ours, detail=detail)


def _near_the_floor(context: Context, name: str) -> Finding:
    """Check whether the whole interval lies at or below 1.4 times the floor for one answer, at every T."""
    data = results(context, name, LawResult)
    floor = {T: found.m for T, found in data.floor.items()}
    compared = [row for row in _measured(data) if row.trials and row.T in floor]
    if not compared:
        raise not_run(context, name)
    near = 1.4  # times the floor
    over = [row.T for row in compared if row.low is not None and row.low > near * floor[row.T]]
    under = [row.T for row in compared if row.high is not None and row.high <= near * floor[row.T]]
    everywhere = data.complete and len(under) == len(compared)
    verdict = "refuted" if over else "holds" if everywhere else "undecided"
    ours = "; ".join(
        f"$T={r.T}$: {_show(r.m80)} [{_show(r.low)}, {_show(r.high)}], floor {floor[r.T]}" for r in compared
    )
    detail = (
        f"The whole interval lies at or below {near} times the floor at {len(under)} of "
        f"{len(compared)} $T$, above it at {len(over)}."
        + ("" if data.complete else " The design was stopped before its end.")
    )
    return judged(verdict, ours=ours, detail=detail)


def _over_decades(context: Context, name: str) -> Finding:
    """Check whether a + b ln T describes a law over at least two decades of T as well as any other form."""
    data = results(context, name, LawResult)
    rows, fits = _measured(data), data.fits
    if not rows or "log" not in fits or len(fits) < 2 or rows[-1].T < 100 * rows[0].T:
        lacks = "two decades of $T$ and two laws are needed" if rows else "no results yet"
        raise not_run(context, name, lacks=lacks)
    _, slope = _slope(fits["log"])
    obstacle = _obstacle(data.complete, data.misfit)
    verdict = "undecided" if obstacle else "holds" if fits["log"].delta_aic <= CLOSE else "refuted"
    detail = f"{slope} {_above_best(fits)}{obstacle}"
    return judged(verdict, ours=_points(rows), detail=detail, fits=json_values(fits))


def _obstacle(complete: bool, misfit: str) -> str:
    """Return sentences that say why AIC does not decide about a law; empty if it does."""
    stopped = "" if complete else " The design was stopped before its end."
    return stopped + (f" Undecided because of a {misfit}." if misfit else "")


def _measured(data: LawResult) -> list[Threshold]:
    return [row for row in data.thresholds.values() if row.m80 is not None]


def _points(rows: list[Threshold]) -> str:
    return "; ".join(f"$T={r.T}$: {_show(r.m80)} [{_show(r.low)}, {_show(r.high)}]" for r in rows)


def _above_best(fits: Mapping[str, LawFit]) -> str:
    above = [f"{name} {fit.delta_aic:+.1f}" for name, fit in fits.items()]
    return f"AIC above the best law: {', '.join(above)}."


def _within_halves(data: LawResult) -> str:
    """Say by how much AIC differs among laws fitted to the lower half of the T alone, and to the upper half alone."""
    Ts = sorted(T for T, cells in data.cells.items() if cells)
    halves = (Ts[: len(Ts) // 2], Ts[len(Ts) // 2 :])
    fits = [fit_laws({T: data.cells[T] for T in half}, caution=LAW_CAUTION).fits for half in halves]
    if not all(fits):
        return ""
    most = [max(fit.delta_aic for fit in each.values()) for each in fits]
    return f"Within $T <= {halves[0][-1]}$ alone laws differ by at most {most[0]:.1f} AIC, above by {most[1]:.1f}."


def _slope(log: LawFit) -> tuple[bool, str]:
    """Return whether our interval for the samples per ln T overlaps the paper's, and a sentence about it."""
    low, high = log.intervals.get("b", (None, None))
    b, error = LAW_AND_FIT[1], 2 * LAW_AND_SLOPE_ERROR
    agrees = (low is None or low <= b + error) and (high is None or high >= b - error)
    word = "agrees with" if agrees else "differs from"
    ours = log.params.get("b", float("nan"))
    return (
        agrees,
        f"Growth per $ln T$: {ours:.1f} [{_show(low)}, {_show(high)}], which {word} the paper's {b} +- {error:.1f}.",
    )


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
