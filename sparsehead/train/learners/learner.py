"""What a learner is. `law` and `learn` know the learners by their names in `spec.LEARNERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...functions import Predict
from ...functions.task import Sample
from ..footprint import plain_bytes
from ..spec import TrainSpec

Fit = Callable[[TrainSpec, Sample, int], Predict]


@dataclass(frozen=True)
class Learner:
    """One learner: either `fit` or `engine` is given.

    Args:
        fit: (spec, sample, attempt) -> predict, where sample = (bits, labels) has both labels in it; attempt counts
            the tries from 0 and may choose a regularisation or a random order.
        engine: (spec, runs, *, engine, dtype, device, own) -> an `Engine`, for a learner that takes steps.
        origin: (spec, *, engine, dtype, device) -> what that engine says of itself; None: the learner's name.
        repeats: False where every attempt gives the same answer, so that one is enough.
        as_drawn: True for a learner that could not fail on a training set which one support alone explains; `law`
            then takes training sets as they are drawn.
        has_model: whether a run ends with an attention `Model`.
        memory: (spec, T, m, dtype) -> bytes at the peak of one trial.
    """

    fit: Fit | None = None
    engine: Callable[..., Any] | None = None
    origin: Callable[..., dict[str, str]] | None = None
    repeats: bool = True
    as_drawn: bool = False
    has_model: bool = False
    memory: Callable[[TrainSpec, int, int, str], float] = plain_bytes
