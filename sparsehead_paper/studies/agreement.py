"""Exact tests of whether fresh trials agree with committed ones, and the differences that such a test would detect.

Shares (solved or not) are compared by Fisher's exact test over several cells at once: given how many of all trials of a
cell were solved, every choice of the fresh ones is equally likely, and the fresh successes of all cells are added up.
Values (steps, weights) are compared by ranks: every choice of the fresh ones among all values is equally likely.
A test's power is a probability over fresh trials only; the committed trials are taken as given.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from sparsehead._base.rng import stream
from sparsehead._base.types import Array

LEVEL = 0.05  # of all tests together: if nothing has changed, all agree with probability .95 at least
WANTED = 0.8  # probability with which a difference is noticed


@dataclass(frozen=True)
class Count:
    """Successes and trials of one cell, committed and fresh."""

    what: str
    committed: tuple[int, int]
    fresh: tuple[int, int]


@dataclass(frozen=True)
class Shares:
    """Committed and fresh successes in the same cells."""

    cells: tuple[Count, ...]

    @property
    def trials(self) -> int:
        """The number of fresh trials."""
        return sum(cell.fresh[1] for cell in self.cells)

    def p_value(self) -> float:
        """Return the probability, if nothing has changed, of all sums of fresh successes that are at most as likely as
        the observed sum.
        """
        return shares_p([(*cell.committed, *cell.fresh) for cell in self.cells])

    def power(self, shift: float, level: float, most: int = 50_000) -> float:
        """Return the probability of noticing that each cell's share of successes is `shift` higher, cut to [0, 1].

        If there are more than `most` outcomes, it is the share of 500 random ones.
        """
        plan = tuple((*cell.committed, cell.fresh[1]) for cell in self.cells)
        shares = [min(1.0, max(0.0, solved / trials + shift)) for solved, trials, _ in plan]
        if math.prod(n + 1 for *_, n in plan) > most:
            rng = stream(0, "power of a comparison")
            draws = np.transpose([rng.binomial(n, p, 500) for (*_, n), p in zip(plan, shares, strict=True)])
            seen = [
                [(*cell[:2], int(new), cell[2]) for cell, new in zip(plan, row, strict=True)] for row in draws
            ]
            return float(np.mean([shares_p(rows) <= level for rows in seen]))
        chances = [binom.pmf(np.arange(n + 1), n, p) for (*_, n), p in zip(plan, shares, strict=True)]
        each = chances[0]
        for more in chances[1:]:
            each = np.multiply.outer(each, more)
        return float(each[_rejected(plan, level)].sum())

    def in_words(self) -> str:
        """Return the counts as text."""
        parts = [
            f"{c.what}: {c.fresh[0]} of {c.fresh[1]} (committed {c.committed[0]} of {c.committed[1]})"
            for c in self.cells
        ]
        return "; ".join(parts)

    def noticed(self, level: float) -> str:
        """Return in words the smallest differences, in steps of .05, that are noticed with probability WANTED."""
        steps = [i / 20 for i in range(1, 21)]
        parts = []
        for word, sign in (("lower", -1), ("higher", 1)):
            powers = ((step, self.power(sign * step, level)) for step in steps)
            parts += [f"{word} by {step:.2f}" for step in smallest(powers)]
        return f"shares {' or '.join(parts)}" if parts else "no shift of the shares"


@dataclass(frozen=True)
class Values:
    """One positive number for each committed and each fresh run; infinite if the measured event never happened."""

    what: str
    committed: tuple[float, ...]
    fresh: tuple[float, ...]

    @property
    def trials(self) -> int:
        """The number of fresh runs."""
        return len(self.fresh)

    def p_value(self) -> float:
        """Return the two-sided p-value of the rank-sum test; equal values are ordered so that it is largest."""
        below, up_to = (
            sum(sum(compare(x, y) for x in self.committed) for y in self.fresh)
            for compare in (lambda x, y: x < y, lambda x, y: x <= y)
        )
        at_most = _at_most(len(self.committed), len(self.fresh))
        low = at_most[up_to]
        high = 1.0 - (at_most[below - 1] if below else 0.0)
        return float(min(1.0, 2.0 * min(low, high)))

    def power(self, factor: float, level: float) -> float:
        """Return the probability of noticing that fresh values are `factor` times values drawn from committed ones."""
        n, fresh = len(self.committed), len(self.fresh)
        at_most = _at_most(n, fresh)
        noticed = 0.0
        for compare, low in ((np.less_equal, True), (np.less, False)):
            beaten = [int(compare(self.committed, factor * x).sum()) for x in self.committed]
            one = np.bincount(beaten, minlength=n + 1) / n
            total = np.array([1.0])
            for _ in range(fresh):
                total = np.convolve(total, one)
            tails = at_most if low else 1.0 - np.concatenate([[0.0], at_most[:-1]])
            noticed += float(total[2.0 * tails <= level].sum())
        return noticed

    def in_words(self) -> str:
        """Return medians and ranges as text."""
        return f"{self.what}: {_range(self.fresh)} (committed {_range(self.committed)})"

    def noticed(self, level: float) -> str:
        """Return in words the smallest factors, in steps of 1/4, that are noticed with probability WANTED."""
        steps = [1 + i / 4 for i in range(1, 37)]
        parts = []
        for word, way in (("larger", 1), ("smaller", -1)):
            powers = ((step, self.power(step**way, level)) for step in steps)
            parts += [f"{step:g} times {word}" for step in smallest(powers)]
        return f"values {' or '.join(parts)}" if parts else "no factor up to 10"


Comparison = Shares | Values
Observed = Mapping[
    str, Sequence[bool] | Sequence[float]
]  # whether something happened, or a number, for each run


@dataclass(frozen=True)
class Agreement:
    """Comparisons of fresh trials with committed ones; the probability that any of them errs is at most `level`."""

    comparisons: tuple[Comparison, ...]
    level: float = LEVEL

    @property
    def level_each(self) -> float:
        """The level of each comparison."""
        return self.level / len(self.comparisons)

    @property
    def trials(self) -> int:
        """The number of fresh trials; every comparison uses all of them."""
        return max(c.trials for c in self.comparisons)

    @property
    def agrees(self) -> bool:
        """Return whether no comparison finds a difference."""
        return all(comparison.p_value() > self.level_each for comparison in self.comparisons)

    def sentence(self) -> str:
        """Return the verdict, the numbers that were compared, and the differences that the test would have noticed."""
        said = f"{self.trials} fresh trials {'agree' if self.agrees else 'do not agree'} with the committed result"
        parts = []
        for c in self.comparisons:
            noticed = f"it notices {c.noticed(self.level_each)} with probability {WANTED}"
            test = f"exact test, $p = {c.p_value():.2g}$; {noticed}"
            parts.append(f"{c.in_words()} ({test})")
        return f"{said}: {'; '.join(parts)}."


def compared(committed: Observed, fresh: Observed) -> tuple[Comparison, ...]:
    """Return one comparison of all counts, and one for each kind of number that both sides have."""
    counts: list[Count] = []
    found: list[Comparison] = []
    for what, new in fresh.items():
        known = committed.get(what, ())
        if not known or not new:
            continue
        if isinstance(new[0], bool):
            counts.append(Count(what, (int(sum(known)), len(known)), (int(sum(new)), len(new))))
        else:
            found.append(Values(what, tuple(known), tuple(new)))
    return (*found, *([Shares(tuple(counts))] if counts else []))


def smallest(powers: Iterable[tuple[float, float]]) -> list[float]:
    """Return [the first step whose power is at least WANTED], given pairs (step, power); [] if there is none."""
    return [step for step, power in powers if power >= WANTED][:1]


def shares_p(cells: Sequence[tuple[int, int, int, int]]) -> float:
    """Return the p-value of the sum of fresh successes; cells are (committed solved, trials, fresh solved, trials).

    For one cell this is Fisher's exact two-sided test. The p-value is the probability of all sums that are at most as
    likely as the observed one.
    """
    chances = np.array([1.0])
    at = 0
    for solved, trials, new, fresh in cells:
        chances = np.convolve(chances, _hypergeometric(trials + fresh, solved + new, fresh))
        at += new
    return float(chances[chances <= chances[at] * (1 + 1e-7)].sum())  # rounding of equal probabilities


@cache
def _hypergeometric(total: int, solved: int, drawn: int) -> Array:
    return np.asarray(hypergeom.pmf(np.arange(drawn + 1), total, solved, drawn))


@cache
def _rejected(plan: tuple[tuple[int, int, int], ...], level: float) -> Array:
    """Return for every outcome of the fresh trials (an axis per cell) whether the test notices a difference."""
    found = np.zeros([n + 1 for _, _, n in plan], dtype=bool)
    for seen in itertools.product(*(range(n + 1) for _, _, n in plan)):
        rows = [(solved, trials, new, n) for (solved, trials, n), new in zip(plan, seen, strict=True)]
        found[seen] = shares_p(rows) <= level
    return found


@cache
def _at_most(committed: int, fresh: int) -> Array:
    """Return P(U <= u) for all u if all orders are equally likely; U counts pairs with a larger fresh value."""
    ways = [[1, *[0] * (committed * fresh)], *([0] * (committed * fresh + 1) for _ in range(fresh))]
    for rank in range(committed + fresh):  # ways[k][u]: choices of k of the ranks so far with U = u
        for k in range(min(rank + 1, fresh), 0, -1):
            beaten = rank - (k - 1)
            for u in range(committed * fresh, beaten - 1, -1):
                ways[k][u] += ways[k - 1][u - beaten]
    total = math.comb(committed + fresh, fresh)
    return np.array([float(n) / total for n in itertools.accumulate(ways[fresh])])


def _range(values: Sequence[float]) -> str:
    ordered: list[Any] = sorted(values)
    shown = [
        "never" if math.isinf(x) else f"{x:.4g}" for x in (ordered[0], float(np.median(ordered)), ordered[-1])
    ]
    return "/".join(shown)
