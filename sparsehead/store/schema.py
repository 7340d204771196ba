"""The tables of a store, and a check that a file declares exactly these."""

import sqlite3
from contextlib import closing
from functools import cache

from .rows import Damage

APPLICATION_ID = 0x5370_4864  # "SpHd", in the file's header: marks a store
VERSION = 3  # of the tables and of the JSON in them; files of other versions are rejected


def create(db: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction, unless another process has made them."""
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    append_only = "BEGIN SELECT RAISE(ABORT, 'append-only'); END"
    statements = (
        "CREATE TABLE outcomes (spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, outcome TEXT NOT NULL, "
        "made_by TEXT NOT NULL, created REAL NOT NULL, arrays TEXT NOT NULL, checksum TEXT NOT NULL)",
        "CREATE TABLE arrays (spec_id TEXT NOT NULL REFERENCES outcomes (spec_id), name TEXT NOT NULL, "
        "data BLOB NOT NULL, PRIMARY KEY (spec_id, name)) WITHOUT ROWID",
        f"CREATE TRIGGER outcomes_stay BEFORE UPDATE ON outcomes {append_only}",
        f"CREATE TRIGGER outcomes_keep BEFORE DELETE ON outcomes {append_only}",
        f"CREATE TRIGGER arrays_stay BEFORE UPDATE ON arrays {append_only}",
        f"CREATE TRIGGER arrays_keep BEFORE DELETE ON arrays {append_only}",
    )
    for statement in statements:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def has_tables(db: sqlite3.Connection, *, tables_only: bool = False) -> bool:
    """Return whether the file holds the tables of a store; False for an empty file.

    Every declaration in the file must equal one of ours: a foreign view, trigger or generated column would run foreign
    SQL. Our triggers may be missing; they only prevent editing of rows by hand.

    Args:
        tables_only: check only `outcomes` and `arrays`, which is enough to read their rows one by one.
    Raises:
        Damage: there is another declaration, or a table is missing.
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
    """Return the SQL of each declaration in the file, with single spaces, by kind and name."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 100"
    rows = [[_text(value)[:10_000] for value in row] for row in db.execute(query)]
    return {(kind, name): f"{table}: {' '.join(sql.split())}" for kind, name, table, sql in rows}


def _text(value: object) -> str:
    """Return a value as text. For bytes that are not UTF-8 return their repr, which differs from all of our
    declarations.
    """
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        return repr(value)


@cache
def _expected() -> dict[tuple[str, str], str]:
    """Return the SQL of each declaration in a new store, by kind and name."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create(db)
        return _contents(db)
