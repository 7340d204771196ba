"""`learn`: one sparse function, by gradient descent."""

from typing import Any

from ..functions import SparseFunction
from .engine import Slots
from .outcome import Progress, Run
from .spec import TrainSpec, preset
from .trial import Trial


def learn(
    f: SparseFunction | str,
    *,
    m: int,
    seed: int,
    T: int | None = None,
    preset_name: str = "fast",
    progress: Progress | None = None,
    record_every: int = 0,
    mass_every: int = 50,
    dtype: str = "float32",
    device: str = "cpu",
    **settings: Any,
) -> Run:
    """Train on m samples of f until validation accuracy exceeds the target, or the restarts are spent."""
    text, T = (f, T) if isinstance(f, str) else (str(f), f.T)
    spec = preset(preset_name, function=text, T=T, m=m, seed=seed, **settings)
    return learn_spec(
        spec, progress=progress, record_every=record_every, mass_every=mass_every, dtype=dtype, device=device
    )


def learn_spec(
    spec: TrainSpec,
    *,
    progress: Progress | None = None,
    record_every: int = 0,
    mass_every: int = 50,
    dtype: str = "float32",
    device: str = "cpu",
) -> Run:
    """`learn` for a spec that is written down already."""
    trial = Trial(
        spec,
        Slots(spec, 1, dtype=dtype, device=device),
        0,
        record_every=record_every or spec.check_every,
        mass_every=mass_every,
    )
    while True:
        outcome = trial.advance()
        if progress is not None:
            progress(trial.state())
        if outcome is not None:
            return Run(spec, outcome, None if outcome.status == "diverged" else trial.model())
