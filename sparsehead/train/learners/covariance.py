"""Learners that rank positions by the covariance of their bits with the label: one gradient step, and greedy."""

from itertools import permutations

import numpy as np

from ..._base.errors import DomainError
from ..._base.types import Array, Bool, Float, Int, Shaped
from ...functions import Predict, SparseFunction, from_table, is_monotone, is_symmetric
from ...functions.task import Sample
from ..spec import TrainSpec, target_function
from .group_tests import tests_memory
from .learner import Learner
from .named import NamedFunction
from .packed import counts, packed


def covariances(
    columns: Shaped[Array, "bytes T"], labels: Bool[Array, " m"], among: Bool[Array, " m"]
) -> Float[Array, " T"]:
    """Return, for each position, the covariance of its bit with the label over the chosen samples, times the number of
    these.
    """
    both, ones = counts(columns, among & labels), counts(columns, among)
    return both - ones * float(labels[among].mean())


def strength(f: SparseFunction, covariance: Float[Array, " T"]) -> Float[Array, " T"]:
    """Return a score that is large at relevant positions: the covariance if f is monotone, else its absolute value.

    The score is rounded to fewer digits, so that equal scores stay equal despite rounding errors.
    """
    return np.round(covariance if is_monotone(f) else np.abs(covariance), 9)


def in_place(f: SparseFunction, positions: Int[Array, " s"], sample: Sample) -> NamedFunction:
    """Return f as a function of these positions. If f is not symmetric, choose the order with the fewest errors on the
    sample.
    """
    bits, labels = sample
    if is_symmetric(f):
        return NamedFunction(from_table(T=f.T, support=positions.tolist(), table=f.values))
    most_roles = 8  # 8! = 40,320 orders of the positions, for a function that is not symmetric
    if f.s > most_roles:
        raise DomainError(f"orders are tried for at most {most_roles} positions; {f} reads {f.s}.")
    seen = bits[:, positions].astype(np.int64)

    def errors(order: tuple[int, ...]) -> int:
        """Return the number of wrong labels if positions[i] replaces position order[i] of f."""
        return int(np.count_nonzero(f.values[seen @ (1 << np.array(order))] != labels))

    best = min(permutations(range(f.s)), key=errors)
    return NamedFunction(from_table(T=f.T, support=positions[np.argsort(best)].tolist(), table=f.values))


def fit_one_step(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """One gradient step from uniform attention: the s positions whose bits have the largest covariance with the label.

    With uniform attention the head's output is the mean of T bits. The gradient of the loss by the score of position t
    is then the covariance of bit t with the label, up to a factor that does not depend on t and terms of order 1/T.
    After one step, attention therefore ranks the positions by this covariance.
    """
    f, (bits, labels) = target_function(spec), sample
    everywhere = np.ones(len(labels), dtype=bool)
    strengths = strength(f, covariances(packed(bits), labels == 1, everywhere))
    return in_place(f, np.argsort(-strengths, kind="stable")[: f.s], sample)


ONE_STEP = Learner(fit=fit_one_step, repeats=False, as_drawn=True, memory=tests_memory)


def fit_greedily(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """Pick s positions, each with the largest covariance with the label given the earlier picks.

    "Given" means that the samples are divided into parts by the bits of the picked positions, and that the covariances
    within the parts are added up. For a symmetric function, parts in which the picked bits already determine the label
    are left out; for a conjunction this leaves only the part in which all picked bits are 1.
    """
    f, (bits, labels) = target_function(spec), sample
    columns, truth = packed(bits), labels == 1
    parts: list[tuple[int, Bool[Array, " m"]]] = [
        (0, np.ones(len(labels), dtype=bool))
    ]  # ones picked, samples
    picked: list[int] = []
    for _ in range(f.s):
        score = np.zeros(f.T)
        for ones, among in parts:
            if _undecided(f, len(picked), ones) and 0 < np.count_nonzero(truth[among]) < np.count_nonzero(
                among
            ):
                score += strength(f, covariances(columns, truth, among))
        score[picked] = -np.inf
        picked.append(int(score.argmax()))
        one = bits[:, picked[-1]] == 1
        parts = [(ones + int(bit), among & (one == bit)) for ones, among in parts for bit in (False, True)]
    return in_place(f, np.array(picked), sample)


def _undecided(f: SparseFunction, picked: int, ones: int) -> bool:
    """Return whether f still depends on its other positions if `ones` of `picked` relevant bits are 1; True if f is not
    symmetric.
    """
    by_count = f.values[2 ** np.arange(f.s + 1) - 1]
    return not is_symmetric(f) or len(set(by_count[ones : ones + f.s - picked + 1].tolist())) > 1


GREEDY = Learner(fit=fit_greedily, repeats=False, as_drawn=True, memory=tests_memory)
