"""Verdicts on the studies of settings: interpretations of the paper's text, slopes by setting, other functions.

Verdicts are computed from the results files that `reproduce --only NAME` writes. For an incomplete study the verdict is
"undecided" unless the trials so far already decide it.
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import median

from ..published import PARITY
from ..studies.every_function import orders
from ..studies.failures import FailuresRecord
from ..studies.interpretations import ComparedInterpretation, InterpretationsRecord, Standing
from ..studies.law_stage import LabelledLaw, LawsRecord
from ..studies.parity import MATCHED_READING, ParitySettingRun, ParitySettingsRecord
from ..studies.shares import shares
from ..studies.slope import SlopeNormsRecord
from .claim import Context, Finding, claim, judged
from .measured import LEVEL, not_run, results, results_if_any, spread

PRESET_PAPER = (
    "AdamW on matrices",
    "clipped",
    "torch-default",
    0.1,
)  # decay, clipping, initialisation, dropout


@claim("readings", kind="ours")
def check_readings(context: Context) -> Finding:
    """Of 36 interpretations of the paper's text, one (AdamW on matrices, clipped, PyTorch's default initialisation,
    dropout 0.1; preset "paper") explains its thresholds, training curves and parity as well as any other: its evidence
    is within 3 nats of the best one's, both for thresholds together with curves and for parity.
    """
    data = results(context, "readings", InterpretationsRecord)
    rows = [row for row in data.readings if "law" in row.standings]
    if not rows:
        raise not_run(context, "readings")
    races = ("law", "parity")  # in which preset paper must be among the best
    matched = next((r for r in rows if (r.decay, r.clip, r.init, r.dropout) == PRESET_PAPER), None)
    standings = {race: matched.standings.get(race) for race in races} if matched else {}
    best = {race: _best(data, race) for race in ("law", "attention", "parity")}
    ours = "; ".join(f"{race}: {row.name}" for race, row in best.items() if row is not None)
    behind = [standing.behind for standing in standings.values() if standing and standing.behind is not None]
    if any(standing and standing.left for standing in standings.values()):
        verdict = "refuted"
    elif data.complete and len(behind) == len(races):
        verdict = "holds" if max(behind) <= 3 else "refuted"  # 3 nats: odds of 20
    else:
        verdict = "undecided"
    places = [f"{race}: {_place(standing)}" for race, standing in standings.items()]
    sure = [f"{race} {share:.0%}" for race in races for row, share in shares(data, [race]) if row is matched]
    detail = (
        f"Best by race so far. Nats of preset paper behind: {', '.join(places)}. Its probability among the readings, "
        f"all equally likely before: {', '.join(sure) or 'not known yet'}. {_numbers_of(matched)} {data.state}."
    )
    return judged(verdict, ours=ours, detail=detail)


@claim("readings-together", kind="ours")
def check_readings_together(context: Context) -> Finding:
    """If one of the interpretations examined produced the paper's thresholds, curves, attention and parity, it has
    AdamW on matrices, PyTorch's default initialisation and dropout 0.1: within this closed set the two such
    interpretations, with and without gradient clipping, have at least 95 % of the evidence from all numbers together.
    (The paper's error bars are not used.)
    """
    data = results(context, "readings", InterpretationsRecord)
    races = list(dict.fromkeys(number.race for number in data.numbers))
    found = shares(data, races)
    if not found:
        raise not_run(context, "readings", lacks="not every race has compared all")
    ours = _share_of_preset_paper(found)
    without = {
        race: _share_of_preset_paper(shares(data, [other for other in races if other != race]))
        for race in races
    }
    verdict = "holds" if ours >= 0.95 else "refuted" if ours <= 0.05 else "undecided"
    best = sorted(found, key=lambda pair: -pair[1])[:3]
    detail = (
        f"The most likely: {'; '.join(f'{row.name} {share:.1%}' for row, share in best)}. All readings are equally "
        f"likely before the numbers are seen. Left out one at a time: "
        f"{', '.join(f'without {race} {share:.0%}' for race, share in without.items())}. "
        f"{'' if data.complete else 'Stopped early: '}{data.state}."
    )
    return judged(verdict, ours=f"{ours:.1%} of the evidence", detail=detail)


def _share_of_preset_paper(found: Sequence[tuple[ComparedInterpretation, float]]) -> float:
    """Return the evidence of the two interpretations that are preset "paper", clipped or not."""
    decay, _, init, dropout = PRESET_PAPER
    return sum(share for r, share in found if (r.decay, r.init, r.dropout) == (decay, init, dropout))


def _place(standing: Standing | None) -> str:
    return "not compared" if standing is None or standing.behind is None else f"{standing.behind:.1f}"


def _best(data: InterpretationsRecord, race: str) -> ComparedInterpretation | None:
    """Return the remaining interpretation with the most evidence in a race, if any."""
    left = [
        (standing.behind, row)
        for row in data.readings
        if (standing := row.standings.get(race)) and not standing.left and standing.behind is not None
    ]
    return min(left, key=lambda pair: pair[0])[1] if left else None


def _numbers_of(row: ComparedInterpretation | None) -> str:
    return (
        "" if row is None else "Its numbers: " + "; ".join(f"{n.name}: {n.ours}" for n in row.numbers) + "."
    )


@claim("law-slope", kind="ours")
def check_slope(context: Context) -> Finding:
    """Settings that the paper leaves open change how many more samples are needed per $ln T$: some of the settings
    measured have slopes with disjoint 95 % intervals.
    """
    data = results(context, "slope", LawsRecord)
    found = {law.label: slope for law in data.laws if (slope := _slope(law))}
    if len(found) < 2:
        raise not_run(context, "slope")
    steep = max(found, key=lambda label: found[label][1])
    flat = min(found, key=lambda label: found[label][2])
    apart = found[steep][1] > found[flat][2]
    verdict = "holds" if apart else "refuted" if data.complete else "undecided"
    ours = "; ".join(f"{label}: {b:.1f} [{low:.1f}, {high:.1f}]" for label, (b, low, high) in found.items())
    detail = f"Samples per $ln T$. Steepest beyond doubt: {steep}; flattest: {flat}. {data.state}."
    return judged(verdict, ours=ours, detail=detail)


def _slope(law: LabelledLaw) -> tuple[float, float, float] | None:
    """Return samples per ln T with both ends of the interval, or None if they are not known."""
    fit = law.fits.get("log")
    if fit is None:
        return None
    low, high = fit.intervals.get("b", (None, None))
    return None if low is None or high is None else (fit.params["b"], low, high)


@claim("slope-norms", kind="ours")
def check_slope_norms(context: Context) -> Finding:
    """Settings under which a head's norms at success are larger need more samples, as the norm-based bound
    suggests: over the settings, the number $m_80$ of samples at which 80 % of trials succeed at $T = 1000$ and the
    capacity $C = eps^2 ln N$ of the class of heads with the norms at success have a positive rank correlation.
    """
    from scipy.stats import spearmanr

    norms = results(context, "slope-norms", SlopeNormsRecord)
    laws = results_if_any(context, "slope", LawsRecord)
    capacity = {row.label: row.solved for row in norms.rows if row.T == 1000}
    pairs = [
        (law.label, row.m80, capacity[law.label])
        for law in (laws.laws if laws else ())
        for row in law.thresholds.values()
        if row.T == 1000 and row.m80 is not None and row.trials and law.label in capacity
    ]
    if len(pairs) < 5:
        raise not_run(context, "slope-norms")
    ranked = spearmanr([m for _, m, _ in pairs], [c for _, _, c in pairs])
    correlation, chance = float(ranked.statistic), float(ranked.pvalue)
    verdict = "undecided" if chance >= LEVEL else "holds" if correlation > 0 else "refuted"
    ours = "; ".join(f"{label}: $m_80 = {m:.0f}$, $C = {c:.2g}$" for label, m, c in pairs)
    detail = (
        f"Spearman's correlation over {len(pairs)} settings: {correlation:.2f}, two-sided $p = {chance:.2g}$."
    )
    return judged(verdict, ours=ours, detail=detail)


@claim("failures-sign", kind="ours")
def check_failures(context: Context) -> Finding:
    """Near the threshold, the sign of a correlation distinguishes runs that fail: among single runs of preset "best",
    those that have moved positions whose bits correlate negatively with the label on the training set are solved less
    often than those that have moved positions with positive correlations.
    """
    data = results(context, "failures", FailuresRecord)
    agree, against = data.solved_by_sign()
    if not agree or not against:
        raise not_run(context, "failures")
    table = [[sum(runs), len(runs) - sum(runs)] for runs in (agree, against)]
    chance, reverse = exact_test(table), exact_test(table[::-1])
    verdict = "holds" if chance < LEVEL else "refuted" if reverse < LEVEL else "undecided"
    failed = table[0][1] + table[1][1]
    ours = (
        f"moved with the label: {sum(agree)} of {len(agree)} solved; against it: {sum(against)} of {len(against)}; "
        f"of {failed} that fail, {table[1][1]} moved against it"
    )
    detail = (
        f"Fisher's exact test, one-sided: $p = {chance:.2g}$, in the other direction ${reverse:.2g}$. "
        f"{len(data.runs)} of {data.planned} runs."
    )
    return judged(verdict, ours=ours, detail=detail)


def exact_test(table: list[list[int]]) -> float:
    """Return the p-value of Fisher's one-sided exact test of a 2 x 2 table: the probability of a count at the top left
    that is at least as large.
    """
    from scipy.stats import fisher_exact

    return float(fisher_exact(table, alternative="greater").pvalue)


@claim("law-functions", kind="ours")
def check_functions(context: Context) -> Finding:
    """For the AND of $s$ bits, more samples per $ln T$ are needed for larger $s$, as for the information floor. Of $s =
    2$ to 5, the slope at $s = 5$ is significantly above that at $s = 2$, and no larger $s$ has a significantly smaller
    slope.
    """
    data = results(context, "functions", LawsRecord)
    named = {law.label: law for law in data.laws}
    found = [(s, slope) for s in (2, 3, 4, 5) if (law := named.get(f"AND of {s}")) and (slope := _slope(law))]
    if len(found) < 2:
        raise not_run(context, "functions")
    slopes = [slope for _, slope in found]
    falling = any(more[2] < fewer[1] for fewer, more in combinations(slopes, 2))
    apart = slopes[-1][1] > slopes[0][2]
    whole = len(found) == 4 and all(named[f"AND of {s}"].complete for s in (2, 3, 4, 5))
    verdict = "refuted" if falling else "holds" if whole and apart else "undecided"
    ours = "; ".join(f"$s={s}$: {b:.1f} [{low:.1f}, {high:.1f}]" for s, (b, low, high) in found)
    return judged(verdict, ours=ours, detail=f"Samples per $ln T$. {data.state}.")


@claim("parity-settings", kind="ours", where="paper, figure 4")
def check_parity_settings(context: Context) -> Finding:
    """The interpretation of the text that reproduces the paper's law (preset "paper") also reproduces its figure of the
    parity of three bits: all ten seeds learn at $T = 10$ and 15, and the median step lies within the paper's range at
    both.
    """
    data = results(context, "parity-settings", ParitySettingsRecord)
    if not data.runs:
        raise not_run(context, "parity-settings")
    settings = list(dict.fromkeys(run.setting for run in data.runs))
    meets = [name for name in settings if all(_meets(data, name, paper.T) for paper in PARITY)]
    matched = {paper.T: _runs(data, MATCHED_READING, paper.T) for paper in PARITY}
    # One seed that does not learn decides, whatever the seeds that are still to come.
    fails = any(run.learned is None for runs in matched.values() for run in runs)
    whole = all(len(matched[paper.T]) >= paper.seeds for paper in PARITY)
    verdict = "holds" if MATCHED_READING in meets else "refuted" if fails or whole else "undecided"
    ours = "; ".join(
        f"{name}: "
        + ", ".join(f"$T={T}$ {_steps(_runs(data, name, T))}" for T in sorted({r.T for r in data.runs}))
        for name in settings
    )
    paper = "; ".join(
        f"$T={p.T}$: {p.first_below[0]}..{p.first_below[2]}, median {p.first_below[1]}" for p in PARITY
    )
    detail = (
        "The step from which the smoothed loss stays below .35: least, median, greatest, and how many of the seeds "
        f"learn. Meets the paper's figure: {', '.join(meets) or 'none'}. {len(data.runs)} of {data.planned} runs."
    )
    of_preset = "; ".join(f"$T={T}$: {_steps(runs)}" for T, runs in matched.items())
    return judged(verdict, paper=paper, ours=ours, detail=detail, matched=of_preset, figure="parity-settings")


def _runs(data: ParitySettingsRecord, setting: str, T: int) -> list[ParitySettingRun]:
    return [run for run in data.runs if run.setting == setting and run.T == T]


def _meets(data: ParitySettingsRecord, setting: str, T: int) -> bool:
    """Return whether all seeds learn and their median step lies within the paper's range at T."""
    paper = next(paper for paper in PARITY if paper.T == T)
    found = [run.learned for run in _runs(data, setting, T) if run.learned is not None]
    return len(found) == paper.seeds and paper.first_below[0] <= median(found) <= paper.first_below[2]


def _steps(runs: list[ParitySettingRun]) -> str:
    found = [run.learned for run in runs if run.learned is not None]
    return f"{spread(found) if found else 'none'} ({len(found)} of {len(runs)})"


@claim("function-order", kind="ours")
def check_function_order(context: Context) -> Finding:
    """Of all functions of two and three bits (up to symmetry, on uniform bits), a function needs more samples under
    preset "best" if single positions tell less about its label: Spearman's correlation of $m_80$, the samples for 80 %
    success, with the largest $1/I(x_j; y)$ over relevant positions $j$ is positive at every $T$ measured (95 % interval
    by a bootstrap over functions).
    """
    data = results(context, "every-function", LawsRecord)
    found = orders(data)
    rows = [row for row in found if row.prediction == "single position"]
    if not rows:
        raise not_run(context, "every-function")
    against = any(row.high < 0 for row in rows)
    whole = data.complete and all(row.low > 0 for row in rows)
    verdict = "refuted" if against else "holds" if whole else "undecided"
    ours = "; ".join(f"$T={row.T}$: {row.correlation:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in rows)
    most = max(row.T for row in found)
    others = [row for row in found if most == row.T and row.prediction != "single position"]
    listed = ", ".join(
        f"{row.prediction} {row.correlation:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in others
    )
    return judged(verdict, ours=ours, detail=f"Other predictions at $T={most}$: {listed}. {data.state}.")
