"""Run a trial of a learner that is fitted in one call: fit, check on the holdout, try again."""

import time
from contextlib import nullcontext

import numpy as np

from ... import __version__
from ..._base.errors import DomainError
from ...functions import Predict
from ..data import Holdout, check_on, training_set
from ..outcome import Outcome
from ..spec import LEARNERS, TrainSpec, spec_id, task_of
from .guard import own_code
from .learner import Learner
from .named import Named


def fit_at_once(spec: TrainSpec, learner: Learner) -> tuple[Outcome, Predict]:
    """Fit, check on the holdout, try again up to `restarts` times; return the outcome and the last predictor.

    A training set with one label counts as a failure.

    For a `Named` predictor the exact accuracy is computed, so no holdout is needed.
    """
    if spec.online:
        raise DomainError(
            f"a {spec.learner} is fitted to one training set and takes no steps; online=True is for transformer, mlp, "
            "lstm and modules."
        )
    started = time.perf_counter()
    assert learner.fit is not None  # the caller has checked it
    sample, holdout = training_set(spec), Holdout(spec)
    tries = spec.restarts if learner.repeats else 1
    best, train_accuracy, attempt, solved = 0.0, 0.0, 0, False
    for attempt in range(tries):
        if len(np.unique(sample[1])) < 2:
            constant = sample[1][0]
            predict: Predict = lambda b: np.full(len(b), constant)  # noqa: E731, B023
        else:
            with nullcontext() if LEARNERS.is_builtin(spec.learner) else own_code():
                predict = learner.fit(spec, sample, attempt)
        train_accuracy = float((predict(sample[0]) == sample[1]).mean())
        if isinstance(predict, Named) and task_of(spec).shared_p is not None:
            accuracy = predict.accuracy(task_of(spec))
            solved = accuracy > spec.target
        else:
            accuracy, solved = check_on(predict, holdout, spec.allowed_errors)
        best = max(best, accuracy)
        if solved:
            break
    outcome = Outcome(
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
    return outcome, predict
