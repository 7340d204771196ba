"""A stage of `reproduce`: the trials that it runs, the results files that it writes, the time that it takes.

One step of the compiled engine takes about 0.5 ms + 3.5 us m + 10 ns m T on the machine that made the committed
results; with dropout, which needs the whole attention matrix, four times as long. The number of steps of a trial is
known if it never stops early; otherwise the mean over solved and failed trials near the threshold is used. Estimates
are right to within a factor of two; `times` corrects them while stages run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sparsehead._base.errors import DomainError
from sparsehead._base.jsonable import ResultsRecord
from sparsehead.heads.model import Model
from sparsehead.laws.rounds import trial_seed
from sparsehead.store import Record, Store
from sparsehead.sweep import LocalSweep, Progress
from sparsehead.sweep.dispatch import RUNNER
from sparsehead.train.learn import learn_spec
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import TrainSpec, spec_id
from sparsehead.train.spec import preset as preset_spec

from .folder import write_results

Report = Callable[[str, Progress], None]  # title of what runs, and how far it is


@dataclass(frozen=True)
class Workplace:
    """The store and the folder in which stages run, and options of the run.

    Args:
        db, folder: the store of trials, and the folder of results files.
        stored: run no trials, and write results files from the trials in the store.
        add: do not repeat trials in the folder's results file, even if the store does not contain them.
        report: called with the progress of a stage. say: called with sentences to show to the user.
    """

    db: Path
    folder: Path
    workers: int = 2
    stored: bool = False
    add: bool = False
    report: Report | None = None
    say: Callable[[str], None] | None = None

    def progress(self, title: str) -> Callable[[Progress], None] | None:
        """Return `report` with its first argument set to `title`."""
        report = self.report
        return None if report is None else lambda progress: report(title, progress)


class Stage(ABC):
    """One step of `reproduce`: trials and the results files made from them. `reproduce --only` selects it by `name`."""

    name: str

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names, without .json, of the results files that this stage writes."""
        return (self.name,)

    @abstractmethod
    def summary(self) -> tuple[str, str]:
        """Return two texts for the plan: what is measured, and the number of trials."""

    @abstractmethod
    def seconds(self, db: Path) -> float:
        """Return the expected core-seconds; stages that know which trials the store has leave these out."""

    @abstractmethod
    def run(self, place: Workplace) -> list[str]:
        """Run trials missing from the store and write the results files; return why some trials could not be run.

        Raises:
            DomainError: `place.add` is set, but this stage's results file does not contain its trials.
        """

    def not_addable(self) -> DomainError:
        """Return the error for `place.add` with a stage whose results file does not contain the stage's trials."""
        return DomainError(
            f"{self.name} cannot be added to: its results file does not hold its trials. Laws that are not measured "
            "on the grid, readings and parity-settings can."
        )


@dataclass(frozen=True)
class Experiment(Stage):
    """A stage that runs a list of specs with one runner.

    Args:
        title: one line for the progress display.
        collect: for each results file, the function that makes its record from the store.
        runner, options: see `LocalSweep`; None stands for the engine's runner.
        seconds_each: seconds per trial that the runner spends on work other than training.
    """

    name: str
    title: str
    specs: tuple[TrainSpec, ...]
    collect: Mapping[str, Callable[[Store, Any], ResultsRecord]]
    runner: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    seconds_each: float = 0.0

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names, without .json, of the results files that this experiment writes."""
        return tuple(self.collect)

    def summary(self) -> tuple[str, str]:
        """Return the title, and the number of specs."""
        return self.title, f"{len(self.specs)} trials"

    def seconds(self, db: Path) -> float:
        """Return the expected time of trials missing from the store; each record made in training adds 0.02 s."""
        known: Mapping[str, Record] = {}
        if db.exists():
            with Store(db, readonly=True) as store:
                known = store.find(self.specs, origin_of)
        every = self.options.get("mass_every", 0)
        missing = [spec for spec in self.specs if spec_id(spec) not in known]
        looks = sum(0.02 * spec.n_steps / every for spec in missing) if every else 0.0
        return sum(trial_seconds(spec) + self.seconds_each for spec in missing) + looks

    def run(self, place: Workplace) -> list[str]:
        """Run the missing trials and write one file for each entry of `collect`."""
        if place.add:
            raise self.not_addable()
        problems = [] if place.stored else self.run_trials(place, self.specs)
        self.write(place.db, place.folder)
        return problems

    def run_trials(self, place: Workplace, specs: Sequence[TrainSpec]) -> list[str]:
        """Run the given specs that are missing from the store; return reasons for trials that could not be run."""
        settings: dict[str, Any] = {"runner": self.runner or RUNNER, "options": self.options}
        with LocalSweep(place.db, workers=place.workers, batch=1, say=place.say, **settings) as sweep:
            result = sweep.run(specs, progress=place.progress(self.title))
        return sorted(set(result.errors.values()))

    def write(self, db: Path, folder: Path) -> None:
        """Write the results files from the trials in the store."""
        with Store(db, readonly=True) as store:
            whole = len(self.records(store)) == len(self.specs)
            for name, collect in self.collect.items():
                write_results(folder, name, replace(collect(store, self), complete=whole))

    def records(self, store: Store) -> list[Record]:
        """Return the stored records of the specs, in the order of the specs."""
        found = store.find(self.specs, origin_of)
        return [found[key] for key in map(spec_id, self.specs) if key in found]


def conjunctions(
    *, T: int, m: int, trials: Iterable[int], preset: str = "fast", seed: int = 0, **settings: Any
) -> list[TrainSpec]:
    """Return specs of the paper's 3-sparse AND on balanced labels, one per number in `trials`; full-length runs.

    Paper: law-and
    """
    seeds = [trial_seed(seed, T=T, m=m, trial=i) for i in trials]
    return [
        preset_spec(preset, function="and", s=3, T=T, m=m, seed=each, **full_length(settings))
        for each in seeds
    ]


def full_length(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, with `least_lean` set so that it ends no run of any preset, as in the committed results."""
    return {"least_lean": 0.0, **settings}


def run_and_keep(
    keep: Callable[[Model, TrainSpec], dict[str, Any]],
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[..., None],
    **options: Any,
) -> None:
    """Run specs: train the model of each spec, and store the arrays returned by `keep` with its outcome."""
    for spec in specs:
        run = learn_spec(spec, **options)
        on_outcome(spec, run.outcome, {} if run.model is None else keep(run.model, spec))


def trial_seconds(spec: TrainSpec) -> float:
    """Return the expected core-seconds of one trial.

    >>> spec = TrainSpec(
    ...     function="and", s=3, T=300, m=200, seed=0, n_steps=100, keep_training=True, restarts=1
    ... )
    >>> round(trial_seconds(spec), 2)
    0.18
    """
    step = 5e-4 + 3.5e-6 * spec.m + 1e-8 * spec.m * spec.T
    if spec.dropout:
        step *= 4.0
    # trials that end when they are solved take 300 steps over restarts, or 1200 where stalled runs are not given up;
    # those on fresh batches, of parity, about 400
    steps = spec.n_steps if spec.keep_training else 400 if spec.online else 300 if spec.stall else 1200
    return step * min(steps, spec.n_steps * spec.restarts)
