"""The record of `cover`: a smallest cover, or a bracket, with the bounds around it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..covering import Cover, covering_number
from ..covering.metrics import fraction_of


@dataclass(frozen=True)
class CoverRecord:
    """A cover, and what it is a cover of: how many points, the radius, the norm, and whether centres lie anywhere."""

    cover: Cover
    points: int
    eps: float
    p: float
    external: bool

    def to_dict(self) -> dict[str, Any]:
        """What `sparsehead cover --json` prints."""
        return {
            **self.cover.to_dict(),
            "points": self.points,
            "eps": self.eps,
            "p": "inf" if self.p == math.inf else self.p,
            "external": self.external,
        }


def cover_record(
    points: Sequence[Sequence[str]],
    *,
    eps: str,
    p: float = 2.0,
    external: bool = False,
    time_limit: float = 30.0,
) -> CoverRecord:
    """The covering number of `points` at radius `eps`; the arguments are those of `covering_number`."""
    found = covering_number(points, eps=eps, p=p, external=external, time_limit=time_limit)
    return CoverRecord(found, len(points), float(fraction_of(eps)), p, external)
