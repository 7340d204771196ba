"""The origin of a result: version, commit (in a checkout), engine, processor."""

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__

NOT_RECORDED = "not recorded"


@cache
def version_and_commit() -> tuple[str, str]:
    """Return (version, commit); the commit ends in "-dirty" with uncommitted changes and is "" outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():  # an installed copy, possibly inside another repository
        return __version__, ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return __version__, ""
    return __version__, done.stdout.strip()


def made_by(engine: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return version, commit and engine, as the store keeps them with every outcome.

    `engine` is the outcome's `made_by` (engine, instructions, dtype, device); by default no engine is recorded.
    """
    version, commit = version_and_commit()
    return {"version": version, "commit": commit, **(engine or {"engine": NOT_RECORDED})}


def engine_identity(origin: Mapping[str, Any]) -> str:
    """Join engine, instruction set, dtype and device of an outcome's `made_by`; "" if they were not recorded.

    Outcomes of one spec with the same identity are the same experiment. Version and commit are not part of it, so that
    outcomes remain valid after an update.

    >>> engine_identity(
    ...     {"engine": "compiled", "instructions": "x86-64-v3", "dtype": "float32", "device": "cpu"}
    ... )
    'compiled x86-64-v3 float32 cpu'
    """
    if origin.get("engine", NOT_RECORDED) == NOT_RECORDED:
        return ""
    parts = (origin.get(name) for name in ("engine", "instructions", "dtype", "device"))
    return " ".join(str(part) for part in parts if part)


def described(origin: Mapping[str, Any]) -> str:
    """Describe an outcome's `made_by` in one phrase; entries that were not recorded are left out.

    >>> described(
    ...     {"version": "0.2.0", "commit": "9a583d1", "engine": "torch", "dtype": "float32", "device": "cpu"}
    ... )
    '0.2.0 (9a583d1), torch float32 on cpu'
    >>> described({"version": "0.2.0", "engine": "tree"})
    '0.2.0, tree'
    """
    commit = f" ({origin['commit']})" if origin.get("commit") else ""
    made = f"{origin.get('version', 'an unknown version')}{commit}"
    engine = origin.get("engine", NOT_RECORDED)
    if engine == NOT_RECORDED:
        return f"{made}, engine {NOT_RECORDED}"
    how = [engine, *(origin.get(name) for name in ("instructions", "dtype"))]
    device = f" on {origin['device']}" if origin.get("device") else ""
    return f"{made}, {' '.join(str(part) for part in how if part)}{device}"


def processor() -> str:
    """The processor's name and the number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
