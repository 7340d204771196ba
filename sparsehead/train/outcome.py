"""The outcome of a trial; failing to learn is a value, not an exception."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._base.display import Card, ShortRepr, WithChart, clipped
from .._base.frame import Frame
from ..functions import Predict
from ..heads.model import Model
from ..reading.appearance import Appearance, appearance
from .spec import TrainSpec

TrialProgress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, repr=False)
class Outcome(ShortRepr):
    """The result of one trial. A run is the training from one initialisation.

    Args:
        status: "solved", "budget_spent" (no restart reached the target) or "diverged" (all hit NaN or infinity).
        steps: step of the first check above the target in the solving run; otherwise steps done in the last run.
        restarts_used: number of initialisations tried.
        train_accuracy: accuracy on the training set at the last check of the last run; 0 if that run had no check.
        val_accuracy: best accuracy at any check of any run. Exact if solved; otherwise estimated on the part of the
            holdout that was used before the check failed.
        support_mass: mean attention on the support at the end of the last run, over heads and the first holdout
            samples (at most 100); None if the learner has no attention, or its weights are not finite.
        history: short lists by name: step and loss; check_step, train_accuracy, val_accuracy; mass_step, support_mass,
            support_attention, other_attention, support_influence, other_influence (see `reading.appearance`), norms.
            All belong to the solving run or, without one, to the run with the best validation accuracy.
        made_by: engine, instructions, dtype, device and version.
    """

    spec_id: str
    status: str
    steps: int
    restarts_used: int
    train_accuracy: float
    val_accuracy: float
    support_mass: float | None
    seconds: float
    history: dict[str, list[float | int]] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)

    @property
    def solved(self) -> bool:
        """Return whether some restart reached the target."""
        return self.status == "solved"


@dataclass(frozen=True, eq=False, repr=False)
class Run(WithChart):
    """A trial with its weights.

    predict: the labels that the trained learner gives to bits (n, T), for any learner; `read` takes it.
    """

    _CHART = "figures.training:run_chart"

    spec: TrainSpec
    outcome: Outcome
    model: Model | None  # None for learners that are not attention models
    predict: Predict | None = None

    @property
    def solved(self) -> bool:
        """Return whether some restart reached the target."""
        return self.outcome.solved

    @property
    def steps(self) -> int:
        """Return the step of the first check above the target, or the number of steps done."""
        return self.outcome.steps

    @property
    def history(self) -> dict[str, list[float | int]]:
        """See `Outcome.history`."""
        return self.outcome.history

    @property
    def appearance(self) -> Appearance | None:
        """The steps at which influence and attention singled out the support and accuracy rose, if recorded."""
        return appearance(self.outcome.history)

    @property
    def verdict(self) -> str:
        """One sentence: whether the function was learned, at which step, and with which accuracy."""
        o, s = self.outcome, self.spec
        word = {"solved": "learned", "budget_spent": "not learned", "diverged": "diverged"}[o.status]
        function = s.function if s.s is None else f"{s.function} of {s.s} bits"
        return (
            f"{clipped(function, 100)}, T={s.T}, m={s.m}: {word}, step {o.steps} of restart {o.restarts_used}, "
            f"validation accuracy {o.val_accuracy:.4f}"
        )

    def __repr__(self) -> str:
        return f"<Run: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """The spec and the outcome as JSON values; the curves are in `to_frame`, the weights in `model`."""
        outcome = {name: value for name, value in vars(self.outcome).items() if name != "history"}
        return {"spec": dict(vars(self.spec)), **outcome}

    def to_frame(self) -> Frame:
        """The curves, one row for each recorded step, with None for curves that were not recorded at that step."""
        rows: dict[int | float, dict[str, Any]] = {}
        curves = {
            "step": ("loss",), "check_step": ("train_accuracy", "val_accuracy"), "mass_step": ("support_mass",)
        }  # fmt: skip
        for at, names in curves.items():
            for i, step in enumerate(self.history.get(at, ())):
                row = rows.setdefault(step, {"step": step})
                row |= {n: self.history[n][i] for n in names if i < len(self.history.get(n, ()))}
        return Frame([rows[step] for step in sorted(rows)], ("step",))

    def _card(self) -> Card:
        o = self.outcome
        mass = {} if o.support_mass is None else {"attention on support": o.support_mass}
        facts = {"training accuracy": o.train_accuracy, "validation accuracy": o.val_accuracy, **mass}
        made: dict[str, Any] = {n: o.made_by[n] for n in ("engine", "dtype") if n in o.made_by}
        return Card("Run", [self.verdict], {**facts, "seconds": o.seconds, "seed": self.spec.seed, **made})
