"""Check every row and array of a store; copy the undamaged outcomes of a damaged store to a new file."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .._base.errors import FileError, StoreError
from .._base.files import check_target, shown_path
from .arrays import digest
from .opening import connect, damaged, inspect
from .rows import Damage, SealedRow, read_row
from .store import Store


@dataclass(frozen=True)
class Checked:
    """The number of undamaged outcomes (arrays included), and one sentence for each damaged one."""

    sound: int
    damage: tuple[str, ...]


def check(path: str | Path) -> Checked:
    """Read every row and every array of a store; raise a StoreError if its structure is damaged."""
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
    """Copy every undamaged outcome of the store at `path` to a new store; the old file does not change.

    Rows are read one by one, by their numbers 1, 2, .., so that a damaged page loses only its own rows.

    Raises:
        StoreError: nothing can be read, or `new` cannot be made.
    """
    old = Path(path)
    inspect(old, readonly=True)
    _check_new(old, new)
    damage: list[str] = []
    rows = sound_rows(old, damage)
    with Store(new) as store:
        for row in rows:
            store.add_rows([row])
        sound = len(store)
    return Checked(sound, tuple(damage))


def _check_new(old: Path, new: str | Path) -> None:
    """Raise a StoreError if no store can be made at `new`; a repair does not replace a file."""
    if os.path.isfile(new):
        why = "is the store to repair itself, which is not changed" if old.samefile(new) else "exists"
        raise StoreError(
            f"{shown_path(new)} {why}; a repair writes a new file: name one that does not exist yet."
        )
    try:
        check_target(new)
    except FileError as error:
        raise StoreError(str(error)) from None


def sound_rows(path: Path, damage: list[str]) -> Iterator[SealedRow]:
    """Yield every undamaged row of the store at `path`, for `Store.add_rows`; describe the others in `damage`."""
    try:
        db, _ = connect(path, readonly=True, tables_only=True)
        highest = _highest(db, path)
    except (Damage, sqlite3.Error) as error:
        raise damaged(path, f"not one outcome can be read ({error})") from error
    return _each_sound_row(db, highest, damage)


def _each_sound_row(db: sqlite3.Connection, highest: int, damage: list[str]) -> Iterator[SealedRow]:
    with closing(db):
        for number in range(1, highest + 1):
            try:
                yield _sound_row(db, number)
            except (Damage, sqlite3.Error) as why:
                damage.append(f"row {number}: {why}")


def _highest(db: sqlite3.Connection, path: Path) -> int:
    """Return the number of the last row; if that cannot be read, an upper bound on it."""
    most = path.stat().st_size // 200  # a row takes at least 200 bytes
    db.execute("SELECT 1 FROM outcomes WHERE rowid = 0").fetchone()
    try:
        return min(most, db.execute("SELECT max(rowid) FROM outcomes").fetchone()[0] or 0)
    except sqlite3.Error:
        return most


def _sound_row(db: sqlite3.Connection, number: int) -> SealedRow:
    row = db.execute("SELECT * FROM outcomes WHERE rowid = ?", (number,)).fetchone()
    if row is None:
        raise Damage("it is missing")
    record = read_row(row)
    query = "SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name"
    blobs = {name.decode(errors="replace"): data for name, data in db.execute(query, (record.id,))}
    if record.arrays != {name: digest(data) for name, data in blobs.items()}:
        raise Damage("its arrays do not match their checksums")
    return tuple(value.decode() if isinstance(value, bytes) else value for value in row), blobs
