"""Parity: loss curves as in the paper's figure 4, and results under settings that the paper does not state.

Paper: parity-curves, parity-settings
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sparsehead._base.jsonable import ResultsRecord
from sparsehead.laws.rounds import trial_seed
from sparsehead.store import Store
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import TrainSpec, preset, spec_id

from ..published import PARITY
from .folder import read_results, write_results
from .stage import Experiment, Workplace

PARITY_STEPS = {10: 1000, 15: 2000, 20: 3000}  # the paper's runs end earlier at T = 10 and 15; T = 20 is ours
MATCHED_READING = "the paper's reading"  # under which the paper's law and curves are met: preset "paper"
PARITY_SETTINGS: dict[str, dict[str, Any]] = {
    MATCHED_READING: {"preset": "paper"},
    "the literal reading": {"preset": "literal"},
    "the literal reading, no dropout": {"preset": "literal", "dropout": 0.0},
    "torch init": {"init": "torch"},
    "torch init, not clipped": {"init": "torch", "clip": 0.0},
    "torch default": {"init": "torch-default"},
    "torch default, not clipped": {"init": "torch-default", "clip": 0.0},
}


@dataclass(frozen=True)
class LossPoint:
    """The training loss of one run at one step."""

    T: int
    seed: int
    step: int
    loss: float


@dataclass(frozen=True)
class ParityRun:
    """The first step at which one run's loss is below the paper's level, and the step from which the smoothed loss
    stays below it; None if there is no such step."""

    T: int
    seed: int
    first_below: int | None
    learned: int | None


@dataclass(frozen=True)
class ParityRecord(ResultsRecord):
    """parity.json: loss curves on parity; `first_below` has one row per run."""

    curves: tuple[LossPoint, ...]
    first_below: tuple[ParityRun, ...] = ()


@dataclass(frozen=True)
class ParitySettingRun:
    """One run of `steps` steps on parity under one setting: the step from which the smoothed loss stays below the
    paper's level; None if there is no such step."""

    setting: str
    T: int
    seed: int
    learned: int | None
    steps: int


@dataclass(frozen=True)
class ParitySettingsRecord(ResultsRecord):
    """parity-settings.json. `planned`: the number of runs of the complete study."""

    runs: tuple[ParitySettingRun, ...]
    planned: int


def parity(seeds: int = PARITY[0].seeds) -> Experiment:
    """Return the experiment of figure 4: 3-sparse parity, fresh batches of 2048, Adam with rate 1e-3. Paper:
    parity-curves
    """
    settings = dict(n_steps=3000, weight_decay=0.0, stall=0)
    specs = [spec for p in PARITY for spec in parity_runs("fast", seeds, T=p.T, **settings)]
    title = "Loss on parity at T = 10 and 15"
    return Experiment("parity", title, tuple(specs), {"parity": collect_parity}, options={"record_every": 1})


def collect_parity(store: Store, experiment: Experiment) -> ParityRecord:
    """Collect loss curves, and for each run when its loss passed the paper's level; None if it never did.

    `first_below` is the first step below the level, as in the paper's figure; `learned` is the step from which the
    smoothed loss stays below it, so that a short dip does not count.   Paper: parity-curves
    """
    points: list[LossPoint] = []
    runs: list[ParityRun] = []
    for record in experiment.records(store):
        T, seed = record.spec["T"], record.spec["seed"]
        history = store.history(record.id)
        steps, losses = history["step"], history["loss"]
        below = next((int(s) for s, loss in zip(steps, losses) if loss < PARITY[0].level), None)
        runs.append(ParityRun(T, seed, below, learned_step(steps, losses, PARITY[0].level)))
        keep = range(0, len(steps), 5)
        points += [LossPoint(T, seed, int(steps[i]), round(losses[i], 4)) for i in keep]
    return ParityRecord(tuple(points), tuple(runs))


def parity_plan() -> list[tuple[str, int, list[TrainSpec]]]:
    """Return the parity settings, each with the context lengths at which it is run.   Paper: parity-settings

    The literal interpretation with dropout hardly learns at T = 10 and takes minutes per run, so larger T are left out.
    """
    return [
        (label, T, parity_specs(label, T))
        for label in PARITY_SETTINGS
        for T in (PARITY_STEPS if PARITY_SETTINGS[label] != {"preset": "literal"} else (10,))
    ]


def parity_specs(label: str, T: int) -> list[TrainSpec]:
    """Return specs for parity of 3 of T bits in one setting, fresh batches as in the paper.   Paper: parity-settings"""
    settings: dict[str, Any] = {"preset": "fast", "stall": 0, **PARITY_SETTINGS[label]}
    return parity_runs(settings.pop("preset"), 10, T=T, n_steps=PARITY_STEPS[T], **settings)


def parity_runs(name: str, runs: int, *, T: int, **settings: Any) -> list[TrainSpec]:
    """Return specs of preset `name` on parity of 3 of T bits, fresh batches as in the paper.   Paper: parity-curves"""
    m = PARITY[0].batch
    shape: dict[str, Any] = dict(function="parity", s=3, T=T, m=m, online=True, restarts=1)
    seeds = [trial_seed(0, T=T, m=m, trial=i) for i in range(runs)]
    return [preset(name, seed=seed, **shape, **settings) for seed in seeds]


class ParitySettings(Experiment):
    """Parity under several settings; the results file contains every run, so `place.add` can extend it."""

    def run(self, place: Workplace) -> list[str]:
        """Run the trials missing from the store and, with `place.add`, from the results file; write all trials."""
        done = read_results(place.folder, self.name, ParitySettingsRecord).runs if place.add else ()
        problems = [] if place.stored else self.run_trials(place, parity_missing(done))
        with Store(place.db, readonly=True) as store:
            write_results(place.folder, self.name, collect_settings(store, known=done))
        return problems


def parity_settings() -> Experiment:
    """Return the experiment: parity under preset "paper" and from larger initial weights, T = 10, 15, 20. Paper:
    parity-settings
    """
    specs = [spec for _, _, own in parity_plan() for spec in own]
    title = "Parity under several settings"
    return ParitySettings(
        "parity-settings",
        title,
        tuple(specs),
        {"parity-settings": collect_settings},
        options={"record_every": 1},
    )


def collect_settings(
    store: Store, _: Experiment | None = None, *, known: Sequence[ParitySettingRun] = ()
) -> ParitySettingsRecord:
    """Collect for each setting and run the step from which parity stays learned; `known` has runs of another store.

    Paper: parity-settings
    """
    elsewhere = {(run.setting, run.T, run.seed): run for run in known}
    runs: list[ParitySettingRun] = []
    planned = 0
    for label, T, specs in parity_plan():
        planned += len(specs)
        found = store.find(specs, origin_of)
        for spec in specs:
            if (record := found.get(spec_id(spec))) is not None:
                history = store.history(record.id)
                learned = learned_step(history["step"], history["loss"], PARITY[0].level)
                runs.append(ParitySettingRun(label, T, spec.seed, learned, PARITY_STEPS[T]))
            elif (run := elsewhere.get((label, T, spec.seed))) is not None:
                runs.append(run)
    return ParitySettingsRecord(tuple(runs), planned, complete=len(runs) == planned)


def parity_missing(known: Sequence[ParitySettingRun]) -> tuple[TrainSpec, ...]:
    """Return the planned runs on parity that are not in `known`."""
    done = {(run.setting, run.T, run.seed) for run in known}
    return tuple(
        spec for label, T, specs in parity_plan() for spec in specs if (label, T, spec.seed) not in done
    )


def learned_step(
    steps: Sequence[int | float], losses: Sequence[int | float], level: float, *, window: int = 10
) -> int | None:
    """Return the first step with loss below `level` from which the smoothed loss stays below it to the end of the run.

    None if there is no such step. The smoothed loss at a recorded step is the median of the losses recorded at this
    step and in the next `window` steps (fewer at the end). So short dips and spikes do not matter, and if the loss
    falls, rises and falls again, the last fall counts. The last recorded loss must be below the level. `steps` must
    ascend. Of a thinned curve only the remaining points are used.

    >>> learned_step(range(8), [1, 0, 1, 1, 1, 0, 0, 0], 0.5, window=2)
    5
    """
    found = None
    for i in range(len(steps) - 1, -1, -1):
        if not median(losses[i : bisect_right(steps, steps[i] + window)]) < level:
            break
        if losses[i] < level:
            found = int(steps[i])
    return found
