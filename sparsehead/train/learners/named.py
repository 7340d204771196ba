"""Predictors that name the positions they read, so that their accuracy is computed and not measured."""

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
    """A predictor with a known accuracy; at T = 10^6 a holdout of 10,000 samples would take a minute to draw."""

    def __call__(self, bits: Shaped[Array, "n T"], /) -> Shaped[Array, " n"]:
        """Labels (n,) of bits (n, T)."""

    def accuracy(self, task: Task, /) -> float:
        """The probability that a fresh input of the task gets its label before noise."""


def shared(task: Task) -> float:
    """The p of all positions, where it is known that there is one."""
    if task.shared_p is None:
        raise DomainError(
            "the accuracy of a named function is computed for bits with one p; this task has other inputs."
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
        """1 - P(one of the two conjunctions is 1, the other 0) = 1 - (p^a + p^b - 2 p^c), c the size of the union.

        The task is a conjunction if this is one, else a disjunction: the conjunction of the flipped bits.
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
