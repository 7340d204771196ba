"""Each experiment as specs. Equal specs are the same experiment, so scales share what they have in common."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sparsehead._base.errors import DomainError
from sparsehead.laws.published import LAW_AND
from sparsehead.laws.rounds import trial_seed
from sparsehead.train.spec import TrainSpec, preset

from ..published import ATTENTION_AND, CURVES_AND, PARITY

# studies of settings that are measured by themselves
ALONE = (
    "curves-paper", "attention-paper", "law-matched", "law-matched-decades", "law-matched-beyond", "law-best",
    "parity-settings", "slope-norms", "failures", "curves-literal", "attention-literal", "law-literal",
)  # fmt: skip
SCALES = ("quick", "default", "full")
MAPS = "sparsehead_paper.studies.maps:run_with_maps"
PARITY_STEPS = {10: 1000, 15: 2000, 20: 3000}  # the paper's runs end earlier at T = 10 and 15; T = 20 is ours
PAPER_TS = tuple(point.T for point in LAW_AND)
FEWER_TRIALS = {30_000: {"max_trials": 56}, 100_000: {"max_trials": 24}}  # one trial takes minutes there
# With dropout a failure takes minutes: not far below the threshold.
WITH_DROPOUT = {1000: {"max_trials": 32, "start": 95}}
READ_RUNNER = "sparsehead_paper.studies.read_trained:run_with_readings"
READ_TRIALS = {
    "and": ((30, 100, 300), (40, 60, 90, 140, 200)),
    "or": ((30, 100, 300), (40, 60, 90, 140, 200)),
    "majority": ((30, 100, 300), (60, 90, 140, 200, 300)),
    "junta": ((30, 100, 300), (90, 140, 200, 300, 500)),
    "parity": ((10, 15, 20), (90, 140, 200, 300, 500)),
}
READ_CELL = ("and", 300, 200)  # the cell in which reading is measured most closely
READ_SEED = 1  # other trials than the law's, whose outcomes are stored without readings
AMPLE_SAMPLES = 300  # samples for runs whose weights are looked at: well above the threshold at every T used


@dataclass(frozen=True)
class Experiment:
    """Specs to run with one runner.

    Args:
        name: what its results file and its figure are called.
        title: one line for the progress display.
        specs: what to run.
        runner, options: see `LocalSweep`; None is the engine's own.
    """

    name: str
    title: str
    specs: tuple[TrainSpec, ...]
    runner: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def conjunctions(
    *, T: int, m: int, trials: Iterable[int], preset_name: str = "fast", **settings: Any
) -> list[TrainSpec]:
    """Trials of the paper's task, 3-sparse AND on balanced labels, one per number in `trials`.   Paper: law-and"""
    seeds = [trial_seed(0, T=T, m=m, trial=i) for i in trials]
    return [preset(preset_name, function="and", s=3, T=T, m=m, seed=seed, **settings) for seed in seeds]


def curves(preset_name: str = "fast", replicates: int = CURVES_AND.replicates) -> Experiment:
    """Figure 3 left: T = 300, above and below the threshold; every run has its full length.   Paper: curves-and"""
    specs = [
        spec
        for m in (200, 50)
        for spec in conjunctions(
            T=CURVES_AND.T, m=m, trials=range(replicates), preset_name=preset_name, stall=0
        )
    ]
    name = "curves" if preset_name == "fast" else f"curves-{preset_name}"
    return Experiment(name, f"Validation curves at T = 300 (preset {preset_name})", tuple(specs))


def attention(preset_name: str = "fast", seeds: int = 10) -> Experiment:
    """Figure 3 right: one head of width 64, trained 500 steps on m = 300; maps are kept.   Paper: attention-and"""
    a = ATTENTION_AND
    text = " & ".join(f"x{t}" for t in a.support)
    settings = dict(H=1, k=64, n_steps=a.steps, restarts=1, keep_training=True, stall=0)
    specs = [preset(preset_name, function=text, T=a.T, m=a.m, seed=i, **settings) for i in range(seeds)]
    name = "attention" if preset_name == "fast" else f"attention-{preset_name}"
    return Experiment(name, f"Attention of one head at T = 50 (preset {preset_name})", tuple(specs), MAPS)


def parity(seeds: int = PARITY[0].seeds, n_steps: int = 3000) -> Experiment:
    """Figure 4: 3-sparse parity, fresh batches of 2048, Adam with rate 1e-3.   Paper: parity-curves"""
    settings = dict(
        online=True, restarts=1, n_steps=n_steps, weight_decay=0.0, stall=0, s=3, function="parity"
    )
    specs = [
        preset("fast", T=p.T, m=p.batch, seed=trial_seed(0, T=p.T, m=p.batch, trial=i), **settings)
        for p in PARITY
        for i in range(seeds)
    ]
    return Experiment("parity", "Loss on parity at T = 10 and 15", tuple(specs), options={"record_every": 1})


def norms(Ts: Iterable[int], seeds: int) -> Experiment:
    """Ours: the norms that gradient descent reaches with one head, against T.   Paper: norms-learned"""
    specs = [
        spec
        for T in Ts
        for spec in conjunctions(T=T, m=AMPLE_SAMPLES, trials=range(seeds), H=1, k=64, n_steps=500, stall=0)
    ]
    return Experiment("norms", "Norms of learned heads against T", tuple(specs), options={"mass_every": 10})


def dropout(T: int = 1000, m: int = 80, pairs: int = 24) -> Experiment:
    """Ours: single runs with dropout and without, preset "mingpt", on the same data.   Paper: dropout-cost

    At T = 1000 the paper needs m = 111 for best-of-five success in 80 % of trials, and preset "fast" fewer.
    """
    specs = [
        spec
        for i in range(pairs)
        for name in ("mingpt", "fast")
        for spec in conjunctions(T=T, m=m, trials=[i], preset_name=name, restarts=1, stall=0)
    ]
    return Experiment("dropout", f"Runs with and without dropout at T = {T}, m = {m}", tuple(specs))


def reading(trials: int = 3, cell: int = 60) -> Experiment:
    """Ours: models trained on five families, read back.   Paper: read-trained

    Args:
        trials: for each family, T and m of READ_TRIALS; `cell` for READ_CELL.
    """
    cells = [(name, T, m) for name, (Ts, ms) in READ_TRIALS.items() for T in Ts for m in ms]
    specs = [
        preset("fast", function=name, s=3, T=T, m=m, seed=trial_seed(READ_SEED, T=T, m=m, trial=i))
        for name, T, m in cells
        for i in range(cell if (name, T, m) == READ_CELL else trials)
    ]
    return Experiment("reading", "Functions read from trained models", tuple(specs), READ_RUNNER)


def appearance(seeds: int = 12) -> Experiment:
    """Ours: when the support appears in influence and in attention; runs of full length.   Paper: support-appears"""
    settings = dict(s=3, n_steps=400, restarts=1, keep_training=True, stall=0)
    specs = [
        preset("fast", function=name, T=T, m=m, seed=trial_seed(READ_SEED, T=T, m=m, trial=i), **settings)
        for name, T, m in (READ_CELL, ("majority", 300, 200), ("parity", 15, 400))
        for i in range(seeds)
    ]
    title = "When the support appears along training"
    return Experiment("appearance", title, tuple(specs), options={"mass_every": 10})


@dataclass(frozen=True)
class Law:
    """A threshold experiment, for `law`.

    Args:
        name: what its results file is called.
        Ts: context lengths.
        most_trials: at most so many for each T (joint, adaptive).
        settings: arguments of `law`, such as method, preset, and exceptions at single T.
        width: wanted ln(high/low) of each interval.
        function, s: what is learned.
        start: the first guess at m_80.
    """

    name: str
    Ts: tuple[int, ...]
    most_trials: int
    settings: dict[str, Any] = field(default_factory=dict)
    width: float = 0.25
    function: str = "and"
    s: int | None = 3
    start: int = 60


@dataclass(frozen=True)
class Laws:
    """Several laws side by side: each is measured like any other, and all go into one results file.

    Args:
        name: what its results file is called.
        title: one line for the progress display.
        laws: by label; the labels stand in tables and charts.
        groups: for each label what is varied, for the chart's panels.
    """

    name: str
    title: str
    laws: dict[str, Law]
    groups: dict[str, str]


@dataclass(frozen=True)
class Races:
    """The readings of the paper's text, racing (see `race`)."""

    name: str = "readings"


PlanStage = Experiment | Law | Laws | Races


def plan(scale: str) -> list[PlanStage]:
    """The stages of a scale, in the order in which they run: what tells most for its time comes first.

    "full" ends with the studies of settings (see `studies`). A later stage of the same name replaces the results of an
    earlier one: it has more of the same.
    """
    return list(_stages(check_scale(scale)))


@cache  # a plan has thousands of specs, and each is checked
def _stages(scale: str) -> tuple[PlanStage, ...]:
    from .studies import studies  # which is made of the experiments of this file

    if scale == "quick":
        return (
            attention(seeds=2), curves(replicates=10), parity(seeds=2), norms((30, 100, 300), 2), reading(1, 20),
            appearance(2), Law("law", (100, 300), 32),
        )  # fmt: skip
    if scale == "default":
        return (
            attention(), curves(), parity(), norms((30, 100, 300, 1000), 5), reading(), appearance(6),
            Law("law", (100, 300, 1000), 64),
        )  # fmt: skip
    decades = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
    return (
        attention(),
        curves(),
        norms((30, 100, 300, 1000, 3000), 5),
        reading(20, 300),
        appearance(),
        Law("law", PAPER_TS, 160),
        Law("law-decades", decades[:5], 160),
        parity(),
        dropout(),
        attention("mingpt"),
        Law("law-mingpt", (100, 300), 64, {"preset": "mingpt"}),
        Law("law-decades", decades, 160, {"exceptions": FEWER_TRIALS}),
        Law("law-grid", PAPER_TS, 0, {"method": "grid"}),
        Law("law-mingpt", (100, 300, 1000), 64, {"preset": "mingpt", "exceptions": WITH_DROPOUT}),
        curves("mingpt"),
        *studies(),
    )


def results_files(stage: PlanStage) -> tuple[str, ...]:
    """The results files, without .json, that a stage writes."""
    more = {
        "norms": ("learned-norms", "bound-training"),
        "law": ("law", "success"),
        "law-grid": ("law-grid", "success"),
    }
    return more.get(stage.name, (stage.name,))


def command_for(name: str) -> str:
    """The command that measures the results file NAME.json, of the smallest scale at which it is complete.

    >>> command_for("law"), command_for("law-grid"), command_for("readings")
    ('sparsehead reproduce', 'sparsehead reproduce --full', 'sparsehead reproduce --only readings')
    """
    if any(name in results_files(stage) for stage in plan("default")):
        return "sparsehead reproduce"
    full = [stage for stage in plan("full") if name in results_files(stage)]
    if any(isinstance(stage, Laws | Races) or stage.name in ALONE for stage in full):
        return f"sparsehead reproduce --only {name}"
    if full:
        return "sparsehead reproduce --full"
    raise DomainError(f"no stage of any scale writes {name}.json.")


def only(names: Iterable[str]) -> list[PlanStage]:
    """The stages of the full scale with these names, in its order; of several with one name the last, which is whole.

    Raises:
        DomainError: there is no stage of some name.
    """
    stages = {stage.name: stage for stage in plan("full")}
    wanted = list(names)
    unknown = [name for name in wanted if name not in stages]
    if unknown:
        raise DomainError(f"there is no experiment {unknown[0]!r}; the experiments are {', '.join(stages)}.")
    return [stage for name, stage in stages.items() if name in wanted]


def check_scale(scale: str) -> str:
    """The scale, if there is one of that name."""
    if scale not in SCALES:
        raise DomainError(f"scale {scale!r} is unknown; the scales are {', '.join(SCALES)}.")
    return scale
