"""Convert JSON values back to the dataclasses from which `sparsehead._base.jsonable` made them."""

import math
from dataclasses import MISSING, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from sparsehead._base.errors import DomainError, FileError
from sparsehead._base.jsonable import types_of


def record_from(kind: Any, value: Any, at: str = "the object") -> Any:
    """Return the JSON value as a dataclass or another type of a record's field; a missing field gets its default.

    Args:
        at: the place of the value, named in error messages.
    Raises:
        FileError: a field without default is missing, a field is unknown or of another type, a number is not finite.
    """
    if is_dataclass(kind):
        return _read_fields(kind, value, at)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None; records have no other unions
        return None if value is None else record_from(next(k for k in inner if k is not NoneType), value, at)
    if origin is tuple:
        return _read_items(inner, _need(list, value, at, "a list"), at)
    if origin is dict:
        return (_read_by_length if inner[0] is int else _read_by_name)(inner[1], value, at)
    return _read_plain(kind, value, at)


def _read_by_name(kind: Any, value: Any, at: str) -> dict[str, Any]:
    found = {key: record_from(kind, item, f"{at}.{key[:40]}") for key, item in _object(value, at).items()}
    named = getattr(kind, "named_by", None)
    return found if named is None else {key: replace(item, **{named: key}) for key, item in found.items()}


def _read_by_length(kind: Any, value: Any, at: str) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for i, row in enumerate(_need(list, value, at, "a list")):
        place, given = f"{at}[{i}]", _object(row, f"{at}[{i}]")
        T = _read_plain(int, given.get("T"), f"{place}.T")
        if get_origin(kind) is list:
            rest = {name: item for name, item in given.items() if name != "T"}
            found.setdefault(T, []).append(record_from(get_args(kind)[0], rest, place))
        else:
            found[T] = record_from(kind, row, place)
    return found


def _read_fields(kind: Any, value: Any, at: str) -> Any:
    types, given = types_of(kind), _object(value, at)
    written = getattr(kind, "in_file", types)
    unknown = [name for name in given if name not in written]
    if unknown:
        raise FileError(f"{at} has the field {unknown[0][:40]!r}, which {kind.__name__} does not have")
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    missing = sorted(required - set(given))
    if missing:
        raise FileError(f"{at} lacks the field {missing[0]!r} of {kind.__name__}")
    read = {
        name: record_from(types[name], item, f"{at}.{name}") for name, item in given.items() if name in types
    }
    try:
        return kind(**read)
    except DomainError as error:
        raise FileError(f"{at}: {error}") from error


def _read_items(kinds: tuple[Any, ...], values: list[Any], at: str) -> tuple[Any, ...]:
    each = kinds[:1] * len(values) if kinds[-1] is Ellipsis else kinds
    if len(each) != len(values):
        raise FileError(f"{at} has {len(values)} items, not {len(each)}")
    return tuple(record_from(kind, item, f"{at}[{i}]") for i, (kind, item) in enumerate(zip(each, values)))


def _read_plain(kind: type, value: Any, at: str) -> Any:
    if kind is float and type(value) is int and abs(value) < 2**1023:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        raise FileError(f"{at} is {str(value)[:40]!r}, not {words[kind]}")
    return value


def _object(value: Any, at: str) -> dict[str, Any]:
    found: dict[str, Any] = _need(dict, value, at, "an object")
    return found


def _need(kind: type, value: Any, at: str, words: str) -> Any:
    if not isinstance(value, kind):
        raise FileError(f"{at} is {str(value)[:40]!r}, not {words}")
    return value
