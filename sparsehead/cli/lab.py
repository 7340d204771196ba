"""`sparsehead lab`: the verbs on a page in the browser."""

from pathlib import Path
from typing import Annotated

import typer


def lab(
    db: Annotated[
        Path, typer.Option("--db", help="The store that jobs write to and the Law page shows.")
    ] = Path("results.db"),
    port: Annotated[int, typer.Option(help="0 picks a free one.")] = 8377,
    host: Annotated[
        str, typer.Option(help="The address to serve; another than this machine's own needs --allow-remote.")
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Serve other machines too, over plain HTTP.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in the browser.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Jobs that run at once; the others wait.")] = 1,
    probe: Annotated[
        list[Path] | None,
        typer.Option("--probe", help="A pretrained model for the Probe page; may be given several times."),
    ] = None,
    pickle: Annotated[
        bool, typer.Option("--pickle", help="Allow pickled weights (weights_only=True) in --probe.")
    ] = False,
) -> None:
    """Serve the lab on this machine until Ctrl-C; the first line printed is its address, with a token."""
    from ..lab.server import serve

    serve(
        db,
        host=host,
        port=port,
        allow_remote=allow_remote,
        browser=browser,
        running=jobs,
        models=probe or (),
        pickle=pickle,
    )
