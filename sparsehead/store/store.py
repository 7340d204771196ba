"""The results store: an append-only SQLite file, keyed by the content of the spec and the engine.

Equal specs on one engine are the same experiment: adding its outcome twice leaves one row, so several processes may
write at the same time. Every row is committed or absent: killing a process loses no row that was added. Curves and
attention maps are kept beside the outcome as compressed arrays. Every row has a checksum over its content.

Damaged data is never returned. Opening checks the file's structure, so that no row can be missing; reading a row
checks its checksum, id and values. A damaged row raises a StoreError that names it; the others remain readable.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._base.errors import StoreError
from .._base.files import shown_path
from .._base.provenance import engine_identity
from .._base.types import Array, Shaped
from ..train.spec import TrainSpec, spec_id, spec_text
from .arrays import HISTORY, MAX_BYTES, MAX_HISTORY_BYTES, digest, unpack
from .opening import REASONS, connect, damaged, explained, inspect
from .rows import COLUMNS, FAILED, Damage, Record, SealedRow, new_row, read_row, row_id
from .schema import create


class Store:
    """An open store; a context manager.

    Args:
        path: the file; created if it does not exist, unless `readonly`.
        readonly: never create or write.
        check: check the file's structure first (0.1 s for 10^4 outcomes). Pass False only if the parent process has
            just checked it.
    """

    def __init__(self, path: str | Path, *, readonly: bool = False, check: bool = True) -> None:
        self.path, self.readonly = Path(path), readonly
        exists = inspect(self.path, readonly=readonly)
        with explained(self.path):
            self._db, has_tables = connect(self.path, readonly=readonly)
            try:
                if exists and not has_tables:
                    raise damaged(self.path, "its tables are missing")
                if exists and check:
                    self._check_structure()
                if not has_tables:
                    with self._transaction():
                        create(self._db)
            except BaseException:
                self._db.close()
                raise
        status = self.path.stat()
        self._file = (status.st_dev, status.st_ino)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything added is already saved."""
        self._db.close()

    def add(
        self,
        spec: TrainSpec | Mapping[str, Any],
        outcome: Any,
        arrays: Mapping[str, Shaped[Array, "..."]] | None = None,
        *,
        engine: Mapping[str, str] | None = None,
    ) -> bool:
        """Commit one outcome; return False, and keep the old row, if the store has this spec's outcome by this engine.

        Args:
            outcome: a dataclass or a mapping with at least "status". Its `history` (lists of numbers by name) is
                stored as float32 arrays named "history/...".
            arrays: stored unchanged, by name.
            engine: the engine that computed the outcome, if the outcome has no `made_by`.
        Raises:
            DomainError: the outcome's status or numbers are impossible.
            StoreError: the row could not be written, or the file is no longer the one that was opened.
        """
        return bool(self.add_rows([new_row(spec, outcome, arrays, engine=engine)]))

    def add_rows(self, rows: Iterable[SealedRow]) -> int:
        """Commit rows (with checksums) and their packed arrays, all or none; return how many ids were new."""
        self.check_in_place()
        places, added = ", ".join("?" for _ in COLUMNS), 0
        with explained(self.path), self._transaction():
            for row, blobs in rows:
                new = self._db.execute(f"INSERT OR IGNORE INTO outcomes VALUES ({places})", row).rowcount
                if new:
                    arrays = [(row[0], name, data) for name, data in blobs.items()]
                    self._db.executemany("INSERT INTO arrays VALUES (?, ?, ?)", arrays)
                added += new
        return added

    def get(self, key: str) -> Record | None:
        """Return the record with this id, or None; raise a StoreError if the row is damaged."""
        return next(self._records("spec_id = ?", (key,)), None)

    def records(self, damage: list[str] | None = None) -> Iterator[Record]:
        """Yield records in the order in which they were added.

        For a damaged row, a sentence is appended to `damage`; without `damage`, a StoreError is raised.
        """
        return self._records("TRUE", (), damage)

    def find(
        self, specs: Iterable[TrainSpec], engine: Callable[[TrainSpec], Mapping[str, str]] | None = None
    ) -> dict[str, Record]:
        """Return the records of those `specs` that the store has, by spec id, without trials that could not be run.

        Args:
            engine: maps a spec to its engine, as in `made_by`; only outcomes of that engine are returned. By default
                outcomes of all engines are; if a spec has several, that of the alphabetically first engine.
        """
        engines, found = self._engines(), {}
        for spec in specs:
            text, of_spec = spec_text(spec), spec_id(spec)
            wanted = None if engine is None else engine_identity(engine(spec))
            keys = [row_id(text, {"engine": name} if name else {}) for name in ["", *engines]]
            for record in filter(None, map(self.get, keys)):
                if record.outcome["status"] == FAILED:
                    continue
                if wanted is None or engine_identity(record.made_by) == wanted:
                    found[of_spec] = record
                    break
        return found

    def learners(self) -> list[str]:
        """Return the names of the learners in all specs, including trials that could not be run."""
        query = "SELECT DISTINCT json_extract(spec, '$.learner') FROM outcomes WHERE json_valid(spec)"
        with explained(self.path):
            names = self._db.execute(query).fetchall()
        return sorted(name.decode(errors="replace") for (name,) in names if isinstance(name, bytes))

    def _engines(self) -> list[str]:
        """Return the identities of all engines in this store; skip unreadable ones, for which `get` raises."""
        names = set()
        with explained(self.path):
            texts = self._db.execute("SELECT DISTINCT made_by FROM outcomes").fetchall()
        for (text,) in texts:
            with suppress(ValueError, AttributeError):
                names.add(engine_identity(json.loads(text)))
        return sorted(names - {""})

    def arrays(self, key: str) -> dict[str, Shaped[Array, "..."]]:
        """Return every array stored with the row `key`, by name; empty if the store has no such row."""
        return self._unpacked(key, "", MAX_BYTES)

    def _unpacked(self, key: str, start: str, most: int) -> dict[str, Shaped[Array, "..."]]:
        """Return the arrays whose names start with `start`; raise if they exceed `most` bytes together."""
        found: dict[str, Any] = {}
        for name, data in self.blobs(key).items():
            if name.startswith(start):
                try:
                    found[name] = unpack(data, most)
                except (ValueError, zlib.error, EOFError, OSError) as error:
                    raise self._damage(
                        key, f"its array {name[:40]!r} cannot be unpacked ({str(error)[:120]})"
                    ) from error
                most -= found[name].nbytes
        return found

    def blobs(self, key: str) -> dict[str, bytes]:
        """Return the packed arrays of the row `key`, after checking their checksums."""
        record = self.get(key)
        with explained(self.path):
            query = "SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name"
            found = dict(self._db.execute(query, (key,)).fetchall())
        if any(not isinstance(part, bytes) for item in found.items() for part in item):
            raise self._damage(key, "an array has the wrong type")
        blobs = {name.decode(errors="replace"): data for name, data in found.items()}
        if record is not None:
            digests = {name: digest(data) for name, data in blobs.items()}
            wrong = sorted(record.arrays.items() ^ digests.items())
            if wrong:
                raise self._damage(key, f"the checksum of its array {wrong[0][0]!r} does not match")
        return blobs

    def history(self, key: str) -> dict[str, list[float]]:
        """Return the outcome's history (curves by name), rounded to float32."""
        found = self._unpacked(key, HISTORY, MAX_HISTORY_BYTES)
        return {name.removeprefix(HISTORY): a.tolist() for name, a in found.items()}

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __len__(self) -> int:
        with explained(self.path):
            return int(self._db.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def check_in_place(self) -> None:
        """Raise a StoreError if the file was removed or replaced since it was opened: new rows would be lost."""
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._file:
            raise StoreError(f"{shown_path(self.path)} {REASONS['READONLY_DBMOVED']}.")

    def _records(
        self, where: str, values: tuple[Any, ...], damage: list[str] | None = None
    ) -> Iterator[Record]:
        for _, *row in self._rows(where, values):
            try:
                yield read_row(row)
            except Damage as why:
                if damage is None:
                    raise self._damage(row[0], str(why)) from None
                damage.append(f"outcome {_name(row[0])}: {why}")

    def _rows(self, where: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """Yield rows, each with its number first; read 256 at a time, so a slow reader holds few rows and no lock."""
        query = f"SELECT rowid, * FROM outcomes WHERE {where} AND rowid > ? ORDER BY rowid LIMIT 256"
        last = -(2**63)
        while True:
            with explained(self.path):
                rows = self._db.execute(query, (*values, last)).fetchall()
            yield from rows
            if len(rows) < 256:
                return
            last = rows[-1][0]

    def _damage(self, key: object, why: str) -> StoreError:
        return damaged(self.path, f"outcome {_name(key)}: {why}")

    def _check_structure(self) -> None:
        """Run SQLite's check of pages, rows and the index of ids, which notices missing rows."""
        said = self._db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if said != b"ok":
            raise damaged(self.path, said.decode(errors="replace"))

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


def _name(key: object) -> str:
    """Return an id in printable form for a message; a damaged file may hold any value as id."""
    return key.decode(errors="replace")[:32] if isinstance(key, bytes) else str(key)[:32]
