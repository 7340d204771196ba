"""SCOMP (sequential COMP): start with DD's positions; greedily add the COMP position that explains most further tests.

A positive test is explained if it contains a chosen position (Aldridge, Baldassini and Johnson 2014; Chvatal's greedy
set cover, 1979). Without noise, stop when all positive tests are explained, with s positions or not. With label noise
DD's positions are uncertain: start empty and stop at s positions. This is our choice; no noisy form is established.
"""

import numpy as np

from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .group_tests import definite, group_tests, tests_memory
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    tests = group_tests(spec, sample)
    possible = tests.possible()
    explained = tests.explained_by(possible)
    chosen = [] if tests.noise else np.flatnonzero(definite(explained)).tolist()
    left = explained[~explained[:, chosen].any(axis=1)]
    while len(left) and possible.size and not (tests.noise and len(chosen) == tests.s):
        gains = left.sum(axis=0, dtype=np.int64)
        best = int(gains.argmax())
        if not gains[best]:
            break
        chosen.append(best)
        left = left[left[:, best] == 0]
    return tests.answer(possible[chosen])


SCOMP = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
