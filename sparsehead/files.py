"""Files that appear whole or not at all."""

import os
from pathlib import Path

from .errors import FileError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, then move it there; whatever fails leaves what was there before.

    Raises:
        FileError: the folder is missing, full or read-only.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror or error}; nothing was written.") from error
