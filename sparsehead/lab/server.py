"""Start the lab: open a socket, print the address with its token, and serve until Ctrl-C."""

import asyncio
import contextlib
import html
import ipaddress
import itertools
import secrets
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from .._base.errors import DomainError, FileError
from .._base.files import shown_path
from ..store import Store
from ..store.opening import inspect
from .app import Settings, make_app
from .connections import Connection

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Server(uvicorn.Server):
    """uvicorn's server, which stops at Ctrl-C or SIGTERM and does not raise the signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server at Ctrl-C or SIGTERM inside the block; uvicorn calls this when it starts to serve."""
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def serve(
    db: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8377,
    allow_remote: bool = False,
    browser: bool = True,
    running: int = 1,
    models: Sequence[Path] = (),
    pickle: bool = False,
) -> None:
    """Serve the lab until Ctrl-C. The first line on standard output is the address with its token.

    Raises:
        DomainError: the host is not allowed or not available; FileError: a model to probe does not exist;
        StoreError: jobs could not write to `db`.
    """
    check_host(host, allow_remote=allow_remote)
    check_store(db)
    offered = named_models(models)
    listening = listen(host, port)
    port = listening.getsockname()[1]
    settings = settings_for(host, port, db=db, running=running, models=offered, pickle=pickle)
    address = f"http://{_written(host)}:{port}/?token={settings.token}"
    config = uvicorn.Config(
        make_app(settings), log_level="error", access_log=False, lifespan="on", server_header=False,
        timeout_keep_alive=30, timeout_graceful_shutdown=2, http=Connection, ws="none",
    )  # fmt: skip
    print(address, flush=True)
    with contextlib.suppress(KeyboardInterrupt), listening, contextlib.ExitStack() as opened:
        if browser:
            webbrowser.open(opened.enter_context(redirecting_file(address)))
        asyncio.run(Server(config).serve(sockets=[listening]))
    print("stopped; jobs that were running can be resumed.", file=sys.stderr)


@contextlib.contextmanager
def redirecting_file(address: str) -> Iterator[str]:
    """Yield the URL of a temporary file, readable by this user only, that redirects the browser to `address`.

    Every user of this machine can read the browser's command line, so the token must not be in it.
    """
    with tempfile.TemporaryDirectory(prefix="sparsehead-lab-") as folder:
        page = Path(folder, "open.html")
        page.touch(0o600)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={html.escape(address)}">'
            "<title>sparsehead lab</title>"
        )
        yield page.as_uri()


def check_store(db: Path) -> None:
    """Raise StoreError if the file exists but is damaged or not a store. The first job creates a missing store."""
    if inspect(db, readonly=False):
        Store(db, readonly=True).close()


def named_models(paths: Sequence[Path]) -> dict[str, Path]:
    """Return name -> path of the models on the Probe page; a name is the last part of the path, numbered if repeated.

    Raises:
        FileError: a path does not exist.
    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise FileError(f"--probe {shown_path(path)}: there is no such file or folder.")
        place = path.resolve()
        numbered = (place.name if n == 1 else f"{place.name} ({n})" for n in itertools.count(1))
        found[next(name for name in numbered if name not in found)] = place
    return found


def settings_for(host: str, port: int, **more: Any) -> Settings:
    """Return the settings of a server at host:port, with a new token; `more` are other fields of `Settings`."""
    names = dict.fromkeys([host, *(LOOPBACK[:2] if host in LOOPBACK else ())])
    hosts = tuple(f"{_written(name)}:{port}".lower() for name in names)
    return Settings(hosts=hosts, token=secrets.token_urlsafe(32), cookie=f"sparsehead-{port}", **more)


def check_host(host: str, *, allow_remote: bool) -> None:
    """Raise for 0.0.0.0, which means every address; without `allow_remote`, raise for any host but this machine."""
    if host in LOOPBACK:
        return
    try:
        is_every_address = ipaddress.ip_address(host).is_unspecified
    except ValueError:  # a name
        is_every_address = not host
    if is_every_address:
        raise DomainError(
            f"--host {host} is every address at once; give the one by which others reach this machine."
        )
    if not allow_remote:
        raise DomainError(
            f"--host {host} serves other machines too, without encryption; add --allow-remote if that is meant."
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at host:port; port 0 picks a free port."""
    if not 0 <= port < 65536:
        raise DomainError(f"--port is a number from 0 to 65535, got {port}; 0 picks a free one.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once (TCP_NODELAY) only where the protocol is named; else an answer waits 40 ms
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise DomainError(
            f"cannot serve at {host}, port {port}: {error.strerror}; --port 0 picks a free port."
        ) from None
    return listening


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
