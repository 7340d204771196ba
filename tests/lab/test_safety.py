"""What the lab refuses: other hosts, other sites, no token, too much, and paths."""

import asyncio
import hmac
import re
import socket
import sys
import tempfile

import pytest
from starlette.testclient import TestClient

from sparsehead._base.errors import DomainError, TooLarge
from sparsehead.lab import safety, sandbox
from sparsehead.lab.safety import Guard
from sparsehead.lab.server import check_host, listen, settings_for

from .conftest import HOST, TOKEN
from .serving import elsewhere

BUILD = {"function": "x0 & x1", "T": 4}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8377", "127.0.0.1", "127.0.0.1:80", ""])
@pytest.mark.parametrize("path", ["/", "/build", "/static/main.js", "/api/openapi.json", "/nowhere"])
def test_a_foreign_host_is_refused_before_anything_else(lab, host, path):
    """DNS rebinding: the page of another name that resolves to 127.0.0.1, even with the right token."""
    answer = lab.get(path, headers={**BEARER, "host": host}, params={"token": TOKEN})
    assert answer.status_code == 403
    assert "answers to" in answer.json()["error"]


def test_two_host_headers_are_refused():
    async def app_behind(scope, receive, send):
        raise AssertionError("reached")

    app = TestClient(Guard(app_behind, hosts=(HOST,), token=TOKEN, cookie="c"), base_url=f"http://{HOST}")
    assert app.get("/", headers=[("host", HOST), ("host", "evil.example")]).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_a_post_from_another_site_is_refused(lab, headers):
    answer = lab.post("/api/build", json=BUILD, headers={**BEARER, **headers})
    assert answer.status_code == 403


def test_a_link_from_another_site_opens_the_page(lab):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert lab.get("/build", params={"token": TOKEN}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/build", "/static/main.js", "/api/openapi.json", "/api/jobs", "/nowhere"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"cookie": "sparsehead-8377=wrong"},
        {"cookie": f"other={TOKEN}"},
    ],
)
def test_without_the_token_there_is_nothing(lab, path, headers):
    lab.cookies.clear()
    answer = lab.get(path, headers=headers)
    assert answer.status_code == 401
    assert TOKEN not in answer.text


def test_the_first_visit_leaves_a_strict_cookie_and_the_next_needs_no_token(lab):
    lab.cookies.clear()
    first = lab.get("/", params={"token": TOKEN})
    assert first.status_code == 200
    said = first.headers["set-cookie"]
    assert {part.strip().lower() for part in said.split(";")[1:]} == {"httponly", "samesite=strict", "path=/"}
    assert lab.get("/build").status_code == 200
    assert "set-cookie" not in lab.get("/build").headers
    lab.cookies.clear()
    assert "set-cookie" not in lab.get("/", params={"token": "wrong"}).headers


def test_the_token_is_compared_in_constant_time(lab, monkeypatch):
    seen = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: seen.append((a, b)) or compare(a, b))
    lab.get("/build", headers={"authorization": "Bearer x"})
    assert (b"x", TOKEN.encode()) in seen


def test_every_answer_has_the_headers_and_the_policy_allows_nothing_inline(lab):
    for path, headers in (
        ("/build", BEARER),
        ("/build", {}),
        ("/nowhere", BEARER),
        ("/build", {"host": "x"}),
    ):
        answer = lab.get(path, headers=headers)
        policy = answer.headers["content-security-policy"]
        assert (
            "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_request_that_is_too_large_is_refused_by_its_length_and_by_its_bytes(lab):
    big = b"x" * (safety.MOST_JSON + 1)
    headers = {**BEARER, "content-type": "application/json"}
    assert lab.post("/api/build", content=big, headers=headers).status_code == 413

    def chunks():
        yield big

    assert lab.post("/api/build", content=chunks(), headers=headers).status_code == 413
    assert lab.post(
        "/api/build", content=b"{}", headers={**headers, "content-length": "1e9"}
    ).status_code in (400, 413)
    assert lab.get("/build?" + "x" * 20_000, headers=BEARER).status_code == 414


def test_bodies_that_are_held_are_counted_and_let_go(lab, monkeypatch):
    monkeypatch.setattr(safety, "MOST_HELD", 100)
    answer = lab.post("/api/build", json={**BUILD, "function": "x0" + " " * 200}, headers=BEARER)
    assert answer.status_code == 429
    for _ in range(3):
        assert lab.post("/api/build", json=BUILD, headers=BEARER).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../safety.py",
        "/static/%2e%2e/safety.py",
        "/static//etc/passwd",
        "/static/..%2f..%2fsafety.py",
        "/static/",
    ],
)
def test_no_path_of_a_request_reaches_the_file_system(lab, path):
    answer = lab.get(path, headers=BEARER)
    assert answer.status_code == 404
    assert "Guard" not in answer.text and "root:" not in answer.text


def test_a_mistake_of_ours_shows_nothing_of_its_insides(lab, monkeypatch):
    from sparsehead.lab.endpoints import build

    def broken(asked):
        raise RuntimeError("secret /home/someone")

    monkeypatch.setattr(build, "built_for", broken)
    answer = lab.post("/api/build", json={**BUILD, "T": 13}, headers=BEARER)
    assert answer.status_code == 500
    assert answer.json() == {"error": "something broke on the server's side; its terminal has the details."}


def test_other_machines_are_served_only_when_asked_for():
    check_host("127.0.0.1", allow_remote=False)
    check_host("192.168.1.5", allow_remote=True)
    with pytest.raises(DomainError, match="--allow-remote"):
        check_host("192.168.1.5", allow_remote=False)
    with pytest.raises(DomainError, match="every address"):
        check_host("0.0.0.0", allow_remote=True)


def test_a_taken_port_is_explained_and_port_0_is_free():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert port > 0
        assert taken.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY on what is accepted from it
        with pytest.raises(DomainError, match="--port 0 picks a free port"):
            listen("127.0.0.1", port)


def test_tokens_are_long_and_never_the_same(tmp_path):
    made = [settings_for("127.0.0.1", 1, db=tmp_path / "x").token for _ in range(3)]
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"[\w-]{43}", token) for token in made)


def test_a_process_that_is_killed_over_a_file_leaves_nothing_behind(tmp_path, monkeypatch):
    """An uploaded file has up to 32 MB, and a child that reaches a limit cannot remove its copy."""
    temporary, child = tmp_path / "temporary", tmp_path / "child"
    temporary.mkdir()
    child.write_text(f'#!/bin/sh\ncat > "$TMPDIR/copy"\ncp "$TMPDIR/copy" {tmp_path}/seen\nkill -9 $$\n')
    child.chmod(0o700)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(sys, "executable", str(child))
    with pytest.raises(TooLarge, match="needs more memory or time"):
        elsewhere(asyncio.run, sandbox.Sandbox().run("read", b"a model", {}))
    assert (tmp_path / "seen").read_bytes().endswith(b"a model") and not list(temporary.iterdir())
