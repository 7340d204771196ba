"""Load the compiled kernel if its file is the one that `build.py` made; otherwise return the reason why not.

`build.py` recorded the hash of every library that it made. A file that is missing, is a symbolic link, belongs to
another user, is writable by others, or has another hash is not loaded; then torch is used, and the reason is logged.
SPARSEHEAD_KERNEL names a lower level to use (x86-64, x86-64-v3, ..), or "off".
"""

import ctypes
import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import build

REBUILD = "`python -m sparsehead.train.transformer.build` builds it"


@dataclass(frozen=True)
class Missing:
    """The reason why there is no kernel, without a full stop."""

    reason: str


@dataclass(frozen=True)
class Kernel:
    """A loaded library: its functions, the struct that they take, and its level."""

    functions: ctypes.CDLL
    spec: type[ctypes.Structure]
    level: str


def _wrong(path: Path, expected: str) -> str:
    """Return the reason not to load a file, or "". The file is opened once, and never through a link."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return f"{path.name} cannot be opened: {error.strerror}"
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return f"{path.name} is not a regular file"
        if hasattr(os, "getuid") and about.st_uid not in (0, os.getuid(), path.parent.stat().st_uid):
            return f"{path.name} belongs to another user"
        if about.st_mode & stat.S_IWOTH:
            return f"{path.name} may be written by anybody"
        with os.fdopen(file, "rb", closefd=False) as opened:
            found = hashlib.sha256(opened.read()).hexdigest()
        return "" if found == expected else f"{path.name} is not the file that was built here"
    finally:
        os.close(file)


def _struct(lib: ctypes.CDLL) -> type[ctypes.Structure]:
    """The struct `spec` of kernel/spec.h, from the names that the library itself gives for its fields."""
    lib.spec_names.restype = ctypes.c_char_p
    whole, real = lib.spec_names().decode().split("|")
    pairs = [(n, ctypes.c_long) for n in whole.split()] + [(n, ctypes.c_double) for n in real.split()]
    return type("Spec", (ctypes.Structure,), {"_fields_": pairs})


def _load(path: Path, expected: str, level: str) -> Kernel | Missing:
    wrong = _wrong(path, expected)
    if wrong:
        return Missing(f"{wrong}; {REBUILD}")
    try:
        lib = ctypes.CDLL(str(path))
        made = _struct(lib)
        spec, p, n = ctypes.POINTER(made), ctypes.c_void_p, ctypes.c_long
        lib.scratch_size.argtypes, lib.scratch_size.restype = [spec, n], n
        lib.margins.argtypes, lib.margins.restype = [spec, p, p, n, p, p], ctypes.c_int
        lib.train.argtypes, lib.train.restype = [spec, p, p, p, p, n, n, p, p, p, n, p, p, p], n
        lib.spec_offset.argtypes, lib.spec_offset.restype = [n], n
        lib.best_level.restype = ctypes.c_int
    except (OSError, AttributeError, ValueError) as error:
        return Missing(f"{path.name} cannot be loaded ({error}); {REBUILD}")
    return Kernel(lib, made, level)


@cache
def library(dtype: str) -> Kernel | Missing:
    """Return the kernel for "float32" or "float64" at the best level of this machine, or why there is none."""
    asked = os.environ.get("SPARSEHEAD_KERNEL", "")
    if asked == "off":
        return Missing("SPARSEHEAD_KERNEL=off")
    found = build.manifest()
    files: dict[str, str] = found.get("files") or {}
    if not found:
        return Missing(f"it was not built here; {REBUILD}")
    if not files:
        return Missing(f"{found.get('reason')}; {REBUILD}")
    if found.get("source") != build.source_hash():
        return Missing(f"its sources have changed since it was built; {REBUILD}")
    names = {level: f"kernel-{found['source'][:8]}-{level}-{dtype}.so" for level in build.levels()}
    there = [level for level, name in names.items() if name in files]
    if asked and asked not in there:
        return Missing(f"SPARSEHEAD_KERNEL={asked} is not among the levels built here: {', '.join(there)}")
    base = _load(build.BUILT / names[there[0]], files[names[there[0]]], there[0])
    if isinstance(base, Missing) or asked == there[0]:
        return base
    best = list(build.levels())[: base.functions.best_level()]
    usable = [level for level in there if level in best and asked in ("", level)]
    if not usable:
        return Missing(f"this processor has no {asked}")
    level = usable[-1]
    return base if level == base.level else _load(build.BUILT / names[level], files[names[level]], level)
