"""Many trials: slots kept full, verdicts handed out as soon as they are known."""

from collections import deque
from collections.abc import Callable, Sequence

from ..errors import DomainError
from ..spec import TrainSpec, spec_id
from .engine import Slots
from .learners import FITTED_AT_ONCE, fit_at_once
from .networks import NetworkSlots
from .outcome import Outcome, Progress
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
        if spec.learner in FITTED_AT_ONCE:
            outcome = outcomes[spec_id(spec)] = fit_at_once(spec)
            if on_outcome is not None:
                on_outcome(spec, outcome)
        else:
            groups.setdefault(_shape(spec), deque()).append(spec)
    for waiting in groups.values():
        slots = make_slots(waiting[0], min(n_slots, len(waiting)), dtype=dtype, device=device)
        active: dict[int, Trial] = {}
        while waiting or active:
            for slot in range(slots.n_slots):
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
                verdict = trial.advance()
                if progress is not None:
                    progress(trial.state())
                if verdict is not None:
                    outcomes[verdict.spec_id] = verdict
                    del active[slot]
                    if on_outcome is not None:
                        on_outcome(trial.spec, verdict)
    return [outcomes[spec_id(spec)] for spec in specs]


def make_slots(spec: TrainSpec, n_slots: int, *, dtype: str, device: str) -> Slots | NetworkSlots:
    """Slots for the spec's learner; device "auto" means a GPU where there is one."""
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise DomainError("device cuda was asked for, but torch sees no GPU; use cpu or auto.")
    if device not in ("cpu", "cuda"):
        raise DomainError(f"device is cpu, cuda or auto, got {device!r}.")
    kind = Slots if spec.learner == "transformer" else NetworkSlots
    return kind(spec, n_slots, dtype=dtype, device=device)


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
