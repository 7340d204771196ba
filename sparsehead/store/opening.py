"""Which files are opened as a store, and how: checked before SQLite touches them, and recovered after a kill.

A store uses SQLite's rollback journal, so between two commits the file alone is whole and may be copied. Earlier
versions used a write-ahead log ("-wal"): such a file is brought over when it is opened, and where its log is missing
and nothing is left in it, that is an error, since rows may have been lost with the log.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import StoreError
from ..files import check_source, printable, shown_path
from .schema import APPLICATION_ID, VERSION

BUSY_SECONDS = 60.0
WAL = 2  # byte 18 and 19 of the header
REASONS = {
    "readonly": "is read-only; make it writable or point --db at another file",
    "full": "cannot grow, the disk is full; make room and repeat the command, finished outcomes are kept",
    "locked": f"was held by another process for {BUSY_SECONDS:.0f} s; repeat the command when it is free",
    "unable to open": "cannot be opened; look at the permissions of the file and its folder",
}


def damaged(path: Path, what: str) -> StoreError:
    """The error for a file that cannot be believed, with the way out."""
    reason = printable(what)[:400]
    return StoreError(
        f"{shown_path(path)} is damaged: {reason}; restore a copy, or `sparsehead results repair new.db "
        f"--db {shown_path(path)}` copies what is sound to a new file."
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors in our words; nothing half-written remains behind any of them."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # A UnicodeDecodeError comes from the sqlite3 module itself: SQLite's message quoted damaged text.
        said = str(error)
        for word, text in REASONS.items():
            if word in said:
                raise StoreError(f"{shown_path(path)} {text}.") from error
        raise damaged(path, said) from error


def inspect(path: Path, *, readonly: bool) -> int:
    """The schema of the store at `path`; 0 where there is none yet. The first 100 bytes say it all.

    Raises:
        StoreError: there is something else, something newer, or nothing where something must be.
    """
    name = shown_path(path)
    try:
        if path.is_dir():
            raise StoreError(
                f"{name} is a folder; a store is a file, for instance {shown_path(path / 'results.db')}."
            )
        if not os.path.lexists(path):
            if readonly:
                raise StoreError(
                    f"there is no store at {name}; `sparsehead law` and `sparsehead reproduce` make one, "
                    "--db names another."
                )
            if not path.parent.is_dir():
                raise StoreError(
                    f"cannot make {name}: {shown_path(path.parent)} is no folder; make it first."
                )
            if len(os.fsencode(path.name)) > 240:  # SQLite appends "-journal"; most systems allow 255
                raise StoreError(f"cannot make {name}: the name is too long.")
            return 0
        with check_source(path, wanted="a store, or the name of a new one").open("rb") as file:
            head = file.read(100)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            str(error) if error.strerror is None else f"{name} cannot be read: {error.strerror}."
        ) from error
    return _schema(name, head, readonly)


def _schema(name: str, head: bytes, readonly: bool) -> int:
    if not head and not readonly:
        return 0
    if not head:
        raise StoreError(f"{name} is an empty file; `sparsehead law --db` fills one, --db names another.")
    if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise StoreError(f"{name} is not a sparsehead store; point --db at one, or at a new file.")
    version = int.from_bytes(head[60:64])
    if version > VERSION:
        raise StoreError(
            f"{name} has schema {version}, this version reads {VERSION}; "
            "upgrade sparsehead or point --db at a new file."
        )
    if version == 0:
        raise StoreError(
            f"{name} is damaged: its header has schema 0, and a store has 1 or more; restore a copy."
        )
    return version


def connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """An open connection; text comes back as bytes, since damaged text must not end a whole query.

    Reading leaves no file beside the store. What a killed writer left there is first brought into the store, which
    needs permission to write; without it, reading goes on where SQLite can.
    """
    beside = {ending: _size(path, ending) for ending in ("-wal", "-journal")}
    uses_wal = _uses_wal(path)
    if readonly and (beside["-journal"] or (uses_wal and beside["-wal"] is not None)):
        with suppress(sqlite3.Error):
            recovered = _open(path, "mode=rw")
            try:
                _leave_wal(recovered, seconds=1.0)
            finally:
                recovered.close()
        uses_wal = _uses_wal(path)
    if not readonly:
        db = _open(path, "mode=rwc")
        if uses_wal:
            _leave_wal(db, seconds=5.0)
    else:
        # With a write-ahead log on record but none there, SQLite would make one just to read.
        db = _open(path, "immutable=1" if uses_wal and _size(path, "-wal") is None else "mode=ro")
    if uses_wal and beside["-wal"] is None:
        _refuse_lost_log(db, path)
    return db


def _open(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    db.text_factory = bytes
    # A foreign file may bring triggers and views: they may call nothing.
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _leave_wal(db: sqlite3.Connection, *, seconds: float) -> None:
    """Move what the write-ahead log holds into the file, and do without it; another process may prevent that."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == b"delete":
                return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)  # the switch needs the file for itself, and SQLite does not wait for that


def _refuse_lost_log(db: sqlite3.Connection, path: Path) -> None:
    if db.execute("SELECT count(*) FROM outcomes").fetchone()[0] == 0:
        db.close()
        raise StoreError(
            f"{shown_path(path)} holds no outcomes, and the write-ahead log it was used with is missing: copy "
            f"{shown_path(path.name)}-wal along with it, or delete it and start a new one."
        )


def _uses_wal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return WAL in file.read(20)[18:]
    except OSError:
        return False


def _size(path: Path, ending: str) -> int | None:
    """Bytes of the file beside the store whose name has this ending; None where there is none."""
    try:
        return os.stat(f"{path}{ending}").st_size
    except OSError:
        return None
