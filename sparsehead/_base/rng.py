"""Named random streams; every random generator of the library is made here."""

import zlib

import numpy as np

from .errors import DomainError


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator named `path` under `seed`: it gives the same numbers in any process, in any order of calls.

    Streams are named for their use, such as `stream(seed, "support")`, so that a new one does not change the others.

    >>> int(stream(7, "bits").integers(100)) == int(stream(7, "bits").integers(100))
    True
    """
    if seed < 0:
        raise DomainError(f"a seed is a whole number >= 0, got {seed}.")
    return np.random.default_rng([seed, *(zlib.crc32(repr(p).encode()) for p in path)])
