"""What became of a trial: values, never exceptions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..model import Model
from ..spec import TrainSpec

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Outcome:
    """One trial's verdict.

    Args:
        spec_id: which spec.
        status: "solved", "budget_spent" (no restart reached the target) or "diverged" (every restart hit NaN or
            infinity; `steps` tells where the last one did).
        steps: step of the first check above the target in the solving run; otherwise steps done in the last run.
        restarts_used: initialisations tried, from 1.
        train_accuracy: on the training set at the last check of the last run; 0 where that run had none.
        val_accuracy: the best seen at any check of any run. Exact when solved; otherwise estimated on the part of
            the holdout that was walked before success was excluded.
        support_mass: mean attention on the support at the end of the last run, over heads and the first holdout
            samples (at most 100); None where the learner has no attention, or its weights are not finite.
        seconds: wall-clock time.
        history: short lists by name: step and loss; check_step, train_accuracy, val_accuracy; mass_step, support_mass
            and norms; all of the solving run, or else of the run with the best validation accuracy.
        made_by: what trained it: engine, instructions, dtype, device, version. Empty in rows of version
            0.1, which did not say.
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
        """Whether some restart reached the target."""
        return self.status == "solved"


@dataclass(frozen=True, eq=False)
class Run:
    """A trial with its weights: what `learn` returns."""

    spec: TrainSpec
    outcome: Outcome
    model: Model | None  # None for learners that are not attention models

    @property
    def solved(self) -> bool:
        """Whether some restart reached the target."""
        return self.outcome.solved

    @property
    def steps(self) -> int:
        """Step of the first check above the target, or steps done."""
        return self.outcome.steps

    @property
    def history(self) -> dict[str, list[float | int]]:
        """See `Outcome.history`."""
        return self.outcome.history
