"""Open a store: files are checked before SQLite touches them, and recovered after a kill.

A store uses SQLite's rollback journal, so between two commits the file alone is whole and may be copied. A file with a
write-ahead log, which a copy may lack, is refused.

A file may come from anybody. It must declare exactly the tables of a store (`schema.has_tables`) before any of them is
read, and a statement that takes more steps than a file of its size can need is stopped.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from .._base.errors import StoreError
from .._base.files import check_source, printable, shown_path
from .rows import Damage
from .schema import APPLICATION_ID, VERSION, has_tables

BUSY_SECONDS = 60.0
STRIDE = 1_000_000  # steps of SQLite's machine between two looks at the limit and at Ctrl-C
FREE_STEPS = 100_000_000  # take a few seconds; beyond that a statement may take one step per byte of the file
# By the name or the text of SQLite's error. A short read is left to `damaged`: the file ends too early.
REASONS = {
    **dict.fromkeys(
        ("IOERR_WRITE", "IOERR_FSYNC", "IOERR_TRUNCATE"),
        "cannot grow: a disk quota or a limit on the size of files (ulimit -f) is reached, or the disk fails; make "
        "room and repeat the command, finished outcomes are kept",
    ),
    "IOERR_READ": "cannot be read: the disk reports an error; repeat the command, or copy the file to another disk",
    "INTERRUPT": "takes SQLite more steps than a store of its size needs; it was not read further",
    "READONLY_DBMOVED": "was removed or replaced while it was in use; what was added to it is lost with it: put the "
    "file back, or repeat the command to run everything again",
    "readonly": "is read-only; make it writable or point --db at another file",
    "full": "cannot grow, the disk is full; make room and repeat the command, finished outcomes are kept",
    "locked": f"was held by another process for {BUSY_SECONDS:.0f} s; repeat the command when it is free",
    "unable to open": "cannot be opened; look at the permissions of the file and its folder",
}


def damaged(path: Path, what: str) -> StoreError:
    """The error for a damaged file, with the way out."""
    return StoreError(
        f"{shown_path(path)} is damaged: {printable(what)[:400]}; restore a copy, or `sparsehead results repair new.db "
        f"--db {shown_path(path)}` copies what is sound to a new file."
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as StoreErrors that say what to do; none of them leaves anything half written."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # A UnicodeDecodeError comes from the sqlite3 module itself: SQLite's message quoted damaged text.
        named = f"{getattr(error, 'sqlite_errorname', '')} {error}"
        for word, text in REASONS.items():
            if word in named:
                raise StoreError(f"{shown_path(path)} {text}.") from error
        raise damaged(path, str(error)) from error
    except Damage as why:
        raise damaged(path, str(why)) from None


class Connection(sqlite3.Connection):
    """A connection whose statements end by themselves, and at Ctrl-C."""

    def limit_steps(self, path: Path) -> None:
        """Stop every statement that takes more steps than reading all of `path` can need."""
        self._path, self._strides = path, 0
        self.set_progress_handler(self._count, STRIDE)

    def _count(self) -> bool:
        self._strides += 1
        return self._exceeded()

    def _exceeded(self) -> bool:
        size = self._path.stat().st_size if self._path.exists() else 0
        return self._strides * STRIDE > FREE_STEPS + size

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        """Run one statement with a new count of its steps."""
        self._strides = 0
        try:
            return super().execute(sql, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname == "SQLITE_INTERRUPT" and not self._exceeded():
                # Ctrl-C was raised inside `_count`, where SQLite takes every exception for a wish to stop.
                raise KeyboardInterrupt from None
            raise


def inspect(path: Path, *, readonly: bool) -> bool:
    """Whether there is a store at `path`, from its first 100 bytes; False if one can be made there.

    Raises:
        StoreError: there is something else, a store of another version, or with `readonly` nothing.
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
            return False
        with check_source(path, wanted="a store, or the name of a new one").open("rb") as file:
            head = file.read(100)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            str(error) if error.strerror is None else f"{name} cannot be read: {error.strerror}."
        ) from error
    return _is_store(name, head, readonly)


def _is_store(name: str, head: bytes, readonly: bool) -> bool:
    if not head and not readonly:
        return False
    if not head:
        raise StoreError(f"{name} is an empty file; `sparsehead law --db` fills one, --db names another.")
    if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise StoreError(f"{name} is not a sparsehead store; point --db at one, or at a new file.")
    version = int.from_bytes(head[60:64])
    if version == 0:
        raise StoreError(
            f"{name} is damaged: its header has schema 0, and a store has 1 or more; restore a copy."
        )
    if version != VERSION:
        raise StoreError(
            f"{name} has schema {version}, this version reads {VERSION}; use the sparsehead that wrote it, or point "
            "--db at a new file."
        )
    if 2 in head[18:20]:
        raise StoreError(
            f"{name} is used with a write-ahead log, which a copy of it lacks; with {name}-wal beside it, "
            f"`sqlite3 {name} 'PRAGMA journal_mode = DELETE'` makes it whole."
        )
    return True


def connect(path: Path, *, readonly: bool, tables_only: bool = False) -> tuple[sqlite3.Connection, bool]:
    """An open connection, and whether the file has tables. Text comes back as bytes: damaged text must not end a query.

    Reading leaves no file beside the store. A commit that a killed writer left half done is first rolled back, which
    needs permission to write; without it, reading goes on where SQLite can.

    Raises:
        Damage: the file declares something else than a store does; see `has_tables`, also for `tables_only`.
    """
    if readonly and os.path.exists(f"{path}-journal"):
        with suppress(sqlite3.Error), closing(_open(path, "mode=rw")) as recovered:
            recovered.execute("SELECT name FROM sqlite_master").fetchone()
    db = _open(path, "mode=ro" if readonly else "mode=rwc")
    try:
        return db, has_tables(db, tables_only=tables_only)
    except BaseException:
        db.close()
        raise


def _open(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=Connection)
    db.limit_steps(path)
    db.text_factory = bytes
    # What a foreign file declares may call nothing and change nothing of SQLite's own. Extensions are off in Python.
    db.execute("PRAGMA trusted_schema = OFF")
    if sys.version_info >= (3, 12):
        db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    db.execute("PRAGMA cell_size_check = ON")
    return db
