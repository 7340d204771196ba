"""Learners that need no steps: L1-logistic regression, a decision tree, and trying all s-subsets.

Each is given the same training sets and holdout as the Transformer and the same number of tries: regularisation
strengths for logistic regression, tie-breaking orders for the tree. The exhaustive learner shows what the data allow
at all: it knows the family and s, and succeeds when the first consistent subset predicts the holdout.
"""

import time
from collections.abc import Callable

import numpy as np

from .. import __version__
from ..errors import DomainError
from ..functions import conjunction, disjunction, kind, parity
from ..rng import stream
from ..spec import TrainSpec, spec_id, target_function
from ..task import explanations
from ..types import Array, Shaped
from .data import Holdout, Sample, training_set
from .outcome import Outcome

FITTED_AT_ONCE = ("logistic", "tree", "exhaustive")
STRENGTHS = (1.0, 0.1, 10.0, 0.03, 100.0)  # inverse L1 penalties, tried in this order

Predict = Callable[[Shaped[Array, "n T"]], Shaped[Array, " n"]]


def _logistic(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    from sklearn.linear_model import LogisticRegression

    bits, labels = sample
    rng = stream(spec.seed, "init", attempt)
    fit = LogisticRegression(
        l1_ratio=1.0,
        solver="liblinear",
        C=STRENGTHS[attempt % len(STRENGTHS)],
        random_state=int(rng.integers(2**31)),
    ).fit(bits.astype(float), labels)
    return lambda b: fit.predict(b.astype(float))


def _tree(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    from sklearn.tree import DecisionTreeClassifier

    bits, labels = sample
    seed = int(stream(spec.seed, "init", attempt).integers(2**31))
    return DecisionTreeClassifier(random_state=seed).fit(bits, labels).predict


def _exhaustive(spec: TrainSpec, sample: Sample, attempt: int) -> Predict:
    f = target_function(spec)
    family = kind(f)
    if family is None:
        raise DomainError(
            f"the exhaustive learner tries conjunctions, disjunctions and parities; {f} is none of them."
        )
    found = explanations(*sample, f.s, family, limit=1)
    if not found:
        return lambda b: np.zeros(len(b), dtype=np.uint8)
    make = {"and": conjunction, "or": disjunction, "parity": parity}[family]
    return make(found[0], T=spec.T)


def fit_at_once(spec: TrainSpec) -> Outcome:
    """Fit, check on the holdout, try again up to `restarts` times; one label only counts as a failure."""
    started = time.perf_counter()
    fit = {"logistic": _logistic, "tree": _tree, "exhaustive": _exhaustive}[spec.learner]
    sample, holdout = training_set(spec), Holdout(spec)
    tries = 1 if spec.learner == "exhaustive" else spec.restarts
    best, train_accuracy, attempt, solved = 0.0, 0.0, 0, False
    for attempt in range(tries):
        if len(np.unique(sample[1])) < 2:
            constant = sample[1][0]
            predict: Predict = lambda b: np.full(len(b), constant)  # noqa: E731, B023
        else:
            predict = fit(spec, sample, attempt)
        train_accuracy = float((predict(sample[0]) == sample[1]).mean())
        accuracy, solved = check_on(predict, holdout, spec.allowed_errors)
        best = max(best, accuracy)
        if solved:
            break
    return Outcome(
        spec_id=spec_id(spec),
        status="solved" if solved else "budget_spent",
        steps=1,
        restarts_used=attempt + 1,
        train_accuracy=train_accuracy,
        val_accuracy=best,
        support_mass=None,
        seconds=time.perf_counter() - started,
        made_by={"engine": spec.learner, "version": __version__},
    )


def check_on(predict: Predict, holdout: Holdout, allowed: int) -> tuple[float, bool]:
    """Accuracy on the holdout, walked until success is certain or excluded; and whether it succeeded.

    The verdict is that of the whole holdout: errors only ever add up.
    """
    errors, seen = 0, 0
    for i in range(len(holdout.sizes)):
        bits, labels = holdout.chunk(i)
        errors += int((predict(bits) != labels).sum())
        seen += len(labels)
        if errors > allowed:
            return 1 - errors / seen, False
    return 1 - errors / seen, True
