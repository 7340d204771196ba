"""Run many trials one after the other, for learners that train in steps and learners that are fitted in one call."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np

from .. import __version__
from .._base.errors import DomainError
from ..functions import Predict
from .data import Holdout, check_on, training_set
from .learners.guard import own_code, trial_of
from .learners.learner import Learner
from .learners.named import Named
from .outcome import Outcome, TrialProgress
from .spec import LEARNERS, TrainSpec, spec_id, task_of
from .transformer.engine import Refusal
from .transformer.engines import check_device, engine_of, make_engine
from .trial import Trial


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


def run_trials(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[[TrainSpec, Outcome], None] | None = None,
    progress: TrialProgress | None = None,
    engine: str = "auto",
    dtype: str = "float32",
    device: str = "cpu",
    record_every: int = 0,
    mass_every: int = 0,
) -> list[Outcome]:
    """Train every spec until success or failure; return the outcomes in the order of `specs`.

    Args:
        on_outcome: called with (spec, outcome) as soon as an outcome is known, so that it can be stored.
        progress, engine, dtype, device, record_every, mass_every: as for `learn`.
    Raises:
        DomainError: a spec cannot be set up (too few samples to single out a support, an encoding that does not
            fit); earlier outcomes were already passed to `on_outcome`.
        LearnerError: a user-defined learner failed; `trial` is the spec's id.
    """
    outcomes: dict[str, Outcome] = {}
    for spec in dict.fromkeys(specs):
        learner = LEARNERS[spec.learner]
        with trial_of(spec):
            if learner.fit is not None:
                outcome, _ = fit_at_once(spec, learner)
            else:
                made = make_engine(spec, engine=engine, dtype=dtype, device=device)
                outcome = Trial(spec, made, record_every=record_every, mass_every=mass_every).run(progress)
                del made  # free its memory before the next one is made
        outcomes[outcome.spec_id] = outcome
        if on_outcome is not None:
            on_outcome(spec, outcome)
    return [outcomes[spec_id(spec)] for spec in specs]


def origin_of(
    spec: TrainSpec, *, engine: str = "auto", dtype: str = "float32", device: str = "cpu"
) -> dict[str, str]:
    """Return the `made_by` that `run_trials` with these options would give the outcome, without the version."""
    if LEARNERS[spec.learner].engine is None:
        return {"engine": spec.learner}
    device = check_device(device)
    origin = engine_of(spec, engine, dtype, device).origin(spec, dtype=dtype, device=device)
    assert not isinstance(origin, Refusal)  # `engine_of` returns an engine that trains the spec
    return origin
