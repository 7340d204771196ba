"""What a chart is made of: rows, that is, mappings from a field's name to a number, a text or nothing."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._base.errors import DomainError
from .._base.jsonable import json_values
from .._base.log_math import Real

Fields = Mapping[str, Any]
Rows = Sequence[Fields]
DIGITS = 6  # significant digits kept in a chart: far below a pixel, and half the page's size


def plain(rows: Iterable[Fields]) -> list[dict[str, Any]]:
    """The records as JSON has them: Python numbers, None for what is not finite, DIGITS significant digits."""
    return [{key: _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def finite(value: Any) -> bool:
    """True for a number that can be drawn; False for None, NaN and infinities."""
    return value is not None and math.isfinite(value)


def rows_of(records: Sequence[Any], what: str) -> list[dict[str, Any]]:
    """Dataclasses as rows of a chart, refused when there are none; `what` says what the chart shows."""
    return need([json_values(record) for record in records], what)


def need(rows: Rows, what: str, *fields: str) -> list[dict[str, Any]]:
    """`rows`, refused when there are none or a field is missing.

    Raises:
        DomainError: with `what` the chart shows, and what arrived.
    """
    if not rows:
        raise DomainError(f"{what}: there is nothing to draw yet, 0 records arrived.")
    for row in rows:
        missing = [name for name in fields if name not in row]
        if missing:
            raise DomainError(f"{what}: records need {', '.join(fields)}; one has only {', '.join(row)}.")
    return [dict(row) for row in rows]


def number(value: Real) -> str:
    """A number for a title: three significant digits, whole numbers from 100 on, thousands apart.

    >>> number(69.23), number(113.4), number(100000), number(0.0034)
    ('69.2', '113', '100,000', '0.0034')
    """
    if abs(value) >= 1e7 or (value != 0 and abs(value) < 1e-3):
        return f"{value:.2g}"
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(low: Any, high: Any) -> str:
    """[low, high] for a title; an end that is not known is an ellipsis."""
    return f"[{number(low) if finite(low) else '…'}, {number(high) if finite(high) else '…'}]"


def count(things: Sequence[Any] | int, noun: str) -> str:
    """How many, with the noun in its number.

    >>> count([1, 2], "run"), count(1, "run")
    ('2 runs', '1 run')
    """
    n = things if isinstance(things, int) else len(things)
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
