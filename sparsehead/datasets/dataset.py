"""`dataset`: convert a user's table to bits, labels and names."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from .._base.arguments import meant, real, several, shown
from .._base.display import Card, WithCard
from .._base.errors import DomainError, ShapeError
from .._base.types import Array, Shaped
from ..functions import SparseFunction
from ..functions.task import Sample
from .binary import bits_of, labels_of
from .columns import Column, as_column, check_column_names, columns_of
from .files import read_columns


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(WithCard):
    """Labelled rows of bits, made by `dataset`.

    Args:
        bits: (m, T), uint8. labels: (m,), uint8; both 0 and 1 occur.
        names: names of the T columns.
        label: the name of the label.
    """

    bits: Shaped[Array, "m T"]
    labels: Shaped[Array, " m"]
    names: tuple[str, ...]
    label: str

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def T(self) -> int:
        """The number of columns."""
        return self.bits.shape[1]

    def rows(self, numbers: Shaped[Array, " n"]) -> Sample:
        """Return the bits and labels of the rows with these numbers."""
        return self.bits[numbers], self.labels[numbers]

    def formula(self, f: SparseFunction) -> str:
        """Write f with the names of the columns; names that are not plain words are put in backquotes.

        >>> data = Dataset(np.eye(2, dtype=np.uint8), np.array([0, 1]), ("smokes", "age>40"), "ill")
        >>> from sparsehead.functions import parse
        >>> data.formula(parse("x0 & !x1", T=2))
        'smokes & !`age>40`'
        """
        return re.sub(r"\bx(\d+)\b", lambda found: _quoted(self.names[int(found[1])]), str(f))

    def __repr__(self) -> str:
        return (
            f"<Dataset: {self.m} rows of {self.T} bits, label {self.label!r} 1 in {int(self.labels.sum())}>"
        )

    def _card(self) -> Card:
        return Card(
            "Dataset", [repr(self)[1:-1]], {"rows": self.m, "columns": self.T, "ones": int(self.labels.sum())}
        )


def _quoted(name: str) -> str:
    words = ("maj", "atleast", "table", "true", "false")  # words with a meaning in formulas
    return name if name.isidentifier() and name not in words else f"`{name}`"


def dataset(
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    threshold: Mapping[str, float | int] | None = None,
    onehot: Collection[str] = (),
    positive: Any = None,
) -> Dataset:
    """Convert a table to bits and labels.

    Args:
        X: an array (m, T), a data frame (pandas, polars, Arrow), or the path of a CSV or Parquet file.
        y: the m labels; or, for a data frame or a file, the name of the column of labels.
        names: names of an array's columns; x0, x1, .. by default.
        threshold: by column, the cut above which a number becomes 1.
        onehot: columns of categories; each category becomes a column "name=value".
        positive: the value of the label that becomes 1, if labels are not 0 and 1.
    Raises:
        DomainError: a column does not hold bits (the message says how to convert it), a value is missing, a name is
            unknown or repeated, or the label is constant.
        ShapeError: X and y have different lengths, or X is not a table.
        FileError, ParseError: the file cannot be read, or does not hold a table.

    >>> dataset([[0, 1], [1, 1], [1, 0], [0, 0]] * 5, [0, 1, 1, 0] * 5)
    <Dataset: 20 rows of 2 bits, label 'y' 1 in 10>
    """
    if isinstance(X, Dataset):
        return X
    if isinstance(X, str | PathLike):
        if names is not None:
            raise DomainError("names are for an array; a file has names in its first line.")
        columns = read_columns(X)  # type: ignore[arg-type]
    else:
        columns = columns_of(X, names)
    label = _take_label(columns, y)
    if not columns:
        raise DomainError(f"the table has no columns beside the label {shown(label.name)}.")
    for column in columns.values():
        if len(column.values) != len(label.values):
            raise ShapeError(
                f"column {shown(column.name)} has {len(column.values)} rows and the label {len(label.values)}."
            )
    least_rows = 20
    if len(label.values) < least_rows:
        raise DomainError(
            f"the table has {len(label.values)} rows; at least {least_rows} are needed to learn and to check."
        )
    labels = labels_of(label, positive=None if positive is None else str(positive))
    bits = _all_bits(columns, _cuts(threshold, columns), _named("onehot", onehot, columns))
    return Dataset(np.stack(list(bits.values()), axis=1), labels, tuple(bits), label.name)


def cuts_of(texts: Iterable[str]) -> dict[str, float]:
    """Return column -> threshold for texts such as "age=40"; a column's name may contain "=".

    >>> cuts_of(["age=40", "a=b=1.5"])
    {'age': 40.0, 'a=b': 1.5}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, _, cut = text.rpartition("=")
        try:
            number = float(cut)
        except ValueError:
            number = float("nan")
        if not name or number != number:
            raise DomainError(f"--threshold takes COLUMN=CUT, such as age=40; got {shown(text)}.")
        if name in found:
            raise DomainError(f"--threshold gives column {shown(name)} two cuts; a column takes one.")
        found[name] = number
    return found


def _take_label(columns: dict[str, Column], y: Any) -> Column:
    """Return the label; if y is its name, remove it from the columns."""
    if y is None:
        raise DomainError(
            "labels are missing: give y, or the name of the column that has them (--label COLUMN)."
        )
    if isinstance(y, str):
        if y not in columns:
            raise DomainError(
                f"the table has no column {shown(y)}; it has {_listed(columns)}.{meant(y, columns)}"
            )
        return columns.pop(y)
    if hasattr(y, "columns") or getattr(y, "ndim", 1) == 2:
        array = np.asarray(y)
        if array.ndim != 2 or array.shape[1] != 1:
            raise ShapeError(f"y has one label for each row; got shape {array.shape}.")
        y = array[:, 0]
    name = getattr(y, "name", None)
    return as_column(name if isinstance(name, str) and name else "y", y)


def _listed(columns: Collection[str]) -> str:
    return ", ".join(map(shown, list(columns)[:6])) + (", .." if len(columns) > 6 else "")


def _named(what: str, given: Any, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Return the given names of columns; raise if there is no such column."""
    found = several(what, given, "names of columns")
    for name in found:
        if name not in columns:
            raise DomainError(
                f"{what} names {shown(name)}, which is no column beside the label; there are {_listed(columns)}."
                f"{meant(name, columns)}"
            )
    return found


def _cuts(threshold: Any, columns: Mapping[str, Column]) -> dict[str, float]:
    if threshold is None:
        return {}
    if not isinstance(threshold, Mapping):
        raise DomainError(f"threshold gives a cut by column, such as {{'age': 40}}; got {shown(threshold)}.")
    _named("threshold", tuple(threshold), columns)
    return {name: real(f"the threshold of {shown(name)}", cut) for name, cut in threshold.items()}


def _all_bits(
    columns: Mapping[str, Column], cuts: Mapping[str, float], onehot: Collection[str]
) -> dict[str, Shaped[Array, " m"]]:
    made = [bits_of(each, cut=cuts.get(name), onehot=name in onehot) for name, each in columns.items()]
    check_column_names([name for bits in made for name in bits])
    return {name: bits for part in made for name, bits in part.items()}
