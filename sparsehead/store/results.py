"""Outcomes of a store as tables: a summary, one record by the start of its id; export to CSV, Parquet and JSON.

Tables are written row by row: `Outcomes` keeps no rows in memory and reads the store again for every iteration.
"""

import csv
import hashlib
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any

from .._base.arguments import shown
from .._base.errors import DomainError, MissingExtra, StoreError
from .._base.fields import Setting, check_names
from .._base.files import check_target, shown_path, whole_file
from .._base.lazy import install_command
from ..train.spec import SETTINGS
from . import Record, Store


def summary(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one row for each experiment (specs that differ only in the seed), in order of first appearance.

    `id` is the id of the experiment's first trial.
    """
    groups: dict[bytes, dict[str, Any]] = {}
    for record in records:
        rest = {name: value for name, value in record.spec.items() if name != "seed"}
        key = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).digest()
        row = groups.get(key) or groups.setdefault(key, _summary_row(record))
        row["trials"] += 1
        row["solved"] += record.solved
        row["seconds"] += record.outcome.get("seconds") or 0.0
    return list(groups.values())


def _summary_row(record: Record) -> dict[str, Any]:
    """Return the row of an experiment before its trials are counted; `record` is the first trial."""
    columns = ("function", "s", "T", "m")
    rest = {name: value for name, value in record.spec.items() if name not in (*columns, "seed")}
    changed = [f"{n}={v}" for n, v in sorted(rest.items()) if n not in SETTINGS or v != SETTINGS[n].default]
    return {
        **{name: record.spec.get(name) for name in columns},
        "id": record.id, "trials": 0, "solved": 0, "seconds": 0.0, "created": record.created_at,
        "settings": sys.intern(" ".join(changed)),
    }  # fmt: skip


def find(store: Store, start: str) -> Record:
    """Return the record whose id, or whose spec's id, starts with `start`; raise a StoreError unless it is unique."""
    damage: list[str] = []
    found: list[Record] = []
    count = 0
    for record in store.records(damage):
        if start and (record.id + " " + record.spec_id).find(start.lower()) in (0, 17):
            count += 1
            found = [*found, record][:3]
    if not start or not found:
        lost = f"; {named(damage)}" if damage else ""
        raise StoreError(
            f"{shown_path(store.path)} holds no outcome whose id starts with {start!r}; "
            f"`sparsehead results list --each` prints the ids{lost}."
        )
    if count > 1:
        ids = ", ".join(record.id for record in found)
        raise StoreError(
            f"{count} outcomes have ids that start with {start!r} ({ids}, ...); give more digits."
        )
    return found[0]


def named(damage: Sequence[str]) -> str:
    """Describe damaged rows in one phrase: their number, and the first three by id and reason.

    >>> named(["outcome a: its checksum does not match"])
    '1 damaged outcome was left out (outcome a: its checksum does not match)'
    """
    more = f"; and {len(damage) - 3} more" if len(damage) > 3 else ""
    count = "1 damaged outcome was" if len(damage) == 1 else f"{len(damage)} damaged outcomes were"
    return f"{count} left out ({'; '.join(damage[:3])}{more})"


def condition(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE, such as "T=300", into the name of a field of `TrainSpec` and a value of its type.

    >>> condition("adam_eps=1e-8"), condition("p=None")
    (('adam_eps', 1e-08), ('p', None))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise DomainError(f"--where takes NAME=VALUE, such as T=300; got {shown(text)}.")
    check_names([name], SETTINGS, what="a spec (--where NAME=VALUE)")
    return name, _value(SETTINGS[name], value)


def _value(setting: Setting, text: str) -> Any:
    """Convert `text` to the type of the setting; remove double quotes around a text."""
    word = text.strip()
    if setting.kind is str:
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    if setting.optional and word in ("None", "null"):
        return None
    read, wanted = {
        bool: ({"True": True, "true": True, "False": False, "false": False}.__getitem__, "True or False"),
        int: (_whole, "a whole number, such as 300"),
        float: (_real, "a number, such as 0.1 or 1e-8"),
    }[setting.kind]
    try:
        return read(word)
    except (KeyError, ValueError, ArithmeticError):
        wanted += ", or None" if setting.optional else ""
        raise DomainError(f"--where {setting.name}=VALUE takes {wanted}; got {shown(text)}.") from None


def _whole(text: str) -> int:
    number = Decimal(text)  # converted only up to 1000 digits: 1e999999999 would fill the memory with zeros
    if not number.is_finite() or number.adjusted() > 1000 or number != number.to_integral_value():
        raise ValueError
    return int(number)


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def select(records: Iterable[Record], conditions: Iterable[tuple[str, Any]]) -> Iterator[Record]:
    """Yield the records whose spec fits: conditions on one name are alternatives, different names must all fit."""
    wanted: dict[str, list[Any]] = {}
    for name, value in conditions:
        wanted.setdefault(name, []).append(value)
    return (record for record in records if all(record.spec.get(name) in wanted[name] for name in wanted))


class Outcomes:
    """The outcomes of a store that fit the conditions, each as a row; every iteration reads the store again.

    Later iterations leave out rows that were added after the first, so that all iterations see the same rows.
    """

    def __init__(
        self, store: Store, conditions: Iterable[tuple[str, Any]], row: Callable[[Record], dict[str, Any]]
    ) -> None:
        self._store, self._conditions, self._row = store, list(conditions), row
        self._most: int | None = None
        self.damage: list[str] = []  # after an iteration: one sentence for each damaged row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.damage.clear()
        count = 0
        for record in islice(select(self._store.records(self.damage), self._conditions), self._most):
            yield self._row(record)
            count += 1
        self._most = count


def outcome_row(record: Record) -> dict[str, Any]:
    """Return the row of one outcome for `results list --each`."""
    spec, outcome = record.spec, record.outcome
    return {
        "id": record.id,
        **{name: spec.get(name) for name in ("function", "s", "T", "m", "seed")},
        **{name: outcome.get(name) for name in ("status", "steps", "seconds")},
        "created": record.created_at,
    }


def check_table(path: Path, *, force: bool = False) -> None:
    """Raise if `write` could not write to this path; call it before reading any row."""
    formats = (".csv", ".parquet", ".json")
    if path.suffix.lower() not in formats:
        raise DomainError(
            f"{path} ends in {path.suffix or 'nothing'!r}; tables are written as {', '.join(formats)}."
        )
    check_target(path, force=force)


def write(rows: Iterable[Mapping[str, Any]], path: Path, *, force: bool = False) -> int:
    """Write rows as .csv, .json or .parquet (needs the extra "parquet"), by the path's ending; return their number.

    The file is written completely or not at all; an existing one is replaced only with `force`. Rows are iterated
    twice, first for the names and types of the columns.
    """
    check_table(path, force=force)
    written = {".csv": _csv, ".json": _json, ".parquet": _parquet}[path.suffix.lower()]
    with whole_file(path, force=force) as file:
        return written(rows, file)


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, set[type]]:
    """Return the types of each column's values other than None; columns are in order of first appearance."""
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            of_name = kinds.setdefault(name, set())
            if value is not None:
                of_name.add(type(value))
    return kinds


def _csv(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> int:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, list(_columns(rows)), lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        writer.writerow(row)
        count += 1
    text.flush()
    text.detach()  # otherwise the wrapper would close the file
    return count


def _json(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> int:
    count = 0
    for count, row in enumerate(rows, start=1):
        item = json.dumps([row], indent=1, allow_nan=False)[1:-2]  # indented as in a list of all rows
        file.write(("," if count > 1 else "[").encode() + item.encode())
    file.write(b"\n]\n" if count else b"[]\n")
    return count


def _parquet(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra(
            f"Parquet needs pyarrow: {install_command('parquet')}, or export to .csv."
        ) from None
    types = {name: _arrow_type(pyarrow, kinds) for name, kinds in _columns(rows).items()}
    schema = pyarrow.schema(types.items())
    count, source = 0, iter(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        while batch := list(islice(source, 5000)):
            columns = {
                name: [_fitting(row.get(name), types[name] == pyarrow.string()) for row in batch]
                for name in types
            }
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(batch)
    return count


def _arrow_type(pyarrow: Any, kinds: set[type]) -> Any:
    """Return the type of a column whose values have these types; mixed values and lists become text."""
    if not kinds:
        return pyarrow.null()
    plain = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    kind = float if kinds == {int, float} else next(iter(kinds)) if len(kinds) == 1 else str
    return plain.get(kind, pyarrow.string())


def _fitting(value: Any, as_text: bool) -> Any:
    return json.dumps(value) if as_text and value is not None and not isinstance(value, str) else value
