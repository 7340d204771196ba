"""A store looked through from end to end, and what is sound in a damaged one copied to a new file."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.errors import FileError, StoreError
from .._base.files import check_target, shown_path
from .arrays import digest
from .opening import connect, damaged, inspect
from .rows import Damage, read_row, sealed
from .schema import SELECT
from .store import Store

LEAST_ROW = 200  # bytes; no row is shorter, so a file holds at most size / 200


@dataclass(frozen=True)
class Checked:
    """How many outcomes are sound, arrays included, and one sentence for each that is not."""

    sound: int
    damage: tuple[str, ...]


def check(path: str | Path) -> Checked:
    """Read every row and every array of a store.

    Raises:
        StoreError: the file is no store, or its structure is damaged.
    """
    with Store(path, readonly=True) as store:
        damage: list[str] = []
        sound = 0
        for record in store.records(damage):
            try:
                store.arrays(record.id)
                sound += 1
            except StoreError:
                damage.append(f"outcome {record.id}: its arrays do not match their checksums")
    return Checked(sound, tuple(damage))


def repair(path: str | Path, new: str | Path) -> Checked:
    """Copy every sound outcome of the store at `path` to a new store; the old file stays as it is.

    Rows are asked for one by one, by their numbers 1, 2, .., so that a damaged page takes only its own rows along.

    Raises:
        StoreError: nothing can be read, or `new` cannot be made.
    """
    old = Path(path)
    inspect(old, readonly=True)
    _check_new(old, new)
    damage: list[str] = []
    rows = sound_rows(old, damage)
    with Store(new) as store:
        for row, blobs in rows:
            store.add_row(row, blobs)
        sound = len(store)
    return Checked(sound, tuple(damage))


def _check_new(old: Path, new: str | Path) -> None:
    """Refuse a place where no new store can be made; a repair replaces no file."""
    if os.path.isfile(new):
        why = "is the store to repair itself, which stays as it is" if old.samefile(new) else "exists"
        raise StoreError(
            f"{shown_path(new)} {why}; a repair writes a new file: name one that does not exist yet."
        )
    try:
        check_target(new)
    except FileError as error:
        raise StoreError(str(error)) from None


def sound_rows(path: Path, damage: list[str]) -> Iterator[tuple[tuple[Any, ...], dict[str, bytes]]]:
    """Every row of the store at `path` that can be believed, as `Store.add_rows` takes it; a sentence for the others.

    Raises:
        StoreError: nothing can be read.
    """
    try:
        # The header's number may be what is damaged; the tables say for certain.
        db, schema = connect(path, readonly=True, tables_only=True)
        highest = _highest(db, path)
    except (Damage, sqlite3.Error) as error:
        raise damaged(path, f"not one outcome can be read ({error})") from error
    return _each_sound_row(db, schema, highest, damage)


def _each_sound_row(
    db: sqlite3.Connection, schema: int, highest: int, damage: list[str]
) -> Iterator[tuple[tuple[Any, ...], dict[str, bytes]]]:
    with closing(db):
        for number in range(1, highest + 1):
            try:
                yield _sound_row(db, schema, number)
            except (Damage, sqlite3.Error) as why:
                damage.append(f"row {number}: {why}")


def _highest(db: sqlite3.Connection, path: Path) -> int:
    """The number of the last row, or a number that no row can exceed."""
    most = path.stat().st_size // LEAST_ROW
    db.execute("SELECT 1 FROM outcomes WHERE rowid = 0").fetchone()
    try:
        return min(most, db.execute("SELECT max(rowid) FROM outcomes").fetchone()[0] or 0)
    except sqlite3.Error:
        return most


def _sound_row(db: sqlite3.Connection, schema: int, number: int) -> tuple[tuple[Any, ...], dict[str, bytes]]:
    row = db.execute(f"SELECT {SELECT[schema]} FROM outcomes WHERE rowid = ?", (number,)).fetchone()
    if row is None:
        raise Damage("it is missing")
    record = read_row(row, has_checksum=schema > 1)
    query = "SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name"
    blobs = {name.decode(errors="replace"): data for name, data in db.execute(query, (record.id,))}
    digests = {name: digest(data) for name, data in blobs.items()}
    if record.arrays is not None and digests != record.arrays:
        raise Damage("its arrays do not match their checksums")
    texts = [value.decode() if isinstance(value, bytes) else value for value in row[:5]]
    return sealed([*texts, json.dumps(digests)]), blobs
