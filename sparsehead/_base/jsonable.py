"""Dataclasses to JSON values and back: one converter for every record that is written to a file.

A field may have the type bool, int, float, str, another dataclass, X | None, tuple[X, ...], tuple[X, Y],
dict[str, X], or by context length dict[int, X] and dict[int, list[X]]; there is nothing else in a record. What is
known by context length is written as a list of rows, each with its T.

A class whose file differs from its fields says so by two class attributes: `in_file` names what is written, in this
order (a property is written and not read), and `named_by` the field that holds the key under which a dict has it.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import DomainError, FileError

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class ResultsRecord:
    """Base of what a results file holds; `schema` is the version of its layout.

    `complete`: whether the experiment was run to its planned end.
    """

    schema: ClassVar[int] = 1
    complete: bool = True


def json_values(value: Any) -> Any:
    """A record as JSON values: a dataclass as an object with its fields in order, a tuple as a list.

    >>> from dataclasses import make_dataclass
    >>> json_values((make_dataclass("Point", [("T", int), ("m", int | None)])(100, None), 2.5))
    [{'T': 100, 'm': None}, 2.5]
    """
    if is_dataclass(value) and not isinstance(value, type):
        types = _types(type(value))
        found = {name: getattr(value, name) for name in getattr(value, "in_file", types)}
        return {
            name: json_values(rows_by_length(item) if _is_by_length(types.get(name)) else item)
            for name, item in found.items()
        }
    if isinstance(value, dict):
        return {key: json_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    return value


def rows_by_length(found: Mapping[int, Any]) -> list[dict[str, Any]]:
    """What is known by context length as rows of JSON values, each with its T."""
    rows = [(T, row) for T, of_T in found.items() for row in (of_T if isinstance(of_T, list) else [of_T])]
    return [{"T": T, **json_values(row)} for T, row in rows]


def record_from(kind: type[R], value: Any, at: str = "the object") -> R:
    """The `kind` that the JSON value holds; a field that it lacks takes its default.

    Args:
        at: the place of the value, for the message.
    Raises:
        FileError: a field is missing, unknown or of another type, or a number is not finite.
    """
    found: R = _read(kind, value, at)
    return found


@cache
def _types(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _is_by_length(kind: Any) -> bool:
    return get_origin(kind) is dict and get_args(kind)[0] is int


def _read(kind: Any, value: Any, at: str) -> Any:
    if is_dataclass(kind):
        return _read_fields(kind, value, at)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None; records have no other unions
        return None if value is None else _read(next(k for k in inner if k is not NoneType), value, at)
    if origin is tuple:
        return _read_items(inner, _need(list, value, at, "a list"), at)
    if origin is dict:
        return (_read_by_length if inner[0] is int else _read_by_name)(inner[1], value, at)
    return _read_plain(kind, value, at)


def _read_by_name(kind: Any, value: Any, at: str) -> dict[str, Any]:
    found = {key: _read(kind, item, f"{at}.{key[:40]}") for key, item in _object(value, at).items()}
    named = getattr(kind, "named_by", None)
    return found if named is None else {key: replace(item, **{named: key}) for key, item in found.items()}


def _read_by_length(kind: Any, value: Any, at: str) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for i, row in enumerate(_need(list, value, at, "a list")):
        place, given = f"{at}[{i}]", _object(row, f"{at}[{i}]")
        T = _read_plain(int, given.get("T"), f"{place}.T")
        if get_origin(kind) is list:
            rest = {name: item for name, item in given.items() if name != "T"}
            found.setdefault(T, []).append(_read(get_args(kind)[0], rest, place))
        else:
            found[T] = _read(kind, row, place)
    return found


def _read_fields(kind: Any, value: Any, at: str) -> Any:
    types, given = _types(kind), _object(value, at)
    written = getattr(kind, "in_file", types)
    unknown = [name for name in given if name not in written]
    if unknown:
        raise FileError(f"{at} has the field {unknown[0][:40]!r}, which {kind.__name__} does not have")
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    missing = sorted(required - set(given))
    if missing:
        raise FileError(f"{at} lacks the field {missing[0]!r} of {kind.__name__}")
    read = {name: _read(types[name], item, f"{at}.{name}") for name, item in given.items() if name in types}
    try:
        return kind(**read)
    except DomainError as error:
        raise FileError(f"{at}: {error}") from error


def _read_items(kinds: tuple[Any, ...], values: list[Any], at: str) -> tuple[Any, ...]:
    each = kinds[:1] * len(values) if kinds[-1] is Ellipsis else kinds
    if len(each) != len(values):
        raise FileError(f"{at} has {len(values)} items, not {len(each)}")
    return tuple(_read(kind, item, f"{at}[{i}]") for i, (kind, item) in enumerate(zip(each, values)))


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
