"""Small stores: specs, outcomes, and files as earlier versions left them."""

import hashlib
import json
import sqlite3

import numpy as np

from sparsehead.store.arrays import pack
from sparsehead.store.rows import row_id, sealed
from sparsehead.store.schema import APPLICATION_ID, FIRST_TABLES
from sparsehead.train.spec import preset, spec_id
from sparsehead.train.spec import spec_text as text_of


def spec(seed, **settings):
    return preset("fast", **({"function": "and", "s": 3, "T": 50, "m": 40, "seed": seed} | settings))


def outcome(status="solved", **fields):
    history = {"step": [10, 20], "loss": [0.5, 0.125]}
    made_by = {"engine": "compiled", "instructions": "x86-64-v3", "dtype": "float32", "device": "cpu"}
    return {"status": status, "steps": 20, "seconds": 0.5, "history": history, "made_by": made_by} | fields


def key_of(spec):
    """The id of the row that `outcome()` becomes."""
    return row_id(text_of(spec), outcome()["made_by"])


def edit(path, statement, *values):
    """Change a store behind its back: the triggers that keep it append-only are dropped first."""
    db = sqlite3.connect(path)
    for name in ("outcomes_stay", "outcomes_keep", "arrays_stay", "arrays_keep"):
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
    assert db.execute(statement, values).rowcount > 0
    db.commit()
    db.close()


def write_schema_1(path, seeds, *, journal="delete"):
    """A store as version 0.1 wrote it; the open connection, whose closing would bring a write-ahead log in."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(FIRST_TABLES)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 1")
    db.execute(f"PRAGMA journal_mode = {journal}")
    for seed in seeds:
        fields = {name: value for name, value in outcome().items() if name not in ("history", "made_by")}
        text = text_of(spec(seed))
        row = (spec_id(spec(seed)), text, "solved", json.dumps(fields), "0.1.0", "166e4ad", 1.7e9)
        db.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        loss = pack(np.array([0.5, 0.125], dtype=np.float32))
        db.execute("INSERT INTO arrays VALUES (?, ?, ?)", (row[0], "history/loss", loss))
    return db


def spec_text(of, **changes):
    """The JSON of a spec with some fields changed, which no `TrainSpec` would allow, and its id."""
    text = json.dumps(json.loads(text_of(of)) | changes, sort_keys=True)
    return text, hashlib.sha256(text.encode()).hexdigest()[:16]


def row_of(text, key):
    """A sealed row with that spec."""
    fields = {name: value for name, value in outcome().items() if name not in ("history", "made_by")}
    return sealed([key, text, json.dumps(fields), "{}", 1.7e9, "{}"])
