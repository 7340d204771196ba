"""`sparsehead figure`: one figure as SVG, PNG, PDF or a page of its own."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, Force, emit


def figure(
    name: Annotated[str | None, typer.Argument(help="Which figure; --list names them.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write it: .svg, .png, .pdf or .html (default NAME.svg).")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the measured results (default: reproduction/ if it is there, else results/)."
        ),
    ] = None,
    force: Force = False,
    show_list: Annotated[bool, typer.Option("--list", help="Name every figure.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a figure of the paper or of the lecture notes, or one of ours."""
    from ..errors import DomainError
    from ..report.catalogue import FIGURES, default_folder, draw

    if show_list or name is None:
        lines = [{"name": e.name, "line": e.line, "needs": e.needs} for e in FIGURES.values()]
        wide = max(map(len, FIGURES))
        emit(
            {"figures": lines},
            as_json,
            lambda c: c.print("\n".join(f"{e['name']:{wide}}  {e['line']}" for e in lines)),
        )
        if not show_list:
            raise DomainError("figure needs a NAME, got none; the names are listed above.")
        return
    from ..figures.render import form_of, render
    from ..files import check_target, write_whole

    path = out or Path(f"{name}.svg")
    form = form_of(path, "--out")
    check_target(path, force=force)
    folder = results or default_folder()
    content = render(draw(name, folder), form)
    measured = FIGURES[name].needs
    source = str(folder / f"{measured}.json") if measured else None
    write_whole(path, content, force=force)
    emit(
        {"figure": name, "path": str(path), "bytes": len(content), "source": source},
        as_json,
        lambda c: c.print(f"wrote {path}" + (f" from {source}" if source else "")),
    )
