"""A decision tree; an attempt is an order in which ties between positions are broken."""

from ..._base.rng import stream
from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    from sklearn.tree import DecisionTreeClassifier

    bits, labels = sample
    seed = int(stream(spec.seed, "init", attempt).integers(2**31))
    predict: Predict = DecisionTreeClassifier(random_state=seed).fit(bits, labels).predict
    return predict


TREE = Learner(fit=fit)
