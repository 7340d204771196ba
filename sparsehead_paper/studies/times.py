"""How long the stages of a scale take: an estimate before, corrected while they run by what the earlier ones took.

One step of the compiled engine takes about 0.5 ms + 3.5 us m + 10 ns m T on the machine that made the committed
results; with dropout, where the whole attention matrix is formed, four times that. How many steps a trial takes is
known where it runs to its end; else it is the mean over solved and failed trials near the threshold. The estimate is
right to within a factor of two; the correction then brings the time to go into line with this machine.
"""

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sparsehead.laws.rounds import RoundProgress
from sparsehead.store import Store
from sparsehead.sweep import Progress
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import TrainSpec, spec_id

from .plans import Experiment, Law, Laws, PlanStage

STEP, SAMPLE, CELL = 5e-4, 3.5e-6, 1e-8  # seconds for each step, sample of a step, and sample times position
SLOWER_WITH_DROPOUT = 4.0
MEAN_STEPS, MEAN_STEPS_NO_STALL = 300, 1200  # over restarts, of trials that end when they are solved
LOOK = 0.02  # seconds for a look at attention, influence and norms
READ = 0.4  # seconds to read a model
RACES = 20_000.0  # seconds for the readings of the paper's text: most of them leave the race early
REPORT = 60.0  # seconds for the checks of all claims, the figures and the page, in one process
ENOUGH = 5.0  # seconds of finished work from which this machine's speed is judged


def trial_seconds(spec: TrainSpec) -> float:
    """Core-seconds that one trial is expected to take.

    >>> spec = TrainSpec(
    ...     function="and", s=3, T=300, m=200, seed=0, n_steps=100, keep_training=True, restarts=1
    ... )
    >>> round(trial_seconds(spec), 2)
    0.18
    """
    step = STEP + SAMPLE * spec.m + CELL * spec.m * spec.T
    if spec.dropout:
        step *= SLOWER_WITH_DROPOUT
    to_the_end = spec.keep_training or spec.online
    steps = spec.n_steps if to_the_end else MEAN_STEPS if spec.stall else MEAN_STEPS_NO_STALL
    return step * min(steps, spec.n_steps * spec.restarts)


def stage_seconds(stage: PlanStage, db: Path) -> float:
    """Core-seconds that a stage is expected to take, without the trials that the store holds."""
    if isinstance(stage, Experiment):
        known = _stored(stage.specs, db)
        looks = stage.options.get("mass_every", 0)
        read = READ if stage.runner and stage.runner.endswith("readings") else 0.0
        each = [
            trial_seconds(spec) + read + (LOOK * spec.n_steps / looks if looks else 0.0)
            for spec in stage.specs
            if spec_id(spec) not in known
        ]
        return sum(each)
    if isinstance(stage, Laws):
        return sum(law_seconds(law) for law in stage.laws.values())
    return law_seconds(stage) if isinstance(stage, Law) else RACES


def law_seconds(stage: Law) -> float:
    """Core-seconds of a threshold experiment with all its trials; fewer are needed where the store holds some."""
    exceptions = stage.settings.get("exceptions", {})
    total = 0.0
    for T in stage.Ts:
        trials = exceptions.get(T, {}).get("max_trials", stage.most_trials) or 16 * 40  # the paper's grid
        dropout = 0.0 if stage.settings.get("preset", "fast") in ("fast", "best") else 0.1
        spec = TrainSpec(
            function="and",
            s=3,
            T=T,
            m=round(15 * math.log(T)),
            seed=0,
            stall=0 if dropout else 100,
            dropout=dropout,
        )
        total += trials * trial_seconds(spec)
    return total


def _stored(specs: Sequence[TrainSpec], db: Path) -> set[str]:
    if not db.exists():
        return set()
    with Store(db, readonly=True) as store:
        return set(store.find(specs, origin_of))


class TimeToGo:
    """The time to go of all stages and the report together.

    Args:
        stages: wall-clock seconds that each stage is expected to take, the report last.
        clock: seconds that only ever grow.
    """

    def __init__(self, stages: Sequence[float], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._expected, self._clock = list(stages), clock
        self._done = 0
        self._took = 0.0
        self._began = clock()
        self._eta: float | None = None

    def next_stage(self) -> None:
        """The running stage has ended."""
        now = self._clock()
        self._took += now - self._began
        self._done, self._began, self._eta = self._done + 1, now, None

    def see(self, progress: Progress | RoundProgress) -> None:
        """What the running stage says of itself."""
        sweep = progress.sweep if isinstance(progress, RoundProgress) else progress
        self._eta = None if sweep is None else sweep.eta

    @property
    def speed(self) -> float:
        """How much longer than expected the finished stages took; 1 while too little is finished to tell."""
        expected = sum(self._expected[: self._done])
        return self._took / expected if expected >= ENOUGH and self._took > 0 else 1.0

    def seconds(self) -> float:
        """What is left of the running stage, and the stages after it at the speed of those before it."""
        if self._done >= len(self._expected):
            return 0.0
        here, *later = self._expected[self._done :]
        left = here * self.speed - (self._clock() - self._began)
        return max(left, self._eta or 0.0, 0.0) + sum(later) * self.speed
