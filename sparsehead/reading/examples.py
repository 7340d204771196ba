"""Labelled examples from a file: one example per line, T bits and then the label, separated by commas or not at
all."""

from pathlib import Path

import numpy as np

from .._base.errors import FileError, ParseError
from .._base.types import Array, Shaped

LARGEST = 2**30  # bytes; a training set of 1000 examples of 10^5 bits takes 0.2 GB


def read_examples(path: str | Path, *, T: int) -> tuple[Shaped[Array, "m T"], Shaped[Array, " m"]]:
    """Bits (m, T) and labels (m,) of a text file such as "0,1,1,0,1" per line (T = 4, label 1). Empty lines are
    skipped.

    Raises:
        FileError: the file cannot be read, is no regular file, or is larger than 1 GB.
        ParseError: a line has other characters or another length; says which.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise FileError(
                f"{file} is no file; examples are a text file with T bits and a label on each line."
            )
        if file.stat().st_size > LARGEST:
            raise FileError(f"{file} has {file.stat().st_size} bytes; examples are read up to {LARGEST}.")
        lines = file.read_bytes().splitlines()
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}.") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        digits = line.replace(b",", b"").replace(b" ", b"").strip()
        if not digits:
            continue
        row = np.frombuffer(digits, dtype=np.uint8) - ord("0")
        if row.max() > 1 or len(row) != T + 1:
            raise ParseError(
                f"line {number} of {file} is not T={T} bits and a label, each 0 or 1; it has {len(row)} entries."
            )
        rows.append(row)
    if not rows:
        raise ParseError(f"{file} holds no examples; each line has T={T} bits and a label.")
    table = np.array(rows)
    return table[:, :-1], table[:, -1]
