"""The record of `learn`: the outcome of one trial, and what was read back from its model."""

from dataclasses import asdict, dataclass
from typing import Any

from ..reading import Reading
from ..reading.appearance import appearance
from ..train.outcome import Outcome


@dataclass(frozen=True)
class LearnRecord:
    """An outcome, and the reading of its model where there is one."""

    outcome: Outcome
    reading: Reading | None

    def to_dict(self) -> dict[str, Any]:
        """What `sparsehead learn --json` prints."""
        outcome, appeared = self.outcome, appearance(self.outcome.history)
        # a run that ends before its first check has no accuracies; 0.0 stands in their place
        measured = outcome.val_accuracy > 0 or bool(outcome.history.get("check_step"))
        return {
            "solved": outcome.solved,
            "status": outcome.status,
            "steps": outcome.steps,
            "seconds": round(outcome.seconds, 3),
            "train_accuracy": outcome.train_accuracy if measured else None,
            "val_accuracy": outcome.val_accuracy if measured else None,
            "support_mass": outcome.support_mass,
            "appearance": None if appeared is None else asdict(appeared),
            "restarts_used": outcome.restarts_used,
            "made_by": outcome.made_by,
            "reading": None if self.reading is None else self.reading.to_dict(),
        }
