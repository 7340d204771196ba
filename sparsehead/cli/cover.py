"""`sparsehead cover FILE --eps E`: the covering number of the points in a CSV file."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..errors import FileError, ParseError
from ..files import check_source, shown
from .output import AsJson, emit

SHOWN = 12  # centres listed in the table for people
MOST_BYTES = 64_000_000  # 8000 points, the most that are compared, of a few hundred coordinates
WANTED = "a CSV with one point per row"


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
    from ..covering import covering_number
    from ..covering.metrics import fraction_of

    points = read_csv(file)
    found = covering_number(points, eps=eps, p=p, external=external, time_limit=time_limit)
    result: dict[str, Any] = {
        "size": found.size,
        "centers": [list(c) for c in found.centers],
        "lower": found.lower,
        "upper": found.upper,
        "exact": found.exact,
        "rows": None if found.rows is None else list(found.rows),
        "greedy": found.greedy,
        "packing": found.packing,
        "lp": found.lp,
        "ties": found.ties,
        "points": len(points),
        "eps": float(fraction_of(eps)),
        "p": "inf" if p == float("inf") else p,
        "external": external,
    }
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


def read_csv(file: Path) -> list[list[str]]:
    """Rows of numbers, kept as texts so that decimals stay exact.

    Raises:
        FileError: no regular file of at most MOST_BYTES, or no text. ParseError: not rows of numbers.
    """
    check_source(file, wanted=WANTED, most=MOST_BYTES)
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise FileError(f"cannot read {shown(file)}: it grew beyond {MOST_BYTES} bytes; give {WANTED}.")
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = [[cell.strip() for cell in row] for row in csv.reader(text)]
    except UnicodeDecodeError:
        raise FileError(f"{shown(file)} is not a text file; {WANTED} is needed.") from None
    except csv.Error as error:
        raise ParseError(f"{shown(file)} is not {WANTED}: {error}.") from None
    except OSError as error:
        if isinstance(error, FileError):
            raise
        reason = error.strerror or str(error)
        raise FileError(f"cannot read {shown(file)}: {reason}; give {WANTED}.") from None
    numbered = [(i, row) for i, row in enumerate(rows, start=1) if any(row)]
    if not numbered:
        raise ParseError(f"{file} has no rows; one point per row is needed.")
    if len(numbered) > 1 and all(is_word(cell) for cell in numbered[0][1]):
        numbered = numbered[1:]  # a header
    width = len(numbered[0][1])
    for i, row in numbered:
        if len(row) != width:
            raise ParseError(f"{file}, line {i}: {len(row)} numbers where the rows above have {width}.")
        for cell in row:
            if not is_number(cell):
                raise ParseError(f"{file}, line {i}: {cell[:40]!r} is not a finite number.")
    return [row for _, row in numbered]


def is_number(text: str) -> bool:
    """A finite decimal number; 1/3 too, since fractions are exact here."""
    from ..covering.metrics import fraction_of

    try:
        return abs(float(fraction_of(text))) < float("inf")
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def is_word(text: str) -> bool:
    """Text that no header check should mistake for a number: nan and inf are bad numbers, not names."""
    try:
        float(text)
    except ValueError:
        return not is_number(text)
    return False
