"""Specs into units of work: trials that differ in the seed alone go to one worker together."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from ..errors import DomainError
from ..spec import TrainSpec


def units(specs: Iterable[TrainSpec], *, batch: int, workers: int = 1) -> list[list[TrainSpec]]:
    """Groups of at most `batch` specs that differ in the seed alone, in the order of their first specs.

    With fewer full groups than workers the groups are made smaller, so that every worker has something to do.
    """
    if batch < 1:
        raise DomainError(f"a unit holds at least one trial, got batch={batch}.")
    groups: dict[str, list[TrainSpec]] = {}
    for spec in dict.fromkeys(specs):
        rest = {name: value for name, value in asdict(spec).items() if name != "seed"}
        groups.setdefault(json.dumps(rest, sort_keys=True), []).append(spec)
    total = sum(map(len, groups.values()))
    size = max(1, min(batch, -(-total // workers)))
    return [group[i : i + size] for group in groups.values() for i in range(0, len(group), size)]


def cost(spec: TrainSpec) -> float:
    """Relative time of a trial, for the time to go: a step reads m x T bits and T x d positions."""
    return float(spec.T * (spec.m + spec.d))


def total_cost(specs: Sequence[TrainSpec]) -> float:
    """The sum of the costs."""
    return sum(map(cost, specs))
