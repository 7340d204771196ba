"""Convert each column of a table to numbers, NaN if missing, or to texts, None if missing."""

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
NO_VALUE = {"", "na", "nan", "null", "<na>", "nat"}  # texts that mean a missing value, in lower case
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Column:
    """One column: an array of float64, NaN where a value is missing, or of texts (as objects), None where missing."""

    name: str
    values: Shaped[Array, " n"]

    @property
    def is_numeric(self) -> bool:
        """Return whether the values are numbers."""
        return self.values.dtype.kind == "f"


def columns_of(X: Any, names: Sequence[str] | None = None) -> dict[str, Column]:
    """Return the columns of an array (n, T) or a data frame, by name; default names for an array are x0, x1, ..

    A data frame is any object with `columns` (pandas, polars) or `column_names` (Arrow) that returns columns by name.
    """
    # Arrow's `columns` holds the columns themselves, not their names.
    found = getattr(X, "column_names" if hasattr(X, "column_names") else "columns", None)
    if found is not None and hasattr(X, "__getitem__"):
        if names is not None:
            raise DomainError("names are for an array; a data frame already has names: rename its columns.")
        keys = list(found)
        titles = [key if isinstance(key, str) else name_of_label(key) for key in keys]
        check_column_names(titles)
        return {name: as_column(name, X[key]) for name, key in zip(titles, keys)}
    array = _array(X)
    titles = [f"x{t}" for t in range(array.shape[1])] if names is None else list(names)
    if len(titles) != array.shape[1]:
        raise ShapeError(f"X has {array.shape[1]} columns and {len(titles)} names; give one per column.")
    check_column_names(titles)
    return {name: as_column(name, array[:, t]) for t, name in enumerate(titles)}


def name_of_label(name: Any) -> str:
    """Convert a data frame's column label to text; raise unless it is a text or a whole number."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return str(name)
    raise DomainError(f"a column's name is a text; got {shown(name)}.")


def _array(X: Any) -> Shaped[Array, "n T"]:
    """Convert X to an array with two axes."""
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
    """Raise for no or too many columns, and for names that are empty, repeated, too long or unusable in a formula."""
    names = list(names)
    if not names:
        raise DomainError("the table has no columns to learn from; at least one is needed beside the label.")
    if len(names) > MOST_COLUMNS:
        raise DomainError(f"the table has {len(names)} columns; at most {MOST_COLUMNS} are learned from.")
    longest = 200  # characters of a column's name
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DomainError(f"a column's name is a text; got {shown(name)}.")
        if not name.strip():
            raise DomainError(f"column {number} has no name; each needs one.")
        if len(name) > longest:
            raise DomainError(
                f"the name of column {number} has {len(name)} characters; at most {longest} are used."
            )
        if "`" in name or not name.isprintable():
            raise DomainError(
                f"the name {shown(name)} has a backquote or a control character; formulas quote names in backquotes, "
                "so rename the column."
            )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise DomainError(f"{count} columns have the name {shown(name)}; names must differ.")


def as_column(name: str, values: Any) -> Column:
    """Convert values to numbers if all that are not missing are numbers or Booleans; otherwise to texts."""
    try:
        array = np.asarray(values)
    except Exception as error:  # another library's column
        raise DomainError(
            f"column {shown(name)} cannot be read: {error}; a column holds numbers or texts."
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
            f"column {shown(name)} has type {array.dtype}; a column holds numbers, true and false, or texts."
        )
    texts = [_text(name, value) for value in array.tolist()]
    meaning = {text: _number(text) for text in set(texts)}
    if all(number is not None for number in meaning.values()):
        return Column(name, np.array([meaning[text] for text in texts], dtype=np.float64))
    cleaned = [None if text is None or text.lower() in NO_VALUE else text for text in texts]
    return Column(name, np.array(cleaned, dtype=object))


def _text(name: str, value: Any) -> str | None:
    """Return a value as text without surrounding spaces; None if it is missing."""
    if isinstance(value, str):
        return value.strip()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | int | float | np.generic):
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    raise DomainError(
        f"column {shown(name)} has the value {shown(value)}; a column holds numbers, true and false, or texts."
    )


def _number(text: str | None) -> float | None:
    """Return the number that a text spells, NaN if the value is missing, None for any other text."""
    if text is None or text.lower() in NO_VALUE:
        return float("nan")
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    return float(text) if NUMBER.fullmatch(text) else None
