"""A table of results: rows of plain values that any data-frame library reads, none of which is needed here.

    pandas.DataFrame(frame), polars.DataFrame(frame)            a frame is a sequence of rows
    pandas.api.interchange.from_dataframe(frame), ..            it speaks the data-frame interchange protocol
    polars.from_dataframe(frame), pyarrow.table(frame), ..      and Arrow's C stream, where pyarrow is installed

Columns hold whole numbers, floats, booleans or texts, and None where there is no value.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, overload

import numpy as np

from .types import Array, Shaped

Row = dict[str, Any]
CELL = "padding: 1px 10px 1px 0; text-align: left; vertical-align: top"
NUMBER = "padding: 1px 10px 1px 0; text-align: right; font-variant-numeric: tabular-nums"
SHOWN = 20  # rows in a notebook
# (kind, bits, Arrow's letter, byte order) of the interchange protocol
INT, FLOAT, BOOL, TEXT, BYTE = (
    (0, 64, "l", "="),
    (2, 64, "g", "="),
    (20, 8, "b", "="),
    (21, 8, "U", "="),
    (1, 8, "C", "="),
)
Dtype = tuple[int, int, str, str]


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
        """A row by its number, rows by a slice, or a column by its name."""
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
        """Every column as a list, by name."""
        return {name: self[name] for name in self.columns}

    def __repr__(self) -> str:
        names = ", ".join(self.columns)
        return f"<Frame of {len(self)} rows: {names if len(names) < 200 else names[:200] + ' ..'}>"

    def _repr_html_(self) -> str:
        return table_html(self, most=SHOWN)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> "Exchanged":
        """The data-frame interchange protocol; columns are made as they are asked for."""
        return Exchanged(self)

    def __getattr__(self, name: str) -> Any:
        """Arrow's C stream, offered where pyarrow is there to make it."""
        if name == "__arrow_c_stream__" and find_spec("pyarrow") is not None:
            import pyarrow

            return pyarrow.table(self.to_dict()).__arrow_c_stream__
        raise AttributeError(f"a Frame has no attribute {name!r}")


def _plain(value: Any) -> Any:
    """A Python number, text or None; NumPy's numbers become Python's, other things their text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def table_html(frame: Frame, *, most: int) -> str:
    """The first rows of a frame as an HTML table, without columns that hold nothing."""
    names = [n for n in frame.columns if any(v is not None and v != "" for v in frame[n])]
    numeric = {n: any(isinstance(v, int | float) and v is not True for v in frame[n]) for n in names}
    head = "".join(f'<th scope="col" style="{_style(numeric[n])}">{escape(n)}</th>' for n in names)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{_style(numeric[n])}">{cell_html(row[n])}</td>' for n in names)
        + "</tr>"
        for row in frame[:most]
    )
    left = len(frame) - most
    more = f"<div>and {left} more rows: .to_frame() has all</div>" if left > 0 else ""
    look = "border-collapse: collapse; font-size: inherit"
    return f'<table style="{look}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _style(numeric: bool) -> str:
    return NUMBER if numeric else CELL


def cell_html(value: Any) -> str:
    """A value for a cell: four digits of a float, nothing for None, texts escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else escape(str(value))
    return escape(clipped(str(value), 200))


def clipped(text: str, most: int) -> str:
    """The text, its end replaced by dots where it is longer than `most`.

    >>> clipped("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


class Exchanged:
    """A frame as the interchange protocol asks for it: one chunk, columns copied into NumPy arrays."""

    version = 0

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> "Exchanged":
        return self

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    def num_columns(self) -> int:
        return len(self._frame.columns)

    def num_rows(self) -> int:
        return len(self._frame)

    def num_chunks(self) -> int:
        return 1

    def column_names(self) -> list[str]:
        return list(self._frame.columns)

    def get_column(self, i: int) -> "Column":
        return Column(self._frame[self._frame.columns[i]])

    def get_column_by_name(self, name: str) -> "Column":
        return Column(self._frame[name])

    def get_columns(self) -> list["Column"]:
        return [self.get_column(i) for i in range(self.num_columns())]

    def select_columns(self, indices: Sequence[int]) -> "Exchanged":
        return self.select_columns_by_name([self._frame.columns[i] for i in indices])

    def select_columns_by_name(self, names: Sequence[str]) -> "Exchanged":
        return Exchanged(Frame([{name: row[name] for name in names} for row in self._frame], names))

    def get_chunks(self, n_chunks: int | None = None) -> list["Exchanged"]:
        return [self]


class Column:
    """One column of the interchange protocol: values, a byte for each that says whether it is there, text offsets."""

    offset = 0

    def __init__(self, values: Sequence[Any]) -> None:
        self._there = np.array([value is not None for value in values], dtype=np.uint8)
        self._offsets: Shaped[Array, " n"] | None = None
        known = {type(value) for value in values if value is not None}
        if known <= {bool} and known:
            self.dtype, self._data = BOOL, np.array([bool(v) for v in values], dtype=np.uint8)
        elif known <= {int} and known and all(v is None or -(2**63) <= v < 2**63 for v in values):
            self.dtype, self._data = INT, np.array([v or 0 for v in values], dtype=np.int64)
        elif known <= {int, float}:
            nan = float("nan")
            self.dtype, self._data = FLOAT, np.array([nan if v is None else float(v) for v in values])
        else:
            texts = [b"" if v is None else str(v).encode() for v in values]
            self._offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
            self.dtype, self._data = TEXT, np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8)

    def size(self) -> int:
        return len(self._there)

    @property
    def describe_null(self) -> tuple[int, int]:
        """A mask of bytes, in which 0 stands for a missing value."""
        return 4, 0

    @property
    def describe_categorical(self) -> Any:
        raise TypeError("no column of a Frame is categorical")

    @property
    def null_count(self) -> int:
        return int(self.size() - self._there.sum())

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    def num_chunks(self) -> int:
        return 1

    def get_chunks(self, n_chunks: int | None = None) -> list["Column"]:
        return [self]

    def get_buffers(self) -> dict[str, "tuple[Buffer, Dtype] | None"]:
        offsets = None if self._offsets is None else (Buffer(self._offsets), INT)
        data = Buffer(self._data), BYTE if self.dtype == TEXT else self.dtype
        return {"data": data, "validity": (Buffer(self._there), BOOL), "offsets": offsets}


class Buffer:
    """The memory of an array, kept alive by this object."""

    def __init__(self, array: Shaped[Array, " n"]) -> None:
        self._array = array

    @property
    def bufsize(self) -> int:
        return self._array.nbytes

    @property
    def ptr(self) -> int:
        return int(self._array.ctypes.data)

    def __dlpack__(self) -> Any:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, None]:
        return 1, None
