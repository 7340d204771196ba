"""`sparsehead lab`: the commands as pages in the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .._base.errors import DomainError
from .._base.fields import option
from .._base.files import shown_path
from .output import Force


@dataclass(frozen=True, kw_only=True)
class Service:
    """Options of the server; see `lab.server.serve`."""

    db: Path = option(Path("results.db"), "The store that jobs write to and the Law page shows.")
    port: int = option(8377, "0 picks a free one.")
    host: str = option(
        "127.0.0.1", "The address to serve at; addresses that other machines can reach need --allow-remote."
    )
    allow_remote: bool = option(False, "Serve other machines too, over plain HTTP.")
    browser: bool = option(True, "Whether to open the page in the browser.")
    running: int = option(1, "Jobs that run at once; the others wait.", option="--jobs", least=1, most=64)
    pickle: bool = option(False, "Allow pickled weights (weights_only=True) in --probe.")


def lab(
    service: Service,
    probe: Annotated[
        list[Path] | None,
        typer.Option(help="A pretrained model for the Probe page; may be given several times."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write Build, Cover and Check into this folder, as files that need no server, and end."
        ),
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(help="With --export, a function for Build; may be given several times."),
    ] = None,
    force: Force = False,
) -> None:
    """Serve the lab on this machine until Ctrl-C; the first line printed is its address, with a token."""
    if export is None and (function or force):
        raise DomainError("--function and --force are for --export FOLDER.")
    if export is not None:
        from ..lab.alone import export as write_pages

        for path in write_pages(export, functions=function or (), force=force):
            print(f"wrote {shown_path(path)}")
        return
    from ..lab.server import serve

    serve(**vars(service), models=probe or ())
