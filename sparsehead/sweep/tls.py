"""Protect a Dask cluster: a certificate and a private folder for one on this machine, checks for any other."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .._base.errors import SparseheadError

if TYPE_CHECKING:
    from distributed.security import Security


def temporary_security() -> "Security":
    """Make a self-signed TLS certificate for one cluster; its key is kept in memory only.

    Scheduler, workers and client authenticate each other by it, so that no other user of this machine can send them
    messages: Dask unpickles the messages that it receives, which can run any code.

    Raises:
        SparseheadError: `openssl` is missing or fails.
    """
    from distributed.security import Security

    with tempfile.TemporaryDirectory(prefix="sparsehead-tls-") as folder:  # readable by this user only
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365"
        command = [*request.split(), "-subj", "/CN=sparsehead", "-keyout", str(key), "-out", str(certificate)]
        try:
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, text=True)
            secret, public = key.read_text(), certificate.read_text()
        except (OSError, subprocess.CalledProcessError) as error:
            why = first_line(getattr(error, "stderr", "") or error)
            raise SparseheadError(
                f"--cluster local:N protects its cluster by a certificate, but openssl made none ({why}); install "
                "openssl, or use --workers N, which needs no certificate."
            ) from error
    roles = {f"tls_{role}_{part}": text for role in ("client", "scheduler", "worker")
             for part, text in (("cert", public), ("key", secret))}  # fmt: skip
    return Security(require_encryption=True, tls_ca_file=public, **roles)


def require_certificate(address: str, security: "Security") -> None:
    """Raise if TLS or a certificate that the cluster needs is missing. Dask itself would raise an exception later, with
    a traceback.
    """
    if not address.startswith("tls://"):
        if security.require_encryption:
            raise SparseheadError(
                f"Dask's configuration requires encryption, which {address} lacks: name a tls:// address, or unset "
                "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION."
            )
        return
    try:
        missing = security.get_connection_args("client")["ssl_context"] is None
    except OSError as error:
        raise SparseheadError(
            f"the certificate for {address} cannot be read: {first_line(error)}."
        ) from error
    if missing:
        raise SparseheadError(
            f"{address} needs a certificate, and Dask's configuration names none: set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE and the two other variables in SECURITY.md."
        )


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a folder for Dask's temporary files that only this user can write to.

    Dask imports modules from this folder and empties lock files in it. Its default is `dask-scratch-space` in the
    system's temporary folder, even if another user made it.
    """
    with tempfile.TemporaryDirectory(prefix="sparsehead-dask-", ignore_cleanup_errors=True) as folder:
        try:
            yield folder
        finally:  # remove it from the import path, where Dask leaves it: another user could now make a folder there
            sys.path[:] = [path for path in sys.path if not path.startswith(folder)]


@contextmanager
def changed_environment(changes: dict[str, str]) -> Iterator[None]:
    """Change environment variables of this process and its children inside the `with` block."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def first_line(error: BaseException | str) -> str:
    """Return the first line of an error's message, or the name of its class."""
    return next(iter(str(error).strip().splitlines()), "")[:200].rstrip(".") or type(error).__name__
