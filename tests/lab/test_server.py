"""The lab as a process: its first line, Ctrl-C, kill -9, many clients, slow ones, and whatever a fuzzer sends."""

import asyncio
import contextlib
import functools
import http.client
import importlib.util
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
import uvicorn
from uvicorn.server import ServerState

from sparsehead.cli.app import main
from sparsehead.lab import connections, safety
from sparsehead.lab import server as lab_server
from sparsehead.store import Store

from .serving import ROOT, elsewhere, served

LONG = {"function": "x1 ^ x7 ^ x20", "T": 400, "m": 3000, "n_steps": 5000, "restarts": 5}


def post(server, path, body):
    return httpx.post(server.base + path, json=body, headers=server.headers, timeout=120)


def state_of(server, key):
    return httpx.get(f"{server.base}/api/jobs/{key}", headers=server.headers, timeout=120).json()["state"]


def until(server, key, *states):
    """Wait until the job is in one of the states; the suite's own limit ends what never comes."""
    while (state := state_of(server, key)) not in states:
        time.sleep(0.1)
    return state


@pytest.mark.slow
def test_the_first_line_is_the_address_ctrl_c_ends_it_and_a_running_job_can_be_resumed(tmp_path):
    with served(tmp_path) as server:
        key = post(server, "/api/jobs/learn", LONG).json()["id"]
        until(server, key, "running")
        code, out, err = server.stop()
    assert (code, out) == (0, "")
    assert err.strip() == "stopped; jobs that were running can be resumed."
    with served(tmp_path) as server:
        assert state_of(server, key) == "interrupted"
        resumed = httpx.post(
            f"{server.base}/api/jobs/{key}/resume", headers=server.headers, timeout=60
        ).json()
        assert resumed["state"] in ("waiting", "running")


@pytest.mark.slow
def test_options_that_cannot_be_meant_end_with_one_line():
    command = [sys.executable, "-m", "sparsehead", "lab", "--no-browser", "--host", "0.0.0.0"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert (
        ran.stderr.startswith("sparsehead: --host 0.0.0.0 is every address at once")
        and ran.stderr.count("\n") == 1
    )


@pytest.mark.parametrize(
    ("db", "words"),
    [
        (".", "is a folder"),
        ("/", "is a folder"),
        ("nodir/x.db", "nodir is no folder"),
        ("txt.db", "txt.db is not a sparsehead store"),
        ("damaged.db", "damaged.db is damaged"),
    ],
)
def test_a_store_that_no_job_could_use_is_refused_before_anything_is_served(
    db, words, tmp_path, monkeypatch, capsys
):
    def listen(*_):
        raise AssertionError("the lab listens")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab_server, "listen", listen)
    Path("txt.db").write_text("not a store\n")
    Store("damaged.db").close()
    content = Path("damaged.db").read_bytes()
    Path("damaged.db").write_bytes(content[:4096] + b"\xff" * len(content[4096:]))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit) as done:
        main(["lab", "--no-browser", "--port", "0", "--db", db])
    out, err = capsys.readouterr()
    assert (done.value.code, out) == (2, "") and words in err and err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_store_that_is_sound_empty_or_not_there_yet_is_served_and_nothing_is_made(tmp_path):
    Store(tmp_path / "sound.db").close()
    (tmp_path / "empty.db").touch()
    before = sorted(tmp_path.iterdir())
    for name in ("sound.db", "empty.db", "new.db"):
        lab_server.check_store(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_kill_9_in_the_middle_of_a_job_leaves_a_whole_store_and_a_job_to_resume(tmp_path):
    law = {"function": "and", "s": 2, "T": [20, 40, 80], "trials": 60, "start": 30, "width": 0.05}
    with served(tmp_path) as server:
        key = post(server, "/api/jobs/law", law).json()["id"]
        until(server, key, "running")
        while True:
            found = httpx.get(f"{server.base}/api/jobs/{key}", headers=server.headers, timeout=60).json()
            if ((found["progress"] or {}).get("trials") or 0) >= 20:
                break
            time.sleep(0.2)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with Store(tmp_path / "results.db") as store:  # checks the structure
        before = {record.spec_id for record in store.records()}
    assert len(before) >= 20
    with served(tmp_path, "--jobs", "2") as server:
        assert state_of(server, key) == "interrupted"
        httpx.post(f"{server.base}/api/jobs/{key}/resume", headers=server.headers, timeout=60)
        assert until(server, key, "done", "failed") == "done"
    with Store(tmp_path / "results.db") as store:
        after = {record.spec_id for record in store.records()}
    assert before < after


SPEC = importlib.util.spec_from_file_location("lab_load", ROOT / "benchmarks" / "lab.py")
lab_load = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lab_load)


def test_clients_at_once_get_their_heads_and_bounds(server):
    found = elsewhere(
        lab_load.measure, server.base, server.token, server.process.pid, clients=40, T=64, each=1
    )
    assert {len(times) for ways in found.values() for times in ways.values()} == {20, 40}


@pytest.mark.slow
def test_200_clients_get_their_heads_and_bounds(server):
    """`measure` prints the times and raises at an answer that is not 200; how fast depends on the machine."""
    found = elsewhere(
        lab_load.measure, server.base, server.token, server.process.pid, clients=200, T=64, each=5
    )
    assert {len(times) for ways in found.values() for times in ways.values()} == {20, 200, 1000}


@pytest.mark.slow
def test_slow_clients_hold_nobody_up(server):
    host, port = server.base.removeprefix("http://").split(":")
    open_ones = []
    for i in range(200):
        one = socket.create_connection((host, int(port)))
        head = f"POST /api/build HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {server.token}\r\n"
        one.sendall(
            (head + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{").encode()
            if i % 2
            else head[:40].encode()
        )
        open_ones.append(one)
    answer = post(server, "/api/build", {"function": "x0 & x1", "T": 4})
    assert answer.status_code == 200
    late = open_ones[1]
    late.settimeout(120)
    assert b" 408 " in late.recv(4000)
    for one in open_ones:
        one.close()


@pytest.mark.slow
def test_a_thousand_jobs_and_large_files_are_answered_and_memory_stays_bounded(server):
    def megabytes():
        with open(f"/proc/{server.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    before = megabytes()
    with httpx.Client(base_url=server.base, headers=server.headers, timeout=120) as client:
        codes = [client.post("/api/jobs/learn", json={**LONG, "seed": i}).status_code for i in range(1000)]
        assert set(codes) == {202, 429}
        assert codes.count(202) <= 22  # one running, twenty waiting, and one that ended meanwhile
        jobs = client.get("/api/jobs").json()["jobs"]
        for job in jobs:
            client.delete(f"/api/jobs/{job['id']}")
        kind = {"content-type": "application/octet-stream"}
        for size, expected in ((33_000_000, 413), (31_000_000, 422)):
            with contextlib.suppress(httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadError):
                assert client.post("/api/read", content=b"x" * size, headers=kind).status_code == expected
        assert client.post("/api/build", json={"function": "x0", "T": 3}).status_code == 200
    print(f"memory: {before:.0f} MB before, {megabytes():.0f} MB after")
    assert megabytes() < before + 150


FILES = "^/api/(read|bound/model|cover/points|probe)$"  # each request starts a process: fewer of them
FUZZED = {
    "questions": [f"--exclude-path-regex=events$|^/api/jobs|{FILES}", "--max-examples=8"],
    "jobs": ["--include-path-regex=^/api/jobs", "--exclude-path-regex=events$", "--max-examples=5"],
    "files": [f"--include-path-regex={FILES}", "--max-examples=3", "--phases=examples,fuzzing"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FUZZED)
def test_schemathesis_finds_no_answer_of_500(server, kind):
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{server.base}/api/openapi.json"]
    how = ["--checks=not_a_server_error", "--seed=1", "--no-color", "--request-timeout=300"]
    token = ["--header", f"Authorization: Bearer {server.token}"]
    ran = subprocess.run([*command, *how, *token, *FUZZED[kind]], capture_output=True, text=True)  # type: ignore[list-item]
    for job in httpx.get(f"{server.base}/api/jobs", headers=server.headers, timeout=120).json()["jobs"]:
        httpx.delete(f"{server.base}/api/jobs/{job['id']}", headers=server.headers, timeout=120)
    print(ran.stdout[-3000:])
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]


def raw(server, sent=b"", *, wait=True):
    """A connection that has sent these bytes; with `wait`, all that came back until its end."""
    host, port = server.base.removeprefix("http://").split(":")
    one = socket.create_connection((host, int(port)), timeout=120)
    one.sendall(sent)
    if not wait:
        return one
    with one, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: one.recv(65536), b""))


def test_a_thousand_idle_connections_keep_nobody_out(server):
    """1,000 of them, without a token, were answered with 503 for as long as they stayed."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    idle = [raw(server, b"GET / HT" if i % 2 else b"", wait=False) for i in range(min(1100, most - 200))]
    try:
        for _ in range(5):
            assert post(server, "/api/build", {"function": "x0 & x1", "T": 4}).status_code == 200
        assert psutil.Process(server.process.pid).num_fds() < connections.MOST + 60
    finally:
        for one in idle:
            one.close()


@pytest.mark.slow
def test_a_connection_that_asks_nothing_ends_and_one_that_goes_on_too_long_is_refused(server):
    before = time.monotonic()
    silent = raw(server, wait=False)
    with silent, contextlib.suppress(ConnectionResetError):
        assert raw(server, b"GET / HTTP/1.1\r\nHost") == silent.recv(1) == b""
    assert time.monotonic() - before >= connections.HEAD_SECONDS - 1  # no sooner, for a slow client
    long = b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000
    answer = raw(server, long)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00", 400),
        # No byte more: one that arrives after the answer resets the connection.
        (b"GET / HTTP/1.1\r\na: ".ljust(connections.MOST_HEAD + 1, b"b"), 431),
    ],
    ids=["words", "version", "address", "TLS", "long"],
)
def test_what_is_not_http_is_answered_with_the_headers_of_every_answer(server, sent, status):
    check_headers(raw(server, sent), status)


def test_a_connection_too_many_is_answered_with_the_headers_of_every_answer(monkeypatch):
    """Only where every other one is being answered; a most of none does as well."""
    monkeypatch.setattr(connections, "_most", lambda: 0)
    config = uvicorn.Config(None, http=connections.Connection, lifespan="off")

    async def answer():
        config.load()
        make = functools.partial(connections.Connection, config, ServerState(), {})
        listening = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        async with listening:
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            try:
                return await reader.read()
            finally:
                writer.close()

    check_headers(elsewhere(asyncio.run, answer()), 503)


def check_headers(answer, status):
    """Whether the answer has this status and the headers of every answer."""
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert all(b"\r\n" + name + b": " + value + b"\r\n" in answer for name, value in safety.HEADERS)


@pytest.mark.parametrize("declared", [True, False])
def test_an_upload_over_the_limit_is_a_413_and_not_a_reset(server, declared):
    """A client that writes all of its file before it reads the answer found a connection that was reset."""
    connection = http.client.HTTPConnection(server.base.removeprefix("http://"), timeout=120)
    headers = {**server.headers, "content-type": "application/octet-stream"}
    size = safety.MOST_UPLOAD + 8_000_000
    body = bytes(size) if declared else iter([bytes(10**6)] * (size // 10**6))
    connection.request("POST", "/api/read", body, headers, encode_chunked=not declared)
    answer = connection.getresponse()
    assert answer.status == 413 and str(safety.MOST_UPLOAD) in json.loads(answer.read())["error"]
    connection.close()


def test_an_upload_over_the_limit_that_asks_first_is_refused_at_once(server):
    host = server.base.removeprefix("http://")
    head = (
        f"POST /api/read HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Length: {10**9}\r\nExpect: 100-continue\r\n\r\n"
    )
    assert raw(server, head.encode()).startswith(b"HTTP/1.1 413 ")


def test_the_token_is_on_no_command_line_and_the_file_that_has_it_is_the_users_own(tmp_path):
    """A browser that writes down how it was called, and what it was shown."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport os, sys, urllib.request\nurl = sys.argv[1]\n"
        "path = url.removeprefix('file://')\n"
        "found = [url] if not url.startswith('file:') else [url, urllib.request.urlopen(url).read().decode(),"
        " oct(os.stat(path).st_mode), oct(os.stat(os.path.dirname(path)).st_mode)]\n"
        f"part = {str(seen) + '.part'!r}\nopen(part, 'w').write('\\n'.join(found)); os.rename(part, {str(seen)!r})\n"
    )
    browser.chmod(0o700)
    with served(tmp_path, "--browser", BROWSER=f"{browser} %s") as started:
        while not seen.exists():
            assert started.process.poll() is None
            time.sleep(0.05)
        url, *more = seen.read_text().split("\n")
        assert started.token not in url
        page, *modes = more
        assert f"0;url={started.address}" in page
        assert modes == ["0o100600", "0o40700"]
        assert started.stop()[0] == 0
    assert not Path(url.removeprefix("file://")).exists()
