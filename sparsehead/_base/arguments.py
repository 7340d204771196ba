"""Checks of arguments, shared by the public functions, and values as messages show them."""

import math
import operator
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from .errors import DomainError

SHOWN = 60  # characters of a wrong value that a message repeats


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """`value` as an int, if it is a whole number >= least; rejects True, 3.0 and "3".

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
    """`value` as a float, if it is a finite number strictly between `above` and `below`; rejects texts."""
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
    """`value`, if it is one of `known`; else the message names the one that was probably meant."""
    if not isinstance(value, str) or value not in known:
        raise DomainError(f"{name} is one of {', '.join(known)}; got {shown(value)}.{meant(value, known)}")
    return value


def meant(value: Any, known: Collection[str]) -> str:
    """A question that names the one of `known` which `value` nearly spells, to end a message with; else "".

    >>> meant("trainble", ("trainable", "random"))
    " Did you mean 'trainable'?"
    """
    near = get_close_matches(value, known, n=1) if isinstance(value, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def several(name: str, value: Any, of: str) -> tuple[Any, ...]:
    """The members of `value`, if it is a collection other than a text; `of` says what its members are."""
    iterable = hasattr(value, "__iter__") and getattr(value, "ndim", 1) != 0
    if isinstance(value, str | bytes | dict) or not iterable:
        raise DomainError(f"{name} is a sequence of {of}; got {shown(value)}.")
    return tuple(value)


def instance(name: str, value: Any, kind: type, hint: str) -> None:
    """Refuse a value that is no `kind`; `hint` says how to get one."""
    if not isinstance(value, kind):
        raise DomainError(f"{name} is a {kind.__name__} ({hint}); got {shown(value)}.")


def shown(value: Any) -> str:
    """A wrong value for a message: its type, and itself if that is short."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr of another library may fail
        text = ""
    if isinstance(value, int | float | str | bytes) and len(text) <= SHOWN:
        return text
    kind = f"a {type(value).__name__}"
    return f"{kind}, {text}" if 0 < len(text) <= SHOWN else kind


def duration(seconds: float, digits: int = 1) -> str:
    """A time for people: seconds, minutes or hours; `digits` are those of the minutes.

    >>> duration(57.2), duration(312.0), duration(312.0, 0), duration(9000.0)
    ('57 s', '5.2 min', '5 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.{digits}f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
