"""The steepness of the success curves of presets "paper" and "literal": success at three m around the threshold, T =
700.

The paper's error bars imply a logistic slope (`bars`), and these two presets differ most in their slopes. Laws spread
their trials over 18 values of T; here there are 40 trials, as many as in the paper, at each of three m.

    sparsehead reproduce --only steepness --db /elsewhere/steepness.db --out /elsewhere/steepness
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.curves import Cell
from sparsehead.store import Store
from sparsehead.train.spec import TrainSpec, spec_id

from .stage import Experiment, conjunctions

PRESETS = ("paper", "literal")
SIZES = (70, 90, 110)


@dataclass(frozen=True)
class SteepnessRecord(ResultsRecord):
    """steepness.json: solved trials at each m, by preset."""

    T: int
    cells: dict[str, tuple[Cell, ...]]


def steepness(T: int = 700, trials: int = 40) -> Experiment:
    """Return the experiment. Its trials are ordered so that every cell has its first trial before any cell has its
    second.
    """
    specs = tuple(spec for i in range(trials) for _, _, spec in _trial(T, i))
    return Experiment("steepness", f"Success at three m, T = {T}", specs, {"steepness": collect_cells})


def _trial(T: int, i: int) -> Iterator[tuple[str, int, TrainSpec]]:
    for m in SIZES:
        for preset in PRESETS:
            (spec,) = conjunctions(T=T, m=m, trials=[i], preset=preset)
            yield preset, m, spec


def collect_cells(store: Store, experiment: Experiment) -> SteepnessRecord:
    """Return the counts of the trials in the store."""
    solved = {record.spec_id: record.solved for record in experiment.records(store)}
    T, trials = experiment.specs[0].T, len(experiment.specs) // (len(SIZES) * len(PRESETS))
    found: dict[tuple[str, int], list[bool]] = {}
    for i in range(trials):
        for preset, m, spec in _trial(T, i):
            if (key := spec_id(spec)) in solved:
                found.setdefault((preset, m), []).append(solved[key])
    cells = {
        preset: tuple(
            Cell(m, sum(found[preset, m]), len(found[preset, m])) for m in SIZES if (preset, m) in found
        )
        for preset in PRESETS
    }
    return SteepnessRecord(T, cells)
