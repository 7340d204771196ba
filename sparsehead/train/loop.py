"""Many trials: slots kept full, verdicts handed out as soon as they are known."""

from collections import deque
from collections.abc import Callable, Sequence

from .engine import Slots
from .outcome import Outcome, Progress
from .spec import TrainSpec, spec_id
from .trial import Trial


def run_trials(
    specs: Sequence[TrainSpec],
    *,
    on_outcome: Callable[[TrainSpec, Outcome], None] | None = None,
    progress: Progress | None = None,
    n_slots: int = 1,
    dtype: str = "float32",
    device: str = "cpu",
    record_every: int = 0,
    mass_every: int = 0,
) -> list[Outcome]:
    """Train every spec to its verdict; outcomes in the order of `specs`.

    Args:
        on_outcome: called with (spec, outcome) as soon as a verdict is known; what it stored survives a kill.
        progress: called after every check with the trial's state (see `Trial.state`).
        n_slots: trials of one shape that are trained side by side.
        record_every: steps between recorded losses; 0 records at checks.
        mass_every: steps between looks at attention and norms; 0 looks at the end only.
    Raises:
        DomainError: a spec cannot be set up (too few samples to single out a support, an encoding that does not
            fit); outcomes known by then were handed out.
    """
    outcomes: dict[str, Outcome] = {}
    groups: dict[object, deque[TrainSpec]] = {}
    for spec in dict.fromkeys(specs):
        groups.setdefault(_shape(spec), deque()).append(spec)
    for waiting in groups.values():
        slots = Slots(waiting[0], min(n_slots, len(waiting)), dtype=dtype, device=device)
        active: dict[int, Trial] = {}
        while waiting or active:
            for slot in range(slots.weights.n_runs):
                if slot not in active and waiting:
                    spec = waiting.popleft()
                    active[slot] = Trial(
                        spec,
                        slots,
                        slot,
                        record_every=record_every or spec.check_every,
                        mass_every=mass_every,
                    )
            for slot, trial in list(active.items()):
                outcome = trial.advance()
                if progress is not None:
                    progress(trial.state())
                if outcome is not None:
                    outcomes[outcome.spec_id] = outcome
                    del active[slot]
                    if on_outcome is not None:
                        on_outcome(trial.spec, outcome)
    return [outcomes[spec_id(spec)] for spec in specs]


def _shape(spec: TrainSpec) -> object:
    """What trials must share to share slots: shapes and optimiser settings."""
    return (
        spec.architecture,
        spec.m,
        spec.dropout,
        spec.online,
        spec.learning_rate,
        spec.beta_1,
        spec.beta_2,
        spec.weight_decay,
        spec.decoupled,
        spec.clip,
        spec.warmup,
        spec.learner,
    )
