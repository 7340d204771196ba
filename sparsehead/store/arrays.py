"""Arrays of numbers as compressed bytes, and their checksums."""

import hashlib
import io
import math
import zlib
from collections.abc import Mapping

import numpy as np

from .._base.errors import StoreError
from .._base.types import Array, Shaped

MAX_BYTES = 2**27  # of the arrays of one outcome, unpacked; zlib packs zeros to a thousandth of their size
MAX_HISTORY_BYTES = 2**24  # of its curves among them, which become lists eight times as large
HISTORY = "history/"  # the names of curves start with this


def pack_all(arrays: Mapping[str, Shaped[Array, "..."]]) -> dict[str, bytes]:
    """The arrays of one outcome, packed, in the order of their names.

    Raises:
        StoreError: one is not of numbers, or together they are larger than is read back.
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
    """An array as compressed .npy bytes; no pickles. Numbers only."""
    if array.dtype.hasobject:
        raise StoreError(f"the store keeps arrays of numbers, got dtype {array.dtype}.")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getvalue(), 6)


def unpack(data: bytes, most: int = MAX_BYTES) -> Shaped[Array, "..."]:
    """The array that `pack` packed; its header is unpacked first, the rest only if it has the announced size.

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
    # One byte more than announced is asked for, so that a longer stream is noticed; 0 would mean all of it.
    whole = start + stream.decompress(stream.unconsumed_tail, max(1, size + 1 - len(start)))
    if len(whole) != size or not stream.eof:
        raise ValueError("an array has another size than its header says")
    return np.load(io.BytesIO(whole), allow_pickle=False)


def _size(shape: tuple[int, ...], dtype: "np.dtype[np.generic]") -> int:
    """Bytes of an array; empty axes and items count as one, since a list of 10^9 empty lists is not empty."""
    return math.prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1)


def digest(data: bytes) -> str:
    """SHA-256 of packed bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
