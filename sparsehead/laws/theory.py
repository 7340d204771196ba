"""What theory says beside a measured law: the information floor, and the slopes of several ways to learn."""

from collections.abc import Sequence

from .._base.errors import DomainError
from ..floor.constants import per_ln_T
from ..floor.floor import Floor, floor_curve
from ..train.spec import LEARNERS, task_of
from .rounds import MakeSpec


def floors(make: MakeSpec, Ts: Sequence[int]) -> dict[int, Floor]:
    """The information floor at each T, where theory has one: if all trials have the same function but for positions.

    It is for independent bits with one p. Noise in the bits leaves it true, since a learner could add it itself.
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
    except DomainError:  # a constant, more positions than sums reach, or labels that say nothing
        return {}
    return {each.T: each for each in found}


def slopes(make: MakeSpec, T: int) -> dict[str, float]:
    """Samples per ln T by way of learning, as `floor.constants` has them; empty where it has none."""
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
