"""Nothing damaged is believed: flipped bytes, edited rows, lost rows and arrays; the rest stays readable."""

import importlib.util
import random
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, SparseheadError, StoreError
from sparsehead._base.rng import stream
from sparsehead.store import Store
from sparsehead.store.repair import check, repair
from sparsehead.store.rows import Damage, check_outcome

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
edit, outcome, spec, key_of = small.edit, small.outcome, small.spec, small.key_of

N = 12


@pytest.fixture
def full(path):
    """Twelve outcomes with histories, two of them with an array of their own."""
    rng = stream(0, "arrays")
    with Store(path) as store:
        for seed in range(N):
            arrays = {"attention": rng.random((2, 40)).astype(np.float32)} if seed < 2 else None
            history = {"step": [10, 20, 30], "loss": rng.random(3).tolist()}
            status = "solved" if seed % 3 else "budget_spent"
            store.add(spec(seed, T=50 + seed % 3), outcome(status, steps=seed, history=history), arrays)
    return path


def content(path, *, readonly=True):
    """Everything that the store says, asked for in every way."""
    with Store(path, readonly=readonly) as store:
        rows = {record.id: record for record in store.records()}
        arrays = {key: {n: a.tolist() for n, a in store.arrays(key).items()} for key in rows}
        by_id = {key: store.get(key) for key in (key_of(spec(seed, T=50 + seed % 3)) for seed in range(N))}
        return rows, arrays, by_id, len(store)


@pytest.mark.parametrize("flips", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_flipped_byte_is_believed(full, tmp_path, flips, record_property):
    """One byte of the file is changed: the same data come back, or one sentence says what is wrong."""
    sound, data, moments = content(full), full.read_bytes(), random.Random(flips)
    assert len(sound[0]) == N
    copy = tmp_path / "copy.db"
    counts = {"same": 0, "detected": 0}
    for i in range(flips):
        changed = bytearray(data)
        changed[moments.randrange(len(data))] ^= moments.randrange(1, 256)
        copy.write_bytes(changed)
        said = ""
        try:
            assert content(copy, readonly=i % 2 == 0) == sound
        except SparseheadError as error:  # anything else, an AssertionError included, fails the test
            said = str(error)
        assert not said or ("\n" not in said and str(copy) in said)
        counts["detected" if said else "same"] += 1
    record_property("counts", counts)
    assert counts["detected"] > flips / 4  # the file is more than a quarter rows; the rest is unused space


@pytest.mark.parametrize(
    ("change", "values", "says"),
    [
        ("UPDATE outcomes SET outcome = replace(outcome, 'solved', 'Solved') WHERE rowid = 2", (), "checksum"),
        ("UPDATE outcomes SET outcome = replace(outcome, 'budget_spent', 'solved') WHERE rowid = 1", (), "checksum"),
        ("UPDATE outcomes SET made_by = replace(made_by, 'float32', 'float64') WHERE rowid = 2", (), "checksum"),
        ("UPDATE outcomes SET created = created + 1 WHERE rowid = 2", (), "checksum"),
        ("UPDATE outcomes SET spec = replace(spec, '\"T\": 51', '\"T\": 53') WHERE rowid = 2", (), "checksum"),
        ("UPDATE outcomes SET checksum = '' WHERE rowid = 2", (), "checksum"),
        ("UPDATE outcomes SET outcome = ? WHERE rowid = 2", (b"\xff\xfe",), "UTF-8"),
        ("UPDATE outcomes SET outcome = 7 WHERE rowid = 2", (), "checksum"),
    ],
)  # fmt: skip
def test_an_edited_row_is_named_and_the_others_are_read(full, change, values, says):
    edit(full, change, *values)
    with Store(full, readonly=True) as store:
        with pytest.raises(StoreError, match=rf"outcome [0-9a-f]{{16}}: .*{says}.*results repair"):
            list(store.records())
        damage: list[Any] = []
        assert len(list(store.records(damage))) == N - 1 and len(damage) == 1
        key = damage[0].split()[1].rstrip(":")
        with pytest.raises(StoreError, match=key):
            store.get(key)
    found = check(full)
    assert (found.sound, len(found.damage)) == (N - 1, 1)


def forge(path, **changes):
    """Change columns of the second row and give it the right checksum for what it then holds."""
    from sparsehead.store.rows import COLUMNS, sealed

    db = sqlite3.connect(path)
    row = dict(zip(COLUMNS, db.execute("SELECT * FROM outcomes WHERE rowid = 2").fetchone(), strict=True))
    db.close()
    row |= changes
    values = sealed(list(row.values())[:-1])
    edit(path, f"UPDATE outcomes SET {', '.join(f'{name} = ?' for name in COLUMNS)} WHERE rowid = 2", *values)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"spec_id": "0123456789abcdef"}, "its id does not belong to its spec"),
        ({"outcome": '{"status": "Solved"}'}, "the status is one of solved, budget_spent, diverged"),
        ({"outcome": '{"status": "solved", "steps": -1}'}, "steps is a whole number"),
        ({"outcome": '{"status": "solved", "steps": "7"}'}, "steps is a whole number"),
        ({"outcome": '{"status": "solved", "val_accuracy": NaN}'}, "a number that is not finite"),
        ({"outcome": '{"status": "solved", "seconds": true}'}, "seconds lies between"),
        ({"outcome": "[" * 5000 + "]" * 5000}, "not a JSON object"),
        ({"outcome": "[1]"}, "the status is one of|not a JSON object"),
        ({"created": float(10**12)}, "its date is not a time in seconds"),
    ],
)
def test_values_are_checked_even_where_the_checksum_fits(full, changes, says):
    forge(full, **changes)
    with Store(full, readonly=True) as store, pytest.raises(StoreError, match=says):
        list(store.records())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE arrays SET data = (SELECT data FROM arrays WHERE name = 'history/step') WHERE name = 'history/loss'",
        "DELETE FROM arrays WHERE name = 'attention'",
        "UPDATE arrays SET name = 'history/gain' WHERE name = 'history/loss'",
        "UPDATE arrays SET data = substr(data, 1, length(data) - 1) WHERE name = 'history/loss'",
        "UPDATE arrays SET data = 'text' WHERE name = 'history/loss'",
    ],
)
def test_damaged_missing_and_renamed_arrays_are_found(full, change):
    edit(full, change)
    key = key_of(spec(0, T=50))
    with Store(full, readonly=True) as store:
        assert store.get(key) is not None
        for read in (store.arrays, store.history):
            with pytest.raises(StoreError, match=rf"outcome {key}: .*array"):
                read(key)
    assert check(full).damage


def test_a_lost_row_is_noticed(full):
    """An id changed in the table alone or in the index alone, where it would not be found; or in an array."""
    data = full.read_bytes()
    key = key_of(spec(4, T=51)).encode()
    places = [i for i in range(len(data)) if data.startswith(key, i)]
    assert len(places) >= 2  # in the table, in the index of ids, and with each array
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1
        full.write_bytes(changed)
        for readonly in (True, False):
            with pytest.raises(StoreError, match="is damaged"):
                content(full, readonly=readonly)


def test_repair_copies_what_is_sound_and_names_the_rest(full, tmp_path):
    sound = content(full)
    edit(full, "UPDATE outcomes SET outcome = replace(outcome, 'solved', 'Solved') WHERE rowid = 2")
    data = bytearray(full.read_bytes())
    place = data.find(key_of(spec(4, T=51)).encode() + b"{")  # in the table, where the spec's JSON follows
    data[place] ^= 1
    full.write_bytes(data)
    found = repair(full, tmp_path / "new.db")
    assert found.sound == N - 2 and len(found.damage) == 2
    assert {line.split(":")[0] for line in found.damage} == {"row 2", "row 5"}
    with Store(tmp_path / "new.db", readonly=True) as store:
        kept = {record.id: record for record in store.records()}
        assert kept == {key: sound[0][key] for key in kept} and len(kept) == N - 2
        for key in kept:
            assert {n: a.tolist() for n, a in store.arrays(key).items()} == sound[1][key]
    assert full.read_bytes() == data


@pytest.mark.parametrize(
    ("new", "says"), [("new.db", "new.db exists"), ("link.db", "store to repair itself")]
)
def test_a_repair_replaces_no_file_and_offers_no_option_that_it_lacks(full, new, says, tmp_path):
    (tmp_path / "new.db").write_text("something else")
    (tmp_path / "link.db").symlink_to(full)
    before = full.read_bytes()
    with pytest.raises(StoreError, match=f"{says}.*name one that does not exist yet") as refused:
        repair(full, tmp_path / new)
    assert "force" not in str(refused.value) and full.read_bytes() == before
    assert (tmp_path / "new.db").read_text() == "something else"


@pytest.mark.parametrize("keep", [0.9, 0.5])
def test_a_truncated_file_is_one_sentence(full, keep, tmp_path):
    data = full.read_bytes()
    full.write_bytes(data[: int(len(data) * keep)])
    for readonly in (True, False):
        with pytest.raises(StoreError, match="damaged"):
            content(full, readonly=readonly)
    try:
        kept = repair(full, tmp_path / "new.db").sound
    except StoreError:  # SQLite may refuse such a file as a whole
        kept = 0
    assert kept < N


@pytest.mark.parametrize(
    "fields",
    [{"status": "Solved"}, {"status": None}, {"steps": 1.5}, {"train_accuracy": 1.5}, {"seconds": -1.0}],
)
def test_impossible_outcomes_are_not_stored(path, fields):
    with Store(path) as store:
        with pytest.raises(DomainError, match="cannot be stored"):
            store.add(spec(1), outcome() | fields)
        assert len(store) == 0


def test_known_outcomes_pass():
    check_outcome({"status": "diverged", "steps": 0, "val_accuracy": None, "support_mass": 1.0, "more": [1]})
    with pytest.raises(Damage):
        check_outcome({})


def test_an_accuracy_that_is_no_number_does_not_pass():
    with pytest.raises(Damage, match="val_accuracy lies between 0 and 1"):
        check_outcome({"status": "solved", "steps": 1, "val_accuracy": float("nan")})
