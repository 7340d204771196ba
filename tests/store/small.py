"""Small stores: specs, outcomes, and rows that no `Store` would write."""

import hashlib
import json
import sqlite3

from sparsehead.store.rows import row_id, sealed
from sparsehead.train.spec import preset
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


def spec_text(of, **changes):
    """The JSON of a spec with some fields changed, which no `TrainSpec` would allow, and its id."""
    text = json.dumps(json.loads(text_of(of)) | changes, sort_keys=True)
    return text, hashlib.sha256(text.encode()).hexdigest()[:16]


def row_of(text, key):
    """A sealed row with that spec."""
    fields = {name: value for name, value in outcome().items() if name not in ("history", "made_by")}
    return sealed([key, text, json.dumps(fields), "{}", 1.7e9, "{}"])
