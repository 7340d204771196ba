"""Torture: sweeps that are killed, starved, damaged and confused must lose, double and falsify nothing.

    python torture/run.py                      everything, and torture/RESULT.md      (make torture)
    python torture/run.py --share 0.02         a fiftieth of the kills, no RESULT.md
    python torture/run.py --only "kill -9" --seed 7

After every disturbance: the store is sound or its damage is named; every outcome that was announced is there, once,
with the numbers of an undisturbed sweep; repeating the command completes the sweep; no process is left.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

from ground import Ground  # noqa: E402
from scenarios import plan  # noqa: E402

RESULT = HERE / "RESULT.md"
NUMBER = 100  # trials of a sweep


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was asked for; 0 if everything held."""
    parser = argparse.ArgumentParser(description="Torture sweeps and their stores.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the kills and damages of a full run")
    parser.add_argument("--only", help="scenarios by name, with commas")
    options = parser.parse_args(argv)
    started = time.monotonic()
    rows = torture(options.seed, options.share, options.only)
    seconds = time.monotonic() - started
    if options.share == 1 and options.only is None:
        RESULT.write_text(document(rows, options.seed, seconds))
    failed = [name for name, row in rows.items() if row["failed"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} scenarios held, {seconds:.0f} s", flush=True)
    return 1 if failed else 0


def torture(
    seed: int, share: float, only: str | None = None, number: int = NUMBER
) -> dict[str, dict[str, Any]]:
    """The figures of every scenario, its seconds of processor time, and what failed."""
    folder = Path(tempfile.mkdtemp(prefix="sparsehead-torture-"))
    rows: dict[str, dict[str, Any]] = {}
    try:
        ground = Ground(folder, number)
        for name, scenario in plan(share).items():
            if only is not None and name not in only.split(","):
                continue
            start = _processor_time()
            try:
                figures, failed = scenario(ground, random.Random(f"{seed} {name}")), ""
            except Exception as error:
                figures, failed = {}, f"{type(error).__name__}: {error}"
                traceback.print_exc()
            rows[name] = {"figures": figures, "failed": failed, "seconds": _processor_time() - start}
            print(f"{name}: {failed or 'held'}; {_told(figures)}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def _processor_time() -> float:
    """Seconds of this process and of the children that it has waited for (not of the children's workers)."""
    import os

    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _told(figures: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in figures.items())


def _kills_in_all(rows: dict[str, dict[str, Any]]) -> str:
    """The kills of both scenarios, by what was killed."""
    embedded, dask = (rows.get(name, {}).get("figures", {}) for name in ("kill -9", "kill -9 on Dask"))
    kinds = ("of clients", "of workers", "of schedulers")
    parts = [
        f"{where} {', '.join(f'{found[kind]} {kind}' for kind in kinds if kind in found) or 'none'}"
        for where, found in (("in the embedded pool", embedded), ("on Dask", dask))
    ]
    total = sum(found.get(kind, 0) for found in (embedded, dask) for kind in kinds)
    return f"kill -9 in all: {total}; {'; '.join(parts)}"


def document(rows: dict[str, dict[str, Any]], seed: int, seconds: float) -> str:
    """RESULT.md: date, command, seed, and a line for each scenario."""
    lines = [
        "# Torture",
        "",
        "Written by `make torture`; what it found before everything held is in [FOUND.md](FOUND.md).",
        "",
        f"- date: {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}",
        f"- command: `make torture`, which is `python torture/run.py --seed {seed}`",
        f"- sweeps of {NUMBER} trials (transformer and exhaustive search) with two workers, unless said otherwise",
        f"- {seconds:.0f} s on the clock",
        "- after every disturbance: nothing lost, nothing twice, nothing wrong without a word, the numbers of an "
        "undisturbed sweep, no stray process",
        f"- {_kills_in_all(rows)}",
        "",
        "| scenario | held | figures |",
        "|---|---|---|",
    ]
    for name, row in rows.items():
        lines.append(
            f"| {name} | {'no: ' + row['failed'] if row['failed'] else 'yes'} | {_told(row['figures'])} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
