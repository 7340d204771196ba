"""Parity with intermediate labels (Kim and Suzuki, arXiv 2410.08633): one gradient step, measured.

The model and its exact gradient are in `theory.taught_parity`. Four things are measured for d bits and parity of k:

one step             the gradient uses the true intermediate values (teacher forcing). Measured on the scores after one
                     step from zero, at several n: whether the two children have the largest scores at every node, and
                     whether the model solves fresh inputs, on which it uses only its own values
rounded              the same step, with scores rounded to integers in units of pi^2/N^2 times the rate
log_2 k steps        no true intermediate value is used: the model computes all nodes itself, a node whose sign differs
                     from its label on some sample is left out of the attention, and scores are rounded (this form of
                     the filter is ours)
direct               only the parity is a label, and Adam trains all scores through the model's own values

    sparsehead reproduce --only taught-parity --out /elsewhere/taught
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.rng import stream
from sparsehead._base.types import Array, Bool, Float, Shaped
from sparsehead.sweep import Progress

from ..theory.taught_parity import children, end_gradient, error_bound, population_gradient, run, tokens
from .folder import write_results
from .interpreters import one_thread
from .stage import Stage, Workplace

CHUNK = 4096  # samples at a time: 9 MB at d = 512

Scores = list[Float[Array, " N"]]


@dataclass(frozen=True)
class GapCell:
    """The gradient at zero scores, in units of pi^2/N^2 for N tokens before a node, over all nodes of one tree.

    Args:
        child, other: the least value of -gradient at a child, and the largest |gradient| at another token, of the exact
            gradient.
        sampled_child, sampled_other: the same for gradients from n samples.
    """

    d: int
    k: int
    child: float
    other: float
    n: int
    sampled_child: float
    sampled_other: float


@dataclass(frozen=True)
class StepCell:
    """Counts of `trials` with one step from n samples.

    Args:
        leading: trials in which the two children have the largest scores at every node.
        solved: trials in which the model's accuracy on fresh inputs exceeds 0.99.
        rounded: trials in which the rounded scores are 1 at the children and 0 elsewhere, at every node.
    """

    d: int
    k: int
    n: int
    trials: int
    leading: int
    solved: int
    rounded: int


@dataclass(frozen=True)
class OwnCell:
    """Steps without true intermediate values: `exact` counts trials whose scores after log_2 k steps are those of the
    construction; `bound` is the proved error of that construction on all inputs.
    """

    d: int
    k: int
    n: int
    steps: int
    trials: int
    exact: int
    bound: float


@dataclass(frozen=True)
class DirectCell:
    """Training by the parity alone: accuracy on fresh inputs in each trial."""

    d: int
    k: int
    n: int
    steps: int
    accuracies: tuple[float, ...]


@dataclass(frozen=True)
class TaughtParityRecord(ResultsRecord):
    """taught-parity.json."""

    gaps: tuple[GapCell, ...]
    steps: tuple[StepCell, ...]
    own: tuple[OwnCell, ...]
    direct: tuple[DirectCell, ...]


def score_at_children(d: int, k: int) -> float:
    """Return L = 2 ln N, the score of a child in the construction, with N = d + k - 2; the attention on other tokens is
    then below 1/N.
    """
    return 2 * math.log(d + k - 2)


def units(gradient: Float[Array, " N"]) -> Float[Array, " N"]:
    """Return minus the gradient, in units of pi^2/N^2 for N tokens; the exact gradient at a child is near -1."""
    return -gradient * len(gradient) ** 2 / math.pi**2


def random_bits(n: int, d: int, rng: np.random.Generator) -> Float[Array, "n d"]:
    """Return n rows of d uniform values +-1, as float32."""
    found = np.unpackbits(rng.integers(256, size=(n, -(-d // 8)), dtype=np.uint8), axis=1, count=d)
    return found.astype(np.float32) * np.float32(2) - np.float32(1)


def gradient_sums(
    seen: Float[Array, "n N"], labels: Float[Array, "n nodes"], live: Bool[Array, " nodes"]
) -> Float[Array, "nodes N"]:
    """Return, for each node, the sum over samples of (phi(z) - y) phi'(z) x_j at zero scores, for all tokens j.

    phi(z) = -cos(pi z) is the node's value and y its label; z is the mean of the bits and of the live nodes before it.
    """
    d = seen.shape[1] - len(live)
    nodes = seen[:, d:] * live
    before = np.concatenate([seen[:, :d].sum(axis=1, keepdims=True), nodes[:, :-1]], axis=1).cumsum(axis=1)
    z = np.pi * before / seen_tokens(d, live).astype(np.float32)
    errors = (-np.cos(z) - labels) * np.pi * np.sin(z)
    return np.asarray(errors.astype(seen.dtype).T @ seen, dtype=np.float64)


def seen_tokens(d: int, live: Bool[Array, " nodes"]) -> Shaped[Array, " nodes"]:
    """Return the number of tokens that each node sees: the d bits and the live nodes before it."""
    return d + np.concatenate([[0], live[:-1].cumsum()])


def directions(sums: Float[Array, "nodes N"], n: int, live: Bool[Array, " nodes"]) -> Scores:
    """Return the descent directions at zero scores, in units of pi^2/N^2 for the N tokens that a node sees; 0 at tokens
    that are not live.
    """
    d = sums.shape[1] - len(live)
    found = []
    for q, (row, N) in enumerate(zip(sums / n, seen_tokens(d, live), strict=True)):
        seen = np.concatenate([np.ones(d, dtype=bool), live[:q]])
        A = row[: d + q]
        found.append(np.where(seen, (A[seen].mean() - A) * N / math.pi**2, 0.0))
    return found


def at_children(d: int, k: int) -> list[Bool[Array, " N"]]:
    """Return for each node a mask of its two children among the tokens before it."""
    masks = [np.zeros(d + q, dtype=bool) for q in range(k - 1)]
    for mask, pair in zip(masks, children(d, k), strict=True):
        mask[pair] = True
    return masks


def extremes(found: Scores, masks: list[Bool[Array, " N"]]) -> tuple[float, float]:
    """Return the least direction at a child and the largest size at another token."""
    child = min(float(w[mask].min()) for w, mask in zip(found, masks, strict=True))
    return child, max(float(abs(w[~mask]).max()) for w, mask in zip(found, masks, strict=True))


def accuracy(scores: Scores, d: int, rng: np.random.Generator) -> float:
    """Return the share of fresh inputs on which the model, run by itself, has the sign of the parity."""
    k = len(scores) + 1
    fresh = 1000  # inputs on which a model is tested
    bits = random_bits(fresh, d, rng)
    found = run(scores, bits)[:, -1]
    return float((np.sign(found) == bits[:, :k].prod(axis=1)).mean())


def one_step(d: int, k: int, sizes: tuple[int, ...], rng: np.random.Generator) -> Iterator[Scores]:
    """Yield, for each n of `sizes`, the directions from the first n samples of one stream, with the true intermediate
    values.

    Paper: taught-one-step
    """
    sums, n, live = np.zeros((k - 1, d + k - 1)), 0, np.ones(k - 1, dtype=bool)
    for size in sizes:
        while n < size:
            seen = tokens(random_bits(min(CHUNK, size - n), d, rng), k)
            sums += gradient_sums(seen, seen[:, d:], live)
            n += len(seen)
        yield directions(sums, n, live)


def own_steps(d: int, k: int, n: int, rng: np.random.Generator) -> Scores:
    """Return rounded scores, in units of L, after log_2 k steps in which the model uses only its own values of the
    nodes.

    Paper: taught-own-steps
    """
    chunks = [random_bits(min(CHUNK, n - start), d, rng).astype(np.int8) for start in range(0, n, CHUNK)]
    L = score_at_children(d, k)
    scores: Scores = [np.zeros(d + q) for q in range(k - 1)]
    for _ in range(k.bit_length() - 1):
        sums, live = np.zeros((k - 1, d + k - 1)), np.ones(k - 1, dtype=bool)
        own = [run([L * w for w in scores], bits.astype(np.float32))[:, d:] for bits in chunks]
        for bits, nodes in zip(chunks, own, strict=True):
            live &= (np.sign(nodes) == tokens(bits, k)[:, d:]).all(axis=0)
        for bits, nodes in zip(chunks, own, strict=True):
            seen = np.concatenate([bits, nodes], axis=1)
            sums += gradient_sums(seen, tokens(bits, k)[:, d:], live)
        # phi' is 0 where a value is right, so the scores of live nodes stay
        steps = directions(sums, n, live)
        scores = [w if done else np.round(step) for w, step, done in zip(scores, steps, live, strict=True)]
    return scores


def trained_directly(d: int, k: int, n: int, steps: int, rng: np.random.Generator) -> Scores:
    """Return scores after Adam (rate 0.1) on the parity alone, from random scores of size 0.1, on n samples.

    Paper: untaught-parity
    """
    bits = random_bits(n, d, rng).astype(np.float64)
    y = bits[:, :k].prod(axis=1)
    scores: Scores = [0.1 * rng.standard_normal(d + q) for q in range(k - 1)]
    first = [np.zeros_like(w) for w in scores]
    second = [np.zeros_like(w) for w in scores]
    for t in range(1, steps + 1):
        for q, g in enumerate(end_gradient(scores, bits, y)):
            first[q] = 0.9 * first[q] + 0.1 * g
            second[q] = 0.999 * second[q] + 0.001 * g * g
            scale = np.sqrt(second[q] / (1 - 0.999**t)) + 1e-12
            scores[q] = scores[q] - 0.1 * first[q] / (1 - 0.9**t) / scale
    return scores


@dataclass(frozen=True)
class TaughtParity(Stage):
    """The stage that makes all four measurements; it stores nothing in the store.

    Args:
        sizes: samples per bit, so that n = size d. repeats: trials of one step; own_repeats, of log_2 k steps.
        direct: values of k that are trained directly, at the least d.
    """

    ds: tuple[int, ...] = (64, 128, 256, 512)
    ks: tuple[int, ...] = (8, 16, 32)
    sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)
    repeats: int = 10
    own_repeats: int = 2
    direct: tuple[int, ...] = (2, 4, 8)
    direct_steps: int = 300
    name: str = "taught-parity"

    def summary(self) -> tuple[str, str]:
        """Return what is measured, and the number of trials."""
        return "Parity with intermediate labels", f"{len(self.ds) * len(self.ks) * self.repeats} trials"

    def seconds(self, db: Path) -> float:
        """Return the expected core-seconds: 0.3 ns per sample, token and node; ten times as much for each own step."""
        tokens_seen = sum(self.sizes[-1] * d * d * k for d in self.ds for k in self.ks)
        return 3e-10 * tokens_seen * (self.repeats + 50 * self.own_repeats) + 6.0 * len(self.direct)

    def run(self, place: Workplace) -> list[str]:
        """Measure everything and write taught-parity.json."""
        if place.add:
            raise self.not_addable()
        if place.stored:
            return [f"{self.name} keeps no trials in the store; run it without --stored"]
        with one_thread():
            record = self.measure(place)
        write_results(place.folder, self.name, record)
        return []

    def measure(self, place: Workplace) -> TaughtParityRecord:
        """Return the record; progress is reported after each (d, k)."""
        report, start = place.progress(self.summary()[0]), time.monotonic()
        gaps: list[GapCell] = []
        steps: list[StepCell] = []
        own: list[OwnCell] = []
        cells = [(d, k) for d in self.ds for k in self.ks if k <= d]
        for done, (d, k) in enumerate(cells, 1):
            found, counts = self._one_step(d, k)
            gaps.append(found)
            steps += counts
            own.append(self._own(d, k))
            if report is not None:
                spent = time.monotonic() - start
                report(Progress(done, len(cells), spent, spent / done * (len(cells) - done)))
        direct = tuple(self._direct(self.ds[0], k) for k in self.direct)
        whole = self == TaughtParity()
        return TaughtParityRecord(tuple(gaps), tuple(steps), tuple(own), direct, complete=whole)

    def _one_step(self, d: int, k: int) -> tuple[GapCell, list[StepCell]]:
        masks, L = at_children(d, k), score_at_children(d, k)
        exact = extremes([units(population_gradient(d, k, q)) for q in range(k - 1)], masks)
        sizes = tuple(size * d for size in self.sizes)
        counts = np.zeros((len(sizes), 3), dtype=int)
        # of the first trial, for the record
        sampled = (math.nan, math.nan)
        # one rate for all nodes: a unit of the last node, whose gradient is least, gives the score L
        rates = [L * ((d + k - 2) / (d + q)) ** 2 for q in range(k - 1)]
        for i in range(self.repeats):
            rng = stream(0, "taught-parity", d, k, i)
            for row, found in enumerate(one_step(d, k, sizes, rng)):
                leads = all(w[m].min() > w[~m].max() for w, m in zip(found, masks, strict=True))
                rounded = all((np.round(w) == m).all() for w, m in zip(found, masks, strict=True))
                scores = [rate * w for rate, w in zip(rates, found, strict=True)]
                counts[row] += leads, accuracy(scores, d, rng) > 0.99, rounded
            if i == 0:
                sampled = extremes(found, masks)
        gap = GapCell(d, k, *exact, sizes[-1], *sampled)
        rows = [StepCell(d, k, n, self.repeats, *map(int, row)) for n, row in zip(sizes, counts, strict=True)]
        return gap, rows

    def _own(self, d: int, k: int) -> OwnCell:
        n, masks, exact = self.sizes[-1] * d, at_children(d, k), 0
        for i in range(self.own_repeats):
            found = own_steps(d, k, n, stream(0, "taught-parity", "own", d, k, i))
            exact += all((w == mask).all() for w, mask in zip(found, masks, strict=True))
        bound = error_bound(d, k, score_at_children(d, k))
        return OwnCell(d, k, n, k.bit_length() - 1, self.own_repeats, exact, bound)

    def _direct(self, d: int, k: int) -> DirectCell:
        n, found = 64 * d, []
        for i in range(5):
            rng = stream(0, "taught-parity", "direct", d, k, i)
            found.append(accuracy(trained_directly(d, k, n, self.direct_steps, rng), d, rng))
        return DirectCell(d, k, n, self.direct_steps, tuple(found))
