"""Checks of arguments for public functions, and the format of values in messages."""

import math
import operator
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from .errors import DomainError


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number >= least; reject True, 3.0 and "3".

    >>> whole("T", 8)
    8
    >>> whole("T", 8.5)
    Traceback (most recent call last):
    sparsehead._base.errors.DomainError: T is a whole number >= 1; got 8.5.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise DomainError(f"{name} is a whole number >= {least}; got {shown(value)}.")
    return number


def real(name: str, value: Any, *, above: int | float = -math.inf, below: int | float = math.inf) -> float:
    """Return `value` as a float if it is a finite number strictly between `above` and `below`; reject texts."""
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (above < number < below):
        bounds = [f"> {above:g}"] if above > -math.inf else []
        bounds += [f"< {below:g}"] if below < math.inf else []
        raise DomainError(
            f"{name} is a finite number {' and '.join(bounds)}".rstrip() + f"; got {shown(value)}."
        )
    return number


def choice(name: str, value: Any, known: Collection[str]) -> str:
    """Return `value` if it is one of `known`; otherwise raise an error that suggests a similar one."""
    if not isinstance(value, str) or value not in known:
        raise DomainError(f"{name} is one of {', '.join(known)}; got {shown(value)}.{meant(value, known)}")
    return value


def meant(value: Any, known: Collection[str]) -> str:
    """Return a question that suggests the name in `known` most similar to `value`, or "" if none is similar.

    >>> meant("trainble", ("trainable", "random"))
    " Did you mean 'trainable'?"
    """
    near = get_close_matches(value, known, n=1) if isinstance(value, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def several(name: str, value: Any, of: str) -> tuple[Any, ...]:
    """Return the members of `value` if it is a collection other than a text; `of` names the members in messages."""
    iterable = hasattr(value, "__iter__") and getattr(value, "ndim", 1) != 0
    if isinstance(value, str | bytes | dict) or not iterable:
        raise DomainError(f"{name} is a sequence of {of}; got {shown(value)}.")
    return tuple(value)


def instance(name: str, value: Any, kind: type, hint: str) -> None:
    """Raise unless `value` is a `kind`; `hint` says how to get one."""
    if not isinstance(value, kind):
        raise DomainError(f"{name} is a {kind.__name__} ({hint}); got {shown(value)}.")


def shown(value: Any) -> str:
    """Describe a wrong value in a message: its type, and the value if it is short."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr of another library may fail
        text = ""
    longest = 60  # characters; a message does not repeat a longer value
    if isinstance(value, int | float | str | bytes) and len(text) <= longest:
        return text
    kind = f"a {type(value).__name__}"
    return f"{kind}, {text}" if 0 < len(text) <= longest else kind


def duration(seconds: float, digits: int = 1) -> str:
    """Write a time in seconds, minutes or hours; minutes get `digits` decimals.

    >>> duration(57.2), duration(312.0), duration(312.0, 0), duration(9000.0)
    ('57 s', '5.2 min', '5 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.{digits}f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
