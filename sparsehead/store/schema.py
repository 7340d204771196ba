"""The tables of a store, and how a file of an older schema is brought up to date.

Schema 1 had no checksums. Its rows are read as they are: their ids and values are checked, changed numbers cannot be
found. When such a file is opened for writing, each row that passes these checks gets a checksum over what
it then holds; one that fails keeps an empty checksum, and is reported as damaged from then on.
"""

import json
import sqlite3
from collections.abc import Callable

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
    for row in db.execute(f"SELECT {SELECT[1]} FROM outcomes ORDER BY rowid").fetchall():
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
