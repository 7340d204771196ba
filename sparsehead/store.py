"""The results store: one SQLite file, append-only, keyed by the content of the spec.

Equal specs are the same experiment, so adding an outcome twice leaves one row, and two processes may write at once.
A row is committed or absent: a kill at any moment loses nothing that was added and damages nothing. Series and
attention maps are kept beside the outcome as compressed arrays.
"""

import io
import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import StoreError
from .provenance import made_by
from .spec import TrainSpec, spec_id
from .types import Array, Shaped

APPLICATION_ID = 0x5370_4864  # "SpHd": how `file` and we recognise a store
BUSY_SECONDS = 60.0

MIGRATIONS = (  # MIGRATIONS[v] takes a store from schema v to v + 1; entries are only ever added
    """
    CREATE TABLE outcomes (
        spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, status TEXT NOT NULL, outcome TEXT NOT NULL,
        version TEXT NOT NULL, made_at_commit TEXT NOT NULL, created REAL NOT NULL
    );
    CREATE TABLE arrays (
        spec_id TEXT NOT NULL REFERENCES outcomes (spec_id), name TEXT NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (spec_id, name)
    ) WITHOUT ROWID;
    CREATE TRIGGER outcomes_stay BEFORE UPDATE ON outcomes BEGIN SELECT RAISE(ABORT, 'append-only'); END;
    CREATE TRIGGER outcomes_keep BEFORE DELETE ON outcomes BEGIN SELECT RAISE(ABORT, 'append-only'); END;
    CREATE TRIGGER arrays_stay BEFORE UPDATE ON arrays BEGIN SELECT RAISE(ABORT, 'append-only'); END;
    CREATE TRIGGER arrays_keep BEFORE DELETE ON arrays BEGIN SELECT RAISE(ABORT, 'append-only'); END;
    """,
)


@dataclass(frozen=True)
class Record:
    """One row: the spec and the outcome as JSON values, and who made it when (seconds since 1970)."""

    spec_id: str
    spec: dict[str, Any]
    outcome: dict[str, Any]
    version: str
    commit: str
    created: float

    @property
    def solved(self) -> bool:
        """Whether the trial reached its target."""
        return self.outcome["status"] == "solved"

    def flat(self) -> dict[str, Any]:
        """One flat row for tables: spec, then outcome, then origin."""
        origin = {"version": self.version, "commit": self.commit, "created": self.created}
        return {"spec_id": self.spec_id, **self.spec, **self.outcome, **origin}


class Store:
    """An open store; a context manager. `readonly` never creates, migrates or writes."""

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        self.path, self.readonly = Path(path), readonly
        self._inspect()
        with self._explained():
            self._db = self._connect()
            try:
                if not readonly:
                    self._migrate()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was added stays."""
        self._db.close()

    def add(
        self,
        spec: TrainSpec | Mapping[str, Any],
        outcome: Any,
        arrays: Mapping[str, Shaped[Array, "..."]] | None = None,
    ) -> bool:
        """Commit one outcome; False if the spec's outcome was there already (it stays as it was).

        `outcome` is a dataclass or a mapping with at least "status". Its `history`, lists of numbers by name, is
        stored as float32 arrays named "history/...", `arrays` as they are.
        """
        spec_json, key = _content(spec)
        fields = dict(asdict(outcome) if is_dataclass(outcome) and not isinstance(outcome, type) else outcome)
        fields.pop("spec_id", None)
        history = fields.pop("history", None) or {}
        named = {f"history/{name}": np.asarray(v, dtype=np.float32) for name, v in history.items()} | dict(
            arrays or {}
        )
        version, commit = made_by()
        text = json.dumps(_finite(fields), allow_nan=False)
        row = (key, spec_json, fields["status"], text, version, commit, time.time())
        with self._explained(), self._transaction():
            new = self._db.execute(
                "INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", row
            ).rowcount
            if new:
                blobs = [(key, name, pack(array)) for name, array in named.items()]
                self._db.executemany("INSERT OR IGNORE INTO arrays VALUES (?, ?, ?)", blobs)
        return bool(new)

    def get(self, key: str) -> Record | None:
        """The record of a spec id, or None."""
        return next(self._select("WHERE spec_id = ?", (key,)), None)

    def records(self, where: Mapping[str, Any] | None = None) -> Iterator[Record]:
        """Records in the order in which they came, those whose spec has the given values."""
        clauses = " AND ".join("json_extract(spec, ?) IS ?" for _ in where or {})
        values = [v for name, value in (where or {}).items() for v in (f'$."{name}"', value)]
        return self._select(f"WHERE {clauses}" if clauses else "", values)

    def find(self, specs: Iterable[TrainSpec]) -> dict[str, Record]:
        """The records that exist among `specs`, by spec id."""
        records = (self.get(spec_id(spec)) for spec in specs)
        return {record.spec_id: record for record in records if record is not None}

    def arrays(self, key: str) -> dict[str, Shaped[Array, "..."]]:
        """Every array stored with a spec id, by name."""
        with self._explained():
            rows = self._db.execute(
                "SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name", (key,)
            ).fetchall()
        return {name: unpack(data) for name, data in rows}

    def history(self, key: str) -> dict[str, list[float]]:
        """The outcome's history, as it was added (to float32)."""
        found = self.arrays(key).items()
        return {name.removeprefix("history/"): a.tolist() for name, a in found if name.startswith("history/")}

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __len__(self) -> int:
        with self._explained():
            return int(self._db.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def _select(self, where: str, values: Iterable[Any]) -> Iterator[Record]:
        columns = "spec_id, spec, outcome, version, made_at_commit, created"
        with self._explained():
            rows = self._db.execute(
                f"SELECT {columns} FROM outcomes {where} ORDER BY rowid", tuple(values)
            ).fetchall()
        for key, spec, outcome, version, commit, created in rows:
            yield Record(key, json.loads(spec), json.loads(outcome), version, commit, created)

    def _inspect(self) -> None:
        """Refuse what is not a store before SQLite touches it. The first 100 bytes say it all."""
        if self.path.is_dir():
            raise StoreError(
                f"{self.path} is a directory; a store is a file, for instance {self.path / 'results.db'}."
            )
        if not self.path.exists():
            if self.readonly:
                raise StoreError(
                    f"there is no store at {self.path}; `sparsehead law` or `learn --db` makes one."
                )
            if not self.path.parent.is_dir():
                raise StoreError(f"cannot make {self.path}: the folder {self.path.parent} does not exist.")
            return
        try:
            with self.path.open("rb") as file:
                head = file.read(100)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}.") from error
        if head and (head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID):
            raise StoreError(f"{self.path} is not a sparsehead store; point --db at one, or at a new file.")
        version = int.from_bytes(head[60:64])
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} has schema {version}, this version reads {len(MIGRATIONS)}; "
                "upgrade sparsehead or point --db at a new file."
            )
        if self.readonly and version < len(MIGRATIONS):
            raise StoreError(
                f"{self.path} has the older schema {version}; open it once for writing to bring it up."
            )

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        if not self.readonly:
            return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        db = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        try:
            db.execute("SELECT 1 FROM outcomes LIMIT 1")
        except sqlite3.OperationalError:  # a folder we may not write to has no room for WAL's index
            db.close()
            wal = self.path.with_name(self.path.name + "-wal")
            if wal.exists() and wal.stat().st_size:  # rows in there would be missed
                raise
            db = sqlite3.connect(f"{uri}?immutable=1", uri=True)
        return db

    def _migrate(self) -> None:
        """Bring the file to the current schema in one transaction, then switch it to WAL.

        The identity is written before WAL is switched on, so that it stands in the file's own header.
        """
        if self._db.execute("PRAGMA user_version").fetchone()[0] < len(MIGRATIONS):
            with self._transaction():
                version = self._db.execute("PRAGMA user_version").fetchone()[
                    0
                ]  # another process may have been first
                for step in MIGRATIONS[version:]:
                    for statement in _statements(step):
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        self._switch_to_wal()

    def _switch_to_wal(self) -> None:
        for attempt in range(100):
            try:
                if self._db.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                    return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == 99:
                    raise
            time.sleep(0.05)  # the switch needs the file for itself and does not wait by itself

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors in our words; nothing half-written remains behind any of them."""
        try:
            yield
        except sqlite3.Error as error:
            said = str(error)
            reasons = {
                "readonly": "is read-only; make it writable or point --db at another file",
                "full": "cannot grow, the disk is full; make room and repeat the command, finished outcomes are kept",
                "locked": f"was held by another process for {BUSY_SECONDS:.0f} s; repeat the command when it is free",
                "malformed": "is damaged; restore a copy, or export what can be read and start a new file",
                "not a database": "is damaged; restore a copy or point --db at a new file",
                "unable to open": "cannot be opened; look at the permissions of the file and its folder",
            }
            why = next((text for word, text in reasons.items() if word in said), f"cannot be used: {said}")
            raise StoreError(f"{self.path} {why}.") from error


def pack(array: Shaped[Array, "..."]) -> bytes:
    """An array as compressed .npy bytes; no pickles. Numbers only."""
    if array.dtype.hasobject:
        raise StoreError(f"the store keeps arrays of numbers, got dtype {array.dtype}.")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getvalue(), 6)


def unpack(data: bytes) -> Shaped[Array, "..."]:
    """The array that `pack` packed."""
    return np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)


def _content(spec: Any) -> tuple[str, str]:
    """The spec's JSON and its id."""
    if is_dataclass(spec) and not isinstance(spec, type):
        return json.dumps(asdict(spec), sort_keys=True, allow_nan=False), spec_id(spec)  # type: ignore[arg-type]
    rebuilt = TrainSpec(**spec)
    return json.dumps(asdict(rebuilt), sort_keys=True, allow_nan=False), spec_id(rebuilt)


def _finite(fields: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a number that is not finite is stored as null (the status says why)."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in fields.items()}


def _statements(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit the surrounding transaction."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
