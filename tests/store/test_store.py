import csv
import json
import multiprocessing
import re
import sqlite3
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, MissingExtra, StoreError
from sparsehead._base.lazy import install_command
from sparsehead.store import Store
from sparsehead.store.arrays import pack, unpack
from sparsehead.store.results import Outcomes, condition, find, outcome_row, select, summary, write
from sparsehead.store.rows import new_row
from sparsehead.store.schema import APPLICATION_ID
from sparsehead.train.spec import LATER, preset, spec_id, spec_text


def spec(seed, **settings):
    return preset("fast", **({"function": "and", "s": 3, "T": 50, "m": 40, "seed": seed} | settings))


def outcome(status="solved", **fields):
    history = {"step": [10, 20], "loss": [0.5, 0.125]}
    return {"status": status, "steps": 20, "seconds": 0.5, "history": history} | fields


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def test_an_outcome_comes_back_as_it_was(path):
    with Store(path) as store:
        attention = np.arange(6, dtype=np.float16).reshape(2, 3)
        assert store.add(spec(1), outcome(val_accuracy=float("nan")), {"attention": attention})
    with Store(path, readonly=True) as store:
        record = store.get(spec_id(spec(1)))
        assert record.spec["T"] == 50 and record.solved and record.outcome["steps"] == 20
        assert record.outcome["val_accuracy"] is None  # JSON has no NaN
        assert record.made_by["version"] and record.created > 1.6e9
        assert store.history(record.spec_id) == {"step": [10, 20], "loss": [0.5, 0.125]}
        assert (store.arrays(record.spec_id)["attention"] == attention).all()
        assert store.arrays(record.spec_id)["attention"].dtype == np.float16


def test_adding_twice_leaves_one_row_the_first(path):
    with Store(path) as store:
        assert store.add(spec(1), outcome(steps=1))
        assert not store.add(spec(1), outcome(steps=2))
        assert len(store) == 1 and store.get(spec_id(spec(1))).outcome["steps"] == 1


def test_rows_cannot_be_changed_or_removed(path):
    with Store(path) as store:
        store.add(spec(1), outcome())
    db = sqlite3.connect(path)
    for change in ("DELETE FROM outcomes", "UPDATE outcomes SET outcome = '{}'", "DELETE FROM arrays"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(change)
    db.close()


def test_records_are_found_by_the_values_of_their_spec(path):
    with Store(path) as store:
        for seed in range(3):
            store.add(spec(seed), outcome())
            store.add(spec(seed, T=100), outcome("budget_spent"))
        assert [r.spec["seed"] for r in select(store.records(), [("T", 100)])] == [0, 1, 2]
        assert len(list(select(store.records(), [("p", None), ("function", "and")]))) == 6
        assert len(list(select(store.records(), [("T", 50), ("T", 100), ("seed", 1)]))) == 2
        assert set(store.find([spec(0), spec(7)])) == {spec_id(spec(0))}
        assert [row["solved"] for row in summary(store.records())] == [3, 0]


def add_many(path, start):
    with Store(path) as store:
        for seed in range(start, start + 60):
            store.add(spec(seed), outcome())


def test_two_processes_create_and_write_at_once(path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=add_many, args=(path, start)) for start in (0, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with Store(path) as store:
        assert sorted(r.spec["seed"] for r in store.records()) == list(range(90))


@pytest.mark.parametrize("version", [2, 9])
def test_another_schema_is_refused_and_untouched(path, version):
    Store(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"has schema {version}, this version reads 3"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["text", "other database", "folder", "no folder", "nothing there"])
def test_what_is_not_a_store_is_refused_and_untouched(path, kind):
    readonly = kind == "nothing there"
    if kind == "text":
        path.write_text("m,solved\n50,24\n" * 20)
    elif kind == "other database":
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE mine (a)")
        db.close()
    elif kind == "folder":
        path.mkdir()
    elif kind == "no folder":
        path = path / "deep" / "results.db"
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError) as caught:
        Store(path, readonly=readonly)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_read_only_store_says_so(path):
    with Store(path) as store:
        store.add(spec(1), outcome())
    with Store(path, readonly=True) as store:
        with pytest.raises(StoreError, match="is read-only"):
            store.add(spec(2), outcome())
        assert len(store) == 1


def test_a_full_disk_says_so_and_keeps_what_was_there(path):
    noise = np.random.default_rng(0).random(100_000)
    with Store(path) as store:
        store.add(spec(1), outcome())
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 3}")  # SQLite's own "disk is full"
        with pytest.raises(StoreError, match="disk is full"):
            store.add(spec(2), outcome(), {"noise": noise})
        store._db.execute("PRAGMA max_page_count = 100000")
        assert spec_id(spec(2)) not in store
        assert store.add(spec(2), outcome(), {"noise": noise})
    with Store(path) as store:
        assert len(store) == 2
        assert store._db.execute("PRAGMA integrity_check").fetchone()[0] == b"ok"


def test_kill_between_two_commits_keeps_the_first(path):
    code = f"""
import os
from sparsehead.store import Store
from sparsehead.train.spec import preset
store = Store({str(path)!r})
spec = lambda seed: preset("fast", function="and", s=3, T=50, m=40, seed=seed)
store.add(spec(0), {{"status": "solved"}})
store._db.execute("BEGIN IMMEDIATE")
store._db.execute("INSERT INTO outcomes SELECT 'half', spec, outcome, made_by, created, arrays, '' FROM outcomes")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with Store(path) as store:
        assert [r.spec["seed"] for r in store.records()] == [0]


def test_objects_are_never_pickled():
    with pytest.raises(StoreError, match="arrays of numbers"):
        pack(np.array([{}], dtype=object))
    assert (unpack(pack(np.eye(2, dtype=np.float32))) == np.eye(2)).all()


def test_the_file_is_recognisable(path):
    Store(path).close()
    assert int.from_bytes(path.read_bytes()[68:72]) == APPLICATION_ID


def test_tables_in_three_formats(path, tmp_path, monkeypatch):
    with Store(path) as store:
        for seed in range(3):
            store.add(spec(seed), outcome())
        rows = [record.flat() for record in store.records()]
        assert find(store, rows[0]["spec_id"][:9]).spec_id == rows[0]["spec_id"]
        with pytest.raises(StoreError, match="no outcome"):
            find(store, "zz")
    for name in ("a.csv", "a.json", "a.parquet"):
        write(rows, tmp_path / name)
    with (tmp_path / "a.csv").open() as file:
        assert [row["T"] for row in csv.DictReader(file)] == ["50"] * 3
    assert json.loads((tmp_path / "a.json").read_text()) == rows
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "a.parquet")["seed"].to_pylist() == [0, 1, 2]
    with pytest.raises(DomainError, match=r"\.csv, \.parquet, \.json"):
        write(rows, tmp_path / "a.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=re.escape(f"needs pyarrow: {install_command('parquet')}")):
        write(rows, tmp_path / "b.parquet")


def test_conditions_are_parsed_not_evaluated():
    assert condition("T=300") == ("T", 300)
    assert condition("function=and") == ("function", "and")
    assert condition("p=null") == condition("p=None") == ("p", None)
    for text in ("T", "colour=red", "colour"):
        with pytest.raises(DomainError, match="NAME=VALUE"):
            condition(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("T=1e3", 1000),
        ("unique=True", True),
        ("unique=true", True),
        ("online=False", False),
        ("adam_eps=1e-08", 1e-8),
        ("clip=1", 1.0),
        ("s=None", None),
        ("init=null", "null"),
        ("function=1", "1"),
        ('function="and"', "and"),
        ("seed=9007199254740993", 2**53 + 1),
    ],
)
def test_a_condition_has_the_type_of_its_field(text, value):
    found = condition(text)[1]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("T=abc", r"--where T=VALUE takes a whole number, such as 300; got 'abc'\."),
        ("T=2.5", "takes a whole number"),
        ("T=", "takes a whole number"),
        ("T=None", "takes a whole number, such as 300; got"),
        ("T=1e999999999", "takes a whole number"),
        ("s=three", "takes a whole number, such as 300, or None; got 'three'"),
        ("clip=nan", r"takes a number, such as 0\.1 or 1e-8; got 'nan'"),
        ("p=half", "or None; got 'half'"),
        ("unique=yes", "takes True or False; got 'yes'"),
        ("learning_rte=1", "did you mean 'learning_rate'"),
    ],
)
def test_a_value_that_no_spec_can_have_is_refused(text, says):
    with pytest.raises(DomainError, match=says):
        condition(text)


@pytest.mark.parametrize("changes", [{"optimiser": "adam", "decay": "all"}, {"optimiser": "sgd"}, {}])
def test_a_stored_spec_has_every_setting_under_its_name(changes):
    own = preset("fast", function="and", s=3, T=50, m=40, seed=0, **changes)
    assert {**LATER, **json.loads(spec_text(own))} == asdict(own)


@pytest.mark.parametrize("count", [255, 256, 257, 600])
def test_more_rows_than_one_batch_are_read_in_order(path, count):
    with Store(path) as store:
        store.add_rows(new_row(spec(seed), outcome()) for seed in range(count))
        assert [record.spec["seed"] for record in store.records()] == list(range(count))


def test_rows_added_between_two_iterations_are_left_out(path):
    with Store(path) as store:
        store.add(spec(0), outcome())
        rows = Outcomes(store, [], outcome_row)
        assert [row["seed"] for row in rows] == [0]
        store.add(spec(1), outcome())
        assert [row["seed"] for row in rows] == [0]
