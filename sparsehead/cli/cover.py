"""`sparsehead cover FILE --eps E`: the covering number of the points in a CSV file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from .output import AsJson, emit

if TYPE_CHECKING:
    from ..covering import Cover


def cover(
    file: Annotated[
        Path, typer.Argument(help="CSV: one point per row, numbers only; a header row is skipped.")
    ],
    eps: Annotated[str, typer.Option(help="Radius of the closed balls, > 0.")],
    p: Annotated[float, typer.Option(help="The norm: 1, 2, .., inf.")] = 2.0,
    external: Annotated[bool, typer.Option("--external", help="Allow centres off the points.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds until bounds are printed instead.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Find the fewest balls of radius eps that cover the points, exactly or as a lower and an upper bound."""
    from ..covering import covering_number
    from ..covering.points_file import read_points_file

    points = read_points_file(file)
    found = covering_number(points, eps=eps, p=p, external=external, time_limit=time_limit)
    emit(found.to_dict(), as_json, lambda console: show(console, found))


def show(console: Console, found: "Cover") -> None:
    """Print the covering number, the bounds on it, and the centres."""
    kind = "centres anywhere" if found.rows is None else "centres among the points"
    points = 0 if found.points is None else len(found.points)
    if found.exact:
        console.print(f"covering number {found.size}  ({kind}; {points} points, eps={found.eps:g})")
    else:
        console.print(
            f"time limit reached: covering number between {found.lower} and {found.upper}  ({kind})"
        )
    lp = "" if found.lp is None else f", linear relaxation {found.lp:.4g}"
    console.print(f"bounds: packing at 2 eps {found.packing}{lp}, greedy {found.greedy}")
    console.print(f"ties: {found.ties}")
    for center in found.centers[:12]:
        console.print("  (" + ", ".join(f"{x:g}" for x in center) + ")")
    if len(found.centers) > 12:
        console.print(f"  .. and {len(found.centers) - 12} more (--json lists all)")
