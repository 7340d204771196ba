"""The law: how many samples a head needs, against T (paper figure 2; notes figure 5).

Verdicts are computed from intervals in the results files that `reproduce` has written. Without a T at which the
paper has a point, or without a fit, nothing can be compared and the verdict is "not run".
"""

from ..experiments.records import FitRow, LawRecord, ThresholdRow
from ..jsonable import json_values
from ..measure.published import LAW_AND, LAW_AND_FIT, LAW_AND_SLOPE_ERROR, Threshold
from .claim import Context, Finding, claim, judged
from .measured import not_run, results

CLOSE = 4.0  # AIC above the best law up to which a law describes the data as well: usual practice
MOST = 0.8  # share of the paper's points that our intervals must meet
DECADES = 100  # largest T over smallest T from which a law can be told from a straight line


@claim(
    "law-and",
    kind="figure",
    where="paper figure 2; notes figure 5",
    statement="3-sparse AND, balanced labels: the smallest m at which 80 % of trials reach 99 % validation accuracy "
    "grows like log T. The paper's points for T = 100..1100 fit m = -98.65 + 29.65 ln T.",
)
def check_law(context: Context) -> Finding:
    return _against_the_paper(context, "law")


@claim(
    "law-grid",
    kind="figure",
    where="paper figure 2 and appendix C",
    statement="The same by the paper's own protocol, without dropout: at each of its 18 context lengths and each m "
    "= 50, 60, .., 200, forty trials of five restarts; the smallest m with at least 80 % solved.",
)
def check_law_grid(context: Context) -> Finding:
    return _against_the_paper(context, "law-grid")


@claim(
    "law-dropout",
    kind="figure",
    where="paper figure 2 and appendix C",
    statement="The same with the paper's dropout of 0.1, at some of its context lengths.",
)
def check_law_dropout(context: Context) -> Finding:
    return _against_the_paper(context, "law-mingpt")


def _against_the_paper(context: Context, name: str) -> Finding:
    """Points, form and slope of a measured law against the paper's; all three must agree."""
    paper = f"m_80 = {LAW_AND_FIT[0]} + {LAW_AND_FIT[1]} ln T on T = 100..1100"
    data = results(context, name, LawRecord)
    rows, fits = _measured(data), data.fits if data else {}
    points = {point.T: point for point in LAW_AND}
    compared = [row for row in rows if row.T in points and row.low and row.high]
    if not compared or "log" not in fits:
        lacks = "no T of the paper has a threshold with both ends" if not compared else "no fit"
        return not_run(context, name, paper, lacks if rows else "no results yet")
    agree = [row.T for row in compared if meets(row, points[row.T])]
    slope_agrees, slope = _slope(fits["log"])
    holds = fits["log"].delta_aic <= CLOSE and len(agree) >= MOST * len(compared) and slope_agrees
    detail = (
        f"Our 95 % interval meets the paper's point +- 2 bars at {len(agree)} of {len(compared)} T. "
        f"{slope} {_above_best(fits)} {data.note if data else ''}"
    )
    return judged(
        "holds" if holds else "differs",
        paper=paper,
        ours=_points(rows),
        detail=detail,
        agree=agree,
        fits=json_values(fits),
    )


def meets(row: ThresholdRow, point: Threshold) -> bool:
    """Whether our interval meets the paper's point +- 2 bars; a point without a bar is an upper bound."""
    below = row.low is not None and row.low <= point.m + 2 * point.bar
    above = row.high is not None and row.high >= point.m - 2 * point.bar
    return below and (point.bar == 0 or above)


@claim(
    "law-decades",
    kind="ours",
    where="not in the paper",
    statement="From T = 100 to T = 10^5, a hundred times further than the paper, the number of samples that a head "
    "needs without dropout is described by a + b ln T as well as by any other law: its AIC is within 4 of the best.",
)
def check_law_decades(context: Context) -> Finding:
    name, paper = "law-decades", "no number"
    data = results(context, name, LawRecord)
    rows, fits = _measured(data), data.fits if data else {}
    if not rows or "log" not in fits or len(fits) < 2 or rows[-1].T < DECADES * rows[0].T:
        return not_run(
            context, name, paper, "two decades of T and two laws are needed" if rows else "no results yet"
        )
    _, slope = _slope(fits["log"])
    verdict = "holds" if fits["log"].delta_aic <= CLOSE else "refuted"
    return judged(
        verdict,
        paper=paper,
        ours=_points(rows),
        detail=f"{slope} {_above_best(fits)}",
        fits=json_values(fits),
    )


def _measured(data: LawRecord | None) -> list[ThresholdRow]:
    return [row for row in data.thresholds if row.m80 is not None] if data else []


def _points(rows: list[ThresholdRow]) -> str:
    return "; ".join(f"T={r.T}: {_show(r.m80)} [{_show(r.low)}, {_show(r.high)}]" for r in rows)


def _above_best(fits: dict[str, FitRow]) -> str:
    above = [f"{name} {fit.delta_aic:+.1f}" for name, fit in fits.items()]
    return f"AIC above the best law: {', '.join(above)}."


def _slope(log: FitRow) -> tuple[bool, str]:
    """Whether the growth per ln T agrees with the paper's within both intervals, and the sentence that says so."""
    low, high = log.intervals.get("b", (None, None))
    b, error = LAW_AND_FIT[1], 2 * LAW_AND_SLOPE_ERROR
    agrees = (low is None or low <= b + error) and (high is None or high >= b - error)
    word = "agrees with" if agrees else "differs from"
    ours = log.params.get("b", float("nan"))
    return (
        agrees,
        f"Growth per ln T: {ours:.1f} [{_show(low)}, {_show(high)}], which {word} the paper's {b} +- {error:.1f}.",
    )


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
