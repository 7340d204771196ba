"""Group specs into units of work: trials that differ only in the seed, as many as take about half a second."""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from .._base.errors import DomainError
from ..train.spec import TrainSpec

MOST_TRIALS = 500  # in one unit, even if they are short


def unit_seconds(workers: int) -> float:
    """Return how long a unit should take: half a second, or more if there are more than 25 workers.

    Sending a unit and receiving its outcomes takes the client some milliseconds (benchmarks/scale.py), about 2 % of
    half a second. With many workers the client could not keep up, so units then take 0.02 s for each worker.

    >>> unit_seconds(2), unit_seconds(1000)
    (0.5, 20.0)
    """
    return max(0.5, 0.02 * workers)


def cost(spec: TrainSpec) -> float:
    """Estimate the relative time of a trial: a step reads m x T bits and T x d entries of positions."""
    return float(spec.T * (spec.m + spec.d))


class Backlog:
    """The waiting specs, grouped by everything but the seed, in order of first appearance; at most `batch` per unit."""

    def __init__(self, specs: Iterable[TrainSpec], *, batch: int = MOST_TRIALS) -> None:
        if batch < 1:
            raise DomainError(f"a unit holds at least one trial, got batch={batch}.")
        self._batch = batch
        self._alone: deque[TrainSpec] = deque()
        self._groups: dict[str, deque[TrainSpec]] = {}
        for spec in dict.fromkeys(specs):
            self._groups.setdefault(_shape(spec), deque()).append(spec)
        self._left = sum(map(len, self._groups.values()))
        self._each: dict[str, float] = {}  # seconds of a trial, by `_shape`
        self._rate: float | None = None  # seconds per unit of `cost`

    def __len__(self) -> int:
        return self._left + len(self._alone)

    @property
    def first(self) -> TrainSpec:
        """The next spec."""
        return self._alone[0] if self._alone else next(iter(self._groups.values()))[0]

    def take(self, workers: int) -> list[TrainSpec]:
        """Remove and return the next unit: as many trials of one shape as take `unit_seconds`.

        Before any measurement it is one trial. Towards the end it is smaller, so that all `workers` have work.
        """
        if self._alone:
            return [self._alone.popleft()]
        shape, group = next(iter(self._groups.items()))
        each = self.seconds(group[0])
        wanted = 1 if each is None else max(1, int(unit_seconds(workers) / max(each, 1e-9)))
        size = min(wanted, self._batch, len(group), -(-self._left // workers))
        unit = [group.popleft() for _ in range(size)]
        self._left -= size
        if not group:
            del self._groups[shape]
        return unit

    def again(self, spec: TrainSpec) -> None:
        """Put a spec back: it will be the next unit, alone."""
        self._alone.append(spec)

    def measured(self, unit: Sequence[TrainSpec], seconds: float) -> None:
        """Update the time of a trial from a finished unit; later units count more, since the first include start-up."""
        shape, each, rate = _shape(unit[0]), seconds / len(unit), seconds / sum(map(cost, unit))
        self._each[shape] = 0.5 * self._each.get(shape, each) + 0.5 * each
        self._rate = rate if self._rate is None else 0.5 * self._rate + 0.5 * rate

    def seconds(self, spec: TrainSpec) -> float | None:
        """Estimate the seconds of a trial from trials of its shape, or else of others; None before any measurement."""
        known = self._each.get(_shape(spec))
        return known if known is not None or self._rate is None else self._rate * cost(spec)


def _shape(spec: TrainSpec) -> str:
    """Return a text that is equal for specs that differ only in the seed."""
    rest = {name: value for name, value in asdict(spec).items() if name != "seed"}
    return json.dumps(rest, sort_keys=True)
