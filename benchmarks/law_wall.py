"""How long the law on the paper's 18 context lengths takes beside version 0.1, as real trials in one run.

    python benchmarks/law_wall.py --before CHECKOUT --json results/law-wall.json        (half an hour on two cores)

CHECKOUT is one of version 0.1, run with its defaults (every T alone, width .25, at most 160 trials); ours measures all
T together until every interval is at most as wide as the one committed in results/law.csv. Both have one worker and run
at the same time, so what else the machine does slows both; the CPU time of each is told as well. Trials start from an
empty store, with the same preset ("fast").
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sparsehead._base.files import write_whole

HERE = Path(__file__).parents[1]
BEFORE = """
import json, sys
from sparsehead.laws.law import law
asked = json.loads(sys.argv[1])
if __name__ == "__main__":
    found = law("and", s=3, Ts=[int(T) for T in asked], db=sys.argv[2], workers=1)
"""
NOW = """
import json, sys
from sparsehead.laws.law import law
from sparsehead.laws import Adaptive
asked = json.loads(sys.argv[1])
if __name__ == "__main__":
    own = {int(T): {"width": width, "max_trials": 400} for T, width in asked.items()}
    found = law("and", s=3, T=list(own), db=sys.argv[2], workers=1, policy=Adaptive(), exceptions=own)
"""
TELL = """
    print(json.dumps({T: [t.m80, t.low, t.high, t.trials] for T, t in found.thresholds.items()}))
"""


def committed_widths() -> dict[str, float]:
    """ln(high/low) by T, from results/law.csv."""
    with (HERE / "results" / "law.csv").open() as file:
        return {row["T"]: math.log(float(row["high"]) / float(row["low"])) for row in csv.DictReader(file)}


def start(code: str, tree: Path, asked: dict[str, float], folder: Path, name: str) -> "subprocess.Popen[str]":
    """The law by the package in `tree`, with a store of its own."""
    path = folder / f"{name}.py"
    path.write_text(code + TELL)
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(path), json.dumps(asked), str(folder / f"{name}.db")]
    with (folder / f"{name}.json").open("w") as out:
        return subprocess.Popen(command, stdout=out, env=environment, cwd=folder, text=True)


def beside(before: Path, Ts: list[str]) -> dict[str, Any]:
    """Both laws at once: wall and CPU seconds, trials, and how wide the intervals are against those committed."""
    widths = {T: width for T, width in committed_widths().items() if not Ts or T in Ts}
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.monotonic()
        running = {
            made.pid: (label, made)
            for label, made in (
                ("before", start(BEFORE, before.resolve(), widths, folder, "before")),
                ("now", start(NOW, HERE, widths, folder, "now")),
            )
        }
        result: dict[str, Any] = {}
        while running:
            pid, status, usage = os.wait4(-1, 0)
            label, _ = running.pop(pid)
            if status:
                raise SystemExit(f"the law of {label!r} failed with status {status}")
            found = json.loads((folder / f"{label}.json").read_text())
            result[label] = {
                "wall_seconds": time.monotonic() - began,
                "cpu_seconds": usage.ru_utime + usage.ru_stime,
                "trials": sum(row[3] for row in found.values()),
                "widest_over_committed": max(
                    math.log(row[2] / row[1]) / widths[T] for T, row in found.items() if row[1] and row[2]
                ),
                "thresholds": found,
            }
            print(label, {k: v for k, v in result[label].items() if k != "thresholds"}, flush=True)
    for what in ("wall_seconds", "cpu_seconds"):
        result[what.replace("seconds", "ratio")] = result["now"][what] / result["before"][what]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="a checkout of version 0.1")
    parser.add_argument("--T", default="", help="only these context lengths, as in 100,500")
    parser.add_argument("--json", type=Path, help="where to write the result")
    given = parser.parse_args()
    result = beside(given.before, given.T.split(",") if given.T else [])
    print(f"wall {result['wall_ratio']:.3f}, CPU {result['cpu_ratio']:.3f} of version 0.1's")
    if given.json:
        write_whole(given.json, (json.dumps(result, indent=1) + "\n").encode(), force=True)


if __name__ == "__main__":
    main()
