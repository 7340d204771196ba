"""Which files are opened as a store, and how: checked before SQLite touches them, and recovered after a kill.

A store uses SQLite's rollback journal, so between two commits the file alone is whole and may be copied. Earlier
versions used a write-ahead log ("-wal"): such a file is brought over when it is opened. If its log is missing, rows may
be missing with it: a warning says so, and where no row is left it is an error.

A file may come from anybody. It must declare exactly the tables of a store (`schema.schema_of`) before any of them is
read, and a statement that takes more steps than a file of its size can need is stopped.
"""

import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._base.errors import StoreError
from .._base.files import check_source, printable, shown_path
from .rows import Damage
from .schema import APPLICATION_ID, VERSION, schema_of

BUSY_SECONDS = 60.0
WAL = 2  # byte 18 and 19 of the header
STRIDE = 1_000_000  # steps of SQLite's machine between two looks at the limit and at Ctrl-C
FREE_STEPS = 100_000_000  # seconds; beyond that a statement may take one step per byte of the file
NO_ROOM = (
    "cannot grow: a disk quota or a limit on the size of files (ulimit -f) is reached, or the disk fails; make room "
    "and repeat the command, finished outcomes are kept"
)
# By the name or the text of SQLite's error. A short read is left to `damaged`: the file ends too early.
REASONS = {
    "IOERR_WRITE": NO_ROOM,
    "IOERR_FSYNC": NO_ROOM,
    "IOERR_TRUNCATE": NO_ROOM,
    "IOERR_READ": "cannot be read: the disk reports an error; repeat the command, or copy the file to another disk",
    "INTERRUPT": "takes SQLite more steps than a store of its size needs; it was not read further",
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
        named = f"{getattr(error, 'sqlite_errorname', '')} {said}"
        for word, text in REASONS.items():
            if word in named:
                raise StoreError(f"{shown_path(path)} {text}.") from error
        raise damaged(path, said) from error
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


def connect(path: Path, *, readonly: bool, tables_only: bool = False) -> tuple[sqlite3.Connection, int]:
    """An open connection and the schema of its tables; text comes back as bytes: damaged text must not end a query.

    Reading leaves no file beside the store. What a killed writer left there is first brought into the store, which
    needs permission to write; without it, reading goes on where SQLite can.

    Raises:
        Damage: the file declares something else than a store does; see `schema_of`, also for `tables_only`.
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
    try:
        schema = schema_of(db, tables_only=tables_only)
        if uses_wal and beside["-wal"] is None:
            _notice_lost_log(db, path)
    except BaseException:
        db.close()
        raise
    return db, schema


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


def _notice_lost_log(db: sqlite3.Connection, path: Path) -> None:
    log = f"{shown_path(path.name)}-wal"
    if db.execute("SELECT count(*) FROM outcomes").fetchone()[0] == 0:
        raise StoreError(
            f"{shown_path(path)} holds no outcomes, and the write-ahead log it was used with is missing: copy "
            f"{log} along with it, or delete it and start a new one."
        )
    warnings.warn(
        f"{shown_path(path)} was used with a write-ahead log, and {log} is missing: if the store was copied while it "
        "was in use, copy both files again, for its last outcomes are in the log.",
        stacklevel=2,
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
