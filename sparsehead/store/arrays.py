"""Arrays of numbers as compressed bytes, and their checksums."""

import hashlib
import io
import zlib

import numpy as np

from ..errors import StoreError
from ..types import Array, Shaped


def pack(array: Shaped[Array, "..."]) -> bytes:
    """An array as compressed .npy bytes; no pickles. Numbers only."""
    if array.dtype.hasobject:
        raise StoreError(f"the store keeps arrays of numbers, got dtype {array.dtype}.")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getvalue(), 6)


def unpack(data: bytes) -> Shaped[Array, "..."]:
    """The array that `pack` packed.

    Raises:
        ValueError, zlib.error, EOFError, OSError: these bytes are not from `pack`.
    """
    return np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)


def digest(data: bytes) -> str:
    """SHA-256 of packed bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
