"""Pages that other packages add to the lab: endpoints, kinds of jobs, and stored laws to compare with.

A package names an `Extension` in its entry points, under "sparsehead.lab".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from fastapi import APIRouter

from ..laws.law import LawResult
from .work import Tell, Values


@dataclass(frozen=True)
class JobKind:
    """One kind of job.

    Args:
        check: a function that returns the request with defaults filled in, or raises ValueError if it is invalid.
        work: a function of request, store and a function that reports events; runs the job, returns its result as JSON.
    """

    check: Callable[[Any], Values]
    work: Callable[[Values, Path, Tell], Values]


@dataclass(frozen=True)
class Extension:
    """The endpoints, kinds of jobs and laws that a package adds to the lab.

    Args:
        routers: its endpoints.
        jobs: its kinds of jobs, by name.
        laws: a function that returns the laws that the package's files contain now: id -> (name, law).
    """

    routers: tuple[APIRouter, ...] = ()
    jobs: Mapping[str, JobKind] = field(default_factory=dict)
    laws: Callable[[], Mapping[str, tuple[str, LawResult]]] = dict


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the extensions of all installed packages."""
    return tuple(entry.load() for entry in entry_points(group="sparsehead.lab"))
