"""The tables of a store, and how a file of an older schema is brought up to date.

Schema 1 had no checksums. Its rows are read as they are: their ids and values are checked, changed numbers cannot be
found. When such a file is opened for writing, each row that passes these checks gets a checksum over what
it then holds; one that fails keeps an empty checksum, and is reported as damaged from then on.
"""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache

from .arrays import digest
from .rows import COLUMNS, Damage, read_row, sealed

APPLICATION_ID = 0x5370_4864  # "SpHd": how `file` and we recognise a store

FIRST_TABLES = """
CREATE TABLE outcomes (
    spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, status TEXT NOT NULL, outcome TEXT NOT NULL,
    version TEXT NOT NULL, made_at_commit TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE arrays (
    spec_id TEXT NOT NULL REFERENCES outcomes (spec_id), name TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (spec_id, name)
) WITHOUT ROWID;
CREATE TRIGGER arrays_stay BEFORE UPDATE ON arrays BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER arrays_keep BEFORE DELETE ON arrays BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
SEALED_TABLE = """
CREATE TABLE sealed (
    spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, outcome TEXT NOT NULL, made_by TEXT NOT NULL,
    created REAL NOT NULL, arrays TEXT NOT NULL, checksum TEXT NOT NULL
)
"""
SEALED_TRIGGERS = """
CREATE TRIGGER outcomes_stay BEFORE UPDATE ON outcomes BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER outcomes_keep BEFORE DELETE ON outcomes BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
# The columns of a row, in the order of `rows.COLUMNS`, by schema.
SELECT = {
    1: "spec_id, spec, outcome, json_object('version', CAST(version AS TEXT), 'commit', "
    "CAST(made_at_commit AS TEXT)), created, '{}', ''",
    2: ", ".join(COLUMNS),
}


def _create(db: sqlite3.Connection) -> None:
    for statement in _statements(FIRST_TABLES):
        db.execute(statement)


def _add_checksums(db: sqlite3.Connection) -> None:
    """Schema 1 to 2: one table with the row's origin, its arrays' checksums and its own."""
    db.execute(SEALED_TABLE)
    places = ", ".join("?" for _ in COLUMNS)
    for row in db.execute(f"SELECT {SELECT[1]} FROM outcomes ORDER BY rowid"):
        values = [_or_raw(value) for value in row[:5]]
        blobs = db.execute("SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name", values[:1])
        values.append(json.dumps({name.decode(errors="replace"): digest(data) for name, data in blobs}))
        try:
            read_row(row, has_checksum=False)
            values = list(sealed(values))
        except Damage:
            values.append("")
        db.execute(f"INSERT INTO sealed VALUES ({places})", values)
    db.execute("DROP TABLE outcomes")
    db.execute("ALTER TABLE sealed RENAME TO outcomes")
    for statement in _statements(SEALED_TRIGGERS):
        db.execute(statement)


# MIGRATIONS[v] takes a store from schema v to v + 1; entries are only ever added.
MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create, _add_checksums)
VERSION = len(MIGRATIONS)


def migrate(db: sqlite3.Connection) -> None:
    """Bring the file to the current schema; inside the caller's transaction."""
    # Another process may have been first.
    version = db.execute("PRAGMA user_version").fetchone()[0]
    for step in MIGRATIONS[version:]:
        step(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def schema_of(db: sqlite3.Connection, *, tables_only: bool = False) -> int:
    """The schema whose tables, indices and triggers the file holds; 0 for an empty file.

    Everything in the file must be ours to the letter: a view, a trigger or a generated column would run foreign SQL
    when it is used. A trigger of ours may be missing; it only keeps rows from being edited by hand.

    Args:
        tables_only: look at `outcomes` and `arrays` alone, which is enough to read their rows one by one.
    Raises:
        Damage: there is anything else, or a table is missing.
    """
    found = _contents(db)
    if tables_only:
        found = {key: sql for key, sql in found.items() if key[1] in ("outcomes", "arrays")}
    if not found:
        return 0
    for version in range(VERSION, 0, -1):
        missing = _own(version).keys() - found.keys()
        expected = ("trigger", "index") if tables_only else ("trigger",)
        if found.items() <= _own(version).items() and all(kind in expected for kind, _ in missing):
            return version
    strange = sorted(found.items() - _own(VERSION).items(), key=str)
    what = f"it holds the {' '.join(strange[0][0])!r}" if strange else "it lacks a table"
    raise Damage(f"{what}: a store holds its own two tables, their indices and triggers, and nothing else")


def _contents(db: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """What the file declares: SQL with single spaces, by kind and name."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT 100"
    rows = [[str(_or_raw(value))[:10_000] for value in row] for row in db.execute(query)]
    return {(kind, name): f"{table}: {_plain(sql)}" for kind, name, table, sql in rows}


def _plain(sql: str) -> str:
    """SQL with single spaces; the name of a table that was renamed is written without its quotes."""
    return " ".join(re.sub(r'^CREATE TABLE "(\w+)"', r"CREATE TABLE \1", sql).split())


@cache
def _own(version: int) -> dict[tuple[str, str], str]:
    """What a store of that schema declares."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for step in MIGRATIONS[:version]:
            step(db)
        return _contents(db)


def _or_raw(value: object) -> object:
    """Text where it is text: what cannot be decoded is kept as it is, and stays damaged."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _statements(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit the surrounding transaction."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
