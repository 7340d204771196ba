"""Theory to compare with a measured law: the information floor, and the slopes of several learners."""

from collections.abc import Sequence

from .._base.errors import DomainError
from ..floor.constants import per_ln_T
from ..floor.floor import Floor, floor_curve
from ..train.spec import LEARNERS, task_of
from .rounds import MakeSpec


def floors(make: MakeSpec, Ts: Sequence[int]) -> dict[int, Floor]:
    """Return the information floor at each T; empty unless all trials learn the same function up to positions.

    The bits must be independent with one p. The floor also holds if bits are noisy, since a learner that gets bits
    without noise could add it.
    """
    spec = make(Ts[0], 50, 0)
    if spec.function == "junta":
        return {}
    task = task_of(spec)
    if task.shared_p is None:
        return {}
    answers = spec.restarts if LEARNERS[spec.learner].repeats else 1
    try:
        found = floor_curve(task.f, Ts=Ts, p=task.shared_p, guesses=answers, noise=task.noise)
    except DomainError:  # a constant function, too many positions for the sums, or noise of 1/2
        return {}
    return {each.T: each for each in found}


def slopes(make: MakeSpec, T: int) -> dict[str, float]:
    """Return samples per ln T by learner, from `floor.constants`; empty if it has none for this function."""
    spec = make(T, 50, 0)
    task = task_of(spec)
    if task.shared_p is None:
        return {}
    try:
        return (
            {} if spec.function == "junta" else per_ln_T(task.f, p=task.shared_p, noise=task.noise).finite()
        )
    except DomainError:
        return {}
