"""Refuse work that would not fit into memory, before it starts.

`require_memory` compares an estimate from the shapes with what this process may still allocate: the machine's available
memory, the limits of its control group (version 1 or 2, and those of the groups above it), RLIMIT_AS and RLIMIT_DATA.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import TooLarge

ROOT = Path("/")


def available() -> int | None:
    """Bytes that this process may still allocate; None where the system does not say."""
    limits = [*_machine(), *_control_group(), *_process()]
    return max(0, min(limits)) if limits else None


def require_memory(what: str, size: Callable[..., int | float], **arguments: int) -> None:
    """Refuse work that does not fit.

    Args:
        what: the work, as the message names it: "learn", "build", ...
        size: bytes needed, as a function of `arguments`; it must not fall when one of them grows.
        arguments: the numbers that the caller could make smaller, such as T=.., m=..
    Raises:
        TooLarge: names the estimate, what is available, and for each argument the largest value that would fit while
            the others stay unchanged.
    """

    def bytes_of(**given: int) -> int | float:
        try:
            return size(**given)
        except OverflowError:  # beyond floats
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
    """A whole number; above 10^20 by its order of magnitude.

    >>> _short(10**6), _short(3 * 10**400)
    ('1000000', '10^400')
    """
    return str(value) if value < 10**21 else f"10^{math.floor(math.log10(value))}"


def text_of(size: int | float) -> str:
    """A number of bytes for people: three digits and a unit.

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
    """The largest value of one argument that fits; empty when not even 1 does."""

    def fits(value: int) -> bool:
        return size(**{**arguments, name: value}) <= limit

    if not fits(1):
        return ""
    low, high = 1, arguments[name]  # fits, does not fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit = 10 ** max(0, int(math.log10(low)) - 2)  # three digits are enough
    return f"{name} up to {low // unit * unit} would fit"


def _number(path: Path) -> int | None:
    """The number in a file of the system; None when there is none ("max", or no such file)."""
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """Lines "name 123" or "name: 123 kB" as numbers of bytes; empty when the file is not there."""
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
    """What each group above this process leaves; page cache that can be dropped counts as free."""
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
    """RLIMIT_AS and RLIMIT_DATA, less what is in use."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    used = _fields(ROOT / "proc/self/status")
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft - used.get(name, 0)
