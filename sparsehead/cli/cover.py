"""`sparsehead cover FILE --eps E`: the covering number of the points in a CSV file."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .output import AsJson, emit

SHOWN = 12  # centres listed in the table for people


def cover(
    file: Annotated[
        Path, typer.Argument(help="CSV: one point per row, numbers only; a header row is skipped.")
    ],
    eps: Annotated[str, typer.Option(help="Radius of the closed balls, > 0.")],
    p: Annotated[float, typer.Option(help="The norm: 1, 2, .., inf.")] = 2.0,
    external: Annotated[bool, typer.Option("--external", help="Let centres lie anywhere.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds before a bracket is returned.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Fewest balls of radius eps that cover the points, with the cover, exactly or as a bracket."""
    from ..covering.points_file import read_points_file
    from ..records.cover import covered

    result = covered(read_points_file(file), eps=eps, p=p, external=external, time_limit=time_limit)
    emit(result, as_json, lambda console: show(console, result))


def show(console: Console, result: dict[str, Any]) -> None:
    """Three lines and the centres."""
    kind = "centres anywhere" if result["external"] else "centres among the points"
    if result["exact"]:
        console.print(
            f"covering number {result['size']}  ({kind}; {result['points']} points, eps={result['eps']:g})"
        )
    else:
        console.print(
            f"a bracket, not settled: covering number between {result['lower']} and {result['upper']}  ({kind})"
        )
    lp = "" if result["lp"] is None else f", linear relaxation {result['lp']:.4g}"
    console.print(f"bounds: packing at 2 eps {result['packing']}{lp}, greedy {result['greedy']}")
    console.print(f"ties: {result['ties']}")
    for center in result["centers"][:SHOWN]:
        console.print("  (" + ", ".join(f"{x:g}" for x in center) + ")")
    if len(result["centers"]) > SHOWN:
        console.print(f"  .. and {len(result['centers']) - SHOWN} more (--json lists all)")
