"""The checks of every request before it reaches the application, in this order: Host, Origin, token, size.

- Host must be one of the server's own names. A foreign page whose name resolves to 127.0.0.1 (DNS rebinding) sends its
  own name and is refused here.
- Origin, if a browser sends it, must be the server's; Sec-Fetch-Site must not name another site, unless the user
  followed a link to a page.
- The token is compared in constant time. It is in the address on the first visit, later in a cookie that browsers send
  from this site only; a script sends it as `Authorization: Bearer`.
- The whole body is read here, up to the size limit of its path and for at most 30 s, so that no endpoint waits
  for a slow client or exceeds its memory.

Every response, including a refusal, has the headers in HEADERS.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from .error_page import error_page, page_headers, wants_page

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
MOST_ADDRESS = 16_000  # bytes of path and query: the bits of an input of T = 4096 and a long function fit
MOST_JSON = 256_000  # bytes of a request
MOST_UPLOAD = 32_000_000  # bytes of a model or a CSV file
MOST_HELD = 4 * MOST_UPLOAD  # bytes of all bodies that are being read at once


@dataclass(frozen=True)
class HttpRefusal:
    """The HTTP status and the sentence with which a request is refused."""

    status: int
    sentence: str


class Guard:
    """An ASGI application that makes the checks above and passes accepted requests to `app`.

    Args:
        app: the application that receives accepted requests.
        hosts: the values of Host that are the server's own, such as "127.0.0.1:8377".
        token: the secret of this server.
        cookie: the cookie's name; it contains the port, because cookies do not tell ports apart.
    """

    def __init__(self, app: App, *, hosts: tuple[str, ...], token: str, cookie: str) -> None:
        self.app, self.hosts, self.token, self.cookie = app, frozenset(hosts), token, cookie
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on or refuse it; pass on other events, such as the server's start."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _headers(scope)
        given = _query_token(scope)
        answer = self._with_headers(send, given is not None and self._is_token(given))
        page = wants_page(scope["method"], scope["path"], ",".join(headers.get("accept", ())))
        refusal = self._host(headers) or self._origin(scope, headers) or self._token(headers, given)
        refusal = refusal or _address(scope)
        if refusal is not None:
            await _refuse(answer, refusal, page=page)
            return
        takes_file = scope["path"] in (
            "/api/read", "/api/bound/model", "/api/cover/points", "/api/probe", "/api/data", "/api/data/columns",
        )  # fmt: skip
        most = MOST_UPLOAD if takes_file else MOST_JSON
        parts: list[bytes] = []
        try:
            refusal = await self._read_body(headers, receive, most, parts)
            if refusal is not None:
                await _refuse(answer, refusal, page=page)
                return
            await self.app(scope, _replay(b"".join(parts), receive), answer)
        finally:
            self._held -= sum(map(len, parts))

    def _host(self, headers: dict[str, list[str]]) -> HttpRefusal | None:
        found = headers.get("host", [])
        if len(found) == 1 and found[0].lower() in self.hosts:
            return None
        return HttpRefusal(403, f"this server answers to {', '.join(sorted(self.hosts))} only.")

    def _origin(self, scope: Scope, headers: dict[str, list[str]]) -> HttpRefusal | None:
        origins, site = headers.get("origin", []), headers.get("sec-fetch-site", ["none"])
        if any(origin.removeprefix("http://").lower() not in self.hosts for origin in origins):
            return HttpRefusal(403, "requests from pages of another origin are refused.")
        link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == ["navigate"]
        if site not in (["none"], ["same-origin"]) and not link:
            return HttpRefusal(403, "requests from pages of another site are refused.")
        return None

    def _token(self, headers: dict[str, list[str]], given: str | None) -> HttpRefusal | None:
        offered = [given] if given is not None else []
        offered += [v.removeprefix("Bearer ") for v in headers.get("authorization", ())]
        for line in headers.get("cookie", ()):
            pairs = (part.strip().partition("=") for part in line.split(";"))
            offered += [value for name, _, value in pairs if name == self.cookie]
        if any(self._is_token(text) for text in offered[:8]):
            return None
        return HttpRefusal(401, "open the address that `sparsehead lab` printed: it carries the token.")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())

    async def _read_body(
        self, headers: dict[str, list[str]], receive: Receive, most: int, parts: list[bytes]
    ) -> HttpRefusal | None:
        """Read the whole body into `parts` and count its bytes; return a refusal if it is too long, late or cut off.

        A body that is too long is read to its end and discarded: otherwise the client, still sending, would see a
        reset connection instead of the response. A client with the header Expect waits, and is refused at once.
        """
        long = HttpRefusal(413, f"the request has more than {most} bytes, the most that is taken here.")
        length = headers.get("content-length", ["0"])[-1]
        too_long = not length.isdigit() or int(length[:20]) > most
        if too_long and "expect" in headers:
            return long
        more, size = True, 0
        body_seconds = 30.0
        try:
            async with asyncio.timeout(body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return HttpRefusal(400, "the connection ended before the request did.")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    too_long = too_long or size > most
                    if too_long:
                        continue
                    parts.append(part)
                    self._held += len(part)
                    if self._held > MOST_HELD:
                        return HttpRefusal(
                            429, "too many files are being sent at once; try again in a moment."
                        )
        except TimeoutError:
            late = HttpRefusal(408, f"the request did not arrive within {body_seconds:g} seconds.")
            return long if too_long else late
        return long if too_long else None

    def _with_headers(self, send: Send, first_visit: bool) -> Send:
        """Return a `send` that adds HEADERS to the response, and on the first visit the cookie."""
        cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        own = [*HEADERS, *([(b"set-cookie", cookie.encode())] if first_visit else [])]

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                theirs = {name.lower() for name, _ in message.get("headers", ())}
                kept = [pair for pair in own if pair[0] not in theirs]
                message["headers"] = [*message.get("headers", ()), *kept]
            await send(message)

        return answer


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _query_token(scope: Scope) -> str | None:
    query = scope.get("query_string", b"")[:MOST_ADDRESS].decode("latin-1")
    return parse_qs(query).get("token", [None])[0]


def _address(scope: Scope) -> HttpRefusal | None:
    length = len(scope.get("query_string", b"")) + len(scope.get("raw_path") or scope["path"].encode())
    if length > MOST_ADDRESS:
        return HttpRefusal(414, f"the address has {length} characters, at most {MOST_ADDRESS} are taken.")
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields the body, then further messages of the connection."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _refuse(send: Send, refusal: HttpRefusal, *, page: bool) -> None:
    if page:
        body, own = error_page(refusal.status, refusal.sentence), page_headers()
    else:
        body, own = json.dumps({"error": refusal.sentence}).encode(), {"content-type": "application/json"}
    headers = [(name.encode(), value.encode()) for name, value in own.items()]
    headers += [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
