"""Arrays of numbers as compressed bytes, and their checksums."""

import hashlib
import io
import math
import zlib
from collections.abc import Mapping

import numpy as np

from .._base.errors import StoreError
from .._base.types import Array, Shaped

MAX_BYTES = 2**27  # of the unpacked arrays of one outcome; a tiny file could hold far more zeros
MAX_HISTORY_BYTES = 2**24  # of its curves among them, which become Python lists eight times as large
HISTORY = "history/"  # the names of curves start with this


def pack_all(arrays: Mapping[str, Shaped[Array, "..."]]) -> dict[str, bytes]:
    """Pack the arrays of one outcome, in the order of their names.

    Raises:
        StoreError: an array does not hold numbers, or together they are larger than `unpack` accepts.
    """
    for start, most in ((HISTORY, MAX_HISTORY_BYTES), ("", MAX_BYTES)):
        size = sum(_size(a.shape, a.dtype) for name, a in arrays.items() if name.startswith(start))
        if size > most:
            raise StoreError(
                f"the store keeps at most {most} bytes of {'curves' if start else 'arrays'} with an outcome, "
                f"got {size}."
            )
    return {name: pack(array) for name, array in sorted(arrays.items())}


def pack(array: Shaped[Array, "..."]) -> bytes:
    """Compress an array of numbers in the .npy format, without pickles."""
    if array.dtype.hasobject:
        raise StoreError(f"the store keeps arrays of numbers, got dtype {array.dtype}.")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getvalue(), 6)


def unpack(data: bytes, most: int = MAX_BYTES) -> Shaped[Array, "..."]:
    """Return the array that `pack` packed; the header is decompressed first, the rest only if its size is allowed.

    Raises:
        ValueError, zlib.error, EOFError, OSError: these bytes are not from `pack`, or the array has more than `most`
            bytes.
    """
    stream = zlib.decompressobj()
    start = stream.decompress(data, 2**14)  # NumPy reads headers of at most 10^4 bytes
    head = io.BytesIO(start)
    if np.lib.format.read_magic(head) == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(head)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(head)
    if min(shape, default=0) < 0 or _size(shape, dtype) > most:
        raise ValueError(f"an array of shape {str(shape)[:80]} is larger than the {most} bytes that are read")
    size = head.tell() + math.prod(shape) * dtype.itemsize
    # Ask for one byte more than announced, which detects a longer stream. The limit is at least 1: 0 means no limit.
    whole = start + stream.decompress(stream.unconsumed_tail, max(1, size + 1 - len(start)))
    if len(whole) != size or not stream.eof:
        raise ValueError("the size of an array differs from its header")
    return np.load(io.BytesIO(whole), allow_pickle=False)


def _size(shape: tuple[int, ...], dtype: "np.dtype[np.generic]") -> int:
    """Return the number of bytes of an array; a length or an item size of 0 counts as 1, since 10^9 empty rows need
    memory too.
    """
    return math.prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1)


def digest(data: bytes) -> str:
    """Return the SHA-256 of packed bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
