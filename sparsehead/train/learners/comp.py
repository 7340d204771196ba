"""COMP (combinatorial orthogonal matching pursuit): return every position that no negative test excludes.

For a conjunction these are the positions that are 1 in all positive samples (Valiant 1984; in group testing Kautz and
Singleton 1964, Chan, Che, Jaggi and Saligrama 2011). Without noise the answer has s positions or more. With label noise
`GroupTests.possible` uses a threshold like that of Chan et al.

Paper: and-end-to-end
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
