"""One row of the store: a spec, its outcome, the outcome's origin, and a checksum over all of these.

The checksum detects damage (a flipped byte, an edited value). It is not a signature: whoever can write the file can
also compute it. Reading a row whose checksum, id or values are wrong raises `Damage`.
"""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .._base.errors import DomainError, SparseheadError
from .._base.provenance import engine_identity, made_by
from .._base.types import Array, Shaped
from ..train.spec import LATER, SETTINGS, TrainSpec, check_types, spec_text
from .arrays import HISTORY, digest, pack_all

COLUMNS: tuple[str, ...] = ("spec_id", "spec", "outcome", "made_by", "created", "arrays", "checksum")
FAILED = "failed"  # status of a trial that could not be run: it has a "reason" and counts as missing
SealedRow = tuple[
    tuple[Any, ...], dict[str, bytes]
]  # values in the order of COLUMNS, and packed arrays by name


class Damage(Exception):
    """A row or file is damaged; the text is the reason."""


@dataclass(frozen=True)
class Record:
    """One row of the store.

    Args:
        made_by: version, commit, engine, instructions, dtype and device, as far as they were recorded.
        created: seconds since 1970.
        arrays: the checksum of each array by name.
        id: id of the row; see `row_id`.
    """

    spec_id: str
    spec: dict[str, Any]
    outcome: dict[str, Any]
    made_by: dict[str, Any]
    created: float
    arrays: dict[str, str] = field(default_factory=dict, repr=False)
    id: str = ""

    @property
    def solved(self) -> bool:
        """Return whether the trial reached its target."""
        return self.outcome["status"] == "solved"

    @property
    def is_known(self) -> bool:
        """Return whether `TrainSpec` has all fields of the spec; a newer version may have written more."""
        return self.spec.keys() <= SETTINGS.keys()

    @property
    def created_at(self) -> str:
        """The time when the row was made, as ISO 8601 in UTC to the second.

        >>> Record("0", {}, {}, {}, 1.7e9).created_at
        '2023-11-14T22:13:20Z'
        """
        return datetime.fromtimestamp(self.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def flat(self) -> dict[str, Any]:
        """The record as one flat row for tables: spec, then outcome, then origin."""
        names = ("version", "commit", "engine", "instructions", "dtype", "device")
        origin = {name: self.made_by.get(name) for name in names}
        ids = {"id": self.id, "spec_id": self.spec_id}
        return {**ids, **self.spec, **self.outcome, **origin, "created": self.created_at}


def row_id(spec: str, origin: Mapping[str, Any]) -> str:
    """Return the id of a row: sixteen hex digits, a hash of the spec's JSON and the engine that made the outcome.

    A row without a recorded engine has the id of its spec.
    """
    engine = engine_identity(origin)
    return hashlib.sha256((f"{spec}\n{engine}" if engine else spec).encode()).hexdigest()[:16]


def fields_of(outcome: Any) -> dict[str, Any]:
    """Return the fields of an outcome (a dataclass or a mapping) as JSON values; NaN and infinity become None.

    Raises:
        DomainError: the status is unknown or a number is outside its range.
    """
    fields = dict(asdict(outcome) if is_dataclass(outcome) and not isinstance(outcome, type) else outcome)
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}
    try:
        check_outcome(finite)
        _object(json.dumps(finite | {"history": None}, allow_nan=False))
    except Damage as why:
        raise DomainError(f"this outcome cannot be stored: {why}.") from None
    return finite


def check_outcome(outcome: Any) -> None:
    """Raise `Damage` unless the status is known and every known field has its type and range.

    None is allowed for a number: it replaces NaN, and numbers that do not apply.
    """
    known = ("solved", "budget_spent", "diverged", FAILED)
    if not isinstance(outcome, dict) or outcome.get("status") not in known:
        got = outcome.get("status") if isinstance(outcome, dict) else outcome
        raise Damage(f"the status is one of {', '.join(known)}, got {str(got)[:40]!r}")
    for name in ("steps", "restarts_used"):
        value = outcome.get(name, 0)
        if type(value) is not int or value < 0:
            raise Damage(f"{name} is a whole number >= 0, got {str(value)[:40]!r}")
    # `support_mass` is a mean of float32 sums of attention, which may exceed 1 by rounding.
    highest = {"train_accuracy": 1.0, "val_accuracy": 1.0, "support_mass": 1.0 + 1e-6, "seconds": math.inf}
    for name, high in highest.items():
        low, value = 0.0, outcome.get(name)
        if value is not None and not (type(value) in (int, float) and low <= value <= high):
            raise Damage(f"{name} lies between {low:g} and {high:g}, got {str(value)[:40]!r}")


def new_row(
    spec: TrainSpec | Mapping[str, Any],
    outcome: Any,
    arrays: Mapping[str, Shaped[Array, "..."]] | None = None,
    *,
    engine: Mapping[str, str] | None = None,
) -> SealedRow:
    """Make a row with its checksum, and its packed arrays, for `Store.add_rows`; arguments as in `Store.add`."""
    text = spec_text(spec if isinstance(spec, TrainSpec) else TrainSpec(**spec))
    fields = fields_of(outcome)
    fields.pop("spec_id", None)
    history, engine = fields.pop("history", None) or {}, fields.pop("made_by", None) or engine
    named = {f"{HISTORY}{name}": np.asarray(v, dtype=np.float32) for name, v in history.items()}
    blobs = pack_all(named | dict(arrays or {}))
    origin, digests = made_by(engine), {name: digest(data) for name, data in blobs.items()}
    outcome_text = json.dumps(fields, allow_nan=False)
    values = [row_id(text, origin), text, outcome_text, json.dumps(origin), time.time(), json.dumps(digests)]
    return sealed(values), blobs


def received_row(values: Sequence[Any], blobs: Mapping[str, bytes]) -> Record:
    """Return the record of a row that another process sent; raise `Damage` if one of its checksums is wrong."""
    record = read_row(values)
    if record.arrays != {name: digest(data) for name, data in blobs.items()}:
        raise Damage("the checksums of its arrays do not match")
    return record


def sealed(values: Sequence[Any]) -> tuple[Any, ...]:
    """Append the checksum to a row's values, which are all of `COLUMNS` but the last."""
    return (*values, hashlib.sha256(json.dumps(list(values)).encode()).hexdigest())


def read_row(row: Sequence[Any]) -> Record:
    """Return the record of a row from SQLite (text as bytes); raise `Damage` if it is not the row that was written."""
    try:
        values = [value.decode() if isinstance(value, bytes) else value for value in row]
    except UnicodeDecodeError:
        raise Damage("its text is not UTF-8") from None
    if tuple(values) != sealed(values[:-1]):
        raise Damage("its checksum does not match")
    key, spec_text, outcome_text, made_by_text, created, arrays_text = values[:-1]
    spec, outcome, made_by = (_object(text) for text in (spec_text, outcome_text, made_by_text))
    if key != row_id(spec_text, made_by):
        raise Damage("its id does not belong to its spec and engine")
    whole = all(type(spec.get(name)) is int for name in ("T", "m", "seed"))
    if not whole or not isinstance(spec.get("function"), str):
        raise Damage("its spec has no function, T, m or seed")
    try:
        check_types(spec)
    except SparseheadError as error:
        raise Damage(f"its spec is impossible: {str(error).rstrip('.')}") from None
    check_outcome(outcome)
    if type(created) is not float or not 0 <= created < 1e11:
        raise Damage("its date is not a time in seconds")
    digests = _object(arrays_text)
    if not all(isinstance(value, str) for value in digests.values()):
        raise Damage("the checksums of its arrays are not texts")
    return Record(row_id(spec_text, {}), {**LATER, **spec}, outcome, made_by, created, digests, key)


def _object(text: Any) -> dict[str, Any]:
    """Parse the JSON object in `text`; raise `Damage` for numbers and texts that some export format cannot hold."""
    longest = 2**20  # in one column; typical rows have about a thousand
    try:
        found = json.loads(text) if len(text) <= longest else None
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Damage(f"it holds text that is not a JSON object of at most {longest} characters")
    rest: list[Any] = [found]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str) and not value.isascii() and not _is_unicode(value):
            raise Damage("it holds text that is not Unicode")
        elif (type(value) is int and abs(value) >= 2**63) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise Damage("it holds a number that is not finite or beyond 2^63")
    return found


def _is_unicode(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can encode
        return False
