"""The lab's API as a target: requests as bytes, handed to the ASGI application in this process; no sockets.

An input is one line "METHOD PATH TYPE HOST TOKEN" and then the body. The application is the server with its guard. Jobs
are queued and never started (running=0). An uploaded file is parsed in this process by the sandbox's own task
instead of in a child, so that its exceptions are seen here; the child's limits on memory and time do not apply.
"""

import asyncio
import json
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import quote, unquote

from hypothesis import strategies as st
from inputs import objects_like
from watch import Wrong

from sparsehead._base.errors import SparseheadError
from sparsehead.lab import sandbox
from sparsehead.lab.app import Settings, make_api
from sparsehead.lab.safety import Guard

HOST, TOKEN, COOKIE = "127.0.0.1:8377", "a-token-for-fuzzing", "sparsehead-8377"
JSON = "application/json"
BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/build", {"function": "x2 & !x5", "T": 9, "encoding": "positional", "readout": "mlp"}),
    (
        "/api/build",
        {"function": "maj(x0, x1, x2)", "T": 5, "heads": "s", "method": "paper", "epsilon": 0.1, "seed": 1},
    ),
    (
        "/api/build/model",
        {"function": "x0 | x1", "T": 4, "encoding": "random", "d": 64, "attends_cls": False},
    ),
    (
        "/api/bound",
        {"V21": 2.0, "V": 1.0, "QK": 3.0, "BX": 1.5, "T": 100, "m": 1000, "w": 1.0, "H": 2, "d": 64},
    ),
    ("/api/cover", {"points": [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "1/3"]], "eps": "0.5", "p": "inf"}),
    ("/api/read/built", {"function": "x1 ^ x3", "T": 6}),
    ("/api/law/chart", {"ids": ["law", "0123456789abcdef"]}),
    ("/api/jobs/learn", {"function": "x1 & x2", "T": 20, "m": 30, "preset": "fast", "noise": 0.1, "H": 2}),
    (
        "/api/jobs/law",
        {"function": "and", "s": 2, "T": [10, 20], "learner": "tree", "trials": 8, "width": 0.5},
    ),
    ("/api/jobs/claims", {"labels": ["bump"]}),
)
QUERIES = ("/api/claims", "/api/claims/bump", "/api/law", "/api/law/law", "/api/jobs", "/api/jobs/0123456789abcdef",
           "/api/floor?T=100&s=3", "/api/cover/examples", "/api/openapi.json", "/static/lab.css", "/", "/build",
           "/api/learn/chart?key=0123456789abcdef")  # fmt: skip


def request(method: str, path: str, kind: str, body: bytes) -> bytes:
    """A request as an input."""
    return f"{method} {path} {kind} {HOST} {TOKEN}\n".encode() + body


def _requests() -> tuple[bytes, ...]:
    import sparsehead as sh
    from sparsehead.heads.model_file import packed

    model = packed(sh.build("x0 & x1", T=3))
    posts = [request("POST", path, JSON, json.dumps(body).encode()) for path, body in BODIES]
    gets = [request("GET", path, JSON, b"") for path in QUERIES]
    files = [
        request("POST", "/api/read", "application/octet-stream", model),
        request("POST", "/api/bound/model?m=500", "application/octet-stream", model),
        request("POST", "/api/cover/points", "text/csv", b"a,b\n0.1,1/3\n-2,0.30\n"),
        request("DELETE", "/api/jobs/0123456789abcdef", JSON, b""),
        request("POST", "/api/jobs/0123456789abcdef/resume", JSON, b""),
    ]
    return tuple(posts * 3 + gets + files)


REQUESTS = _requests()


def strategy() -> st.SearchStrategy[bytes]:
    """Bodies whose fields were replaced, dropped or added."""

    def of(choice: tuple[str, dict[str, Any]]) -> st.SearchStrategy[bytes]:
        path, body = choice
        return objects_like([json.dumps(body).encode()]).map(lambda text: request("POST", path, JSON, text))

    return st.sampled_from(BODIES).flatmap(of)


def use_api() -> Callable[[bytes], None]:
    """A server that lives as long as this process, and one request after the other to it."""
    from stored import scratch

    folder = scratch()
    settings = Settings(folder / "results.db", (HOST,), TOKEN, COOKIE, running=0)
    api = make_api(settings)
    app = Guard(api, hosts=settings.hosts, token=TOKEN, cookie=COOKIE)
    sandbox._child = _parse_here  # type: ignore[assignment]
    loop = asyncio.new_event_loop()
    loop.run_until_complete(api.router.lifespan_context(api).__aenter__())

    def use(data: bytes) -> None:
        status, body = loop.run_until_complete(_ask(app, data))
        if status >= 500:
            raise Wrong(f"status {status}")
        if status < 400:
            return
        said = json.loads(body) if body else {}
        if status not in (405, 307) and (list(said) != ["error"] or "\n" in said["error"]):
            raise Wrong("a refusal that is not one sentence")
        raise SparseheadError(f"{status}.")

    return use


async def _parse_here(task: str, content: bytes, options: dict[str, Any]) -> bytes:
    return json.dumps(sandbox.TASKS[task](content, options), allow_nan=False).encode()


async def _ask(app: Any, data: bytes) -> tuple[int, bytes]:
    """The status and the body that the application answers with."""
    line, _, body = data.partition(b"\n")
    words = line.decode("latin-1").split(" ")
    words += ["GET", "/", JSON, HOST, TOKEN][len(words) :]
    method, target, kind, host, token = words[:5]
    path, _, query = quote(target, safe="/?=&%:+").partition("?")
    headers = [("host", host), ("content-type", kind), ("authorization", f"Bearer {token}"),
               ("content-length", str(len(body)))]  # fmt: skip
    scope = {"type": "http", "http_version": "1.1", "method": method, "scheme": "http", "path": unquote(path),
             "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 5),
             "server": ("127.0.0.1", 8377), "state": {},
             "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers]}  # fmt: skip
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    said: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], b"".join(message.get("body", b"") for message in said[1:])
