"""Reject work that would not fit into memory, before it starts.

`require_memory` compares an estimate from the shapes with the memory that this process may still allocate. That is the
least of the machine's available memory, the limits of its control groups (version 1 or 2), RLIMIT_AS and RLIMIT_DATA.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import TooLarge

ROOT = Path("/")


def available() -> int | None:
    """Return the bytes that this process may still allocate; None if the system does not say."""
    limits = [*_machine(), *_control_group(), *_process()]
    return max(0, min(limits)) if limits else None


def require_memory(what: str, size: Callable[..., int | float], **arguments: int) -> None:
    """Raise TooLarge if the work does not fit into memory.

    Args:
        what: the work, as the message names it: "learn", "build", ...
        size: bytes needed, as a function of `arguments` that does not decrease in any of them.
        arguments: the numbers that the caller could make smaller, such as T=.., m=..
    Raises:
        TooLarge: its message has the estimate, the available memory, and for each argument the largest value that fits
            while the others stay unchanged.
    """

    def bytes_of(**given: int) -> int | float:
        try:
            return size(**given)
        except OverflowError:  # beyond the range of a float
            return math.inf

    limit = available()
    needed = bytes_of(**arguments)
    if limit is None or needed <= limit:
        return
    shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
    advice = [_advice(name, bytes_of, arguments, limit) for name in arguments]
    fits = [text for text in advice if text] or ["no smaller value of these would fit"]
    raise TooLarge(
        f"{what} with {shown} needs about {text_of(needed)} of memory, {text_of(limit)} are available; "
        f"{' or '.join(fits)}."
    )


def _short(value: int) -> str:
    """Write a whole number; above 10^20 only its order of magnitude.

    >>> _short(10**6), _short(3 * 10**400)
    ('1000000', '10^400')
    """
    return str(value) if value < 10**21 else f"10^{math.floor(math.log10(value))}"


def text_of(size: int | float) -> str:
    """Write a number of bytes with three digits and a unit.

    >>> text_of(3_400_000), text_of(17.4e9), text_of(10**30)
    ('3.4 MB', '17.4 GB', '1e+18 TB')
    """
    if math.isinf(size):
        return "1e290 TB or more"
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def _advice(name: str, size: Callable[..., int | float], arguments: dict[str, int], limit: int) -> str:
    """Name the largest value of one argument that fits; empty if not even 1 does."""

    def fits(value: int) -> bool:
        return size(**{**arguments, name: value}) <= limit

    if not fits(1):
        return ""
    low, high = 1, arguments[name]  # low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit = 10 ** max(0, int(math.log10(low)) - 2)  # three digits are enough
    return f"{name} up to {low // unit * unit} would fit"


def _number(path: Path) -> int | None:
    """Return the number in a system file; None if it holds no number ("max") or does not exist."""
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of bytes in lines "name 123" or "name: 123 kB", by name; empty if there is no such file."""
    try:
        lines = [line.replace(":", " ").split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {
        parts[0]: int(parts[1]) * (1024 if parts[2:] == ["kB"] else 1)
        for parts in lines
        if len(parts) >= 2 and parts[1].isdigit()
    }


def _machine() -> Iterator[int]:
    found = _fields(ROOT / "proc/meminfo").get("MemAvailable")
    if found is not None:
        yield found


def _control_group() -> Iterator[int]:
    """Yield the free memory of each control group of this process; page cache that can be dropped counts as free."""
    try:
        lines = (ROOT / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, names, path = (line.split(":", 2) + ["", ""])[:3]
        if number == "0" and not names:
            base, limit, used, cache = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in names.split(","):
            base, limit, used = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        group = ROOT / base / path.strip("/")
        for folder in (group, *group.parents):
            most, now = _number(folder / limit), _number(folder / used)
            # A control group of version 1 without a limit announces more than 2^60.
            if most is not None and now is not None and most < 2**60:
                yield most - now + _fields(folder / "memory.stat").get(cache, 0)
            if folder == ROOT / base:
                break


def _process() -> Iterator[int]:
    """Yield RLIMIT_AS and RLIMIT_DATA, minus the memory in use."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return
    used = _fields(ROOT / "proc/self/status")
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft - used.get(name, 0)
