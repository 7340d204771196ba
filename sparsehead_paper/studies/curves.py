"""Figure 3 left: validation curves above and below the threshold.   Paper: curves-and"""

from dataclasses import dataclass

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.store import Store

from ..published import CURVES_AND
from .stage import Experiment, conjunctions


@dataclass(frozen=True)
class AccuracyPoint:
    """Validation accuracy of one replicate at one step."""

    m: int
    replicate: int
    step: int
    accuracy: float


@dataclass(frozen=True)
class CurveTrial:
    """One replicate: whether it was solved, after how many steps, and its best training accuracy."""

    m: int
    solved: bool
    steps: int
    train_accuracy: float


@dataclass(frozen=True)
class CurvesRecord(ResultsRecord):
    """curves.json, curves-paper.json: validation curves above and below the threshold."""

    T: int
    curves: tuple[AccuracyPoint, ...]
    trials: tuple[CurveTrial, ...] = ()


def curves(preset: str = "fast", replicates: int = CURVES_AND.replicates) -> Experiment:
    """Return the experiment of figure 3, left: T = 300, above and below the threshold; no run ends early. Paper:
    curves-and
    """
    specs = [
        spec
        for m in (200, 50)
        for spec in conjunctions(T=CURVES_AND.T, m=m, trials=range(replicates), preset=preset, stall=0)
    ]
    name = "curves" if preset == "fast" else f"curves-{preset}"
    return Experiment(
        name, f"Validation curves at T = 300 (preset {preset})", tuple(specs), {name: collect_curves}
    )


def collect_curves(store: Store, experiment: Experiment) -> CurvesRecord:
    """Collect validation curves, and for each trial whether and when it was solved.

    The curve of a trial is the curve of its solved run or, if no run is solved, of its best run.   Paper: curves-and
    """
    points: list[AccuracyPoint] = []
    trials: list[CurveTrial] = []
    for i, record in enumerate(experiment.records(store)):
        m, history = record.spec["m"], store.history(record.id)
        points += [
            AccuracyPoint(m, i, int(step), round(accuracy, 4))
            for step, accuracy in zip(history["check_step"], history["val_accuracy"], strict=True)
        ]
        trials.append(
            CurveTrial(m, record.solved, record.outcome["steps"], float(max(history["train_accuracy"])))
        )
    return CurvesRecord(experiment.specs[0].T, tuple(points), tuple(trials))
