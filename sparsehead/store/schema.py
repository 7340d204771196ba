"""The tables of a store, and the check that a file declares exactly these."""

import sqlite3
from contextlib import closing
from functools import cache

from .rows import Damage

APPLICATION_ID = 0x5370_4864  # "SpHd": how `file` and we recognise a store
VERSION = 3  # of the tables and of the JSON in them; a file of another version is refused

_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'append-only'); END"
_STATEMENTS = (
    "CREATE TABLE outcomes (spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, outcome TEXT NOT NULL, "
    "made_by TEXT NOT NULL, created REAL NOT NULL, arrays TEXT NOT NULL, checksum TEXT NOT NULL)",
    "CREATE TABLE arrays (spec_id TEXT NOT NULL REFERENCES outcomes (spec_id), name TEXT NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (spec_id, name)) WITHOUT ROWID",
    f"CREATE TRIGGER outcomes_stay BEFORE UPDATE ON outcomes {_APPEND_ONLY}",
    f"CREATE TRIGGER outcomes_keep BEFORE DELETE ON outcomes {_APPEND_ONLY}",
    f"CREATE TRIGGER arrays_stay BEFORE UPDATE ON arrays {_APPEND_ONLY}",
    f"CREATE TRIGGER arrays_keep BEFORE DELETE ON arrays {_APPEND_ONLY}",
)


def create(db: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction, unless another process was first."""
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    for statement in _STATEMENTS:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def has_tables(db: sqlite3.Connection, *, tables_only: bool = False) -> bool:
    """Whether the file holds the tables of a store; False for an empty file.

    Everything in the file must be ours to the letter: a view, a trigger or a generated column would run foreign SQL
    when it is used. A trigger of ours may be missing; it only keeps rows from being edited by hand.

    Args:
        tables_only: look at `outcomes` and `arrays` alone, which is enough to read their rows one by one.
    Raises:
        Damage: there is anything else, or a table is missing.
    """
    found, expected = _contents(db), _expected()
    if tables_only:
        found = {key: sql for key, sql in found.items() if key[1] in ("outcomes", "arrays")}
    if not found:
        return False
    missing = expected.keys() - found.keys()
    may_miss = ("trigger", "index") if tables_only else ("trigger",)
    if found.items() <= expected.items() and all(kind in may_miss for kind, _ in missing):
        return True
    strange = sorted(found.items() - expected.items(), key=str)
    what = f"it holds the {' '.join(strange[0][0])!r}" if strange else "it lacks a table"
    raise Damage(f"{what}: a store holds its own two tables, their indices and triggers, and nothing else")


def _contents(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The SQL that the file declares, with single spaces, by kind and name."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 100"
    rows = [[_text(value)[:10_000] for value in row] for row in db.execute(query)]
    return {(kind, name): f"{table}: {' '.join(sql.split())}" for kind, name, table, sql in rows}


def _text(value: object) -> str:
    """A value as text; bytes that are not UTF-8 as their repr, which equals no declaration of ours."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        return repr(value)


@cache
def _expected() -> dict[tuple[str, str], str]:
    """The SQL that a new store declares."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create(db)
        return _contents(db)
