"""Read points from a CSV file; numbers are kept as texts so that decimals stay exact."""

import csv
import io
from pathlib import Path

from .._base.errors import FileError, ParseError
from .._base.files import check_source, shown_path
from .metrics import fraction_of

MOST_BYTES = 64_000_000  # 8000 points, the most that are compared, of a few hundred coordinates
WANTED = "a CSV with one point per row"


def read_points_file(file: Path) -> list[list[str]]:
    """Return the points in `file`.

    Raises:
        FileError: `file` is no readable text file of at most MOST_BYTES. ParseError: it is not made of rows of numbers.
    """
    check_source(file, wanted=WANTED, most=MOST_BYTES)
    name = shown_path(file)
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise FileError(f"cannot read {name}: {error.strerror or error}; give {WANTED}.") from None
    if len(content) > MOST_BYTES:
        raise FileError(f"cannot read {name}: it grew beyond {MOST_BYTES} bytes; give {WANTED}.")
    return points_of(content, name)


def points_of(content: bytes, name: str) -> list[list[str]]:
    """Return the points in the content of a CSV file: one per row, numbers only; a header row is skipped.

    Args:
        name: the file's name in messages.
    Raises:
        FileError: the content is not text. ParseError: it is not rows of numbers.
    """
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = [[cell.strip() for cell in row] for row in csv.reader(text)]
    except UnicodeDecodeError:
        raise FileError(f"{name} is not a text file; {WANTED} is needed.") from None
    except csv.Error as error:
        raise ParseError(f"{name} is not {WANTED}: {error}.") from None
    numbered = [(i, row) for i, row in enumerate(rows, start=1) if any(row)]
    if not numbered:
        raise ParseError(f"{name} has no rows; one point per row is needed.")
    if len(numbered) > 1 and all(is_word(cell) for cell in numbered[0][1]):
        numbered = numbered[1:]  # a header
    width = len(numbered[0][1])
    for i, row in numbered:
        if len(row) != width:
            raise ParseError(f"{name}, line {i}: {len(row)} numbers where the rows above have {width}.")
        for cell in row:
            if not is_numeral(cell):
                raise ParseError(f"{name}, line {i}: {cell[:40]!r} is not a finite number.")
    return [row for _, row in numbered]


def is_numeral(text: str) -> bool:
    """Return whether `text` is a finite number, such as 0.7 or 1/3."""
    try:
        return abs(float(fraction_of(text))) < float("inf")
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def is_word(text: str) -> bool:
    """Return whether `text` can be a column's name; nan and inf are invalid numbers, not names."""
    try:
        float(text)
    except ValueError:
        return not is_numeral(text)
    return False
