"""Run many trials one after the other; report each outcome as soon as it is known."""

from collections.abc import Callable, Sequence

from .learners.at_once import fit_at_once
from .learners.guard import trial_of
from .outcome import Outcome, TrialProgress
from .spec import LEARNERS, TrainSpec, spec_id
from .transformer.engine import Refusal
from .transformer.engines import check_device, engine_of, make_engine
from .trial import Trial


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
