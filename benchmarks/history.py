"""The speed of every release in one file, benchmarks/history.json: a list with one line per release and machine.

A line has version, commit, machine, instructions (the instruction-set level), torch, clock, threads, busy (the load
over the cores when it was measured; null: not recorded) and ratios, the figures of `engine.figures`. It has no absolute
times, so that lines of one machine can be compared.
"""

import json
import os
from pathlib import Path
from typing import Any

from sparsehead._base.provenance import version_and_commit

HISTORY = Path(__file__).with_name("history.json")
SAME = ("machine", "instructions", "clock", "threads")


def line_of(result: dict[str, Any], ratios: dict[str, float]) -> dict[str, Any]:
    """The line of a run of benchmarks/engine.py."""
    version, commit = version_and_commit()
    line = {"version": version, "commit": commit, "instructions": result["made_by"]["instructions"]}
    line |= {name: result[name] for name in ("machine", "torch", "clock", "threads")}
    busy = round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)
    return line | {"busy": busy, "ratios": {name: float(f"{value:.4g}") for name, value in ratios.items()}}


def read(path: Path = HISTORY) -> list[dict[str, Any]]:
    """All lines, the oldest first."""
    return json.loads(path.read_text()) if path.exists() else []


def former(line: dict[str, Any], lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The latest line before this one, of the same machine, level, clock and threads where there is one."""
    others = [x for x in lines if (x["version"], x["commit"]) != (line["version"], line["commit"])]
    alike = [x for x in others if all(x[name] == line[name] for name in SAME)]
    return (alike or others or [None])[-1]


def table(line: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    """Each ratio beside that of the line before, and how it changed; what either lacks is a dash."""
    old = before["ratios"] if before else {}
    names = [*line["ratios"], *(name for name in old if name not in line["ratios"])]
    titles = [f"{x['version']} {x['commit'][:9]}".strip() if x else "no line before" for x in (before, line)]
    out = [f"{'':52} {titles[0]:>18} {titles[1]:>18} {'change':>8}"]
    for name in names:
        pair = [side.get(name) for side in (old, line["ratios"])]
        shown = ["-" if x is None else f"{x:.4g}" for x in pair]
        change = f"{pair[1] / pair[0] - 1:+.0%}" if pair[0] and pair[1] else ""
        out.append(f"{name:52} {shown[0]:>18} {shown[1]:>18} {change:>8}")
    if before and any(before[name] != line[name] for name in SAME):
        apart = ", ".join(f"{name} {before[name]}" for name in SAME if before[name] != line[name])
        out.append(f"The line before was measured under other conditions ({apart}).")
    return out


def record(line: dict[str, Any], path: Path = HISTORY) -> None:
    """Add the line; one of the same version and conditions is replaced."""
    key = ("version", *SAME)
    kept = [x for x in read(path) if any(x[name] != line[name] for name in key)]
    path.write_text(json.dumps([*kept, line], indent=1) + "\n")
