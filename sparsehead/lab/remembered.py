"""A cache of responses that depend on the request alone.

Pages request the same heads and bounds repeatedly, and a class of students does so at the same time. The event loop
sends a cached response without a thread; equal requests that arrive together are computed once.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from .safety import App, Message, Receive, Scope, Send

MOST_BYTES = 32_000_000  # of all answers that are kept

Key = tuple[str, str, bytes, bytes, bytes]


@dataclass(frozen=True)
class Answer:
    """A complete response; `error` is the exception behind a response with status 500, else None."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    error: Exception | None = None

    async def give(self, send: Send) -> None:
        """Send the response, then raise `error`, if any, so that the server's terminal shows it."""
        headers = list(self.headers)
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})
        if self.error is not None:
            raise self.error


class Remembered:
    """`app` with a cache, of at most MOST_BYTES, of responses with status 200 to requests of the paths in `pure`."""

    # Requests to these are functions of their query and body: no job, no store, no clock.
    pure = frozenset(
        ("/api/build", "/api/build/model", "/api/build/certificate", "/api/build/chart", "/api/build/picture",
         "/api/bound", "/api/bound/chart", "/api/floor", "/api/cover", "/api/cover/picture", "/api/read/built",
         "/api/data", "/api/data/columns", "/api/data/example")
    )  # fmt: skip

    def __init__(self, app: App) -> None:
        self.app = app
        self._kept: OrderedDict[Key, Answer] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Key, asyncio.Future[Answer]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request, whose body `Guard` has read already, from the cache if possible."""
        if scope["type"] != "http" or scope["path"] not in self.pure:
            await self.app(scope, receive, send)
            return
        message = await receive()
        key = _key(scope, message)
        if (known := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            await known.give(send)
            return
        if (others := self._under_way.get(key)) is not None:
            await (await asyncio.shield(others)).give(send)
            return
        await (await self._computed(key, scope, message)).give(send)

    async def _computed(self, key: Key, scope: Scope, message: Message) -> Answer:
        """Compute the response and cache it; equal requests that arrive meanwhile wait for the same response."""
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._under_way[key] = waiting
        body = b'{"error":"it was not computed; ask again."}'
        answer = Answer(503, ((b"content-type", b"application/json"),), body)
        try:
            answer = await _captured(self.app, scope, message)
        finally:
            del self._under_way[key]
            waiting.set_result(answer)
        self._keep(key, answer)
        return answer

    def _keep(self, key: Key, answer: Answer) -> None:
        largest = 1_000_000  # of one answer
        if answer.status != 200 or len(answer.body) > largest:
            return
        self._kept[key] = answer
        self._bytes += _size(key, answer)
        while self._bytes > MOST_BYTES:
            self._bytes -= _size(*self._kept.popitem(last=False))


def _key(scope: Scope, message: Message) -> Key:
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    query = scope.get("query_string", b"")
    return scope["method"], scope["path"], query, kind, message.get("body", b"")


def _size(key: Key, answer: Answer) -> int:
    return sum(map(len, key[2:])) + len(answer.body) + 500


async def _captured(app: App, scope: Scope, message: Message) -> Answer:
    """Return the response of `app` without sending it."""
    start: dict[str, Any] = {}
    parts: list[bytes] = []

    async def receive() -> Message:
        return message

    async def send(sent: Message) -> None:
        if sent["type"] == "http.response.start":
            start.update(sent)
        else:
            parts.append(sent.get("body", b""))

    error = None
    try:
        await app(scope, receive, send)
    except Exception as raised:
        if not start:
            raise
        error = raised
    return Answer(start["status"], tuple(start["headers"]), b"".join(parts), error)
