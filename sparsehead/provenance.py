"""Which code made a result: the version, and the commit when it runs from a checkout."""

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
