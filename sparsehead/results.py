"""What the store holds, as tables: a summary, one record by the start of its id, CSV, Parquet and JSON."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .errors import DomainError, MissingExtra, StoreError
from .files import check_target, write_whole
from .spec import TrainSpec
from .store import Record, Store

FORMATS = (".csv", ".parquet", ".json")
SETTINGS = {name: field.default for name, field in TrainSpec.__dataclass_fields__.items()}


def summary(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per experiment (specs that differ in the seed alone), in order of first appearance."""
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
        "trials": len(group),
        "solved": sum(record.solved for record in group),
        "seconds": float(sum(record.outcome.get("seconds") or 0.0 for record in group)),
        "settings": " ".join(f"{name}={value}" for name, value in changed.items()),
    }


def find(store: Store, start: str) -> Record:
    """The record whose spec id starts with `start`."""
    found = [record for record in store.records() if record.spec_id.startswith(start.lower())]
    if not start or not found:
        raise StoreError(
            f"{store.path} holds no outcome whose id starts with {start!r}; try `results export`."
        )
    if len(found) > 1:
        ids = ", ".join(record.spec_id for record in found[:3])
        raise StoreError(
            f"{len(found)} outcomes have ids that start with {start!r} ({ids}, ...); give more digits."
        )
    return found[0]


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
