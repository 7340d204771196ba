"""Which files are opened and how: other schemas, write-ahead logs, kills, copies, pipes, removed files."""

import importlib.util
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sparsehead._base.errors import StoreError
from sparsehead.store import Store

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
outcome, spec = small.outcome, small.spec


def beside(path):
    """Files that SQLite left beside the store."""
    return sorted(file.name for file in path.parent.iterdir() if file.name.startswith(path.name + "-"))


def seeds(path, *, readonly=True):
    with Store(path, readonly=readonly) as store:
        return [record.spec["seed"] for record in store.records()]


@pytest.mark.parametrize(("version", "says"), [(0, "is damaged"), (1, "has schema 1, this version reads 3")])
def test_a_damaged_schema_number_does_not_switch_checksums_off(path, version, says):
    with Store(path) as store:
        store.add(spec(1), outcome())
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = path.read_bytes()
    for readonly in (True, False):
        with pytest.raises(StoreError, match=says):
            seeds(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [True, False])
def test_a_store_with_a_write_ahead_log_is_refused(path, readonly):
    """Row 0 is in the file, row 1 only in the log, which a copy of the file lacks."""
    with Store(path) as store:
        store.add(spec(0), outcome())
    live = sqlite3.connect(path)
    assert live.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    before = copy.read_bytes()
    with pytest.raises(StoreError, match=r"write-ahead log, which a copy of it lacks; with \S*copy\.db-wal"):
        Store(copy, readonly=readonly)
    assert copy.read_bytes() == before and beside(copy) == []
    live.execute("PRAGMA journal_mode = DELETE")
    live.close()
    assert seeds(path, readonly=readonly) == [0]


def test_after_kill_9_a_copied_file_is_whole(path):
    code = f"""
import os
from sparsehead.store import Store
from sparsehead.train.spec import preset
store = Store({str(path)!r})
for seed in range(5):
    store.add(preset("fast", function="and", s=3, T=50, m=40, seed=seed), {{"status": "solved"}})
os.kill(os.getpid(), {signal.SIGKILL})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert beside(path) == []
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    assert seeds(copy) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("readonly", [True, False])
def test_a_kill_in_the_middle_of_a_commit_is_rolled_back(path, readonly):
    """The journal that a killed process leaves holds the pages as they were before its commit."""
    with Store(path) as store:
        for seed in range(3):
            store.add(spec(seed), outcome())
    code = f"""
import os, sqlite3
db = sqlite3.connect({str(path)!r}, isolation_level=None)
db.execute("PRAGMA cache_size = 1")  # pages go to the file before the commit
db.execute("DROP TRIGGER outcomes_keep")
db.execute("BEGIN IMMEDIATE")
db.execute("DELETE FROM outcomes")
db.execute("CREATE TABLE filler (i)")
db.executemany("INSERT INTO filler VALUES (?)", [("x" * 3000,)] * 500)
os.kill(os.getpid(), {signal.SIGKILL})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert beside(path) == ["results.db-journal"]
    assert seeds(path, readonly=readonly) == [0, 1, 2]
    assert beside(path) == []


def test_reading_leaves_nothing_behind_and_changes_nothing(path):
    with Store(path) as store:
        store.add(spec(1), outcome())
    before = path.read_bytes()
    path.parent.chmod(0o500)
    path.chmod(0o400)
    try:
        with Store(path, readonly=True) as store:
            assert len(store) == 1 and beside(path) == []
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [True, False])
def test_pipes_and_devices_are_refused_at_once(path, readonly):
    os.mkfifo(path)
    for place in (path, "/dev/null", "/dev/zero"):
        with pytest.raises(StoreError, match="not a regular file"):
            Store(place, readonly=readonly)


@pytest.mark.parametrize("name", ["n" * 300, "n" * 250, "a/" * 3000 + "x", "results.db/x"])
def test_impossible_names_are_one_sentence(tmp_path, name):
    (tmp_path / "results.db").write_text("")
    for readonly in (True, False):
        with pytest.raises(StoreError) as caught:
            Store(tmp_path / name, readonly=readonly)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize("replaced", [False, True])
def test_a_removed_or_replaced_file_is_noticed(path, replaced):
    with Store(path) as store:
        store.add(spec(1), outcome())
        path.rename(path.with_name("moved.db"))
        if replaced:
            Store(path).close()
        for use in (store.check_in_place, lambda: store.add(spec(2), outcome())):
            with pytest.raises(StoreError, match="removed or replaced while it was in use"):
                use()
    assert seeds(path.with_name("moved.db")) == [1]


def test_an_empty_file_is_said_to_be_empty_and_can_be_filled(path):
    path.touch()
    with pytest.raises(StoreError, match="is an empty file"):
        Store(path, readonly=True)
    with Store(path) as store:
        assert store.add(spec(1), outcome())
