"""Statements on laws for bits that are flipped, shifted or correlated, judged by results/input-laws.json."""

import math
from collections.abc import Iterator, Sequence

from scipy.stats import binom

from sparsehead.functions import SparseFunction, conjunction, majority, parity
from sparsehead.laws.curves import Cell, merge
from sparsehead.laws.intervals import clopper_pearson
from sparsehead.laws.thresholds import Threshold, curve_interval

from ..studies.input_laws import CHAINS, FLIPS, SHIFTS, law_of
from ..studies.law_stage import LabelledLaw, LawsRecord
from ..theory import flipped
from .claim import Context, Finding, judged, neighbour
from .measured import not_run, results


def functions() -> dict[str, SparseFunction]:
    """Return the functions whose bits are flipped, by their name in labels."""
    return {"AND": conjunction(range(3), T=3), "maj.": majority(range(3), T=3)}


def _laws(context: Context, learner: str, names: Sequence[str]) -> list[LabelledLaw]:
    """Return the laws of a learner on these tasks; raise `NotRun` if one is missing."""
    record = results(context, "input-laws", LawsRecord)
    found = [law_of(record, learner, name) for name in names]
    if missing := [name for name, law in zip(names, found) if law is None]:
        raise not_run(context, "input-laws", lacks=f"no law of {learner}, {missing[0]}")
    return [law for law in found if law is not None]


def _ratios(above: LabelledLaw, below: LabelledLaw) -> Iterator[tuple[float, float, float]]:
    """Yield, at each T, the ratio of m_80 of one law to m_80 of another: the smallest and the largest ratio that both
    95 % intervals allow, and the ratio itself.
    """
    for T, row in above.thresholds.items():
        base = below.thresholds[T]
        if row.m80 is not None and base.m80 is not None:
            low = (row.low or 0.0) / (base.high or math.inf)
            yield low, (row.high or math.inf) / (base.low or 1e-300), row.m80 / base.m80


def _compared(laws: Sequence[tuple[str, LabelledLaw, dict[int, int]]]) -> tuple[str, str]:
    """Return a verdict and a text on whether the 95 % intervals of measured thresholds contain the predicted ones.

    A number of misses is accepted, for one law and for all laws together, if as many occur by chance with probability
    .005 or more.
    """
    missed, said = [], []
    for name, law, predicted in laws:
        rows = [(law.thresholds[T], m) for T, m in predicted.items()]
        missed.append([not (row.low or 0) <= m <= _upper(row) for row, m in rows])
        said.append(
            f"{name}: {', '.join(f'{row.m80:.0f} ({m})' if row.m80 else f'? ({m})' for row, m in rows)}"
        )
    missed.append([miss for some in missed for miss in some])
    chance = min(binom.sf(sum(some) - 1, len(some), 0.05) for some in missed)
    text = f"{'; '.join(said)}; {sum(missed[-1])} of {len(missed[-1])} intervals miss"
    return "holds" if chance >= 0.005 else "refuted", text


@neighbour("flipped-laws", where="arXiv 2602.08695, feature noise; theory 13.6")
def check_flipped_laws(context: Context) -> Finding:
    """A learner that ranks positions by covariance needs as many samples as `ranked_m80` computes without a free
    parameter, for AND and majority of 3 unbiased bits that are flipped with probability $eta = 0$, $.1$ and $.25$:
    about $1/(1 - 2 eta)^2$ times as many. No measured law lies below the floor for noisy bits.
    """
    pairs, below = [], []
    for name, f in functions().items():
        for eta, law in zip(
            FLIPS, _laws(context, "one-step", [f"{name} {eta:g}" for eta in FLIPS]), strict=True
        ):
            predicted = {T: flipped.ranked_m80(f, p=0.5, eta=eta, T=T) for T in law.thresholds}
            pairs.append((f"{name} {eta:g}", law, predicted))
        for learner in ("one-step", "greedy"):
            laws = _laws(context, learner, [f"{name} {eta:g}" for eta in FLIPS])
            below += [_over_floor(law, f, eta) for eta, law in zip(FLIPS, laws, strict=True)]
    verdict, ours = _compared(pairs)
    lowest = min(below)
    detail = (
        f"m_80 of learner one-step, and in brackets as computed, at T = 100, 300, 1000. The floor of theory 13.3 at "
        f"success .8 is exceeded by a factor of {lowest:.2f} at least, for one-step and greedy."
    )
    verdict = "refuted" if lowest < 1 else verdict
    return judged(verdict, paper="no number", ours=ours, detail=detail, figure="input-laws")


def _over_floor(law: LabelledLaw, f: SparseFunction, eta: float) -> float:
    """Return the least ratio of the upper end of an interval to the floor for flipped unbiased bits."""
    return min(
        _upper(row) / flipped.least_samples(f, p=0.5, eta=eta, n_functions=math.comb(T, f.s), success=0.8)
        for T, row in law.thresholds.items()
    )


def _upper(row: Threshold) -> float:
    return row.high or math.inf


@neighbour("flipped-heads", where="arXiv 2602.08695: parity and majority are learned, most juntas are not")
def check_flipped_heads(context: Context) -> Finding:
    """A trained head (preset "fast", single runs) learns a function from flipped bits if and only if the function
    survives the flips, that is, remains the likeliest label of the bits seen. So AND of 3 unbiased bits is learned at
    $eta = 0$ and $.1$ but not at $.25$, and majority of 3 at all three, although a learner that knows the function also
    finds the positions of AND at $.25$.
    """
    learned, failed, holds = [], [], True
    for name, f in functions().items():
        for eta, law in zip(FLIPS, _laws(context, "fast", [f"{name} {eta:g}" for eta in FLIPS]), strict=True):
            if flipped.survives(f, p=0.5, eta=eta):
                holds &= all(row.m80 is not None for row in law.thresholds.values())
                found = ", ".join(f"{row.m80:.0f}" if row.m80 else "?" for row in law.thresholds.values())
                learned.append(f"{name} {eta:g}: {found}")
                continue
            cells = [max(row, key=lambda cell: cell.m) for row in law.cells.values()]
            solved, trials = sum(cell.solved for cell in cells), sum(cell.trials for cell in cells)
            high = clopper_pearson(solved, trials)[1]
            holds &= high < 0.8 and all(row.m80 is None for row in law.thresholds.values())
            most = max(cell.m for cell in cells)
            failed.append(f"{name} {eta:g}: {solved} of {trials} runs at m = {most}")
    (known,) = _laws(context, "greedy", ["AND 0.25"])
    named = ", ".join(f"{row.m80:.0f}" for row in known.thresholds.values() if row.m80)
    best = flipped.clean_accuracy(functions()["AND"], p=0.5, eta=0.25)
    return judged(
        "holds" if holds and failed and named else "refuted",
        paper="parity and majority are learned, most juntas are not",
        ours=f"not learned: {'; '.join(failed)}",
        detail=f"m_80 at T = 30, 100: {'; '.join(learned)}. The likeliest label under AND 0.25 is right on {best:.3f} "
        f"of clean inputs. Learner greedy, which knows the function: m_80 = {named} at T = 100, 300, 1000.",
        figure="input-laws",
    )


@neighbour("shifted-laws", where="Cornacchia et al., COLT 2025: shifts of first moments make juntas easy")
def check_shifted_laws(context: Context) -> Finding:
    """A parity of 3 bits that are 1 with probability p = .3, .2 or .1 is learned from covariances alone, with as many
    samples as `ranked_m80` computes without a free parameter; unbiased bits have no covariance with their parity. A
    trained head needs fewer samples at each of these p than at p = 1/2.
    """
    f = parity(range(3), T=3)
    names = [f"p = {p:g}" for p in SHIFTS]
    laws = _laws(context, "one-step", names[1:])
    pairs = [
        (name, law, {T: flipped.ranked_m80(f, p=p, eta=0.0, T=T) for T in law.thresholds})
        for name, p, law in zip(names[1:], SHIFTS[1:], laws, strict=True)
    ]
    verdict, ours = _compared(pairs)
    unbiased = flipped.parity_covariance(3, 0.5)
    trained = _laws(context, "fast", names)
    ends = {T: [_curve(law.cells[T]) for law in trained] for T in trained[0].cells}
    fewer = {_fewer(row, base) for base, *others in ends.values() for row in others}
    if "no" in fewer or unbiased != 0:
        verdict = "refuted"
    elif "open" in fewer and verdict == "holds":
        verdict = "undecided"
    shown = "; ".join(f"T = {T}: {', '.join(_text(row) for row in rows)}" for T, rows in ends.items())
    return judged(
        verdict,
        paper="no number",
        ours=ours,
        detail="m_80 of learner one-step, and in brackets as computed, at T = 100, 300, 1000. Single runs of preset "
        f"fast, intervals by fitted success curves, at p = {', '.join(f'{p:g}' for p in SHIFTS)}: {shown}.",
        figure="input-laws",
    )


def _curve(cells: Sequence[Cell]) -> tuple[float, float, float]:
    """Return m_80 and its 95 % interval by the success curve that is fitted to these cells."""
    m80, low, high, _ = curve_interval(merge(cells), 0.8, 0.95)
    return m80, low or 0.0, high or math.inf


def _fewer(row: tuple[float, float, float], base: tuple[float, float, float]) -> str:
    """Return whether m_80 is smaller than that of `base`, by their intervals: yes, no, or open."""
    return "yes" if row[2] < base[1] else "no" if row[1] > base[2] else "open"


def _text(row: tuple[float, float, float]) -> str:
    """Return m_80 with its interval as text."""
    return f"{row[0]:.0f} [{row[1]:.0f}, {row[2]:.0f}]"


@neighbour("correlated-laws", where="ours, beside Cornacchia et al., COLT 2025; theory 13.7")
def check_correlated_laws(context: Context) -> Finding:
    """AND of 3 bits of a chain with correlation .8 between neighbours needs more samples than AND of independent bits,
    whether it is learned by covariances, greedily or by a trained head: a neighbour of a relevant bit has .8 times the
    covariance of that bit. No measured law lies below $(delta ln K - ln 2)/H(y)$, a floor for any distribution of
    inputs, for $K$ sets of positions, success rate $delta$ and labels of entropy $H(y)$.
    """
    names = [f"c = {c:g}" for c in CHAINS.values()]
    more, said, low = True, [], math.inf
    for learner in ("one-step", "greedy", "fast"):
        alone, *chained = _laws(context, learner, ["AND 0", *names])
        for name, law, c in zip(names, chained, CHAINS.values(), strict=True):
            found = list(_ratios(law, alone))
            said.append(f"{learner}, {name}: {', '.join(f'{x:.2f}' for _, _, x in found)}")
            if learner != "fast" and name == names[-1]:
                more &= (
                    bool(found) and all(x > 1 for _, _, x in found) and any(low > 1 for low, _, _ in found)
                )
            for T, row in law.thresholds.items():
                rate = flipped.chain_conjunction_rate(3, T, c)
                floor = flipped.least_samples_by_labels(rate, n_functions=math.comb(T, 3), success=0.8)
                low = min(low, _upper(row) / floor)
    return judged(
        "holds" if more and low >= 1 else "refuted",
        paper="no number",
        ours="; ".join(said),
        detail=f"m_80 over that of independent bits at each T. The floor is exceeded by a factor of {low:.2f} "
        "at least.",
        figure="input-laws",
    )
