"""Convert dataclasses to JSON values: one converter for every record that is written to a file.

A field of a record may have the type bool, int, float, str, another dataclass, X | None, tuple[X, ...], tuple[X, Y],
dict[str, X]; or dict[int, X] and dict[int, list[X]], whose keys are context lengths T. Dicts whose keys are context
lengths are written as lists of rows, each with its T.

Two class attributes change what is written: `in_file` lists the names to write, in order (a property is written but
not read); `named_by` is the field that holds the key under which a dict contains the object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, get_args, get_origin, get_type_hints


@dataclass(frozen=True, kw_only=True)
class ResultsRecord:
    """Base class of the records in results files; `schema` is the version of the layout.

    `complete`: whether all planned trials were run.
    """

    schema: ClassVar[int] = 1
    complete: bool = True


def json_values(value: Any) -> Any:
    """Convert a record to JSON values: a dataclass to an object with its fields in order, a tuple to a list.

    >>> from dataclasses import make_dataclass
    >>> json_values((make_dataclass("Point", [("T", int), ("m", int | None)])(100, None), 2.5))
    [{'T': 100, 'm': None}, 2.5]
    """
    if is_dataclass(value) and not isinstance(value, type):
        types = types_of(type(value))
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
    """Convert a dict whose keys are context lengths T to a list of rows of JSON values, each with its T."""
    rows = [(T, row) for T, of_T in found.items() for row in (of_T if isinstance(of_T, list) else [of_T])]
    return [{"T": T, **json_values(row)} for T, row in rows]


@cache
def types_of(kind: type) -> dict[str, Any]:
    """The type of each field of a dataclass, by name."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _is_by_length(kind: Any) -> bool:
    return get_origin(kind) is dict and get_args(kind)[0] is int
