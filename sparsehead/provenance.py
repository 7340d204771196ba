"""Which code made a result, and on what: the version, the commit when it runs from a checkout, the processor."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from . import __version__


@cache
def made_by() -> tuple[str, str]:
    """(version, commit); the commit ends in "-dirty" with uncommitted changes, and is "" outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():  # an installed copy, perhaps inside somebody else's repository
        return __version__, ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return __version__, ""
    return __version__, done.stdout.strip()


def processor() -> str:
    """The processor's name and the number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
