"""`--cluster local:N`: nobody else on this machine can talk to it, because whoever can runs code as its user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sparsehead._base.errors import SparseheadError
from sparsehead.laws.law import law
from sparsehead.store import Store
from sparsehead.sweep.dask_pool import DaskPool
from sparsehead.sweep.tls import changed_environment, temporary_security

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

# Every way to begin a conversation: without TLS, with TLS and no certificate, with a certificate of one's own. Dask
# greets whom it talks to; an answer that is an alert of TLS (type 21, version 3), or none, is a refusal.
INTRUDER = """
import json, os, socket, ssl, sys, tempfile
pem, addresses = json.load(sys.stdin)
own = tempfile.NamedTemporaryFile("w", suffix=".pem"); own.write(pem); own.flush()
def answer(address, how):
    with socket.create_connection(address, timeout=60) as bare:
        if how == "plain":
            bare.sendall(bytes(64))
            return bare.recv(100)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if how == "own certificate":
            context.load_cert_chain(own.name)
        with context.wrap_socket(bare) as wrapped:
            return wrapped.recv(100)
for address in addresses:
    for how in ("plain", "no certificate", "own certificate"):
        try:
            said = answer(tuple(address), how)
        except OSError as error:
            said = b""
        print(os.getuid(), how, "refused" if not said or said[:2] == bytes([21, 3]) else said)
"""


def listening():
    """Where this process and those that it started listen."""
    own = psutil.Process()
    found = [c for p in (own, *own.children(recursive=True)) for c in p.net_connections("tcp")]
    return {tuple(c.laddr) for c in found if c.status == psutil.CONN_LISTEN}


@pytest.fixture(scope="module")
def others():
    """Where this process listens without the cluster: the lab of other tests may be open still."""
    return listening()


@pytest.fixture(scope="module")
def pool(others, tmp_path_factory):
    """`local:1` with its worker, where Dask's configuration asks for no encryption."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    made, shared = DaskPool(1), tmp_path_factory.mktemp("shared")
    scratch = shared / "dask-scratch-space"  # as another user may have made it
    scratch.mkdir()
    scratch.chmod(0o777)
    (shared / "precious").write_text("precious")
    (scratch / "global.lock").symlink_to(shared / "precious")
    with pytest.MonkeyPatch.context() as patch, Store(tmp_path_factory.mktemp("own") / "a.db") as store:
        patch.setenv("TMPDIR", str(shared))
        patch.setattr(tempfile, "tempdir", None)
        made.start(store, runner="sparsehead.sweep.worker:main", options={}, say=print)
        yield made
        made.close()
        assert {path.name for path in shared.iterdir()} == {"precious", "dask-scratch-space"}
        assert not [path for path in sys.path if path.startswith(str(shared))]


@pytest.mark.parametrize("user", [None, 65534], ids=["same user", "second user"])
def test_only_who_holds_the_certificate_is_answered(pool, others, user):
    if user is not None and os.getuid() != 0:
        pytest.skip("only root can act as another user")
    other = temporary_security()
    asked = json.dumps([other.tls_client_key + other.tls_client_cert, sorted(listening() - others)])  # type: ignore[attr-defined]
    python = sys.executable if user is None else shutil.which("python3", path="/usr/bin:/usr/local/bin")
    command = [python or sys.executable, "-I", "-S", "-c", INTRUDER]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, user=user, cwd="/", timeout=300
        )
    except PermissionError:
        pytest.skip("another user cannot start this Python")
    lines = done.stdout.splitlines()
    assert len(lines) >= 6, done.stderr
    assert [line for line in lines if not line.endswith(" refused")] == []
    assert {int(line.split()[0]) for line in lines} == {os.getuid() if user is None else user}
    assert pool._client.submit(os.getpid, pure=False).result(60) > 0  # its own client is


def test_it_listens_on_this_machine_only_and_has_no_web_pages(pool, others):
    workers = pool._client.scheduler_info()["workers"]
    told = [pool._where, *workers, *(found["nanny"] for found in workers.values())]
    assert all(address.startswith("tls://127.0.0.1:") for address in told)
    assert listening() - others == {("127.0.0.1", int(address.rpartition(":")[2])) for address in told}


def test_a_folder_that_another_user_may_have_made_is_not_used(pool):
    """Dask imports from its scratch folder, and whoever made that one can put other modules into it."""
    shared = Path(tempfile.gettempdir())
    (worker,) = pool._client.scheduler_info()["workers"].values()
    used = [worker["local_directory"], *(path for path in sys.path if path.startswith(str(shared)))]
    assert len(used) >= 2 and not [
        path for path in used if path.startswith(str(shared / "dask-scratch-space"))
    ]
    (own,) = shared.glob("sparsehead-dask-*")
    assert all(Path(path).is_relative_to(own) for path in used) and own.stat().st_mode & 0o777 == 0o700
    assert (shared / "precious").read_text() == "precious"


def test_its_key_is_in_no_file_and_on_no_command_line(pool):
    secret = pool._client.security.tls_client_key
    assert "PRIVATE KEY" in secret and not list(Path(tempfile.gettempdir()).glob("sparsehead-tls-*"))
    line = secret.splitlines()[1]
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        assert line not in " ".join(process.cmdline()) and line not in str(process.environ())


def test_without_openssl_one_sentence_says_what_would_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparseheadError, match=r"openssl made none .*No such file.*use --workers N"):
        law("and", s=2, T=[8], learner="exhaustive", db=tmp_path / "a.db", cluster="local:1")


def test_the_environment_is_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "before")
    monkeypatch.delenv("SPARSEHEAD_NOT_SET", raising=False)
    with changed_environment({"PYTHONSAFEPATH": "1", "SPARSEHEAD_NOT_SET": "1"}):
        assert os.environ["PYTHONSAFEPATH"] == os.environ["SPARSEHEAD_NOT_SET"] == "1"
    assert os.environ["PYTHONSAFEPATH"] == "before" and "SPARSEHEAD_NOT_SET" not in os.environ
