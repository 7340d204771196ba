import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsehead._base.errors import DomainError, SparseheadError, StoreError, TooLarge
from sparsehead._base.provenance import version_and_commit
from sparsehead.store import Store
from sparsehead.sweep import LocalSweep, dispatch
from sparsehead.sweep.units import Backlog
from sparsehead.train.spec import spec_id

HERE = Path(__file__).parent
location = importlib.util.spec_from_file_location("fake_runner", HERE / "fake_runner.py")
fake = importlib.util.module_from_spec(location)
location.loader.exec_module(fake)


@pytest.fixture(autouse=True)
def _find_fake_runner(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "results.db"


def content(db):
    """What the store holds, without who made it when."""
    with Store(db, readonly=True) as store:
        rows = {r.spec_id: (r.spec, r.outcome, store.history(r.spec_id)) for r in store.records()}
        assert len(rows) == len(store)
    return rows


def worker_processes(parent):
    """Ids of live processes started by `parent` as sweep workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if "sparsehead.sweep.worker" in command and f'"parent": {parent}}}' in command and state != "Z":
            found.append(int(folder.name))
    return found


def test_every_outcome_once_with_progress_and_time_to_go(db):
    seen: list[Any] = []
    result = fake.run_sweep(fake.specs(30), db, runner="fake_runner:run", batch=4, progress=seen.append)
    assert len(result.records) == result.ran == 30 and not result.errors
    assert [p.done for p in seen if p.trial is None] == list(range(31))
    assert seen[0].eta is None and seen[-1].eta == pytest.approx(0)
    assert all(
        result.records[spec_id(s)].outcome["status"] == fake.outcome_of(s).status for s in fake.specs(30)
    )


def test_repeating_runs_only_the_missing_part(db):
    first = fake.run_sweep(fake.specs(10), db, runner="fake_runner:run")
    again = fake.run_sweep(fake.specs(14), db, runner="fake_runner:run")
    assert (first.ran, again.ran, len(again.records)) == (10, 4, 14)
    # No worker is even started.
    assert fake.run_sweep(fake.specs(14), db, runner="no.such.module:run").ran == 0


def test_workers_have_one_blas_thread_and_live_on(db):
    with LocalSweep(db, runner="fake_runner:threads", workers=1) as sweep:
        records = sweep.run(fake.specs(2)).records
        before = worker_processes(os.getpid())
        sweep.run(fake.specs(4))
        assert worker_processes(os.getpid()) == before and len(before) == 1
    assert {record.outcome["steps"] for record in records.values()} == {1}
    assert not worker_processes(os.getpid())


def test_a_bad_spec_is_reported_and_the_others_run(db):
    result = fake.run_sweep(fake.specs(12), db, runner="fake_runner:run", options={"bad": [3, 4]})
    assert len(result.records) == 10
    assert sorted(result.errors) == sorted(spec_id(s) for s in fake.specs(12) if s.seed in (3, 4))
    assert "seed 3 cannot be run" in result.errors[spec_id(fake.specs(4)[3])]


def test_a_unit_that_ends_its_worker_three_times_is_stored_as_failed_and_the_others_run(db, tmp_path):
    options = {"deadly": [4], "tries": str(tmp_path / "tries")}
    result = fake.run_sweep(fake.specs(9), db, runner="fake_runner:run", options=options, batch=3)
    key = spec_id(fake.specs(5)[4])
    assert len(result.records) == 8 and list(result.errors) == [key]
    assert "ended 3 times (exit code 7)" in result.errors[key]
    assert (tmp_path / "tries4").stat().st_size == 3
    with Store(db, readonly=True) as store:
        failed = [record for record in store.records() if record.outcome["status"] == "failed"]
        assert [(r.spec_id, r.outcome["reason"]) for r in failed] == [(key, result.errors[key])]
        assert not store.find([fake.specs(5)[4]]) and len(store) == 9
    # The cause may have been the machine's.
    again = fake.run_sweep(fake.specs(9), db, runner="fake_runner:run")
    assert again.ran == 1 and len(again.records) == 9


def test_trials_run_side_by_side_only_where_memory_holds_both(db, monkeypatch):
    """Room for one and a half trials: two workers, but never more than one of them at work."""
    size = dispatch.trial_bytes(fake.specs(1)[0], T=50, m=50)  # type: ignore[attr-defined]
    monkeypatch.setattr("sparsehead.sweep.local.available", lambda: int(1.5 * size))
    with LocalSweep(db, runner="fake_runner:run", workers=2) as sweep:
        assert sweep.run(fake.specs(6)).ran == 6
        assert len(sweep.pool.workers) == 1
    monkeypatch.setattr("sparsehead.sweep.local.available", lambda: int(0.9 * size))
    with pytest.raises(
        TooLarge, match=r"T=50, m=\d+ needs about 3\d\d MB of memory, and the largest worker has"
    ):
        fake.run_sweep(fake.specs(9), db, runner="fake_runner:run")


def test_a_store_that_fails_stops_the_sweep(db, monkeypatch):
    """The file is written over, not replaced: a new file would be noticed before a worker opens it, unless it gets the
    number (inode) of the old one."""
    with LocalSweep(db, runner="fake_runner:run", workers=1) as sweep:
        sweep.store.close()
        db.write_text("no longer a store " * 20)
        sweep.store.find = lambda specs, engine: {}  # type: ignore[assignment, misc]
        with pytest.raises(StoreError, match="not a sparsehead store"):
            sweep.run(fake.specs(3))
    assert not worker_processes(os.getpid())


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_removed_or_replaced_during_a_run_is_an_error(db, replaced):
    options = {"remove": str(db), "replaced": replaced}
    with pytest.raises(StoreError, match="removed or replaced while it was in use"):
        fake.run_sweep(fake.specs(6), db, runner="fake_runner:removing", options=options, workers=1)
    assert not worker_processes(os.getpid())


def test_a_worker_that_prints_disturbs_nothing_and_is_reported_once(db, tmp_path, monkeypatch):
    """At its very start (a sitecustomize), from Python and from below Python, without a newline and in quantity."""
    (tmp_path / "sitecustomize.py").write_text("print('hello from sitecustomize')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    said: list[Any] = []
    result = fake.run_sweep(fake.specs(6), db, runner="fake_runner:printing", workers=2, say=said.append)
    assert result.ran == 6 and not result.errors
    assert said == [
        "a worker printed 'hello from sitecustomize'; what workers print is not part of any result."
    ]


def test_without_a_listener_the_sentence_is_a_warning(db):
    with pytest.warns(UserWarning, match="a worker printed 'xxx"):
        assert fake.run_sweep(fake.specs(2), db, runner="fake_runner:printing", workers=1).ran == 2


def test_outcomes_of_another_version_or_engine_are_named_before_they_are_mixed(db):
    specs = fake.specs(6)
    said: list[Any] = []
    other = {"engine": "torch", "instructions": "sse2", "dtype": "float32", "device": "cpu"}
    with Store(db) as store:
        store.add(specs[0], fake.outcome_of(specs[0]), engine=other)
    fake.run_sweep(specs[:1], db, runner="fake_runner:run", say=said.append)
    assert said == []  # the same version, and nothing to mix it with
    fake.run_sweep(specs, db, runner="fake_runner:engine", say=said.append, batch=1)
    assert len(said) == 1
    assert "torch sse2 float32 on cpu; this is " in said[0] and "compiled" in said[0]
    fake.run_sweep(specs, db, runner="no.such.module:run", say=said.append)
    assert len(said) == 2 and "; and by " in said[1]  # now the reused ones differ among each other


def test_outcomes_of_an_earlier_version_are_named(db, monkeypatch):
    specs = fake.specs(4)
    said: list[Any] = []
    monkeypatch.setattr("sparsehead._base.provenance.__version__", "0.0.9")
    version_and_commit.cache_clear()
    with Store(db) as store:
        store.add(specs[0], fake.outcome_of(specs[0]))
    monkeypatch.undo()
    version_and_commit.cache_clear()
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
    for _ in range(2):
        fake.run_sweep(specs[:1], db, runner="fake_runner:run", say=said.append)
    fake.run_sweep(specs, db, runner="fake_runner:run", say=said.append)
    assert len(said) == 3 and all("made by 0.0.9" in sentence for sentence in said)


def test_a_runner_that_cannot_be_loaded_says_so(db):
    with pytest.raises(SparseheadError, match="no_such_module:run cannot be loaded"):
        fake.run_sweep(fake.specs(3), db, runner="no_such_module:run")


def all_units(backlog, workers=1, seconds=None):
    """Every unit of a backlog, in which each trial takes the given time."""
    found = []
    while backlog:
        found.append(backlog.take(workers))
        if seconds is not None:
            backlog.measured(found[-1], seconds * len(found[-1]))
    return found


def test_units_keep_shapes_together_and_are_as_long_as_measured():
    specs = fake.specs(30)
    for seconds in (None, 0.1, 3.0):
        work = all_units(Backlog(specs), seconds=seconds)
        assert all(len({s.m for s in unit}) == 1 for unit in work)
        assert sorted(s.seed for unit in work for s in unit) == list(range(30))
        assert max(map(len, work)) == {None: 1, 0.1: 5, 3.0: 1}[seconds]  # half a second, at least one trial
    assert max(map(len, all_units(Backlog(specs, batch=3), seconds=1e-6))) == 3
    assert max(map(len, all_units(Backlog(specs), seconds=1e-6))) == 10
    with pytest.raises(DomainError, match="at least one trial"):
        Backlog(specs, batch=0)


def test_few_trials_are_shared_by_all_workers():
    backlog = Backlog(fake.specs(30)[::3][:7])
    backlog.measured(backlog.take(2), 1e-3)
    assert [len(unit) for unit in all_units(backlog, workers=2, seconds=1e-3)] == [3, 2, 1]


def test_a_shape_that_was_not_measured_is_judged_by_its_cost():
    backlog = Backlog(fake.specs(30))
    unit = backlog.take(1)
    assert backlog.seconds(backlog.first) is None
    backlog.measured(unit, 0.1)
    larger = replace(unit[0], T=10 * unit[0].T)
    assert backlog.seconds(unit[0]) == pytest.approx(0.1)
    assert backlog.seconds(larger) == pytest.approx(1.0)


def test_what_comes_back_goes_out_first_and_alone():
    backlog = Backlog(fake.specs(30))
    unit = backlog.take(1)
    backlog.measured(unit, 1e-6)
    for spec in (first := backlog.take(1))[:2]:
        backlog.again(spec)
    assert len(first) > 2 and len(backlog) == 31 - len(first)
    assert [backlog.take(1), backlog.take(1)] == [[first[0]], [first[1]]]


def start(db, n, sleep):
    command = [sys.executable, str(HERE / "fake_runner.py"), str(db), str(n), str(sleep), str(db.parent)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_leaves_no_process_behind(db):
    process = start(db, 300, 0.05)
    fake.wait_until(lambda: db.exists() and len(worker_processes(process.pid)) == 2 and committed(db) > 3)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=120)[1]
    fake.wait_until(lambda: not worker_processes(process.pid))
    assert 3 < committed(db) < 300


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_in_the_middle_of_a_long_trial_leave_with_their_parent(db, how):
    process = start(db, 4, 3600)
    fake.wait_until(lambda: len([file for file in db.parent.iterdir() if file.name.isdigit()]) == 2)
    assert len(worker_processes(process.pid)) == 2
    process.send_signal(how)
    process.communicate(timeout=120)
    fake.wait_until(lambda: not worker_processes(process.pid))


def committed(db):
    try:
        with Store(db, readonly=True) as store:
            return len(store)
    except StoreError:
        return 0  # being made


@pytest.mark.parametrize("kills", [pytest.param(20, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments_loses_and_repeats_nothing(db, tmp_path, kills):
    n, moments = 15 * kills, random.Random(0)
    for _ in range(kills):
        before, process = committed(db), start(db, n, 0.01)
        fake.wait_until(lambda process=process: process.poll() is not None or worker_processes(process.pid))
        if moments.random() < 0.8:  # while outcomes come in; otherwise while the workers start
            goal = min(n, before + moments.randrange(1, 20))
            fake.wait_until(
                lambda process=process, goal=goal: process.poll() is not None or committed(db) >= goal
            )
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.communicate()
        assert committed(db) >= before
        fake.wait_until(lambda process=process: not worker_processes(process.pid))
    assert committed(db) > 0  # the kills came while there was work
    assert start(db, n, 0.0).wait(timeout=200) == 0
    undisturbed = tmp_path / "undisturbed.db"
    assert start(undisturbed, n, 0.0).wait(timeout=200) == 0
    assert content(db) == content(undisturbed)
    assert len(content(db)) == n
