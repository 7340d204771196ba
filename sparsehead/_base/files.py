"""Write files completely or not at all, and check files before reading; no other module writes files.

A target is checked before the work that produces its content (`check_target`) and again when it is written
(`write_whole`). The rules:

- The target is a regular file or does not exist; its folder exists and can be written to. Directories, device nodes,
  FIFOs and sockets are refused.
- A symbolic link to a regular file is written through: the file that it points to is replaced, the link stays. Any
  other link (dangling, circular, to a device or a folder) is refused.
- A file that exists is replaced only with force=True, which is `--force` on the command line.
- The content is written to a temporary file in the target's folder, flushed to the disk and moved into place. Until
  then the previous file stays complete. After any failure, Ctrl-C included, no temporary file is left.
"""

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from .errors import FileError


def check_target(path: str | Path, *, force: bool = False) -> Path:
    """Return the file to write for `path`: `path` itself, or the regular file that the link `path` points to.

    Raises:
        FileError: the rules above forbid writing there, or it is impossible; the message says why.
    """
    given = os.fspath(path)
    name = shown_path(given)
    if not given or given.endswith(os.sep) or os.path.basename(given) in (".", ".."):
        raise FileError(f"cannot write {name}: it names no file; give a file name such as out/result.")
    try:
        target = Path(os.path.realpath(given)) if os.path.islink(given) else Path(given)
        mode = _mode(target)
        if target != Path(given) and mode is None:
            raise FileError(
                f"cannot write {name}: it is a link to {shown_path(target)}, which does not exist."
            )
        if mode is not None and not stat.S_ISREG(mode):
            raise FileError(
                f"cannot write {name}: it is {_kind(mode)}, not a regular file; give another name."
            )
        _check_folder(target.parent, name)
    except (OSError, ValueError) as error:
        raise refused(given, error) from error
    if mode is not None and not force:
        raise FileError(
            f"cannot write {name}: it exists ({_described(target)}); --force (in Python force=True) replaces it."
        )
    return target


def check_apart(path: str | Path, db: str | Path, *, what: str) -> None:
    """Raise an error if the output file `path` is the results store `db`; `what` names the output, such as a chart."""
    try:
        same = os.path.realpath(path) == os.path.realpath(db) or os.path.samefile(path, db)
    except (OSError, ValueError):  # one of them does not exist, or is not a path
        same = False
    if same:
        raise FileError(
            f"cannot write {shown_path(path)}: it is the store (--db); give the {what} another name."
        )


def write_whole(path: str | Path, content: bytes, *, force: bool = False) -> Path:
    """Write `content` to `path` by the rules above, and return `path`; errors as in `whole_file`."""
    with whole_file(path, force=force) as file:
        file.write(content)
    return Path(path)


@contextmanager
def whole_file(path: str | Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing, which replaces `path` when the block ends without an error.

    Raises:
        FileError: nothing was written; an existing file at `path` is unchanged.
    """
    target = check_target(path, force=force)
    # The target's name is not part of it, since that may be as long as the file system allows.
    part = target.parent / f".sparsehead-{secrets.token_hex(8)}.part"
    try:
        with _new_part(part, _mode(target)) as file:
            yield file
            _flush(file)
        # Check again: another process may have made the target in the meantime.
        os.replace(part, check_target(path, force=force))
    except (OSError, ValueError) as error:
        raise refused(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    _flush_folder(target.parent)


def make_folder(path: str | Path) -> Path:
    """Make the folder `path` and its parents if needed; raise a FileError if it cannot be made or written to."""
    try:
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        _check_folder(folder, shown_path(path))
    except (OSError, ValueError) as error:
        raise refused(path, error) from error
    return folder


def check_source(path: str | Path, *, wanted: str, most: int | None = None) -> Path:
    """Return `path` if it is a regular file of at most `most` bytes: reading a FIFO or /dev/zero would never end.

    Messages ask for `wanted`, such as "a CSV with one point per row".
    """
    name = shown_path(path)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {name}: {_reason(error)}; give {wanted}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise FileError(
            f"cannot read {name}: it is {_kind(status.st_mode)}, not a regular file; give {wanted}."
        )
    if most is not None and status.st_size > most:
        raise FileError(f"cannot read {name}: it has {status.st_size} bytes, at most {most} are read.")
    return Path(path)


def read_json(path: str | Path, *, wanted: str) -> dict[str, Any]:
    """Return the JSON object in `path`; raise a FileError if there is no such file, or it holds something else."""
    # Lists of lists take 30 times as much memory; our largest results file has 240,000 bytes.
    source = check_source(path, wanted=wanted, most=2**24)
    try:
        found = json.loads(source.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read {shown_path(path)}: {_reason(error)}; give {wanted}.") from error
    except (ValueError, RecursionError):
        raise FileError(f"{shown_path(path)} is damaged: it is not JSON; give {wanted}.") from None
    if not isinstance(found, dict):
        raise FileError(f"{shown_path(path)} is damaged: it holds no JSON object; give {wanted}.")
    return found


def refused(path: str | Path, error: BaseException) -> FileError:
    """Return the FileError for a file operation that failed with `error`; return a FileError unchanged."""
    if isinstance(error, FileError):
        return error
    return FileError(f"cannot write {shown_path(path)}: {_reason(error)}; nothing was written.")


def shown_path(path: str | Path) -> str:
    """Write a path for a message: cut long ones in the middle, escape control characters."""
    text = printable(os.fspath(path))
    return f"{text[:60]}...{text[-20:]}" if len(text) > 200 else text or "''"


def printable(text: str) -> str:
    """Escape control characters in the text, so that a terminal shows them and does not execute them.

    >>> printable("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _mode(path: Path) -> int | None:
    """Return the mode of the file at `path`, without following links; None if there is no such file."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _described(path: Path) -> str:
    """Describe a file by its size and last change, so that a user sees what would be lost."""
    try:
        status = os.stat(path)
    except OSError:
        return "a file"
    changed = datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{status.st_size} bytes, of {changed}"


def _kind(mode: int) -> str:
    names = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    names |= dict.fromkeys((stat.S_IFCHR, stat.S_IFBLK), "a device")
    return names.get(stat.S_IFMT(mode), "a link or a special file")


def _check_folder(folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise FileError(f"cannot write {name}: {shown_path(folder)} is no folder; make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"cannot write {name}: the folder {shown_path(folder)} is read-only.")


def _reason(error: BaseException) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


def _new_part(part: Path, mode: int | None) -> IO[bytes]:
    """Open a new file with the permissions of the file that it will replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    file = os.fdopen(os.open(part, flags, 0o666), "wb")
    if mode is not None and hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), stat.S_IMODE(mode))
    return file


def _flush(file: IO[bytes]) -> None:
    """Write the file's content to the disk."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        # Some network file systems have no fsync. Other errors, such as a full disk, must be raised.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _flush_folder(folder: Path) -> None:
    """Flush the folder's entry for a new file to the disk, if the system supports that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
