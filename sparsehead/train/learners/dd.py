"""DD (definite defectives): return each of COMP's positions that is the only one of these in some positive test.

Aldridge, Baldassini and Johnson 2014. Without noise all of them are relevant, but there may be fewer than s. With label
noise (Scarlett and Johnson 2020, "a (near-)definite defectives approach") one such test proves nothing. In place of
their second threshold, return the s positions with the most such tests.
"""

import numpy as np

from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .group_tests import definite, group_tests, most_often, tests_memory
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    tests = group_tests(spec, sample)
    possible = tests.possible()
    alone = definite(tests.explained_by(possible))
    return tests.answer(possible[most_often(alone, tests.s) if tests.noise else np.flatnonzero(alone)])


DD = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
