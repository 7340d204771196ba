"""The tasks of a law with a user-defined distribution of inputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._base.arguments import instance, shown
from .._base.errors import DomainError
from ..functions.inputs import is_importable
from ..functions.task import Task


def tasks_at(
    task_of: Callable[[int], Task], lengths: Sequence[int], beside: Mapping[str, Any]
) -> dict[int, Task]:
    """Return the task at each T after checking it. `beside` has the other arguments of `law`; those that a task
    determines must be None.
    """
    if not callable(task_of):
        raise DomainError(f"task_of is a function of T that returns a Task; got {shown(task_of)}.")
    for name in ("function", "s", "p", "noise", "feature_noise", "inputs"):
        if beside.get(name) is not None:
            raise DomainError(f"task_of determines {name}; leave {name} out.")
    found = {}
    for T in lengths:
        task = task_of(T)
        instance("what task_of returns", task, Task, "such as sh.Task(f, p=0.3)")
        if task.f.T != T:
            raise DomainError(f"task_of({T}) returned a task with T={task.f.T}; its function reads T bits.")
        if task.sampler is not None and not is_importable(str(task.inputs)):
            raise DomainError(
                "law runs trials in other processes, which must import the sampler: put it at the top level of a file."
            )
        found[T] = task
    return found
