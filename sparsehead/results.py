"""What the store holds, as tables: a summary, one record by the start of its id, CSV, Parquet and JSON."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .errors import DomainError, MissingExtra, StoreError
from .files import check_target, shown_path, write_whole
from .spec import TrainSpec
from .store import Record, Store

FORMATS = (".csv", ".parquet", ".json")
SETTINGS = {name: field.default for name, field in TrainSpec.__dataclass_fields__.items()}


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
    changed = {n: v for n, v in spec.items() if n not in own and v != SETTINGS.get(n)}
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
        "settings": " ".join(f"{name}={value}" for name, value in changed.items()),
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
    """("T", 300) from "T=300": the name of a spec's field and a JSON value, or else a string."""
    name, equals, value = text.partition("=")
    if not equals or name not in SETTINGS:
        raise DomainError(f"--where takes NAME=VALUE with NAME one of {', '.join(SETTINGS)}; got {text!r}.")
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = value
    return name, parsed if isinstance(parsed, bool | int | float | str | None) else value


def select(records: Iterable[Record], conditions: Iterable[tuple[str, Any]]) -> Iterator[Record]:
    """Records whose spec has, for every name among the conditions, one of the values given for it."""
    wanted: dict[str, list[Any]] = {}
    for name, value in conditions:
        wanted.setdefault(name, []).append(value)
    return (r for r in records if all(r.spec.get(name) in values for name, values in wanted.items()))


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
