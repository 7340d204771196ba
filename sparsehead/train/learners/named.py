"""Predictors that are known functions of known positions, so that their accuracy can be computed exactly."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..._base.errors import DomainError
from ..._base.types import Array, Shaped
from ...functions import SparseFunction
from ...functions.analysis import disagreement
from ...functions.task import Task


@runtime_checkable
class Named(Protocol):
    """A predictor that computes its accuracy instead of measuring it, since drawing a holdout at T = 10^6 takes a
    minute.
    """

    def __call__(self, bits: Shaped[Array, "n T"], /) -> Shaped[Array, " n"]:
        """Return labels (n,) of bits (n, T)."""

    def accuracy(self, task: Task, /) -> float:
        """Return the probability that the prediction for a fresh input is the task's label without noise."""


def shared(task: Task) -> float:
    """Return the probability p of a one, which all positions must share; raise if they do not."""
    if task.shared_p is None:
        raise DomainError(
            "the accuracy of a named function is computed for bits that share one p; this task has other inputs."
        )
    return task.shared_p


@dataclass(frozen=True)
class NamedSet:
    """The conjunction (kind "and") or disjunction ("or") of any number of positions."""

    kind: str
    positions: tuple[int, ...]

    def __call__(self, bits: Shaped[Array, "n T"], /) -> Shaped[Array, " n"]:
        read = bits[:, list(self.positions)]
        return np.asarray(read.all(axis=1) if self.kind == "and" else read.any(axis=1), dtype=np.uint8)

    def accuracy(self, task: Task, /) -> float:
        """Return the accuracy 1 - (p^a + p^b - 2 p^c), where a and b are the sizes of this set and of the task's, and c
        is the size of their union.

        The task is of the same kind as this set. For disjunctions p is the probability of a zero, since the negation of
        a disjunction is the conjunction of the flipped bits.
        """
        share = shared(task)
        p = share if self.kind == "and" else 1 - share
        both = {*self.positions, *task.f.support}
        return 1 - (p ** len(self.positions) + p**task.f.s - 2 * p ** len(both))


@dataclass(frozen=True)
class NamedFunction:
    """A sparse function."""

    f: SparseFunction

    def __call__(self, bits: Shaped[Array, "n T"], /) -> Shaped[Array, " n"]:
        return np.asarray(self.f(bits))

    def accuracy(self, task: Task, /) -> float:
        return 1 - disagreement(task.f, self.f, p=shared(task))
