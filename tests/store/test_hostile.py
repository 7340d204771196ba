"""Stores that somebody else made: foreign SQL, arrays that unpack to gigabytes, rows that no reader expects."""

import importlib.util
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sparsehead._base.errors import StoreError
from sparsehead.cli.app import main
from sparsehead.store import Store, opening
from sparsehead.store.arrays import MAX_BYTES, digest, pack, pack_all, unpack
from sparsehead.store.repair import check, repair
from sparsehead.store.rows import new_row, sealed

location = importlib.util.spec_from_file_location("small", Path(__file__).parent / "small.py")
small = importlib.util.module_from_spec(location)
location.loader.exec_module(small)
edit, outcome, spec, key_of = small.edit, small.outcome, small.spec, small.key_of
BLOCK = 2**20
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
NEW = "DROP TABLE outcomes; CREATE TABLE outcomes"
TABLE = (
    "spec_id TEXT PRIMARY KEY, spec TEXT NOT NULL, outcome TEXT NOT NULL, made_by TEXT NOT NULL, "
    "created REAL NOT NULL"
)
FOREIGN = {
    "view": f"DROP TABLE outcomes; CREATE VIEW outcomes AS {ENDLESS} SELECT i AS spec_id, i AS spec, i AS outcome, "
    "i AS made_by, i AS created, i AS arrays, i AS checksum, i AS rowid FROM n",
    "trigger": "CREATE TRIGGER more AFTER INSERT ON outcomes BEGIN DELETE FROM arrays; END",
    "table": "CREATE TABLE more (i)",
    "index": "CREATE INDEX more ON outcomes (hex(spec))",
    "virtual": "CREATE VIRTUAL TABLE more USING rtree(a, b, c)",
    "generated": f"{NEW} ({TABLE}, arrays TEXT AS ('{{}}'), checksum TEXT NOT NULL)",
    "collation": f"{NEW} ({TABLE.replace('PRIMARY', 'COLLATE NOCASE PRIMARY')}, "
    "arrays TEXT NOT NULL, checksum TEXT NOT NULL)",
    "check": f"{NEW} ({TABLE}, arrays TEXT NOT NULL, "
    "checksum TEXT NOT NULL CHECK (length(randomblob(9)) > 0))",
}


@pytest.fixture
def full(path):
    with Store(path) as store:
        for seed in range(3):
            store.add(spec(seed), outcome())
    return path


def run(*arguments, memory=None):
    """The command in a process of its own, with a limit on its address space: (code, stdout, stderr)."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
    command = [sys.executable, "-m", "sparsehead", *map(str, arguments)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def command(capsys):
    """A function that runs a command of `results` in this process: (code, stdout, stderr)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main(["results", *map(str, arguments)])
        said = capsys.readouterr()
        return done.value.code, said.out, said.err

    return run


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_store_declares_its_own_tables_and_nothing_else(full, kind):
    db = sqlite3.connect(full)
    for statement in FOREIGN[kind].split("; ") if kind != "trigger" else [FOREIGN[kind]]:
        db.execute(statement)
    db.commit()
    db.close()
    before = full.read_bytes()
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"is damaged: it holds the '\w+ \w+': a store holds its own"):
            Store(full, readonly=readonly)
    with pytest.raises(StoreError, match="its own two tables"):
        check(full)
    if "DROP" in FOREIGN[kind]:
        with pytest.raises(StoreError, match="not one outcome can be read"):
            repair(full, full.with_name("new.db"))
    else:  # tables that are ours can be read beside foreign ones
        assert repair(full, full.with_name("new.db")).sound == 3
        assert check(full.with_name("new.db")).sound == 3
    assert full.read_bytes() == before


def test_a_store_without_one_of_its_tables_is_refused(full):
    db = sqlite3.connect(full)
    db.execute("DROP TABLE arrays")
    db.close()
    with pytest.raises(StoreError, match="it lacks a table"):
        Store(full, readonly=True)


def test_a_statement_that_does_not_end_is_stopped(full, monkeypatch):
    monkeypatch.setattr(opening, "FREE_STEPS", 3_000_000)
    with Store(full, readonly=True) as store:
        with pytest.raises(StoreError, match="more steps than a store of its size"), opening.explained(full):
            store._db.execute(f"{ENDLESS} SELECT count(*) FROM n")
        assert store._db._strides == 4  # type: ignore[attr-defined]  # of 10^6 steps: the first look beyond 3*10^6 and the size of the file
        assert len(list(store.records())) == 3  # and the next statement has its own count


def test_an_interrupt_ends_a_long_statement(full):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Store(full, readonly=True) as store, pytest.raises(KeyboardInterrupt):  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            store._db.execute(f"{ENDLESS} SELECT count(*) FROM n")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_store_may_load_no_extension_and_trusts_no_schema(full):
    with Store(full, readonly=True) as store:
        assert store._db.execute("PRAGMA trusted_schema").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match=r"not authorized|no such function"):
            store._db.execute("SELECT load_extension('x')")


def npy(shape, zeros=0, dtype="<f4"):
    """Packed bytes whose header announces `shape`, followed by that many zeros."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return zipped(file.getvalue(), zeros)


def zipped(start, zeros):
    """zlib's format without holding the zeros: the packed form of one block, repeated."""
    if zeros < BLOCK:
        return zlib.compress(start + bytes(zeros), 9)
    assert zeros % BLOCK == 0
    packer = zlib.compressobj(9)
    head = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    total = zlib.adler32(start)
    for _ in range(zeros // BLOCK):
        total = zlib.adler32(bytes(BLOCK), total)
    return head + block * (zeros // BLOCK) + b"\x03\x00" + total.to_bytes(4, "big")


def with_array(path, data, name="history/loss"):
    """A row with one packed array, its checksums right; its id."""
    import hashlib

    text, key = small.spec_text(spec(7))
    fields = {"status": "solved", "steps": 1}
    digests = json.dumps({name: hashlib.sha256(data).hexdigest()})
    with Store(path) as store:
        store.add_rows([(sealed([key, text, json.dumps(fields), "{}", 1.7e9, digests]), {name: data})])
    return key


@pytest.mark.parametrize(
    "data",
    [
        npy((10**13,)),  # 36 TiB announced
        npy((10,), 2**30),  # 40 bytes announced, 1 GiB there
        npy((2**28,), 2**30),  # 1 GiB announced and there
        zipped(b"", 2**30),  # no header
        npy((10**9, 0)),  # a list of 10^9 empty lists
        npy((10**9,), dtype="|S0"),
        npy((-1,)),
    ],
    ids=["lying shape", "longer", "bomb", "no header", "empty axis", "empty items", "negative"],
)
def test_a_small_file_does_not_unpack_to_gigabytes(full, data):
    key = with_array(full, data)
    code, out, err = run("results", "show", key, "--db", full, memory=1_200_000_000)
    assert (
        (code, out, err.count("\n")) == (2, "", 1) and "cannot be unpacked" in err and "history/loss" in err
    )
    with pytest.raises((ValueError, zlib.error)):
        unpack(data)


def test_arrays_of_one_outcome_share_one_limit(full):
    quarter = np.zeros(MAX_BYTES // 4 + 1, dtype=np.uint8)
    with Store(full) as store, pytest.raises(StoreError, match=f"at most {MAX_BYTES} bytes of arrays"):
        store.add(spec(9), outcome(), {str(i): quarter for i in range(4)})
    # Three arrays that fit one by one: 3/8 of the limit each.
    data = npy((MAX_BYTES * 3 // 8,), MAX_BYTES * 3 // 8, "|u1")
    row, _ = new_row(spec(9), outcome())
    values = list(row[:5]) + [json.dumps({name: digest(data) for name in "abc"})]
    with Store(full) as store:
        store.add_rows([(sealed(values), dict.fromkeys("abc", data))])
        with pytest.raises(StoreError, match="its array 'c' cannot be unpacked"):
            store.arrays(row[0])
    with pytest.raises(StoreError, match="bytes of curves"):
        pack_all({"history/loss": np.zeros(2**23, dtype=np.float32)})
    with pytest.raises(ValueError, match="larger than the 99 bytes"):
        unpack(pack(np.zeros(100, dtype=np.uint8)), 99)


@pytest.mark.parametrize(
    "array", [np.zeros(()), np.zeros((0, 3)), np.asfortranarray(np.eye(3)), np.arange(5000)]
)
def test_what_is_packed_is_unpacked(array):
    found = unpack(pack(array))
    assert found.dtype == array.dtype and found.shape == array.shape and (found == array).all()


@pytest.mark.parametrize(
    ("changes", "fields", "says"),
    [
        ({"learner": ["tree"]}, {}, "its spec is impossible: learner"),
        ({"T": 0}, {}, "its spec is impossible: T"),
        ({"T": 10**400}, {}, "not finite or beyond 2^63"),
        ({"dropout": "much"}, {}, "its spec is impossible: dropout"),
        ({"function": "\ud800"}, {}, "not Unicode"),
        ({}, {"more": float("inf")}, "not finite"),
        ({}, {"seconds": 10**400}, "not finite or beyond 2^63"),
        ({}, {"more": "x" * 2**20}, "at most 1048576 characters"),
    ],
)
def test_rows_that_break_readers_are_left_out_and_counted(full, changes, fields, says, tmp_path, command):
    text, key = small.spec_text(spec(7), **changes)
    content = json.dumps({"status": "solved", "steps": 1} | fields)
    with Store(full) as store:
        store.add_rows([(sealed([key, text, content, "{}", 1.7e9, "{}"]), {})])
    for words in (["list"], ["list", "--each", "--json"], ["export", tmp_path / "o.json"], ["check"]):
        code, out, err = command(*words, "--db", full)
        assert (
            code == 2 and err.count("\n") == 1 and "1 damaged outcome was left out" in err and says in err
        ), err
        assert "3" in out
    assert len(json.loads((tmp_path / "o.json").read_text())) == 3


def test_a_row_of_a_newer_version_is_shown_as_far_as_it_is_known(full, tmp_path, command):
    text, key = small.spec_text(spec(7), momentum=[0.5, "x"], learner="diffusion")
    with Store(full) as store:
        store.add_rows([(small.row_of(text, key), {})])
    code, out, _ = command("list", "--db", full)
    assert code == 0 and "momentum=[0.5, 'x']" in out and "learner=diffusion" in out
    pyarrow = pytest.importorskip("pyarrow.parquet")
    for name in ("o.csv", "o.json", "o.parquet"):
        assert command("export", tmp_path / name, "--db", full)[0] == 0
    table = pyarrow.read_table(tmp_path / "o.parquet").to_pylist()
    assert [row["momentum"] for row in table] == [None, None, None, '[0.5, "x"]']
    assert [row["T"] for row in table] == [50] * 4
    with Store(full, readonly=True) as store:
        assert store.get(key).is_known is False and store.get(key_of(spec(0))).is_known


FILL = """
import resource, sys
from sparsehead.cli.app import main
from sparsehead._base.errors import StoreError
from sparsehead.train.spec import preset
from sparsehead.store import Store
import numpy as np
path, most = sys.argv[1], int(sys.argv[2])
if most:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
rng, n = np.random.default_rng(0), 0
with Store(path) as store:
    try:
        for n in range(1000):
            spec = preset("fast", function="and", s=3, T=50, m=40, seed=n)
            store.add(spec, {"status": "solved", "steps": 1}, {"noise": rng.random(500)})
    except StoreError as error:
        print(n, error)
"""


def filled(path, most=0):
    done = subprocess.run(
        # -B: under the limit Python would leave compiled files that end too early
        [sys.executable, "-B", "-c", FILL, str(path), str(most)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count, said = done.stdout.split(" ", 1)
    return int(count), said


def test_a_limit_on_file_sizes_is_not_reported_as_damage(path):
    count, said = filled(path, 200_000)
    assert "a disk quota or a limit on the size of files (ulimit -f)" in said and "restore" not in said
    assert count > 0 and check(path).sound == count  # finished outcomes are kept, as the message says


@contextmanager
def small_disk(folder):
    """A file system of 200 KB mounted at `folder`."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_reported_as_that(tmp_path):
    with small_disk(tmp_path / "disk") as folder:
        count, said = filled(folder / "results.db")
        assert "the disk is full" in said and "restore" not in said
        (tmp_path / "copy.db").write_bytes((folder / "results.db").read_bytes())
    assert count > 0 and check(tmp_path / "copy.db").sound == count


def test_a_table_that_does_not_fit_names_the_reason_and_leaves_nothing(full, tmp_path):
    limit = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)); "
        f"from sparsehead.cli.app import main; main(['results', 'export', '{tmp_path}/o.csv', '--db', '{full}'])"
    )
    done = subprocess.run([sys.executable, "-B", "-c", limit], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "File too large; nothing was written" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [full.name]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A store of 2*10^5 rows, every row an experiment of its own."""
    path = tmp_path_factory.mktemp("many") / "r.db"
    texts = ({"function": f"x{i % 50} & x{i // 50 % 50}", "m": 10 + i // 2500} for i in range(200_000))
    with Store(path) as store:
        rows = (small.row_of(*small.spec_text(spec(i), **text)) for i, text in enumerate(texts))
        store.add_rows((row, {}) for row in rows)
    return path


TABLES = (
    "list",
    "list --json",
    "list --each",
    "list --each --json",
    "export o.csv",
    "export o.json",
    "export o.parquet",
)


@pytest.mark.slow
@pytest.mark.parametrize("command", TABLES)
def test_tables_of_2e5_rows_need_less_than_300_MB(many, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    # Not ru_maxrss, which a new process takes over from its parent.
    code = "import re, sys; from sparsehead.cli.app import main\ntry: main(sys.argv[1:])\nfinally: "
    code += "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)"
    call = [sys.executable, "-c", code, "results", *command.split(), "--db", str(many)]
    done = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) < 300_000
