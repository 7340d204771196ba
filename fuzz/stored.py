"""What the program wrote and reads again: specs, results records, store rows, store files, model files.

Of each its corpus and what is done with an input; `targets` lists them. What was changed must not be believed.
"""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from hypothesis import strategies as st
from inputs import objects_like
from watch import Wrong

import sparsehead as sh
from sparsehead._base.errors import SparseheadError
from sparsehead._base.jsonable import json_values
from sparsehead.heads.model_file import load, packed, seal
from sparsehead.store import Store
from sparsehead.store.rows import Damage, fields_of, read_row, row_id, sealed
from sparsehead.train.spec import TrainSpec, preset, spec_id, spec_text
from sparsehead_paper.studies.folder import read_results
from sparsehead_paper.studies.from_json import record_from
from sparsehead_paper.studies.records import RECORDS

ROOT = Path(__file__).resolve().parents[1]
Use = Callable[[bytes], None]


def scratch() -> Path:
    """A folder for files of inputs, in memory where the system has such a place."""
    shm = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="sparsehead-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))


# --- specs


@cache
def spec_texts() -> tuple[bytes, ...]:
    """Specs of every preset and learner, as the store keeps them."""
    specs = [
        preset("fast", function="and", s=3, T=50, m=30, seed=1),
        preset("paper", function="x1 & x2", T=9, m=20, seed=7),
        preset("best", function="parity", s=2, T=10, m=100, seed=3, learner="mlp"),
        preset("mingpt", function="majority", s=3, T=20, m=50, seed=0, optimiser="sgd", encoding="random"),
    ]
    return tuple(spec_text(spec).encode() for spec in specs)


def use_specs() -> Use:
    """A spec from JSON; one that was accepted has one id, however often it is written and read."""

    def use(data: bytes) -> None:
        fields = _object(data)
        try:
            spec = TrainSpec(**fields)
        except TypeError as error:
            # Another name of a field: Python's own sentence for a caller of TrainSpec.
            if "argument" in str(error):
                raise SparseheadError("no such field.") from None
            raise
        if spec_id(TrainSpec(**json.loads(spec_text(spec)))) != spec_id(spec):
            raise Wrong("written and read again, the spec has another id")

    return use


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise SparseheadError("no JSON.") from None
    if not isinstance(found, dict):
        raise SparseheadError("no object.")
    return found


# --- results records


@cache
def record_texts() -> tuple[bytes, ...]:
    """The committed results files, each list cut to its first items so that an input is small."""
    found = []
    for name in sorted(RECORDS):
        path = ROOT / "results" / f"{name}.json"
        if path.exists():
            found.append(json.dumps({"kind of file": name, **_short(json.loads(path.read_text()))}).encode())
    return tuple(found)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(item) for name, item in list(value.items())[:30]}
    return [_short(item) for item in value[:2]] if isinstance(value, list) else value


def use_records() -> Use:
    """A results file on disk, read as every kind of record that its name may ask for."""
    folder = scratch()

    def use(data: bytes) -> None:
        try:
            name = json.loads(data).pop("kind of file")
            kind = RECORDS[name]
        except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
            name, kind = "law", RECORDS["law"]
        (folder / f"{name}.json").write_bytes(data.replace(f'"kind of file": "{name}", '.encode(), b""))
        record = read_results(folder, name, kind)
        if record_from(kind, json_values(record)) != record:
            raise Wrong("written and read again, the record is another one")

    return use


# --- store rows and store files

OUTCOME = {"status": "solved", "steps": 40, "restarts_used": 1, "train_accuracy": 1.0, "val_accuracy": 0.995,
           "support_mass": None, "seconds": 0.25}  # fmt: skip
ORIGIN = {"version": "0.2.0", "commit": "", "engine": "compiled", "instructions": "x86-64-v3", "dtype": "float32",
          "device": "cpu"}  # fmt: skip


def sound_row(text: bytes) -> list[Any]:
    """A row as SQLite returns it, without its checksum."""
    spec = text.decode()
    return [row_id(spec, ORIGIN), spec, json.dumps(fields_of(OUTCOME)), json.dumps(ORIGIN), 1.7e9, "{}"]


@cache
def row_texts() -> tuple[bytes, ...]:
    """Rows as JSON lists, sealed."""
    return tuple(json.dumps(sealed(sound_row(text))).encode() for text in spec_texts())


def use_rows() -> Use:
    """Read a row that is given as a JSON list; unless it is one of the corpus, it must not be believed.

    Every other input is sealed first, as somebody does who writes the checksum too: then it may be read, and what is
    read must be a record that can be shown.
    """
    known = {tuple(json.loads(text)) for text in row_texts()}

    def use(data: bytes) -> None:
        try:
            row = json.loads(data)
            values = [value.encode() if isinstance(value, str) else value for value in row]
            seal_it = len(row) == 7 and crc32(data) % 2 == 0
            values = list(sealed(row[:-1])) if seal_it else values
        except (ValueError, TypeError, RecursionError, UnicodeEncodeError):
            raise SparseheadError("no row of JSON values.") from None
        if len(values) != 7 or any(isinstance(value, list | dict) for value in values):
            raise SparseheadError("SQLite returns seven plain values.")
        try:
            record = read_row(values)
        except Damage as why:
            raise SparseheadError(str(why)) from None
        if not seal_it and tuple(row) not in known:
            raise Wrong("a changed row was believed")
        record.flat()

    return use


@cache
def store_bytes() -> tuple[bytes, ...]:
    """A store of eight outcomes, four of them with arrays, as a file."""
    path = scratch() / "s.db"
    with Store(path) as store:
        for seed in range(8):
            spec = preset("fast", function="and", s=3, T=50, m=30, seed=seed)
            history = {"loss": [1.0, 0.5 / (seed + 1)]} if seed % 2 else {}
            store.add(spec, {**OUTCOME, "steps": seed, "history": history}, engine=ORIGIN)
    return (path.read_bytes(),)


def _content(path: Path) -> list[Any]:
    with Store(path, readonly=True) as store:
        return [(asdict(record), store.history(record.id)) for record in store.records()]


def use_stores() -> Use:
    """Open a changed file and read everything; what is read without a word must be what was written."""
    folder = scratch()
    path = folder / "s.db"
    path.write_bytes(store_bytes()[0])
    original = _content(path)

    def use(data: bytes) -> None:
        path.write_bytes(data)
        try:
            found = _content(path)
        finally:
            for file in folder.iterdir():
                file.unlink()
        if found != original:
            raise Wrong("a changed store was believed")

    return use


# --- model files


@cache
def model_files() -> tuple[bytes, ...]:
    """Models of several kinds as files."""
    return (
        packed(sh.build("x1 & x2", T=6)),
        packed(sh.build("x0 ^ x3", T=5, heads="s")),
        packed(sh.build("x0 | x2", T=4, encoding="random", seed=1)),
    )


def use_models() -> Use:
    """Load a changed file: nothing but the original may load. Every other input gets a right checksum first; then
    what loads must be a model that can be written and loaded again."""
    path = scratch() / "m.safetensors"
    known = set(model_files())

    def use(data: bytes) -> None:
        resealed = seal(data) if crc32(data) % 2 == 0 else b""
        path.write_bytes(resealed or data)
        model = load(path)
        if not resealed and data not in known:
            raise Wrong("a changed model file was believed")
        again = packed(model)
        path.write_bytes(again)
        if packed(load(path)) != again:
            raise Wrong("written and loaded again, the model is another one")

    return use


def changed_row(text: bytes) -> st.SearchStrategy[bytes]:
    """A row with one of its values replaced."""
    row = json.loads(text)
    value = (
        st.none()
        | st.integers()
        | st.floats()
        | st.text(max_size=20)
        | objects_like([row[1].encode()]).map(bytes.decode)
    )

    def put(place: int, new: Any) -> bytes:
        return json.dumps([*row[:place], new, *row[place + 1 :]]).encode()

    return st.builds(put, st.integers(0, 6), value)
