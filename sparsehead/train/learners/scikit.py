"""Learners of scikit-learn: logistic regression on the bits, and a decision tree."""

from ..._base.rng import stream
from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .learner import Learner


def fit_logistic(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """Fit an L1-regularised logistic regression; each attempt has another strength of the penalty."""
    from sklearn.linear_model import LogisticRegression

    bits, labels = sample
    strengths = (1.0, 0.1, 10.0, 0.03, 100.0)  # inverse L1 penalties, tried in this order
    rng = stream(spec.seed, "init", attempt)
    fitted = LogisticRegression(
        l1_ratio=1.0,
        solver="liblinear",
        C=strengths[attempt % len(strengths)],
        random_state=int(rng.integers(2**31)),
    ).fit(bits.astype(float), labels)
    return lambda b: fitted.predict(b.astype(float))


def fit_tree(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    """Fit a decision tree; each attempt breaks ties between positions in another order."""
    from sklearn.tree import DecisionTreeClassifier

    seed = int(stream(spec.seed, "init", attempt).integers(2**31))
    predict: Predict = DecisionTreeClassifier(random_state=seed).fit(*sample).predict
    return predict


LOGISTIC, TREE = Learner(fit=fit_logistic), Learner(fit=fit_tree)
