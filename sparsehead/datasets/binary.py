"""Convert columns to bits: columns of 0 and 1 unchanged, numbers by a threshold, categories to one bit each."""

import numpy as np

from .._base.arguments import shown
from .._base.errors import DomainError
from .._base.types import Array, Shaped
from .columns import Column

Bits = Shaped[Array, " n"]


def bits_of(column: Column, *, cut: float | None, onehot: bool) -> dict[str, Bits]:
    """Convert a column to one or more columns of bits, by name.

    Args:
        cut: make the column "name>cut", which is 1 where the value is above the cut.
        onehot: make a column "name=value" for each value, in order; if there are two values, only for the second.
    Raises:
        DomainError: a value is missing, or the column does not hold bits and neither cut nor onehot is given.
    """
    check_complete(column)
    if cut is not None and onehot:
        raise DomainError(
            f"column {shown(column.name)} has both a threshold and onehot; give only one of them."
        )
    if cut is not None:
        if not column.is_numeric:
            raise DomainError(
                f"column {shown(column.name)} holds texts such as {_some(column)}; a threshold needs numbers."
            )
        return {f"{column.name}>{cut:g}": (column.values > cut).astype(np.uint8)}
    if onehot:
        return _one_bit_each(column)
    if not is_bits(column):
        raise DomainError(
            f"column {shown(column.name)} does not hold bits: it has values such as {_some(column)}; {_remedy(column)}."
        )
    return {column.name: column.values.astype(np.uint8)}


def is_bits(column: Column) -> bool:
    """Return whether all values are 0 or 1."""
    return column.is_numeric and bool(np.isin(column.values, (0, 1)).all())


def kind_of(column: Column) -> str:
    """Return the kind of the values: "bits", "numbers" or "categories".

    >>> kind_of(Column("a", np.array([0.0, 1.0]))), kind_of(Column("b", np.array([0.5, 1.0])))
    ('bits', 'numbers')
    """
    if is_bits(column):
        return "bits"
    return "numbers" if column.is_numeric else "categories"


def labels_of(column: Column, *, positive: str | None) -> Bits:
    """Return the labels: the column itself if it holds bits, or 1 where the value is `positive`."""
    check_complete(column)
    if positive is not None:
        values = spelled_values(column)
        if positive not in values:
            raise DomainError(
                f"the label {shown(column.name)} is never {shown(positive)}; it has values such as {_some(column)}."
            )
        labels = np.array([value == positive for value in values], dtype=np.uint8)
    elif is_bits(column):
        labels = column.values.astype(np.uint8)
    else:
        raise DomainError(
            f"the label {shown(column.name)} is not 0 or 1: it has values such as {_some(column)}; positive=VALUE "
            "(--positive VALUE) names the value that counts as 1."
        )
    if len(np.unique(labels)) < 2:
        raise DomainError(
            f"the label {shown(column.name)} is {int(labels[0])} in all {len(labels)} rows; both labels must occur."
        )
    return labels


def check_complete(column: Column) -> None:
    """Raise if values are missing."""
    gone = (
        np.isnan(column.values) if column.is_numeric else np.array([value is None for value in column.values])
    )
    if gone.any():
        more = f" and {int(gone.sum()) - 1} more" if gone.sum() > 1 else ""
        raise DomainError(
            f"column {shown(column.name)} has no value in row {int(np.flatnonzero(gone)[0]) + 1}{more}; fill it, or "
            "drop these rows."
        )


def _one_bit_each(column: Column) -> dict[str, Bits]:
    values = spelled_values(column)
    found = sorted(set(values))
    most = 50  # in one column; each becomes a column of bits
    if len(found) > most:
        raise DomainError(
            f"column {shown(column.name)} has {len(found)} values; one bit each is for at most {most}, so "
            "merge rare ones."
        )
    if len(found) < 2:
        raise DomainError(
            f"column {shown(column.name)} is {found[0]!r} in all rows; leave it out instead of onehot."
        )
    kept = found[1:] if len(found) == 2 else found
    every = np.array(values, dtype=object)
    return {f"{column.name}={value}": (every == value).astype(np.uint8) for value in kept}


def spelled_values(column: Column) -> list[str]:
    """Return the values as texts, which `positive` and the names of bits of categories refer to."""
    return [f"{value:g}" if column.is_numeric else str(value) for value in column.values.tolist()]


def _some(column: Column) -> str:
    """List a few values for a message; numbers other than 0 and 1 come first."""
    found = sorted(set(column.values.tolist()), key=lambda value: (value in (0, 1), value))[:3]
    return ", ".join(f"{value:g}" if column.is_numeric else shown(value) for value in found)


def _remedy(column: Column) -> str:
    if column.is_numeric:
        middle = f"{float(np.median(column.values)):g}"
        return (
            f"threshold={{{column.name!r}: {middle}}} (--threshold {column.name}={middle}) makes a bit of it, 1 above "
            "the cut"
        )
    return f"onehot=[{column.name!r}] (--onehot {column.name}) makes a bit of each value"
