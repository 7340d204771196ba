"""Sweeps on a Dask cluster: the same outcomes, workers that come and go, and what is refused."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsehead._base.errors import MissingExtra, ParseError, SparseheadError, TooLarge
from sparsehead._base.lazy import install_command
from sparsehead.cli.app import main
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.law import law
from sparsehead.store import Store
from sparsehead.store.merge import merge
from sparsehead.store.rows import new_row
from sparsehead.sweep import dask_pool, remote
from sparsehead.sweep.cluster import DaskSweep, parse_cluster
from sparsehead.sweep.dask_pool import DaskPool, DaskWorker
from sparsehead.sweep.dispatch import Unit
from sparsehead.train.spec import spec_id

HERE = Path(__file__).parent
location = importlib.util.spec_from_file_location("fake_runner", HERE / "fake_runner.py")
fake = importlib.util.module_from_spec(location)
location.loader.exec_module(fake)
SMALL: dict[str, Any] = {
    "T": [8, 10],
    "s": 2,
    "learner": "exhaustive",
    "policy": Adaptive(start=12, max_trials=8),
}

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")


@pytest.fixture(autouse=True)
def _find_fake_runner(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)


@pytest.fixture(scope="module")
def scheduler():
    """Two worker processes, which their nannies start again when they end; the address of their scheduler."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    # a busy machine is not a lost worker.
    late = dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    with late, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))  # which its processes take over
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="8GB", dashboard_address=None, silence_logs=50
        ) as made:
            yield made.scheduler_address


def content(path):
    """What the store holds, without when and how fast it was made."""
    with Store(path, readonly=True) as store:
        rows = {
            r.id: ({**r.outcome, "seconds": 0}, r.arrays, {**r.made_by, "commit": ""})
            for r in store.records()
        }
        assert len(rows) == len(store)
    return rows


def three_ways(tmp_path, scheduler, **settings):
    """The same law embedded, in two shards that are merged, and on the cluster: what each store holds."""
    law("and", db=tmp_path / "pool.db", workers=1, **settings)
    for i in (1, 2):
        law("and", db=tmp_path / f"{i}.db", shard=f"{i}/2", workers=1, **settings)
    merge([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "merged.db")
    seen: list[Any] = []
    found = law("and", db=tmp_path / "dask.db", cluster=scheduler, progress=seen.append, **settings)
    assert seen[-1].eta == pytest.approx(0) and found.complete
    return [content(tmp_path / name) for name in ("pool.db", "merged.db", "dask.db")]


def test_embedded_in_shards_and_on_a_cluster_outcomes_are_equal(tmp_path, scheduler):
    pool, merged, dask = three_ways(tmp_path, scheduler, method="adaptive", **SMALL)
    assert len(pool) == 16 and pool == merged == dask
    before = (tmp_path / "dask.db").read_bytes()
    law("and", db=tmp_path / "dask.db", cluster="tcp://127.0.0.1:1", method="adaptive", **SMALL)
    assert (tmp_path / "dask.db").read_bytes() == before  # all is there: nobody is even asked


@pytest.mark.slow
def test_trained_outcomes_are_equal(tmp_path, scheduler):
    settings: dict[str, Any] = {
        "s": 2,
        "T": [12, 20],
        "policy": Adaptive(start=20, max_trials=8),
        "n_steps": 200,
    }
    pool, merged, dask = three_ways(tmp_path, scheduler, method="adaptive", **settings)
    assert len(pool) == 16 and pool == merged == dask


def test_a_lost_workers_units_run_again_and_three_losses_are_a_failure(tmp_path, scheduler):
    """Seed 4 ends every worker that gets it; those that were given with it, or were waiting behind it, run again."""
    options = {"deadly": [4], "bad": [5], "tries": str(tmp_path / "tries")}
    with DaskSweep(tmp_path / "a.db", scheduler, runner="fake_runner:run", options=options) as sweep:
        result = sweep.run(fake.specs(12))
    key, bad = (spec_id(fake.specs(6)[i]) for i in (4, 5))
    assert len(result.records) == 10 and set(result.errors) == {key, bad}
    assert "ended 3 times (tcp://" in result.errors[key] and "left the cluster" in result.errors[key]
    assert "seed 5 cannot be run" in result.errors[bad]
    assert (tmp_path / "tries4").stat().st_size == 3
    with Store(tmp_path / "a.db", readonly=True) as store:
        failed = [r for r in store.records() if r.outcome["status"] == "failed"]
        assert [(r.spec_id, r.outcome["reason"]) for r in failed] == [(key, result.errors[key])]


def test_an_interrupt_leaves_nothing_running(tmp_path, scheduler):
    from distributed import Client

    def interrupt(progress):
        if progress.done >= 2:
            raise KeyboardInterrupt

    sweep = DaskSweep(tmp_path / "a.db", scheduler, runner="fake_runner:run", options={"sleep": 0.2})
    with pytest.raises(KeyboardInterrupt), sweep:
        sweep.run(fake.specs(300), progress=interrupt)
    with Client(scheduler, set_as_default=False) as client:
        fake.wait_until(lambda: not any(client.processing().values()))
    with Store(tmp_path / "a.db", readonly=True) as store:
        assert 2 <= len(store) < 300


@pytest.mark.parametrize("name", ["sparsehead", "compiled engine", "torch"])
def test_a_worker_with_other_numbers_is_refused_in_one_sentence(tmp_path, scheduler, monkeypatch, name):
    other = {**remote.environment(), name: "9.9"}
    monkeypatch.setattr(remote, "environment", lambda: other)
    said: list[Any] = []
    sweep = DaskSweep(tmp_path / "a.db", scheduler, runner="fake_runner:run", say=said.append)
    with pytest.raises(SparseheadError, match=rf"{name} \S+ \(here 9.9\)"), sweep:
        sweep.run(fake.specs(3))
    assert said and all(sentence.endswith("it gets no work.") for sentence in said)
    with Store(tmp_path / "a.db", readonly=True) as store:
        assert len(store) == 0


def test_what_else_differs_is_named_once_and_used(tmp_path, scheduler, monkeypatch):
    other = {**remote.environment(), "commit": "abc", "numpy": "1.0"}
    monkeypatch.setattr(remote, "environment", lambda: other)
    said: list[Any] = []
    with DaskSweep(tmp_path / "a.db", scheduler, runner="fake_runner:run", say=said.append) as sweep:
        assert sweep.run(fake.specs(3)).ran == 3
    # One sentence for each difference: workers that were started at another time may have another commit.
    assert said and len(set(said)) == len(said)
    assert all("(here abc), numpy" in sentence and "and are used" in sentence for sentence in said)


def test_what_no_worker_can_hold_is_refused(tmp_path, scheduler):
    spec = replace(fake.specs(1)[0], T=10**7, m=300)
    sweep = DaskSweep(tmp_path / "a.db", scheduler, runner="fake_runner:run")
    with (
        pytest.raises(TooLarge, match=r"T=10000000, m=300 needs about \S+ GB .* has 7.2 GB for a trial"),
        sweep,
    ):
        sweep.run([*fake.specs(3), spec])
    with Store(tmp_path / "a.db", readonly=True) as store:
        assert len(store) == 0


def test_a_million_positions_fit_a_worker_of_8_gb():
    from sparsehead.train.footprint import trial_bytes
    from sparsehead.train.transformer.library import Missing, library

    if isinstance(library("float32"), Missing):
        pytest.skip("the torch engine, which trains without a compiler, needs more")
    spec = replace(fake.specs(1)[0], T=10**6, m=300)
    assert trial_bytes(spec, T=spec.T, m=spec.m) < DaskWorker("", 8e9, 1).memory


def test_a_unit_goes_to_a_worker_that_can_hold_it():
    pool = DaskPool(1)
    small, large = DaskWorker("a", 1e9, 1), DaskWorker("b", 8e9, 1)
    pool.workers = [small, large]
    assert pool.free(5e9, ahead=False) is large and pool.free(1e8, ahead=False) is small
    large.units.append(Unit(fake.specs(1)))
    assert pool.free(5e9, ahead=False) is None and pool.free(5e9, ahead=True) is large
    assert pool.largest_memory() == 7.2e9 and pool.threads() == 2


@pytest.mark.parametrize("what", ["row", "array", "nothing"])
def test_what_a_worker_sends_is_checked_before_it_is_stored(tmp_path, what):
    spec = fake.specs(8)[7]
    row, blobs = new_row(spec, fake.outcome_of(spec))
    if what == "row":
        row = (*row[:2], row[2].replace('"steps": 7', '"steps": 8'), *row[3:])
    if what == "array":
        blobs["history/loss"] = blobs["history/step"]
    places = {name: i for i, name in enumerate(blobs)}
    message = json.loads(json.dumps({"outcome": spec_id(spec), "row": row, "arrays": places}))
    pool, worker, unit = DaskPool(1), DaskWorker("a", 0.0, 1), Unit([spec])
    pool.workers, worker.futures = [worker], {id(unit): object()}
    with Store(tmp_path / "a.db") as store:
        pool._store = store
        heard = [m for _, m in pool._answer(worker, unit, [message, {"done": 1.0}], list(blobs.values()))]
        assert heard[-1] == {"done": 1.0, "unit": unit}
        if what == "nothing":
            assert heard[0]["outcome"] == spec_id(spec) and len(store) == 1
            assert store.find([spec])[spec_id(spec)].outcome["steps"] == 7
        else:
            assert "damaged" in heard[0]["message"] and len(store) == 0
        assert pool._answer(worker, unit, [message], []) == []  # a second answer counts for nothing


def test_without_the_extra_one_sentence_says_what_brings_it(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsehead._base.lazy.find_spec", lambda name: None)
    sentence = f"this needs distributed, which is not installed; {install_command('cluster')} brings it."
    with pytest.raises(MissingExtra, match=re.escape(sentence)):
        DaskSweep(tmp_path / "a.db", "local:2")
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    "text", ["", "local", "local:0", "local:1001", "local:-1", "node7:8786", "tcp://node7", "http://a:1",
             "tcp://a:0", "tcp://a:70000", "tcp://a b:1"],
)  # fmt: skip
def test_other_addresses_are_refused(text):
    with pytest.raises(ParseError, match="--cluster is the address"):
        parse_cluster(text)


@pytest.mark.parametrize(
    ("files", "message"), [((), "names none"), (("ca-file", "client.cert", "client.key"), "cannot be read")]
)
def test_tls_without_a_certificate_is_refused(tmp_path, files, message):
    dask, _ = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({f"distributed.comm.tls.{name}": str(tmp_path / "none.pem") for name in files}),
        pytest.raises(SparseheadError, match=message),
    ):
        law("and", db=tmp_path / "a.db", cluster="tls://127.0.0.1:1", **SMALL)


def test_required_encryption_is_not_left_out(tmp_path):
    """Dask refused it itself, after the sentence with a traceback at the end of the program."""
    dask, _ = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(SparseheadError, match=r"requires encryption, which tcp://127.0.0.1:1 lacks"),
    ):
        law("and", db=tmp_path / "a.db", cluster="tcp://127.0.0.1:1", **SMALL)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "tcp://no-such-host.invalid:8786", "tls://127.0.0.1:1", "nonsense"]
)
def test_a_bad_address_is_one_line_and_exit_2(tmp_path, monkeypatch, capsys, address):
    monkeypatch.setattr(dask_pool, "CONNECT", 0.5)
    command = f"law and --s 2 --T 8 --learner exhaustive --cluster {address} --db"
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), str(tmp_path / "a.db")])
    said = capsys.readouterr().err.strip()
    assert ended.value.code == 2 and address in said
    assert len(said.replace("\n", " ").split(". ")) == 1


@pytest.mark.slow
def test_workers_that_come_later_are_waited_for_and_a_scheduler_that_goes_is_named(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    said = []
    monkeypatch.syspath_prepend(str(HERE))
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made:

        def say(sentence):
            said.append(sentence)
            made.scale(1)

        def leave(progress):
            if progress.done == 3:
                made.close()

        settings: dict[str, Any] = {"runner": "fake_runner:run", "options": {"sleep": 0.05}, "say": say}
        with DaskSweep(tmp_path / "a.db", made.scheduler_address, **settings) as sweep:
            assert sweep.run(fake.specs(2)).ran == 2
            assert sum("has no workers yet" in sentence for sentence in said) == 1
            with pytest.raises(SparseheadError, match=r"the scheduler at tcp://.* is gone"):
                sweep.run(fake.specs(3000), progress=leave)


@pytest.mark.slow
@needs_openssl
def test_ctrl_c_ends_the_command_and_its_cluster(tmp_path):
    command = [
        sys.executable,
        "-m",
        "sparsehead",
        "law",
        "and",
        "--s",
        "3",
        "--T",
        "300",
        "--cluster",
        "local:2",
    ]
    process = subprocess.Popen(
        [*command, "--db", str(tmp_path / "a.db")], stderr=subprocess.PIPE, text=True, start_new_session=True
    )

    def begun():
        try:
            with Store(tmp_path / "a.db", readonly=True) as store:
                return len(store) > 0
        except SparseheadError:
            return False

    fake.wait_until(begun)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130 and "Traceback" not in said
    fake.wait_until(lambda: not members(process.pid))


def members(session):
    """Live processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, *rest = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(rest[2]) == session and state != "Z":
            found.append(int(folder.name))
    return found


def test_a_lost_connection_is_a_sentence_and_no_log(monkeypatch):
    """With the network cut, Dask and its event loop logged tracebacks before the sentence."""
    import logging

    distributed = pytest.importorskip("distributed")

    def nobody(*arguments, **options):
        raise OSError("nobody answers")

    for name in dask_pool.NOISY:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.INFO)
    monkeypatch.setattr(distributed, "Client", nobody)
    pool = DaskPool("tcp://127.0.0.1:9")
    with pytest.raises(SparseheadError, match="no Dask scheduler answers"):
        pool._connect()
    assert not any(logging.getLogger(name).isEnabledFor(logging.ERROR) for name in dask_pool.NOISY)
    pool.close()
    assert {logging.getLogger(name).level for name in dask_pool.NOISY} == {logging.INFO}


@pytest.mark.slow
@needs_openssl
def test_a_port_that_is_taken_is_no_warning(recwarn):
    """Dask's scheduler wants 8787 for its web pages, which we do not use; a second cluster warned in four lines."""
    import socket
    from contextlib import suppress

    with socket.socket() as taken:
        with suppress(OSError):  # taken by another one
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        pool = DaskPool(1)
        pool._connect()
        pool.close()
    assert not [str(found.message) for found in recwarn if "in use" in str(found.message)]


def test_settings_of_the_whole_process_are_restored():
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    name = "distributed.deploy.lost-worker-timeout"
    pool = DaskPool(1)
    with dask.config.set({name: "9s"}):
        pool._configure()
        assert dask.config.get(name) == "1h"
        pool.close()
        assert dask.config.get(name) == "9s"


def test_dasks_own_defaults_outlive_a_sweep():
    """A setting made before they were loaded took them along when it was undone: the next sweep found none."""
    pytest.importorskip("distributed")
    code = (
        "from sparsehead.sweep.dask_pool import DaskPool\n"
        "pool = DaskPool(1); pool._configure()\n"
        "import dask, distributed\n"
        "pool.close(); print(dask.config.get('distributed.comm.require-encryption'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_scheduler_that_was_killed_is_a_sentence():
    """Its client is closed when the next unit is handed out, or when its workers are removed; both were tracebacks."""

    class Closed:
        def submit(self, *arguments, **options):
            raise RuntimeError("Client is closed. Can't send update-graph message.")

        cancel = submit

    pool = DaskPool("tcp://127.0.0.1:9")
    pool._client = Closed()
    worker = DaskWorker("tcp://127.0.0.1:10", 0.0, 1)
    pool.workers.append(worker)
    with pytest.raises(
        SparseheadError, match=r"the scheduler at tcp://127.0.0.1:9 is gone \(Client is closed"
    ):
        pool.give(worker, Unit(fake.specs(1)))
    assert pool.remove(worker).endswith("left the cluster") and pool.workers == []


def test_a_worker_ends_once_however_many_of_its_units_say_so():
    """Both of its units, the one that ran and the one given ahead, report that it was killed; a late answer is none."""
    pool = DaskPool("tcp://127.0.0.1:9")
    worker, other = (DaskWorker(f"tcp://127.0.0.1:{port}", 0.0, 1) for port in (10, 11))
    pool.workers += [worker, other]
    unit = Unit(fake.specs(1))
    worker.futures[id(unit)] = None
    for news in (  # type: ignore[var-annotated]
        ("left", [worker.address]),
        ("left", [worker.address]),
        ("answer", (worker, unit, [{}], [])),
    ):
        pool._inbox.put(news)
    assert pool.receive() == [(worker, None)]
