"""Greedy by covariance: pick s positions, each with the largest covariance with the label given the earlier picks.

"Given" means that the samples are divided by the bits of the picked positions, and the covariances within the parts are
added up. For a symmetric function, parts in which the picked bits already determine the label are left out; for a
conjunction only the part remains in which all picked bits are 1.
"""

import numpy as np

from ..._base.types import Array, Bool
from ...functions import Predict, SparseFunction, is_symmetric
from ...functions.task import Sample
from ..spec import TrainSpec, target_function
from .covariance import covariances, in_place, strength
from .group_tests import tests_memory
from .learner import Learner
from .packed import packed


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
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
    """Whether f, if symmetric, still depends on the other positions when `ones` of `picked` relevant bits are 1."""
    by_count = f.values[2 ** np.arange(f.s + 1) - 1]
    return not is_symmetric(f) or len(set(by_count[ones : ones + f.s - picked + 1].tolist())) > 1


GREEDY = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
