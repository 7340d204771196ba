"""Dataclasses to JSON values and back: one converter for every record that is written to a file.

A field may have the type bool, int, float, str, another dataclass, X | None, tuple[X, ...], tuple[X, Y] or
dict[str, X]; there is nothing else in a record.
"""

import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import FileError

R = TypeVar("R")
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", NoneType: "null"}


def json_values(value: Any) -> Any:
    """A record as JSON values: a dataclass as an object with its fields in order, a tuple as a list.

    >>> from dataclasses import make_dataclass
    >>> json_values((make_dataclass("Point", [("T", int), ("m", int | None)])(100, None), 2.5))
    [{'T': 100, 'm': None}, 2.5]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {name: json_values(getattr(value, name)) for name in _types(type(value))}
    if isinstance(value, dict):
        return {key: json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    return value


def record_from(kind: type[R], value: Any, at: str = "the object") -> R:
    """The `kind` that the JSON value holds; a field that it lacks takes its default.

    Args:
        at: where the value stands, for the message.
    Raises:
        FileError: a field is missing, unknown or of another type, or a number is not finite.
    """
    found: R = _read(kind, value, at)
    return found


@cache
def _types(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(kind: Any, value: Any, at: str) -> Any:
    if is_dataclass(kind):
        return _read_fields(kind, value, at)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _read_one_of(inner, value, at)
    if origin is tuple:
        return _read_items(inner, _need(list, value, at, "a list"), at)
    if origin is dict:
        return {key: _read(inner[1], item, f"{at}.{key[:40]}") for key, item in _object(value, at).items()}
    return _read_plain(kind, value, at)


def _read_fields(kind: Any, value: Any, at: str) -> Any:
    types, given = _types(kind), _object(value, at)
    unknown = [name for name in given if name not in types]
    if unknown:
        raise FileError(f"{at} has the field {unknown[0][:40]!r}, which {kind.__name__} does not have")
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    missing = sorted(required - set(given))
    if missing:
        raise FileError(f"{at} lacks the field {missing[0]!r} of {kind.__name__}")
    return kind(**{name: _read(types[name], item, f"{at}.{name}") for name, item in given.items()})


def _read_one_of(kinds: tuple[Any, ...], value: Any, at: str) -> Any:
    """Of X | None; other unions do not occur in records."""
    if value is None and NoneType in kinds:
        return None
    return _read(next(kind for kind in kinds if kind is not NoneType), value, at)


def _read_items(kinds: tuple[Any, ...], values: list[Any], at: str) -> tuple[Any, ...]:
    each = kinds[:1] * len(values) if kinds[-1] is Ellipsis else kinds
    if len(each) != len(values):
        raise FileError(f"{at} has {len(values)} items, not {len(each)}")
    return tuple(_read(kind, item, f"{at}[{i}]") for i, (kind, item) in enumerate(zip(each, values)))


def _read_plain(kind: type, value: Any, at: str) -> Any:
    if kind is float and type(value) is int and abs(value) < 2**1023:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise FileError(f"{at} is {str(value)[:40]!r}, not {WORDS[kind]}")
    return value


def _object(value: Any, at: str) -> dict[str, Any]:
    found: dict[str, Any] = _need(dict, value, at, "an object")
    return found


def _need(kind: type, value: Any, at: str, words: str) -> Any:
    if not isinstance(value, kind):
        raise FileError(f"{at} is {str(value)[:40]!r}, not {words}")
    return value
