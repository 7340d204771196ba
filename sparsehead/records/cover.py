"""The record of `cover`: a smallest cover, or a bracket, with the bounds around it."""

import math
from collections.abc import Sequence
from typing import Any

from ..covering import covering_number
from ..covering.metrics import fraction_of


def covered(
    points: Sequence[Sequence[str]],
    *,
    eps: str,
    p: float = 2.0,
    external: bool = False,
    time_limit: float = 30.0,
) -> dict[str, Any]:
    """The covering number of `points` at radius `eps` as JSON values; the arguments are those of `covering_number`."""
    found = covering_number(points, eps=eps, p=p, external=external, time_limit=time_limit)
    return {
        "size": found.size,
        "centers": [list(c) for c in found.centers],
        "lower": found.lower,
        "upper": found.upper,
        "exact": found.exact,
        "rows": None if found.rows is None else list(found.rows),
        "greedy": found.greedy,
        "packing": found.packing,
        "lp": found.lp,
        "ties": found.ties,
        "points": len(points),
        "eps": float(fraction_of(eps)),
        "p": "inf" if p == math.inf else p,
        "external": external,
    }
