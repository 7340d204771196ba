"""The record of `bound`, and the information floor that may stand beside it."""

from dataclasses import dataclass
from typing import Any

from .._base.errors import DomainError
from ..capacity import Bound
from ..floor.floor import Floor, floor
from ..functions.task import conjunction_p


@dataclass(frozen=True)
class BoundRecord:
    """A bound, and a floor where one was asked for."""

    bound: Bound
    floor: Floor | None = None

    def to_dict(self) -> dict[str, Any]:
        """What `sparsehead bound --json` prints."""
        row = None if self.floor is None else floor_row(self.floor)
        return {**self.bound.to_dict(), "floor": row}


def floor_row(least: Floor) -> dict[str, Any]:
    """A floor in a record: samples that every learner needs, samples that are enough, and how this is known."""
    return {"m": least.m, "enough": least.enough, "status": least.status}


def information_floor(s: int, T: int) -> Floor:
    """Samples below which no learner names the support of an s-conjunction in 80 % of cases."""
    if not 1 <= s < T:
        raise DomainError(f"--s is the number of relevant positions, 1 <= s < T={T}; got {s}.")
    return floor("and", s=s, T=T, p=conjunction_p(s))
