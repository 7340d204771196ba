"""Success at three m around the threshold, T = 700, under presets "paper" and "literal": how steep are their curves?

The paper's error bars imply a logistic slope (`bars`), and the two presets differ most in theirs. Laws spread their
trials over 18 T; here 40 trials, as many as the paper has, lie at each of three m.

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
    """Return the experiment; the first trial of every cell comes before the second of any."""
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
