"""Read the columns of a CSV or Parquet file. Nothing in the file is evaluated as code."""

import csv
import io
from pathlib import Path
from typing import Any

from .._base.errors import FileError, ParseError
from .._base.files import check_source, shown_path
from .columns import MOST_COLUMNS, NUMBER, Column, as_column, check_column_names

MOST_BYTES = 2**28  # enough for 10^6 rows of 130 columns of bits
MOST_CELLS = 2 * 10**7  # take 160 MB while a CSV is read
WANTED = "a CSV or Parquet file with named columns"


def read_columns(path: str | Path) -> dict[str, Column]:
    """Return the columns of a Parquet file (.parquet, .pq) or CSV file (.csv, .tsv, .txt), by name.

    Raises:
        FileError: the file cannot be read, is too large, or has another ending.
        ParseError: rows have different lengths, names are missing or repeated, or there are no rows.
        MissingExtra: the file is Parquet, and pyarrow is not installed.
    """
    file, name = check_source(path, wanted=WANTED, most=MOST_BYTES), shown_path(path)
    ending = file.suffix.lower()
    if ending in (".parquet", ".pq"):
        return _parquet(file, name)
    if ending not in (".csv", ".tsv", ".txt"):
        raise FileError(f"{name} ends in {ending!r}; give {WANTED} (.csv, .tsv, .txt, .parquet).")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {name}: {error.strerror or error}; give {WANTED}.") from None
    return csv_columns(content, name)


def csv_columns(content: bytes, name: str) -> dict[str, Column]:
    """Return the columns of a CSV whose first line holds their names; commas, semicolons or tabs separate cells."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{name} is not a text in UTF-8; give {WANTED}.") from None
    if not text.strip():
        raise ParseError(f"{name} is empty; the first line has the columns' names.")
    first = text.lstrip().split("\n", 1)[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    header: list[str] = []
    kept: list[list[str]] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row) and len(row) <= 1:
                continue
            if not header:
                header = [cell.strip() for cell in row]
                _check_header(header, name)
                continue
            if len(row) != len(header):
                raise ParseError(
                    f"{name}, line {rows.line_num}: {len(row)} cells where the header has {len(header)}."
                )
            kept.append(row)
            if len(kept) * len(header) > MOST_CELLS:
                raise FileError(f"{name} has more than {MOST_CELLS} cells; give fewer rows or columns.")
    except csv.Error as error:
        raise ParseError(f"{name}, line {rows.line_num}: {error}; give {WANTED}.") from None
    if not kept:
        raise ParseError(f"{name} has a header and no rows; each further line is an example.")
    return {column: as_column(column, list(cells)) for column, cells in zip(header, zip(*kept))}


def _check_header(header: list[str], name: str) -> None:
    if all(NUMBER.fullmatch(cell) for cell in header):
        raise ParseError(f"{name} begins with numbers; its first line has the columns' names.")
    check_column_names(header)


def _parquet(file: Path, name: str) -> dict[str, Column]:
    from .._base.lazy import require_module

    require_module("pyarrow")
    import pyarrow
    from pyarrow import parquet

    try:
        opened: Any = parquet.ParquetFile(file)
        rows, width = opened.metadata.num_rows, opened.metadata.num_columns
        if rows * width > MOST_CELLS or width > MOST_COLUMNS:
            raise FileError(
                f"{name} has {rows} rows of {width} columns; at most {MOST_CELLS} cells and {MOST_COLUMNS} columns are "
                "read."
            )
        table = opened.read()
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{name} is no Parquet file that can be read: {error}.") from None
    if not rows:
        raise ParseError(f"{name} has no rows; each row is an example.")
    check_column_names(table.column_names)
    return {column: as_column(column, table.column(column).to_pylist()) for column in table.column_names}
