"""Sweeps on a Dask cluster: an existing scheduler, or a new one with N worker processes on this machine."""

import re
from pathlib import Path
from typing import Unpack

from .._base.errors import ParseError
from .._base.lazy import require_module
from .dask_pool import DaskPool
from .dispatch import Sweep, SweepSettings
from .local import LocalSweep


def parse_cluster(text: str) -> int | str:
    """Return the number of workers of "local:N", or the address of a scheduler; raise a ParseError for other texts.

    >>> parse_cluster("local:2"), parse_cluster("tcp://node7:8786")
    (2, 'tcp://node7:8786')
    """
    text = text.strip()
    local = re.fullmatch(r"local:(\d{1,4})", text, re.ASCII)
    address = re.fullmatch(r"(?:tcp|tls)://(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", text, re.ASCII)
    if local and 1 <= int(local[1]) <= 1000:
        return int(local[1])
    if address and 1 <= int(address[1]) <= 65535:
        return text
    raise ParseError(
        f"--cluster is the address of a Dask scheduler, such as tcp://node7:8786 or tls://node7:8786, or local:N for N "
        f"workers on this machine; got {text[:60]!r}."
    )


def sweep_on(
    cluster: str | None, db: str | Path, *, workers: int, **settings: Unpack[SweepSettings]
) -> Sweep:
    """Return a sweep on this cluster; if `cluster` is None, a sweep in `workers` processes on this machine."""
    if cluster is None:
        return LocalSweep(db, workers=workers, **settings)
    return DaskSweep(db, cluster, **settings)


class DaskSweep(Sweep):
    """A sweep on the Dask cluster "tcp://host:port", "tls://host:port" or "local:N"; for the settings see `Sweep`.

    `say` also gets a sentence about each difference in software between this process and the workers.
    """

    def __init__(self, db: str | Path, cluster: str, **settings: Unpack[SweepSettings]) -> None:
        where = parse_cluster(cluster)
        require_module("distributed")
        super().__init__(db, DaskPool(where), **settings)
