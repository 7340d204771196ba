"""Studies of settings: the law under the matched reading, near the floor, and what decides its slope.

PAPER_WIDTH is the width of interval that the paper's bars have: its thresholds have standard deviations of about 9 %
(median over its 17 bars), so a 95 % interval has ln(high/low) of about 4 * 0.09.
"""

from typing import Any

from ..measure.published import PARITY
from ..spec import TrainSpec, preset
from ..sweep.thresholds import trial_seed
from .plans import (
    PAPER_TS,
    PARITY_STEPS,
    Experiment,
    Law,
    Laws,
    PlanStage,
    Races,
    attention,
    conjunctions,
    curves,
)

PAPER_WIDTH = 0.35
DECADES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
COARSE = (100, 1000)  # where settings are compared
FEW = {30_000: {"max_trials": 32}, 100_000: {"max_trials": 16}}  # one trial takes minutes there
# Under preset "best" a failure takes half a minute at T = 3000 and some minutes at 10^4, many times a success: trials
# there are few and not far below the threshold, and the law ends at 10^4.
BEST_LENGTHS = DECADES[:5]
NOT_FAR_BELOW = {
    3000: {"max_trials": 48, "m_min": 46, "start": 56},
    10_000: {"max_trials": 24, "m_min": 54, "start": 66},
}
FEW_LENGTHS = (50, 100, 300, 1000)


def _on_the_papers_lengths(name: str, preset_name: str) -> Law:
    return Law(name, PAPER_TS, 64, {"preset": preset_name}, width=PAPER_WIDTH, start=70)


def matched() -> Law:
    """The paper's 18 context lengths under the reading that fits most of its figures.   Paper: law-matched"""
    return _on_the_papers_lengths("law-matched", "paper")


def literal() -> Law:
    """The same under the text read literally.   Paper: law-literal"""
    return _on_the_papers_lengths("law-literal", "literal")


def matched_decades() -> Law:
    """The same without dropout, far beyond the paper's range; stalled runs are given up.

    Paper: law-matched-decades
    """
    settings = {"preset": "paper", "dropout": 0.0, "stall": 200, "exceptions": FEW}
    return Law("law-matched-decades", DECADES, 64, settings, width=PAPER_WIDTH, start=70)


def best() -> Law:
    """A recipe meant to need few samples, over two decades of T.   Paper: law-best"""
    return Law("law-best", BEST_LENGTHS, 96, {"preset": "best", "exceptions": NOT_FAR_BELOW}, start=45)


# One setting changed at a time. Dropout is not among them: law-matched has it, and law-matched-decades is the same
# reading without it.
AROUND: dict[str, Any] = {
    "preset": "fast", "stall": 200, "adam_eps": 1e-3, "learning_rate": 1e-2, "weight_decay": 0.1, "n_steps": 2000,
}  # fmt: skip
FACTORS: dict[str, dict[str, dict[str, Any]]] = {
    "as it is": {"eps 1e-3, rate 1e-2, decay 0.1": {}},
    "rate and eps": {
        "eps 1e-8, rate 1e-3": {"adam_eps": 1e-8, "learning_rate": 1e-3},
        "eps 1e-2": {"adam_eps": 1e-2},
        "rate 3e-3": {"learning_rate": 3e-3},
    },
    "initial scale": {
        "half": {"init_scale": 0.5}, "double": {"init_scale": 2.0}, "torch init": {"init": "torch"},
    },
    "decay": {
        "1e-4 on matrices": {"weight_decay": 1e-4},
        "L2 of 1e-4 on all": {"optimiser": "adam", "decay": "all", "weight_decay": 1e-4},
    },
    "clipping": {"not clipped": {"clip": 0.0}},
    "heads": {"1 head of 64": {"H": 1, "k": 64}, "4 heads of 16": {"H": 4, "k": 16}},
    "width": {"d = 32": {"d": 32, "H": 8, "mlp": 128}, "d = 128": {"d": 128, "H": 32, "mlp": 512}},
    "eps 1e-8, rate 1e-3": {
        "with decay 1e-4": {"adam_eps": 1e-8, "learning_rate": 1e-3, "weight_decay": 1e-4},
        "with L2 of 1e-4 on all, not clipped": {
            "adam_eps": 1e-8, "learning_rate": 1e-3, "weight_decay": 1e-4, "optimiser": "adam", "decay": "all",
            "clip": 0.0,
        },
        "with decay 1e-4, torch init": {
            "adam_eps": 1e-8, "learning_rate": 1e-3, "weight_decay": 1e-4, "init": "torch",
        },
    },
}  # fmt: skip


def slope() -> Laws:
    """What decides the slope: settings around AROUND, no dropout, T = 100 and 1000.   Paper: law-slope"""
    laws, groups = {}, {}
    for group, changes in FACTORS.items():
        for label, settings in changes.items():
            given = {**AROUND, **settings}
            laws[label] = Law(f"slope-{label}", COARSE, 16, given, width=PAPER_WIDTH, start=45)
            groups[label] = group
    return Laws("slope", "What decides the slope", laws, groups)


def norm_specs(label: str, T: int, runs: int = 3, m: int = 300) -> list[TrainSpec]:
    """Single runs from ample samples under one setting of `slope`, whose norms are looked at.   Paper: law-slope"""
    settings = next(changes[label] for changes in FACTORS.values() if label in changes)
    given = {**AROUND, **settings}
    return conjunctions(T=T, m=m, trials=range(runs), preset_name=given.pop("preset"), restarts=1, **given)


def slope_norms() -> Experiment:
    """The norms under each setting of `slope`, at T = 100 and 1000.   Paper: law-slope, slope-norms"""
    labels = [label for changes in FACTORS.values() for label in changes]
    specs = [spec for label in labels for T in COARSE for spec in norm_specs(label, T)]
    return Experiment("slope-norms", "Norms under each setting", tuple(specs), options={"mass_every": 10})


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


def parity_specs(label: str, T: int, seeds: int = 10) -> list[TrainSpec]:
    """Runs on parity of 3 of T bits, fresh batches of the paper's size, under one setting.   Paper: parity-settings"""
    settings: dict[str, Any] = {"preset": "fast", "stall": 0, **PARITY_SETTINGS[label]}
    name, m = settings.pop("preset"), PARITY[0].batch
    return [
        preset(
            name, function="parity", s=3, T=T, m=m, seed=trial_seed(0, T=T, m=m, trial=i),
            online=True, restarts=1, n_steps=PARITY_STEPS[T], **settings,
        )
        for i in range(seeds)
    ]  # fmt: skip


def parity_settings() -> Experiment:
    """Parity under the matched reading and from larger initial weights, T = 10, 15, 20.   Paper: parity-settings"""
    specs = [spec for label in PARITY_SETTINGS for T in PARITY_STEPS for spec in parity_specs(label, T)]
    return Experiment(
        "parity-settings", "Parity under several settings", tuple(specs), options={"record_every": 1}
    )


def functions() -> Laws:
    """Other functions, other sparsities, other learners, on the same axes.   Paper: law-functions"""
    laws: dict[str, Law] = {}
    groups: dict[str, str] = {}

    def add(group: str, label: str, **changes: Any) -> None:
        given: dict[str, Any] = {"Ts": FEW_LENGTHS, "most_trials": 32, "width": PAPER_WIDTH, **changes}
        laws[label], groups[label] = Law(f"functions-{label}", **given), group

    for s in (2, 3, 4, 5):
        add("AND of s bits", f"AND of {s}", s=s, start=(30, 40, 60, 90)[s - 2])
    add("functions of 3 bits", "OR of 3", function="or")
    add("functions of 3 bits", "majority of 3", function="majority", start=100)
    add("functions of 3 bits", "random 3-juntas", function="junta", start=200)
    add(
        "functions of 3 bits",
        "parity of 3",
        function="parity",
        Ts=(10, 15, 20, 30),
        start=300,
        most_trials=24,
    )
    # A trial of an MLP takes ten seconds and more, of an LSTM minutes.
    for learner, Ts, start, trials in (
        ("mlp", (50, 100, 300), 200, 12),
        ("lstm", (20,), 200, 6),
        ("logistic", (50, 100, 300, 1000), 200, 32),
        ("tree", (50, 100, 300, 1000), 200, 32),
        ("exhaustive", (50, 100, 300), 30, 32),
    ):
        given = {"learner": learner}
        add("learners of AND of 3", learner, Ts=Ts, start=start, most_trials=trials, settings=given)
    return Laws("functions", "Other functions and learners", laws, groups)


def studies() -> list[PlanStage]:
    """All of them, in the order in which they run: what tells most for its time comes first."""
    return [
        curves("paper"), Races(), matched(), attention("paper"), best(), parity_settings(), slope(), slope_norms(),
        functions(), matched_decades(), curves("literal"), attention("literal"), literal(),
    ]  # fmt: skip
