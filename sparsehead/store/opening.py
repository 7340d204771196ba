"""Open a store: check the file before SQLite reads it, and recover it after a killed process.

A store uses SQLite's rollback journal, so between two commits the file is complete and may be copied. A file with a
write-ahead log is rejected, because a copy of it may lack the log.

A file may come from an untrusted source. It must declare exactly the tables of a store (`schema.has_tables`) before any
of them is read, and a statement is stopped if it takes more steps than a file of its size can need.
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

FREE_STEPS = 100_000_000  # allowed to every statement, a few seconds; a large file allows one step per byte
# What to say, by a part of the name or the text of SQLite's error. Others mean damage, such as IOERR_SHORT_READ.
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
    "locked": "was held by another process for 60 s; repeat the command when it is free",
    "unable to open": "cannot be opened; look at the permissions of the file and its folder",
}


def damaged(path: Path, what: str) -> StoreError:
    """Return the error for a damaged file, which says how to recover."""
    return StoreError(
        f"{shown_path(path)} is damaged: {printable(what)[:400]}; restore a copy, or `sparsehead results repair new.db "
        f"--db {shown_path(path)}` copies undamaged outcomes to a new file."
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into StoreErrors that say what to do; SQLite undoes any half-finished write."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # The sqlite3 module raises UnicodeDecodeError if SQLite's message quotes damaged text.
        named = f"{getattr(error, 'sqlite_errorname', '')} {error}"
        for word, text in REASONS.items():
            if word in named:
                raise StoreError(f"{shown_path(path)} {text}.") from error
        raise damaged(path, str(error)) from error
    except Damage as why:
        raise damaged(path, str(why)) from None


class Connection(sqlite3.Connection):
    """A connection that stops a statement at a limit of steps, and at Ctrl-C."""

    stride = 1_000_000  # steps of SQLite's virtual machine between two checks of the limit and of Ctrl-C

    def limit_steps(self, path: Path) -> None:
        """Stop every statement that takes more steps than reading all of `path` can need."""
        self._path, self._strides = path, 0
        self.set_progress_handler(self._count, self.stride)

    def _count(self) -> bool:
        self._strides += 1
        return self._exceeded()

    def _exceeded(self) -> bool:
        size = self._path.stat().st_size if self._path.exists() else 0
        return self._strides * self.stride > FREE_STEPS + size

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        """Run one statement with a new count of its steps."""
        self._strides = 0
        try:
            return super().execute(sql, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname == "SQLITE_INTERRUPT" and not self._exceeded():
                # Ctrl-C was raised inside `_count`; SQLite only stops the statement and hides the exception.
                raise KeyboardInterrupt from None
            raise


def inspect(path: Path, *, readonly: bool) -> bool:
    """Return whether there is a store at `path`, judged by its first 100 bytes; False if a store can be made there.

    Raises:
        StoreError: the file is no store, or of another version; or `readonly` is set and there is no file.
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
    """Return an open connection, and whether the file has tables. Queries return text as bytes, so that damaged text
    does not end a query.

    Reading leaves no file beside the store. A half-finished commit of a killed process is rolled back first, which
    needs permission to write; without permission, SQLite reads what it can.

    Raises:
        Damage: the file has other declarations than a store; `has_tables` explains this, and `tables_only`.
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
    # REASONS says that a locked file was tried for 60 s.
    db = sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None, factory=Connection)
    db.limit_steps(path)
    db.text_factory = bytes
    # Nothing that a foreign file declares may call functions or change SQLite's own tables. Python disables extensions.
    db.execute("PRAGMA trusted_schema = OFF")
    if sys.version_info >= (3, 12):
        db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    db.execute("PRAGMA cell_size_check = ON")
    return db
