"""Try all subsets of s positions; no other learner of the family's functions needs fewer samples.

The learner knows the family and s, and succeeds if the first consistent subset predicts the holdout.
"""

import numpy as np

from ..._base.errors import DomainError
from ..._base.rng import stream
from ...functions import Predict, family, kind
from ...functions.task import Sample, explanations
from ..spec import TrainSpec, target_function
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    f = target_function(spec)
    name = kind(f)
    if name is None:
        raise DomainError(
            f"the exhaustive learner tries conjunctions, disjunctions and parities; {f} is another function."
        )
    found = explanations(*sample, f.s, name, limit=1)
    if not found:
        return lambda b: np.zeros(len(b), dtype=np.uint8)
    return family(name)(found[0], spec.T, stream(spec.seed, "support"))


EXHAUSTIVE = Learner(fit=fit, repeats=False, as_drawn=True)
