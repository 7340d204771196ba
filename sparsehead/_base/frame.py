"""A table of results that any data-frame library can read; this module itself needs none.

    pandas.DataFrame(frame), polars.DataFrame(frame)       a frame is a sequence of rows
    pyarrow.table(frame), polars.from_dataframe(frame)     and an Arrow C stream, if pyarrow is installed

Columns hold whole numbers, floats, booleans or texts, and None where there is no value.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, overload

import numpy as np

Row = dict[str, Any]


class Frame(Sequence[Row]):
    """Rows as dicts, columns by name.

    >>> frame = Frame([{"T": 100, "m_80": 52.5}, {"T": 300, "m_80": None}])
    >>> frame.columns, frame["m_80"], frame[0]
    (('T', 'm_80'), [52.5, None], {'T': 100, 'm_80': 52.5})
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
        given = [dict(row) for row in rows]
        names = dict.fromkeys([*columns, *(name for row in given for name in row)])
        self.columns: tuple[str, ...] = tuple(names)
        self._rows = [{name: _plain(row.get(name)) for name in names} for row in given]

    @overload
    def __getitem__(self, which: int) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> "Frame": ...
    @overload
    def __getitem__(self, which: str) -> list[Any]: ...
    def __getitem__(self, which: int | slice | str) -> "Row | Frame | list[Any]":
        """Return a row by its number, rows by a slice, or a column by its name."""
        if isinstance(which, str):
            if which not in self.columns:
                raise KeyError(f"there is no column {which!r}; the columns are {', '.join(self.columns)}.")
            return [row[which] for row in self._rows]
        return Frame(self._rows[which], self.columns) if isinstance(which, slice) else self._rows[which]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return every column as a list, by name."""
        return {name: self[name] for name in self.columns}

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"<Frame of {len(self)} rows: {names if len(names) < 200 else names[:200] + ' ..'}>"

    def _repr_html_(self) -> str:
        return table_html(self, most=20)

    def __getattr__(self, name: str) -> Any:
        """Offer Arrow's C stream if pyarrow is installed."""
        if name == "__arrow_c_stream__" and find_spec("pyarrow") is not None:
            import pyarrow

            return pyarrow.table(self.to_dict()).__arrow_c_stream__
        raise AttributeError(f"a Frame has no attribute {name!r}")


def _plain(value: Any) -> Any:
    """Return `value` if it is a Python number, text or None; else convert it to a number if possible, or to text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def table_html(frame: Frame, *, most: int) -> str:
    """Write the first `most` rows of a frame as an HTML table, without empty columns."""
    names = [n for n in frame.columns if any(v is not None and v != "" for v in frame[n])]
    words = "padding: 1px 10px 1px 0; text-align: left; vertical-align: top"
    numbers = "padding: 1px 10px 1px 0; text-align: right; font-variant-numeric: tabular-nums"
    numeric = {n: any(isinstance(v, int | float) and v is not True for v in frame[n]) for n in names}
    style = {n: numbers if numeric[n] else words for n in names}
    head = "".join(f'<th scope="col" style="{style[n]}">{escape(n)}</th>' for n in names)
    rows = (
        "".join(f'<td style="{style[n]}">{cell_html(row[n])}</td>' for n in names) for row in frame[:most]
    )
    body = "".join(f"<tr>{cells}</tr>" for cells in rows)
    left = len(frame) - most
    more = f"<div>and {left} more rows: .to_frame() has all</div>" if left > 0 else ""
    look = "border-collapse: collapse; font-size: inherit"
    return f'<table style="{look}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def cell_html(value: Any) -> str:
    """Write a value for a cell: floats with four digits, nothing for None, texts escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else escape(str(value))
    return escape(clipped(str(value), 200))


def clipped(text: str, most: int) -> str:
    """Shorten the text to `most` characters, the last three of them dots.

    >>> clipped("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."
