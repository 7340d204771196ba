"""Limits on the number of open connections, and on the time that a request's headers may take to arrive.

Anyone can open a connection without a token, so these limits apply before the token is checked. A connection that has
not sent the headers of a request within HEAD_SECONDS is closed. If too many connections are open, a new one replaces
the one that has been idle the longest.
"""

import asyncio
import json
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .safety import HEADERS

MOST = 1000
HEAD_SECONDS = 10.0
MOST_HEAD = 2**16  # bytes of a request's first line and headers


class Connection(HttpToolsProtocol):
    """uvicorn's connection with these limits; responses that uvicorn sends itself get the lab's headers too."""

    _late: asyncio.TimerHandle | None = None
    _head = 0  # bytes of a head that is not complete
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a new connection; if too many are open, close an idle one."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._expect_head()
        open_ones = [
            other for other in self.connections
            if isinstance(other, Connection) and not other.transport.is_closing()
        ]  # fmt: skip
        if len(open_ones) > _most():
            quiet = [other for other in open_ones if other is not self and other.is_quiet()]
            if quiet:
                min(quiet, key=lambda other: (other.cycle is not None, other._since)).transport.abort()
            else:
                self._answer(
                    "503 Service Unavailable", "the lab has as many connections as it can; try again."
                )

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit of a closed connection."""
        self._head_complete()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes received; refuse a request whose headers are too long."""
        super().data_received(data)
        if self.is_quiet() and not self.transport.is_closing():
            self._expect_head()
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._answer(
                    "431 Request Header Fields Too Large", f"headers have at most {MOST_HEAD} bytes."
                )

    def on_headers_complete(self) -> None:
        """Cancel the time limit on the headers; `Guard` limits the time and the size of the body."""
        self._head_complete()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP."""
        self._answer("400 Bad Request", "this is not a request of HTTP.")

    def is_quiet(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect_head(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _head_complete(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late, self._head = None, 0

    def _answer(self, status: str, sentence: str) -> None:
        """Send an error response and close; if a response is being sent, only close."""
        if self.is_quiet():
            body = json.dumps({"error": sentence}).encode()
            fields = [*HEADERS, (b"content-type", b"application/json"), (b"connection", b"close")]
            fields.append((b"content-length", str(len(body)).encode()))
            lines = [b"HTTP/1.1 " + status.encode(), *(name + b": " + value for name, value in fields)]
            self.transport.write(b"\r\n".join([*lines, b"", body]))
        self.transport.close()


def _most() -> int:
    """Return the largest number of connections: min(MOST, limit of open files - 200), but at least 20."""
    return max(20, min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200))
