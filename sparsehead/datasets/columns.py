"""Columns of a table as they arrive: each becomes numbers (NaN: missing) or texts (None: missing)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arguments import shown
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Shaped

MOST_COLUMNS = 10_000  # training on more takes hours
MOST_NAME = 200  # characters of a column's name
NO_VALUE = {"", "na", "nan", "null", "<na>", "nat"}  # texts that stand for a missing value, in small letters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Column:
    """One column: float64 with NaN for missing values, or objects, texts with None for missing values."""

    name: str
    values: Shaped[Array, " n"]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.values.dtype.kind == "f"


def columns_of(X: Any, names: Sequence[str] | None = None) -> dict[str, Column]:
    """The columns of an array (n, T) or a data frame, by name; those of an array are x0, x1, .. unless named.

    A data frame is whatever has `columns` (pandas, polars) or `column_names` (Arrow) and gives a column for a name.
    """
    # Arrow's `columns` are the columns themselves.
    found = getattr(X, "column_names" if hasattr(X, "column_names") else "columns", None)
    if found is not None and hasattr(X, "__getitem__"):
        if names is not None:
            raise DomainError("names are for an array; a data frame has its own: rename its columns.")
        keys = list(found)
        own = [key if isinstance(key, str) else name_of_label(key) for key in keys]
        check_column_names(own)
        return {name: as_column(name, X[key]) for name, key in zip(own, keys)}
    array = _array(X)
    own = [f"x{t}" for t in range(array.shape[1])] if names is None else list(names)
    if len(own) != array.shape[1]:
        raise ShapeError(f"X has {array.shape[1]} columns and {len(own)} names; each column needs one.")
    check_column_names(own)
    return {name: as_column(name, array[:, t]) for t, name in enumerate(own)}


def name_of_label(name: Any) -> str:
    """A column label that is no text, as text; whole numbers only."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return str(name)
    raise DomainError(f"a column's name is a text; got {shown(name)}.")


def _array(X: Any) -> Shaped[Array, "n T"]:
    """X as an array of two axes."""
    if hasattr(X, "toarray"):
        raise ShapeError("X is a sparse matrix; X.toarray() makes it an array.")
    try:
        array = np.asarray(X)
    except ValueError:
        raise ShapeError("X has rows of different lengths; each row has one value for each column.") from None
    except Exception as error:  # another library's array, e.g. on a GPU
        raise ShapeError(f"X cannot be made an array: {error}; give a NumPy array or a data frame.") from None
    if array.ndim != 2:
        raise ShapeError(
            f"X is an array of shape (rows, columns), a data frame or the path of a file; got {shown(X)} of shape "
            f"{array.shape}."
        )
    return array


def check_column_names(names: Iterable[Any]) -> None:
    """Refuse no columns, too many, and names that are empty, repeated, too long or cannot be written in a formula."""
    names = list(names)
    if not names:
        raise DomainError("the table has no columns to learn from; at least one is needed beside the label.")
    if len(names) > MOST_COLUMNS:
        raise DomainError(f"the table has {len(names)} columns; at most {MOST_COLUMNS} are learned from.")
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DomainError(f"a column's name is a text; got {shown(name)}.")
        if not name.strip():
            raise DomainError(f"column {number} has no name; each needs one.")
        if len(name) > MOST_NAME:
            raise DomainError(
                f"the name of column {number} has {len(name)} characters; at most {MOST_NAME} are used."
            )
        if "`" in name or not name.isprintable():
            raise DomainError(
                f"the name {shown(name)} has a backquote or a control character; formulas quote names in backquotes, "
                "so rename the column."
            )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DomainError(f"{count} columns are called {shown(name)}; each needs a name of its own.")


def as_column(name: str, values: Any) -> Column:
    """The column's values as numbers if all that are there are numbers, true or false; else as texts."""
    try:
        array = np.asarray(values)
    except Exception as error:  # another library's column
        raise DomainError(
            f"column {shown(name)} cannot be read: {error}; a column is of numbers or texts."
        ) from None
    if array.ndim != 1:
        raise ShapeError(
            f"column {shown(name)} has shape {array.shape}; a column has one value for each row."
        )
    if array.dtype.kind in "biuf":
        numbers = array.astype(np.float64)
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0]) + 1
            raise DomainError(f"column {shown(name)} is infinite in row {row}; values are finite.")
        return Column(name, numbers)
    if array.dtype.kind not in "OUST":
        raise DomainError(
            f"column {shown(name)} is of type {array.dtype}; a column is of numbers, of true and false, or of texts."
        )
    texts = [_text(name, value) for value in array.tolist()]
    meaning = {text: _number(text) for text in set(texts)}
    if all(number is not None for number in meaning.values()):
        return Column(name, np.array([meaning[text] for text in texts], dtype=np.float64))
    cleaned = [None if text is None or text.lower() in NO_VALUE else text for text in texts]
    return Column(name, np.array(cleaned, dtype=object))


def _text(name: str, value: Any) -> str | None:
    """A value as text without spaces around it; None if it is missing."""
    if isinstance(value, str):
        return value.strip()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | int | float | np.generic):
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    raise DomainError(
        f"column {shown(name)} has the value {shown(value)}; a column is of numbers, of true and false, or of texts."
    )


def _number(text: str | None) -> float | None:
    """A text as a number, NaN if it is missing; None if it is another text."""
    if text is None or text.lower() in NO_VALUE:
        return float("nan")
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    return float(text) if NUMBER.fullmatch(text) else None
