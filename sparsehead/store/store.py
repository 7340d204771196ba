"""The results store: one SQLite file, append-only, keyed by the content of the spec.

Equal specs are the same experiment, so adding an outcome twice leaves one row, and two processes may write at once.
A row is committed or absent: a kill at any moment loses nothing that was added and damages nothing. Series and
attention maps are kept beside the outcome as compressed arrays. Every row has a checksum over all that it holds.

Damage is never returned as data. Opening checks the file's structure, so that no row can be missing; reading a row
checks its checksum, its id and its values. A damaged row raises a StoreError that names it, the others can be read.
"""

import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StoreError
from ..provenance import made_by
from ..spec import TrainSpec, spec_id
from ..types import Array, Shaped
from .arrays import digest, pack, unpack
from .opening import connect, damaged, explained, inspect
from .rows import COLUMNS, Damage, Record, content_of, fields_of, read_row, sealed
from .schema import SELECT, VERSION, migrate


class Store:
    """An open store; a context manager.

    Args:
        path: the file; made if it does not exist, unless `readonly`.
        readonly: never create, migrate or write; files of schema 1 are read as they are (see `schema`).
        check: whether to check the file's structure first (0.1 s for 10^4 outcomes). False is for a process whose
            parent has just done so.
    """

    def __init__(self, path: str | Path, *, readonly: bool = False, check: bool = True) -> None:
        self.path, self.readonly = Path(path), readonly
        self._schema = inspect(self.path, readonly=readonly)
        with explained(self.path):
            self._db = connect(self.path, readonly=readonly)
            try:
                if check and self._schema:
                    self._check_structure()
                if not readonly and self._schema < VERSION:
                    with self._transaction():
                        migrate(self._db)
                    self._schema = VERSION
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
        """Close the file; what was added stays."""
        self._db.close()

    def add(
        self,
        spec: TrainSpec | Mapping[str, Any],
        outcome: Any,
        arrays: Mapping[str, Shaped[Array, "..."]] | None = None,
        *,
        engine: Mapping[str, str] | None = None,
    ) -> bool:
        """Commit one outcome; False if the spec's outcome was there already (it stays as it was).

        Args:
            outcome: a dataclass or a mapping with at least "status". Its `history`, lists of numbers by name, is
                stored as float32 arrays named "history/...".
            arrays: stored as they are.
            engine: what computed it, where the outcome does not say so itself in `made_by`.
        Raises:
            DomainError: the outcome's status or numbers are impossible.
            StoreError: the row could not be written, or the file is no longer the one that was opened.
        """
        text, key = content_of(spec)
        fields = fields_of(outcome)
        fields.pop("spec_id", None)
        history, engine = fields.pop("history", None) or {}, fields.pop("made_by", None) or engine
        named = {f"history/{name}": np.asarray(v, dtype=np.float32) for name, v in history.items()}
        blobs = {name: pack(array) for name, array in sorted((named | dict(arrays or {})).items())}
        origin = made_by(engine)
        digests = {name: digest(data) for name, data in blobs.items()}
        row = sealed(
            [
                key,
                text,
                json.dumps(fields, allow_nan=False),
                json.dumps(origin),
                time.time(),
                json.dumps(digests),
            ]
        )
        return self.add_row(row, blobs)

    def add_row(self, row: tuple[Any, ...], blobs: Mapping[str, bytes]) -> bool:
        """Commit a sealed row and its packed arrays; False if the id was there already."""
        self.check_in_place()
        places = ", ".join("?" for _ in COLUMNS)
        with explained(self.path), self._transaction():
            new = self._db.execute(f"INSERT OR IGNORE INTO outcomes VALUES ({places})", row).rowcount
            if new:
                rows = [(row[0], name, data) for name, data in blobs.items()]
                self._db.executemany("INSERT INTO arrays VALUES (?, ?, ?)", rows)
        return bool(new)

    def get(self, key: str) -> Record | None:
        """The record of a spec id, or None.

        Raises:
            StoreError: the row is damaged.
        """
        return next(self._select("WHERE spec_id = ?", (key,), None), None)

    def records(self, damage: list[str] | None = None) -> Iterator[Record]:
        """Records in the order in which they came.

        Args:
            damage: where to put one sentence for each damaged row; the others are then returned.
        Raises:
            StoreError: a row is damaged, and `damage` is None.
        """
        return self._select("", (), damage)

    def find(self, specs: Iterable[TrainSpec]) -> dict[str, Record]:
        """The records that exist among `specs`, by spec id."""
        records = (self.get(spec_id(spec)) for spec in specs)
        return {record.spec_id: record for record in records if record is not None}

    def arrays(self, key: str) -> dict[str, Shaped[Array, "..."]]:
        """Every array stored with a spec id, by name; empty where the store has no such id.

        Raises:
            StoreError: an array is damaged, missing or too many.
        """
        try:
            return {name: unpack(data) for name, data in self.blobs(key).items()}
        except (ValueError, zlib.error, EOFError, OSError) as error:
            if isinstance(error, StoreError):
                raise
            raise self._damage(key, "an array cannot be unpacked") from error

    def blobs(self, key: str) -> dict[str, bytes]:
        """The arrays of a spec id as they are stored, checked against the row's checksums."""
        record = self.get(key)
        with explained(self.path):
            query = "SELECT name, data FROM arrays WHERE spec_id = ? ORDER BY name"
            found = dict(self._db.execute(query, (key,)).fetchall())
        if any(not isinstance(part, bytes) for item in found.items() for part in item):
            raise self._damage(key, "an array has the wrong type")
        blobs = {name.decode(errors="replace"): data for name, data in found.items()}
        if record is not None and record.arrays is not None:
            wrong = sorted(
                record.arrays.items() ^ {name: digest(data) for name, data in blobs.items()}.items()
            )
            if wrong:
                raise self._damage(key, f"the checksum of its array {wrong[0][0]!r} does not match")
        return blobs

    def history(self, key: str) -> dict[str, list[float]]:
        """The outcome's history, as it was added (to float32)."""
        found = self.arrays(key).items()
        return {name.removeprefix("history/"): a.tolist() for name, a in found if name.startswith("history/")}

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __len__(self) -> int:
        with explained(self.path):
            return int(self._db.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def check_in_place(self) -> None:
        """Raise a StoreError if the file was removed or replaced since it was opened: rows would go nowhere."""
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._file:
            raise StoreError(
                f"{self.path} was removed or replaced while it was in use; what was added to it is lost with it: "
                "put the file back, or repeat the command to run everything again."
            )

    def _select(self, where: str, values: tuple[Any, ...], damage: list[str] | None) -> Iterator[Record]:
        query = f"SELECT {SELECT[self._schema]} FROM outcomes {where} ORDER BY rowid"
        with explained(self.path):
            rows = self._db.execute(query, values).fetchall()
        for row in rows:
            try:
                yield read_row(row, has_checksum=self._schema > 1)
            except Damage as why:
                if damage is None:
                    raise self._damage(row[0], str(why)) from None
                damage.append(f"outcome {_name(row[0])}: {why}")

    def _damage(self, key: object, why: str) -> StoreError:
        return damaged(self.path, f"outcome {_name(key)}: {why}")

    def _check_structure(self) -> None:
        """SQLite's own check of pages, rows and the index of ids: after it, no row can be missing unnoticed."""
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
    """An id for a message, whatever the file holds in its place."""
    return key.decode(errors="replace")[:32] if isinstance(key, bytes) else str(key)[:32]
