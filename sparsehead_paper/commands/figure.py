"""`sparsehead figure`: write one figure as SVG, PNG, PDF or a standalone HTML page."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsehead.cli.output import AsJson, Force, check_chart_file, emit, write_chart

LINE = "Draw a figure of the paper, or one of ours."


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
    from sparsehead._base.errors import DomainError

    from ..report.catalogue import FIGURES, draw
    from ..studies.folder import default_folder

    if show_list or name is None:
        lines = [{"name": e.name, "line": e.line, "needs": e.needs} for e in FIGURES.values()]
        emit({"figures": lines}, as_json, lambda c: c.print(_listed(lines)))
        if not show_list:
            raise DomainError("figure needs a NAME, got none; the names are listed above.")
        return
    path = out or Path(f"{name}.svg")
    check_chart_file(path, "--out", force=force)
    folder = results or default_folder()
    size = write_chart(path, draw(name, folder), force=force)
    measured = FIGURES[name].needs
    source = str(folder / f"{measured}.json") if measured else None
    emit(
        {"figure": name, "path": str(path), "bytes": size, "source": source},
        as_json,
        lambda c: c.print(f"wrote {path}" + (f" from {source}" if source else "")),
    )


def _listed(figures: list[dict[str, Any]]) -> Any:
    """Return a table of figure names and what each shows; long lines are wrapped with an indent."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for figure in figures:
        table.add_row(figure["name"], figure["line"])
    return table
