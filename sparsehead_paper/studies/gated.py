"""Single runs of preset "gated" beside those of "best", on the same data: other functions, and noise.

The settings of "gated" were chosen on runs at T = 100 and 1000 with seeds below 3,000,096; these runs have other seeds.

    sparsehead reproduce --only gated --db /elsewhere/gated.db --out /elsewhere/gated
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.store import Store
from sparsehead.train.spec import TrainSpec, preset, spec_id

from .stage import Experiment, full_length


@dataclass(frozen=True)
class GatedCell:
    """The number of solved single runs of a preset, for one function, T, number of samples m and label noise."""

    preset: str
    function: str
    T: int
    m: int
    noise: float
    solved: int
    runs: int


@dataclass(frozen=True)
class GatedRecord(ResultsRecord):
    """gated.json."""

    cells: tuple[GatedCell, ...]


def gated() -> Experiment:
    """Return the experiment; its runs take seconds each at T = 10^4, and less below."""
    specs = tuple(spec for _, _, some in _parts() for spec in some)
    return Experiment("gated", "Single runs of preset gated", specs, {"gated": count_solved})


def _parts() -> Iterator[tuple[str, dict[str, Any], list[TrainSpec]]]:
    """Yield a preset, its settings and the specs of its runs; the most informative come first."""
    for function, T, m, noise, presets, runs in (
        ("and", 10_000, 60, 0.0, ("gated",), 48),
        ("or", 10_000, 60, 0.0, ("gated",), 40),
        ("and", 1000, 42, 0.0, ("gated", "best"), 48),
        ("or", 1000, 42, 0.0, ("gated",), 48),
        ("majority", 300, 60, 0.0, ("gated", "best"), 40),
        ("majority", 300, 100, 0.0, ("gated",), 40),
        ("parity", 100, 300, 0.0, ("gated",), 20),
        ("and", 1000, 60, 0.05, ("gated", "best"), 40),
        ("and", 1000, 80, 0.1, ("gated",), 40),
    ):
        settings = {"function": function, "T": T, "m": m, "noise": noise}
        for name in presets:
            specs = [
                preset(name, s=3, seed=7_000_000 + i, restarts=1, check_every=20, **full_length(settings))
                for i in range(runs)
            ]
            yield name, settings, specs


def count_solved(store: Store, experiment: Experiment) -> GatedRecord:
    """Return the counts of the runs in the store, cell by cell."""
    solved = {record.spec_id: record.solved for record in experiment.records(store)}
    cells = []
    for name, settings, specs in _parts():
        found = [solved[key] for key in map(spec_id, specs) if key in solved]
        if found:
            cells.append(GatedCell(name, **settings, solved=sum(found), runs=len(found)))
    return GatedRecord(tuple(cells))
