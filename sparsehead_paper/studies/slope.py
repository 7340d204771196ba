"""The law's slope by setting: preset "best" with one setting changed at a time, and the norms under each.

Paper: law-slope, slope-norms
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.store import Record, Store
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import OverT, TrainSpec

from .law_stage import Law, Laws
from .norms import capacity_at
from .paper_laws import PAPER_WIDTH
from .stage import Experiment, conjunctions

COARSE = (100, 1000)  # where settings are compared and norms are looked at
# One setting of preset "best" changed at a time, and those that matter most together.
FACTORS: dict[str, dict[str, dict[str, Any]]] = {
    "as it is": {"preset best": {}},
    "decay": {
        "none": {"weight_decay": 0.0},
        "L2 on matrices only": {"decay": "matrices"},
        "L2 of 1e-4 at every T": {"weight_decay": 1e-4},
        "AdamW, 0.03": {"optimiser": "adamw", "weight_decay": 0.03},
    },
    "initial embeddings": {"N(0, 0.1^2)": {"init_std": 0.1}, "N(0, 1)": {"init": "torch-default"}},
    "Adam's eps": {"eps 10/T": {"adam_eps": OverT(10.0)}, "eps 1e-8": {"adam_eps": 1e-8}},
    "eps, embeddings, decay": {
        "eps 1e-8, N(0, 1)": {"adam_eps": 1e-8, "init": "torch-default"},
        "eps 1e-8, no decay": {"adam_eps": 1e-8, "weight_decay": 0.0},
        "eps 1e-8, N(0, 1), no decay": {"adam_eps": 1e-8, "init": "torch-default", "weight_decay": 0.0},
    },
    "rate": {"rate 3e-3": {"learning_rate": 3e-3}, "rate 3e-2": {"learning_rate": 3e-2}},
    "initial linear maps": {
        "half": {"init_scale": 0.5}, "double": {"init_scale": 2.0},
        "N(0, 0.02^2)": {"init": "mingpt", "init_std": 0.02},
    },
    "clipping": {"not clipped": {"clip": 0.0}},
    "heads": {"1 head of 16": {"H": 1, "k": 16}, "16 heads of 1": {"H": 16, "k": 1}},
    "width": {"d = 8": {"d": 8, "H": 2, "mlp": 32}, "d = 64": {"d": 64, "H": 16, "mlp": 256}},
    "dropout": {"dropout 0.1": {"dropout": 0.1}},
}  # fmt: skip


def slope() -> Laws:
    """Return laws of preset "best" with one setting changed: T = 100, 1000, mostly also 10^4.   Paper: law-slope"""
    laws, groups = {}, {}
    # Settings that are compared at T = 10^4 too, where a failure takes one to three minutes: fewer trials, and none
    # below the floor. With dropout a failure takes a minute at T = 1000 already.
    long: dict[str, dict[str, int]] = {
    label: {"max_trials": 12, "m_min": 48, "start": 56}
    for label in (
        "preset best", "none", "L2 on matrices only", "L2 of 1e-4 at every T", "AdamW, 0.03", "N(0, 0.1^2)", "eps 1e-8",
        "rate 3e-3", "double", "not clipped", "1 head of 16", "d = 8",
    )
}  # fmt: skip
    for group, changes in FACTORS.items():
        for label, settings in changes.items():
            Ts = (*COARSE, 10_000) if label in long else COARSE
            dear = {1000: {"max_trials": 12}} if label == "dropout 0.1" else {}
            exceptions = {10_000: long[label]} if label in long else dear
            given = {"preset": "best", "exceptions": exceptions, **settings}
            laws[label] = Law(f"slope-{label}", Ts, 24, given, width=PAPER_WIDTH, start=45)
            groups[label] = group
    return Laws("slope", "The law's slope by setting", laws, groups)


def norm_specs(label: str, T: int) -> list[TrainSpec]:
    """Return three runs with ample samples under one setting of `slope`, to measure norms.   Paper: law-slope"""
    settings = next(changes[label] for changes in FACTORS.values() if label in changes)
    return conjunctions(T=T, m=300, trials=range(3), preset="best", restarts=1, **settings)


@dataclass(frozen=True)
class SettingCapacity:
    """The capacity C = eps^2 ln N of the class of heads with a model's norms, at the first record of training and when
    first solved: medians over `runs` solved runs at T under the setting `label`."""

    label: str
    T: int
    start: float
    solved: float
    runs: int


@dataclass(frozen=True)
class SlopeNormsRecord(ResultsRecord):
    """slope-norms.json."""

    rows: tuple[SettingCapacity, ...]


def slope_norms() -> Experiment:
    """Return the experiment: norms under each setting of `slope`, T = 100 and 1000.   Paper: law-slope, slope-norms"""
    labels = [label for changes in FACTORS.values() for label in changes]
    specs = [spec for label in labels for T in COARSE for spec in norm_specs(label, T)]
    files = {"slope-norms": collect_slope_norms}
    return Experiment(
        "slope-norms", "Norms under each setting", tuple(specs), files, options={"mass_every": 10}
    )


def collect_slope_norms(store: Store, _: Experiment) -> SlopeNormsRecord:
    """Collect the capacity of the class of heads with the norms found, at the first record of training and at success.

    Values are medians over solved runs, for each setting and T.   Paper: law-slope
    """
    rows: list[SettingCapacity] = []
    for label in (label for changes in FACTORS.values() for label in changes):
        for T in COARSE:
            records = store.find(norm_specs(label, T), origin_of).values()
            ends = [_capacity(record, store) for record in records if record.solved]
            if ends:
                start, solved = np.median(np.array(ends), axis=0)
                rows.append(SettingCapacity(label, T, float(start), float(solved), len(ends)))
    return SlopeNormsRecord(tuple(rows))


def _capacity(record: Record, store: Store) -> tuple[float, float]:
    """Return C at the first and at the last record of training."""
    history, size = store.history(record.id), {"T": record.spec["T"], "m": record.spec["m"]}
    return capacity_at(history, 0, **size), capacity_at(history, -1, **size)
