"""The record of `bound`, and the information floor that may stand beside it."""

from typing import Any

from ..capacity import Bound
from ..errors import DomainError
from ..floor.floor import Floor, floor
from ..task import conjunction_p


def bounded(result: Bound, least: Floor | None) -> dict[str, Any]:
    """A bound and a floor as JSON values."""
    row = None if least is None else {"m": least.m, "enough": least.enough, "status": least.status}
    return {**result.to_dict(), "floor": row}


def information_floor(s: int, T: int) -> Floor:
    """Samples below which no learner names the support of an s-conjunction in 80 % of cases."""
    if not 1 <= s < T:
        raise DomainError(f"--s is the number of relevant positions, 1 <= s < T={T}; got {s}.")
    return floor("and", s=s, T=T, p=conjunction_p(s))
