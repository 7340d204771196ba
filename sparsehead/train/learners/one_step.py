"""One gradient step from uniform attention: the s positions whose bits have the largest covariance with the label.

With uniform attention the head's output is the mean of T bits. The gradient of the loss by the score of position t is
then the covariance of bit t with the label, up to a factor that does not depend on t and terms of order 1/T. After one
step, attention therefore ranks the positions by this covariance.
"""

import numpy as np

from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec, target_function
from .covariance import covariances, in_place, strength
from .group_tests import tests_memory
from .learner import Learner
from .packed import packed


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    f, (bits, labels) = target_function(spec), sample
    everywhere = np.ones(len(labels), dtype=bool)
    strengths = strength(f, covariances(packed(bits), labels == 1, everywhere))
    return in_place(f, np.argsort(-strengths, kind="stable")[: f.s], sample)


ONE_STEP = Learner(fit=fit, repeats=False, as_drawn=True, memory=tests_memory)
