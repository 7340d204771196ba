"""Many trials: verdicts handed out as soon as they are known."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from .._base.errors import DomainError
from ..heads.encoding import Encoding
from .learners.at_once import fit_at_once
from .outcome import Outcome, TrialProgress
from .spec import LEARNERS, TrainSpec, spec_id
from .transformer.engine import Engine
from .trial import Trial


def run_trials(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[[TrainSpec, Outcome], None] | None = None,
    progress: TrialProgress | None = None,
    runs: int = 1,
    engine: str = "auto",
    dtype: str = "float32",
    device: str = "cpu",
    record_every: int = 0,
    mass_every: int = 0,
) -> list[Outcome]:
    """Train every spec to its verdict; outcomes in the order of `specs`.

    Args:
        on_outcome: called with (spec, outcome) as soon as a verdict is known; what it stored survives a kill.
        progress: called after every check with the trial's state (see `Trial.state`).
        runs: trials of one shape that the torch engine advances together; the compiled one takes them in turn.
        engine, dtype, device: see `make_engine`.
        record_every: steps between recorded losses; 0 records at checks.
        mass_every: steps between looks at attention, influence and norms; 0 looks at the end only.
    Raises:
        DomainError: a spec cannot be set up (too few samples to single out a support, an encoding that does not
            fit); outcomes known by then were handed out.
    """
    outcomes: dict[str, Outcome] = {}

    def known(spec: TrainSpec, outcome: Outcome) -> None:
        outcomes[outcome.spec_id] = outcome
        if on_outcome is not None:
            on_outcome(spec, outcome)

    groups: dict[TrainSpec, deque[TrainSpec]] = {}
    for spec in dict.fromkeys(specs):
        learner = LEARNERS[spec.learner]
        if learner.fit is not None:
            known(spec, fit_at_once(spec, learner))
        else:
            # what trials must share to share an engine is everything but the function, the data and the protocol
            shape = replace(spec, function="", s=None, seed=0, p=None, noise=0.0, unique=True, n_steps=0)
            shape = replace(
                shape, check_every=1, restarts=1, holdout=1, target=0.5, stall=0, keep_training=False
            )
            groups.setdefault(shape, deque()).append(spec)
    for waiting in groups.values():
        made = engine_for(waiting[0], min(runs, len(waiting)), engine=engine, dtype=dtype, device=device)
        _run(waiting, made, known, progress, record_every, mass_every)
    return [outcomes[spec_id(spec)] for spec in specs]


def _run(
    waiting: deque[TrainSpec],
    engine: Engine,
    known: Callable[[TrainSpec, Outcome], None],
    progress: TrialProgress | None,
    record_every: int,
    mass_every: int,
) -> None:
    """Keep the engine's runs busy until every trial has its verdict."""
    active: dict[int, Trial] = {}
    while waiting or active:
        for run in range(engine.runs):
            if run not in active and waiting:
                spec = waiting.popleft()
                active[run] = Trial(spec, engine, run, record_every=record_every, mass_every=mass_every)
        losses = engine.advance(min(trial.steps_to_check for trial in active.values()))
        for run, trial in list(active.items()):
            verdict = trial.take(losses[run])
            if progress is not None:
                progress(trial.state())
            if verdict is not None:
                del active[run]
                engine.stop(run)
                known(trial.spec, verdict)


def origin_of(
    spec: TrainSpec, *, engine: str = "auto", dtype: str = "float32", device: str = "cpu"
) -> dict[str, str]:
    """What `run_trials` with these options would write into the outcome's `made_by`, version aside."""
    learner = LEARNERS[spec.learner]
    if learner.origin is None:
        return {"engine": spec.learner}
    origin: dict[str, str] = learner.origin(spec, engine=engine, dtype=dtype, device=device)
    return origin


def engine_for(
    spec: TrainSpec, runs: int = 1, *, engine: str, dtype: str, device: str, own: Encoding | None = None
) -> Engine:
    """The engine that trains the spec's learner."""
    learner = LEARNERS[spec.learner]
    if learner.engine is None:
        raise DomainError(f"the learner {spec.learner!r} has neither `fit` nor `engine`; give it one.")
    made: Engine = learner.engine(spec, runs, engine=engine, dtype=dtype, device=device, own=own)
    return made
