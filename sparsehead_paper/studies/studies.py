"""Studies of settings: the law under the matched reading, near the floor, and what decides its slope.

PAPER_WIDTH is the width of interval that the paper's bars have: its thresholds have standard deviations of about 9 %
(median over its 17 bars), so a 95 % interval has ln(high/low) of about 4 * 0.09.
"""

from typing import Any

from sparsehead.laws.rounds import trial_seed
from sparsehead.train.spec import OverT, TrainSpec, preset

from ..published import PARITY
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
COARSE = (100, 1000)  # where settings are compared and norms are looked at
SPREAD = (*COARSE, 10_000)
# Under preset "paper" without dropout a failure takes five minutes at T = 3*10^4, a success up to 24 at 10^5: so few
# trials are made there that intervals stay wider than PAPER_WIDTH, and none lie far below the threshold.
FEW = {
    10_000: {"max_trials": 20, "m_min": 500, "start": 850},
    30_000: {"max_trials": 12, "m_min": 1000, "start": 1500},
    100_000: {"max_trials": 4, "m_min": 2500, "start": 3000},
}
# Under preset "best" a failure takes a minute at T = 10^4 and ten to thirty at 10^5, many times a success: trials are
# fewer there, and not far below the threshold.
NOT_FAR_BELOW = {
    3000: {"max_trials": 80, "m_min": 42, "start": 50},
    10_000: {"max_trials": 72, "m_min": 48, "start": 56},
    30_000: {"max_trials": 44, "m_min": 66, "start": 70},
    100_000: {"max_trials": 10, "m_min": 74, "start": 80},
}
FEW_LENGTHS = (50, 100, 300, 1000)


def _on_the_papers_lengths(name: str, preset_name: str) -> Law:
    return Law(name, PAPER_TS, 64, {"preset": preset_name}, width=PAPER_WIDTH, start=70)


def matched() -> Law:
    """The paper's 18 context lengths under the reading that fits most of its figures.   Paper: law-matched"""
    return _on_the_papers_lengths("law-matched", "paper")


def matched_beyond() -> Law:
    """The same at T = 3000, beyond the paper's range, with its dropout: a failure takes a quarter of an hour.

    Paper: law-matched-beyond
    """
    settings = {"preset": "paper", "method": "adaptive", "exceptions": {3000: {"batch": 4}}}
    return Law("law-matched-beyond", (3000,), 8, settings, width=PAPER_WIDTH, start=140)


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
    """A recipe meant to need few samples, over three decades of T.   Paper: law-best"""
    return Law("law-best", DECADES, 96, {"preset": "best", "exceptions": NOT_FAR_BELOW}, start=40)


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


# Settings that are compared at T = 10^4 too, where a failure takes one to three minutes: fewer trials, and none below
# the floor. With dropout a failure takes a minute at T = 1000 already.
LONG: dict[str, dict[str, int]] = {
    label: {"max_trials": 12, "m_min": 48, "start": 56}
    for label in (
        "preset best", "none", "L2 on matrices only", "L2 of 1e-4 at every T", "AdamW, 0.03", "N(0, 0.1^2)", "eps 1e-8",
        "rate 3e-3", "double", "not clipped", "1 head of 16", "d = 8",
    )
}  # fmt: skip
DEAR = {"dropout 0.1": {1000: {"max_trials": 12}}}


def slope() -> Laws:
    """The law's slope by setting, around preset "best": T = 100 and 1000, most at 10^4.   Paper: law-slope"""
    laws, groups = {}, {}
    for group, changes in FACTORS.items():
        for label, settings in changes.items():
            Ts = SPREAD if label in LONG else COARSE
            exceptions = {10_000: LONG[label]} if label in LONG else DEAR.get(label, {})
            given = {"preset": "best", "exceptions": exceptions, **settings}
            laws[label] = Law(f"slope-{label}", Ts, 24, given, width=PAPER_WIDTH, start=45)
            groups[label] = group
    return Laws("slope", "The law's slope by setting", laws, groups)


def norm_specs(label: str, T: int, runs: int = 3, m: int = 300) -> list[TrainSpec]:
    """Single runs from ample samples under one setting of `slope`, whose norms are looked at.   Paper: law-slope"""
    settings = next(changes[label] for changes in FACTORS.values() if label in changes)
    return conjunctions(T=T, m=m, trials=range(runs), preset_name="best", restarts=1, **settings)


def slope_norms() -> Experiment:
    """The norms under each setting of `slope`, at T = 100 and 1000.   Paper: law-slope, slope-norms"""
    labels = [label for changes in FACTORS.values() for label in changes]
    specs = [spec for label in labels for T in COARSE for spec in norm_specs(label, T)]
    return Experiment("slope-norms", "Norms under each setting", tuple(specs), options={"mass_every": 10})


FAILURES = {1000: 42, 3000: 52, 10_000: 61}  # by T, the m of single runs that fail about as often as not
FAILURES_RUNNER = "sparsehead_paper.studies.failures:run_and_look"


def failures(runs: int = 48) -> Experiment:
    """Single runs of preset "best" near its threshold, and the positions that they moved.   Paper: failures-sign"""
    specs = [
        spec
        for T, m in FAILURES.items()
        for spec in conjunctions(T=T, m=m, trials=range(runs), preset_name="best", restarts=1)
    ]
    return Experiment("failures", "Why runs near the threshold fail", tuple(specs), FAILURES_RUNNER)


MATCHED_READING = "the paper's reading"  # under which the paper's law and curves are met: preset "paper"
LITERAL_READING = "the literal reading"
PARITY_SETTINGS: dict[str, dict[str, Any]] = {
    MATCHED_READING: {"preset": "paper"},
    LITERAL_READING: {"preset": "literal"},
    "the literal reading, no dropout": {"preset": "literal", "dropout": 0.0},
    "torch init": {"init": "torch"},
    "torch init, not clipped": {"init": "torch", "clip": 0.0},
    "torch default": {"init": "torch-default"},
    "torch default, not clipped": {"init": "torch-default", "clip": 0.0},
}


def parity_plan() -> list[tuple[str, int, list[TrainSpec]]]:
    """The settings of parity with the context lengths at which each is run.   Paper: parity-settings

    The literal reading with dropout hardly learns at T = 10, and a run takes minutes: longer contexts are left out.
    """
    return [
        (label, T, parity_specs(label, T))
        for label in PARITY_SETTINGS
        for T in (PARITY_STEPS if label != LITERAL_READING else (10,))
    ]


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
    specs = [spec for _, _, own in parity_plan() for spec in own]
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
        start = (30, 40, 60, 90)[s - 2]
        add("AND of s bits", f"AND of {s}", s=s, start=start)
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
        curves("paper"), Races(), matched(), attention("paper"), best(), failures(), parity_settings(), slope(),
        slope_norms(), functions(), matched_decades(), matched_beyond(), curves("literal"), attention("literal"),
        literal(),
    ]  # fmt: skip
