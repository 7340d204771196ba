"""Which files are opened and how: earlier schemas, write-ahead logs, kills, copies, pipes, removed files."""

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
from sparsehead.cli.app import main
from sparsehead.store import Store
from sparsehead.store.repair import check, repair
from sparsehead.train.spec import spec_id

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
edit, outcome, spec, write_schema_1 = small.edit, small.outcome, small.spec, small.write_schema_1


def beside(path):
    """Files that SQLite left beside the store."""
    return sorted(file.name for file in path.parent.iterdir() if file.name.startswith(path.name + "-"))


def seeds(path, *, readonly=True):
    with Store(path, readonly=readonly) as store:
        return [record.spec["seed"] for record in store.records()]


def test_rows_of_schema_1_are_read_as_they_were(path):
    write_schema_1(path, range(3)).close()
    before = path.read_bytes()
    with Store(path, readonly=True) as store:
        record = store.get(spec_id(spec(1)))
        assert record.solved and record.made_by == {"version": "0.1.0", "commit": "166e4ad"}
        assert record.created_at == "2023-11-14T22:13:20Z" and record.arrays is None
        assert store.history(record.spec_id) == {"loss": [0.5, 0.125]}
    assert path.read_bytes() == before and beside(path) == []


def test_schema_1_is_migrated_with_its_rows_which_get_checksums(path):
    write_schema_1(path, range(3)).close()
    with Store(path) as store:
        assert store.add(spec(9), outcome())
    assert seeds(path) == [0, 1, 2, 9]
    assert check(path).sound == 4
    with Store(path, readonly=True) as store:
        assert store.history(spec_id(spec(1))) == {"loss": [0.5, 0.125]}
    edit(path, "UPDATE outcomes SET outcome = replace(outcome, '20', '21') WHERE rowid = 2")
    with pytest.raises(StoreError, match=f"outcome {spec_id(spec(1))}: its checksum"):
        seeds(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("UPDATE outcomes SET outcome = replace(outcome, 'solved', 'Solved') WHERE rowid = 2", "status"),
        ("UPDATE outcomes SET spec = replace(spec, '\"T\": 50', '\"T\": 51') WHERE rowid = 2", "id does not belong"),
    ],
)  # fmt: skip
def test_a_damaged_row_of_schema_1_stays_damaged(path, change, says, tmp_path):
    """Migration must not put a good checksum on a bad row."""
    write_schema_1(path, range(3)).close()
    edit(path, change)
    with pytest.raises(StoreError, match=says):
        seeds(path)
    Store(path).close()
    with pytest.raises(StoreError, match="checksum"):
        seeds(path)
    assert repair(path, tmp_path / "new.db").sound == 2


@pytest.mark.parametrize("version", [0, 1])
def test_a_damaged_schema_number_does_not_switch_checksums_off(path, version):
    with Store(path) as store:
        store.add(spec(1), outcome())
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = path.read_bytes()
    for readonly in (True, False):
        with pytest.raises(StoreError, match="is damaged"):
            seeds(path, readonly=readonly)
    assert path.read_bytes() == before


@pytest.mark.parametrize("readonly", [True, False])
def test_a_write_ahead_log_left_by_a_kill_is_brought_in(path, readonly):
    live = write_schema_1(path, range(3), journal="wal")
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    live.close()
    assert seeds(copy, readonly=readonly) == [0, 1, 2]
    assert beside(copy) == [] and copy.read_bytes()[18:20] == b"\x01\x01"


@pytest.mark.parametrize("readonly", [True, False])
def test_a_copy_without_its_write_ahead_log_is_not_taken_for_empty(path, readonly):
    live = write_schema_1(path, range(3), journal="wal")
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    live.close()
    with pytest.raises(StoreError, match=r"write-ahead log .* missing: copy copy\.db-wal"):
        Store(copy, readonly=readonly)


@pytest.mark.parametrize("readonly", [True, False])
def test_a_lost_write_ahead_log_is_noticed_where_rows_are_left(path, readonly):
    """Rows 0 to 2 are in the file, row 3 only in the log that is not copied."""
    live = write_schema_1(path, range(3), journal="wal")
    live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    live.execute(
        "INSERT INTO outcomes SELECT 'x', spec, status, outcome, version, made_at_commit, 1 FROM outcomes LIMIT 1"
    )
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    live.close()
    with pytest.warns(UserWarning, match=r"copy\.db-wal is missing.*last outcomes are in the log"):
        assert seeds(copy, readonly=readonly) == [0, 1, 2]


def test_a_lost_write_ahead_log_is_one_line_of_the_command(path, capsys):
    write_schema_1(path, range(3), journal="wal").close()
    with pytest.raises(SystemExit):
        main(["results", "list", "--db", str(path)])
    said = capsys.readouterr().err
    assert "results.db-wal is missing" in said and said.count("\n") == 1


def test_a_store_with_a_closed_write_ahead_log_is_read_without_a_trace(path):
    write_schema_1(path, range(3), journal="wal").close()
    assert path.read_bytes()[18:20] == b"\x02\x02" and beside(path) == []
    with pytest.warns(UserWarning, match="results.db-wal is missing"):
        assert seeds(path) == [0, 1, 2] and beside(path) == []
    with pytest.warns(UserWarning, match="results.db-wal is missing"):
        Store(path).close()
    assert path.read_bytes()[18:20] == b"\x01\x01"


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
