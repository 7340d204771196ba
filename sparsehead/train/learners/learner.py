"""The contract of learners. `law` and `learn` know the learners by their names in `spec.LEARNERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ...functions import Predict
from ...functions.task import Sample
from ..footprint import plain_bytes
from ..spec import TrainSpec
from ..transformer.engine import NamedEngine


@runtime_checkable
class Fit(Protocol):
    """Train on a whole sample at once."""

    def __call__(self, spec: TrainSpec, sample: Sample, attempt: int, /) -> Predict:
        """Return a predictor, bits (n, T) -> labels (n,).

        Args:
            sample: bits (m, T) and labels (m,); both labels occur.
            attempt: counts the tries from 0; it may choose a regularisation or seed a random order.
        """


@runtime_checkable
class ChooseEngine(Protocol):
    """Choose the engine of a learner that is trained step by step."""

    def __call__(self, spec: TrainSpec, /, *, engine: str, dtype: str, device: str) -> NamedEngine:
        """Return the engine that trains `spec`, or raise a DomainError.

        Args:
            engine: the name that was asked for; "auto" by default.
            device: "cpu" or "cuda".
        """


@dataclass(frozen=True)
class Learner:
    """One learner, found by the entry point group `sparsehead.learners`; give either `fit` or `engine`.

    `learn` and `law` then train it on the same samples as the others, judge it on the same holdout, store its
    outcomes and draw them on the same axes.

    Args:
        repeats: False if every attempt gives the same answer, so that one is enough.
        as_drawn: True if `law` does not redraw ambiguous training sets unless it is asked to: no other set can make the
            learner fail, or it is there to be compared with the floor, which is for independent samples.
        has_model: whether a run ends with an attention `Model`.
        memory: (spec, T, m, dtype) -> bytes at the peak of one trial.
    """

    fit: Fit | None = None
    engine: ChooseEngine | None = None
    repeats: bool = True
    as_drawn: bool = False
    has_model: bool = False
    memory: Callable[[TrainSpec, int, int, str], float] = plain_bytes
