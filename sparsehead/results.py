"""What the store holds, as tables: a summary, one record by the start of its id, CSV, Parquet and JSON."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from .arguments import shown
from .errors import DomainError, MissingExtra, StoreError
from .files import check_target, shown_path, write_whole
from .spec import OPTIONAL, WHOLE, TrainSpec, full_settings
from .store import Record, Store

FORMATS = (".csv", ".parquet", ".json")
SETTINGS = {field.name: field.default for field in fields(TrainSpec)}
KINDS: dict[str, Any] = {field.name: field.type for field in fields(TrainSpec)}
BOOLEANS = {"True": True, "true": True, "False": False, "false": False}
MOST_DIGITS = 1000  # of a whole number; 1e999999999 would fill the memory with zeros


def summary(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per experiment (specs that differ in the seed alone), in order of first appearance.

    `id` is the id of its first trial.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        rest = {name: value for name, value in record.spec.items() if name != "seed"}
        groups.setdefault(json.dumps(rest, sort_keys=True), []).append(record)
    return [_summary_row(group) for group in groups.values()]


def _summary_row(group: Sequence[Record]) -> dict[str, Any]:
    spec = group[0].spec
    own = ("function", "s", "T", "m", "seed")
    changed = {n: v for n, v in full_settings(spec).items() if n not in own and v != SETTINGS.get(n)}
    return {
        "function": spec["function"],
        "s": spec.get("s"),
        "T": spec["T"],
        "m": spec["m"],
        "id": group[0].id,
        "trials": len(group),
        "solved": sum(record.solved for record in group),
        "seconds": float(sum(record.outcome.get("seconds") or 0.0 for record in group)),
        "created": group[0].created_at,
        "settings": " ".join(f"{name}={value}" for name, value in sorted(changed.items())),
    }


def find(store: Store, start: str) -> Record:
    """The record whose id, or whose spec's id, starts with `start`.

    Raises:
        StoreError: none or several do, or that one is damaged.
    """
    damage: list[str] = []
    found = [
        r for r in store.records(damage) if start and (r.id + " " + r.spec_id).find(start.lower()) in (0, 17)
    ]
    if not start or not found:
        lost = f"; {named(damage)}" if damage else ""
        raise StoreError(
            f"{shown_path(store.path)} holds no outcome whose id starts with {start!r}; "
            f"`sparsehead results list --each` prints the ids{lost}."
        )
    if len(found) > 1:
        ids = ", ".join(record.id for record in found[:3])
        raise StoreError(
            f"{len(found)} outcomes have ids that start with {start!r} ({ids}, ...); give more digits."
        )
    return found[0]


def named(damage: Sequence[str]) -> str:
    """One phrase for damaged rows: the first three by id and reason, and how many there are.

    >>> named(["outcome a: its checksum does not match"])
    '1 damaged outcome was left out (outcome a: its checksum does not match)'
    """
    more = f"; and {len(damage) - 3} more" if len(damage) > 3 else ""
    count = "1 damaged outcome was" if len(damage) == 1 else f"{len(damage)} damaged outcomes were"
    return f"{count} left out ({'; '.join(damage[:3])}{more})"


def condition(text: str) -> tuple[str, Any]:
    """("T", 300) from "T=300": the name of a field of `TrainSpec`, and a value of its type.

    `decoupled`, which version 0.1 had and `spec_text` still writes, is answered by `optimiser`.

    >>> condition("adam_eps=1e-8"), condition("p=None"), condition("decoupled=True")
    (('adam_eps', 1e-08), ('p', None), ('optimiser', 'adamw'))
    """
    name, equals, value = text.partition("=")
    if equals and name == "decoupled":
        return "optimiser", "adamw" if _value(name, bool, value) else "adam"
    if not equals or name not in SETTINGS:
        raise DomainError(
            f"--where takes NAME=VALUE with NAME one of {', '.join(SETTINGS)}; got {shown(text)}."
        )
    return name, _value(name, KINDS[name], value)


def _value(name: str, kind: Any, text: str) -> Any:
    """The value of type `kind` that `text` means; a text may stand in double quotes."""
    word = text.strip()
    if kind is str:
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    if kind in OPTIONAL and word in ("None", "null"):
        return None
    try:
        return BOOLEANS[word] if kind is bool else _whole(word) if kind in WHOLE else _real(word)
    except (KeyError, ValueError, ArithmeticError):
        what = "True or False" if kind is bool else "a whole number" if kind in WHOLE else "a number"
        example = "" if kind is bool else ", such as 300" if kind in WHOLE else ", such as 0.1 or 1e-8"
        none = ", or None" if kind in OPTIONAL else ""
        raise DomainError(f"--where {name}=VALUE takes {what}{example}{none}; got {shown(text)}.") from None


def _whole(text: str) -> int:
    number = Decimal(text)
    if not number.is_finite() or number.adjusted() > MOST_DIGITS or number != number.to_integral_value():
        raise ValueError
    return int(number)


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def select(records: Iterable[Record], conditions: Iterable[tuple[str, Any]]) -> Iterator[Record]:
    """Records whose spec has, for every name among the conditions, one of the values given for it.

    Settings that a stored spec leaves out have their defaults: see `full_settings`.
    """
    wanted: dict[str, list[Any]] = {}
    for name, value in conditions:
        wanted.setdefault(name, []).append(value)
    return (record for record in records if _fits(full_settings(record.spec), wanted))


def _fits(settings: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    return all(settings.get(name) in values for name, values in wanted.items())


def outcome_row(record: Record) -> dict[str, Any]:
    """One outcome as a line of `results list --each`."""
    spec, outcome = record.spec, record.outcome
    return {
        "id": record.id,
        **{name: spec.get(name) for name in ("function", "s", "T", "m", "seed")},
        **{name: outcome.get(name) for name in ("status", "steps", "seconds")},
        "created": record.created_at,
    }


def check_table(path: Path, *, force: bool = False) -> None:
    """Refuse, before any row is read, a file that `write` could not write."""
    if path.suffix.lower() not in FORMATS:
        raise DomainError(
            f"{path} ends in {path.suffix or 'nothing'!r}; tables are written as {', '.join(FORMATS)}."
        )
    check_target(path, force=force)


def write(rows: list[dict[str, Any]], path: Path, *, force: bool = False) -> None:
    """Write rows as the path's ending asks: .csv, .parquet (needs the extra "parquet") or .json.

    The file appears whole or not at all; one that exists is replaced only with `force`.
    """
    check_table(path, force=force)
    content = {".csv": _csv, ".json": _json, ".parquet": _parquet}[path.suffix.lower()](rows)
    write_whole(path, content, force=force)


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _names(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: list[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, indent=1, allow_nan=False) + "\n").encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra(
            "Parquet needs pyarrow: pip install 'sparsehead[parquet]', or export to .csv."
        ) from None
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in _names(rows)})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
