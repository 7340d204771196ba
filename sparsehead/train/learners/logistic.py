"""L1-regularised logistic regression on the bits; an attempt is a strength of the penalty."""

from ..._base.rng import stream
from ...functions import Predict
from ...functions.task import Sample
from ..spec import TrainSpec
from .learner import Learner


def fit(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
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


LOGISTIC = Learner(fit=fit)
