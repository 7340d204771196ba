"""Measure how well methods of interpretability recover a support that is known by proof, over difficulty and length."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sparsehead._base.errors import DomainError
from sparsehead._base.jsonable import ResultsRecord
from sparsehead._base.rng import stream
from sparsehead.functions import (
    SparseFunction,
    conjunction,
    majority,
    parity,
    random_function,
    random_support,
)
from sparsehead.laws.intervals import normal_quantile, wilson
from sparsehead.planting.distractors import KINDS
from sparsehead.planting.plant import plant
from sparsehead.planting.planted import Planted
from sparsehead.planting.recovery import Recovery
from sparsehead.store.results import write as write_table
from sparsehead.sweep import Progress

from .attributions import METHODS
from .folder import write_results
from .stage import Stage, Workplace

DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)
FUNCTIONS = ("and", "majority", "parity", "junta")
INPUTS = 32  # on which each method is asked; its scores are averaged over them


@dataclass(frozen=True)
class Share:
    """A mean of numbers from 0 to 1, one for each planted model, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Share":
        """Return the mean with Wilson's interval. The interval is conservative: it assumes zeros and ones, which have
        the largest variance of all numbers from 0 to 1 with this mean.

        >>> Share.of([1.0, 0.5]) == Share.of([0.75, 0.75])
        True
        """
        n, p, z = len(values), sum(values) / len(values), normal_quantile(0.975)
        middle, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        # At 0 and 1 an end is the mean itself; elsewhere rounding cannot pass them.
        return cls(p, (middle - reach) / scale if p > 0 else 0.0, (middle + reach) / scale if p < 1 else 1.0)


@dataclass(frozen=True)
class MethodCell:
    """One method on the planted models of one length and difficulty.

    Args:
        distractors: "dial" if `difficulty` sets their number and kinds, else the name of the only kind.
        plants: the number of planted models.
        recall_at_s, precision: means over the planted models of these fields of `Recovery`.
        covered: share of models in which every relevant position is marked.
        found: share of models in which the s largest scores are exactly the support.
    """

    T: int
    difficulty: float
    distractors: str
    method: str
    plants: int
    recall_at_s: Share
    precision: Share
    covered: Share
    found: Share


@dataclass(frozen=True)
class InterpretersRecord(ResultsRecord):
    """interpreters.json: how well each method recovers supports of `s` positions; scores are from `inputs` inputs."""

    s: int
    inputs: int
    cells: tuple[MethodCell, ...]

    def row(self, method: str, *, T: int, difficulty: float, distractors: str = "dial") -> MethodCell:
        """Return the cell of these settings."""
        wanted = (T, difficulty, distractors, method)
        for cell in self.cells:
            if (cell.T, cell.difficulty, cell.distractors, cell.method) == wanted:
                return cell
        raise DomainError(f"interpreters.json has no cell for {method} at T={T}, difficulty {difficulty}.")


@dataclass(frozen=True)
class Interpreters(Stage):
    """The stage that plants functions and applies every method to them. It trains nothing and stores nothing in the
    store.

    Args:
        Ts: context lengths.
        repeats: planted models per cell and function (of four); every other one has a head per relevant position.
        s: number of relevant positions.
    """

    Ts: tuple[int, ...] = (16, 48, 144)
    repeats: int = 6
    s: int = 3
    name: str = "interpreters"

    def summary(self) -> tuple[str, str]:
        """Return what is measured, and the number of planted models."""
        return "Methods that look for a planted support", f"{self.plants} models"

    @property
    def plants(self) -> int:
        """The number of planted models."""
        return len(self.Ts) * (len(DIFFICULTIES) + len(KINDS)) * len(FUNCTIONS) * self.repeats

    def seconds(self, db: Path) -> float:
        """Return the expected core-seconds: per model about 0.1 s and 6 ms for each position."""
        return self.plants * (0.1 + 0.006 * sum(self.Ts) / len(self.Ts))

    def run(self, place: Workplace) -> list[str]:
        """Apply every method to every planted model; write interpreters.json and a table of its cells as CSV."""
        if place.add:
            raise self.not_addable()
        if place.stored:
            return ["interpreters keeps no trials in the store; run it without --stored"]
        with one_thread():
            record = InterpretersRecord(
                self.s, INPUTS, tuple(self.cells(place)), complete=self == Interpreters()
            )
        write_results(place.folder, self.name, record)
        write_table(cell_rows(record), place.folder / f"{self.name}.csv", force=True)
        return []

    def cells(self, place: Workplace) -> Iterator[MethodCell]:
        """Yield the cells of every length, arm (see `arms`) and method; report progress after each planted model."""
        report, start, done = place.progress(self.summary()[0]), time.monotonic(), 0
        for T in self.Ts:
            for difficulty, distractors in arms():
                found: dict[str, list[Recovery]] = {name: [] for name in METHODS}
                for planted in self.planted(T, difficulty, distractors):
                    for name, recovery in recoveries(planted).items():
                        found[name].append(recovery)
                    done += 1
                    if report is not None:
                        spent = time.monotonic() - start
                        report(Progress(done, self.plants, spent, spent / done * (self.plants - done)))
                yield from (_cell(T, difficulty, distractors, *item) for item in found.items())

    def planted(self, T: int, difficulty: float, distractors: str) -> Iterator[Planted]:
        """Yield the planted models of one cell; functions and supports are the same for every difficulty."""
        kinds = None if distractors == "dial" else [distractors]
        for repeat in range(self.repeats):
            for i, name in enumerate(FUNCTIONS):
                f = function_of(name, T, self.s, seed=repeat)
                heads, seed = ("one", "s")[repeat % 2], len(FUNCTIONS) * repeat + i
                yield plant(f, heads=heads, distractors=kinds, difficulty=difficulty, seed=seed)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: its products are small here, and more threads only wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def arms() -> list[tuple[float, str]]:
    """Return (difficulty, distractors) of every cell: first all difficulties, then each kind of distractor alone."""
    alone = 0.25  # difficulty at which each kind of distractor is tried alone: gradients do not vanish there
    return [*((x, "dial") for x in DIFFICULTIES), *((alone, kind) for kind in KINDS)]


def function_of(name: str, T: int, s: int, *, seed: int) -> SparseFunction:
    """Return a function of this family on s random positions."""
    rng = stream(seed, "interpreters", name, T)
    if name == "junta":
        return random_function(T=T, s=s, rng=rng)
    family = {"and": conjunction, "majority": majority, "parity": parity}[name]
    return family(random_support(T=T, s=s, rng=rng), T=T)


def recoveries(planted: Planted) -> dict[str, Recovery]:
    """Return how well each method recovers the support, on random inputs drawn from the model's seed."""
    bits = stream(planted.seed, "interpreters inputs").integers(0, 2, (INPUTS, planted.T))
    return {name: planted.score(method(planted, bits)) for name, method in METHODS.items()}


def _cell(T: int, difficulty: float, distractors: str, method: str, found: list[Recovery]) -> MethodCell:
    def exact(hits: list[bool]) -> Share:
        return Share(sum(hits) / len(hits), *wilson(sum(hits), len(hits)))

    return MethodCell(
        T, difficulty, distractors, method, len(found),
        recall_at_s=Share.of([r.recall_at_s for r in found]),
        precision=Share.of([r.precision for r in found]),
        covered=exact([r.covered for r in found]),
        found=exact([r.recall_at_s == 1 for r in found]),
    )  # fmt: skip


def cell_rows(record: InterpretersRecord) -> list[dict[str, object]]:
    """Return one row per cell, for a table: each share with its interval."""
    rows = []
    for cell in record.cells:
        plain = asdict(cell)
        row: dict[str, object] = {}
        for name, value in plain.items():
            row |= (
                {f"{name}_{part}": x for part, x in value.items()}
                if isinstance(value, dict)
                else {name: value}
            )
        rows.append(row)
    return rows
