"""The record of `learn`: the outcome of one trial, and what was read back from its model."""

from dataclasses import asdict
from typing import Any

from ..reading import Reading
from ..reading.appearance import appearance
from ..train.outcome import Outcome


def learned(outcome: Outcome, reading: Reading | None) -> dict[str, Any]:
    """An outcome and a reading as JSON values."""
    appeared = appearance(outcome.history)
    return {
        "solved": outcome.solved,
        "status": outcome.status,
        "steps": outcome.steps,
        "seconds": round(outcome.seconds, 3),
        "train_accuracy": outcome.train_accuracy,
        "val_accuracy": outcome.val_accuracy,
        "support_mass": outcome.support_mass,
        "appearance": None if appeared is None else asdict(appeared),
        "restarts_used": outcome.restarts_used,
        "made_by": outcome.made_by,
        "reading": None if reading is None else reading.to_dict(),
    }
