"""A decision tree; an attempt is an order in which ties between positions are broken."""

from ...functions import Predict
from ...rng import stream
from ...spec import TrainSpec
from ...task import Sample
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    from sklearn.tree import DecisionTreeClassifier

    bits, labels = sample
    seed = int(stream(spec.seed, "init", attempt).integers(2**31))
    predict: Predict = DecisionTreeClassifier(random_state=seed).fit(bits, labels).predict
    return predict


TREE = Learner(fit=fit)
