"""A decision tree; an attempt is an order in which ties between positions are broken."""

from ...rng import stream
from ...spec import TrainSpec
from ..data import Sample
from .learner import Learner, Predict


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    from sklearn.tree import DecisionTreeClassifier

    bits, labels = sample
    seed = int(stream(spec.seed, "init", attempt).integers(2**31))
    predict: Predict = DecisionTreeClassifier(random_state=seed).fit(bits, labels).predict
    return predict


TREE = Learner(fit=fit)
