"""COMP: every position that no negative test excludes.

For a conjunction: the positions that are 1 in all positive samples (Valiant 1984; in group testing Kautz and Singleton
1964, Chan, Che, Jaggi and Saligrama 2011). s is not used: the answer has s positions or more. With label noise,
`GroupTests.possible` has their noisy threshold.
"""

from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .group_tests import group_tests, tests_memory
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    tests = group_tests(spec, sample)
    return tests.answer(tests.possible())


COMP = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
