"""Fuzzing: every reader of what others wrote, a million inputs in all.

    python fuzz/run.py                       everything, and fuzz/RESULT.md        (make fuzz)
    python fuzz/run.py --share 0.01          a hundredth of the inputs, no RESULT.md
    python fuzz/run.py --target CSV --seed 7

Each target runs in a process of its own, which has a ceiling on memory; see watch.py for what counts as a finding,
targets.py for what is done with an input, inputs.py for where inputs come from. Inputs that led to findings are kept in
fuzz/found/. The exit code is 1 if there are findings.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

from watch import GROWTH, LIMIT, Tally, Watch, limit_memory  # noqa: E402

RESULT = HERE / "RESULT.md"
FOUND = HERE / "found"
Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was asked for; 0 if nothing was found."""
    options = _options(argv)
    if options.child:
        _child(options.target, options.seed, options.share, Path(options.child))
        return 0
    from targets import TARGETS

    guided = find_spec("atheris") is not None and not options.without_atheris
    started, rows = time.monotonic(), []
    for target in TARGETS:
        if options.target in (None, target.name):
            rows.append(_ask(target.name, options.seed, options.share))
            if guided and (runs := round(target.guided * options.share)):
                rows.append(_guide(target.name, runs, options.seed))
            for row in rows[-2:]:
                if row["target"] == target.name:
                    _show(row)
    seconds = time.monotonic() - started
    if options.target is None and options.share == 1:
        RESULT.write_text(document(rows, options.seed, seconds, guided))
    findings = sum(len(row["findings"]) for row in rows)
    total = sum(row["inputs"] for row in rows)
    print(f"{total} inputs, {findings} findings, {seconds:.0f} s")
    return 1 if findings else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz every reader of sparsehead.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the inputs of a full run")
    parser.add_argument("--target", help="one target by name")
    parser.add_argument("--without-atheris", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def fuzz(name: str, seed: int, share: float) -> tuple[Tally, int]:
    """The tally of a target's mutations and of what Hypothesis makes, in this process; how many were the latter."""
    from inputs import generate, mutations
    from targets import BY_NAME

    target = BY_NAME[name]
    watch = Watch(target.use())
    rng = random.Random(f"{seed} {name}")
    for data in islice(
        mutations(target.corpus(), target.words(), rng), max(1, round(target.mutated * share))
    ):
        watch(data)
    wanted = max(1, round(target.generated * share))
    return watch.tally, generate(target.strategy(), wanted, seed, watch)


def _child(name: str, seed: int, share: float, answer: Path) -> None:
    limit_memory()
    start = time.process_time()
    tally, generated = fuzz(name, seed, share)
    answer.write_text(as_json(tally, time.process_time() - start, generated))


def as_json(tally: Tally, seconds: float, generated: int = 0) -> str:
    """A tally as a process hands it to another."""
    findings = [[f.what, f.where, f.data.hex(), f.times] for f in tally.findings.values()]
    return json.dumps(
        {
            "inputs": tally.inputs,
            "accepted": tally.accepted,
            "refused": tally.refused,
            "slowest": tally.slowest,
            "growth": tally.growth,
            "seconds": seconds,
            "generated": generated,
            "findings": findings,
        }
    )


def _ask(name: str, seed: int, share: float) -> Row:
    """Run a target in a process of its own."""
    arguments = ["--target", name, "--seed", str(seed), "--share", str(share), "--child"]
    return {"target": name, "how": "mutations, Hypothesis", **_answer([str(HERE / "run.py"), *arguments])}


def _guide(name: str, runs: int, seed: int) -> Row:
    """Run a target under atheris."""
    found = _answer([str(HERE / "guided.py"), name, str(runs), str(seed)])
    return {"target": name, "how": "atheris", **found}


def _answer(command: list[str]) -> Row:
    with tempfile.TemporaryDirectory(prefix="sparsehead-fuzz-") as folder:
        answer, output = Path(folder) / "answer", Path(folder) / "output"
        environment = os.environ | {"TMPDIR": folder, "OMP_NUM_THREADS": "1"}
        before = os.times()
        with output.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, *command, str(answer)], stdout=sink, stderr=sink, env=environment, cwd=folder
            )
            code = process.wait()
        after = os.times()
        if answer.exists():
            row: Row = json.loads(answer.read_text())
        else:
            said = output.read_text(errors="replace")[-400:]
            row = {"inputs": 0, "accepted": 0, "refused": 0, "slowest": 0.0, "growth": 0, "generated": 0}
            row["findings"] = [[f"the process ended with code {code}: {said}", "", "", 1]]
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        return {**row, "seconds": seconds}


def _show(row: Row) -> None:
    print(
        f"{row['target']}, {row['how']}: {row['inputs']} inputs, {row['accepted']} accepted, slowest "
        f"{row['slowest'] * 1000:.0f} ms, {row['seconds']:.0f} s",
        flush=True,
    )
    FOUND.mkdir(exist_ok=True)
    for i, (what, where, data, times) in enumerate(row["findings"]):
        name = f"{row['target']}-{row['how'].split(',')[0]}-{i}".replace(" ", "-")
        (FOUND / name).write_bytes(bytes.fromhex(data))
        print(f"  FOUND {times} times: {what} at {where}; fuzz/found/{name}")


def document(rows: Sequence[Row], seed: int, seconds: float, guided: bool) -> str:
    """RESULT.md: date, command, seed, and a line for each target."""
    total = sum(row["inputs"] for row in rows)
    lines = [
        "# Fuzzing",
        "",
        "Written by `make fuzz`; what it found before it found nothing is in [FOUND.md](FOUND.md).",
        "",
        f"- date: {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}",
        f"- command: `make fuzz`, which is `python fuzz/run.py --seed {seed}`",
        f"- inputs: {total:,}; findings: {sum(len(row['findings']) for row in rows)}",
        f"- processor time: {sum(row['seconds'] for row in rows):.0f} s ({seconds:.0f} s on the clock)",
        f"- a finding is an exception other than SparseheadError, a message of several lines, more than {LIMIT:g} s of "
        f"processor time or {GROWTH // 10**6} MB of memory for one input, or an accepted input that cannot be right",
        f"- coverage-guided part: {'atheris ' + _version('atheris') if guided else 'not run, no atheris here'}; "
        f"Hypothesis {_version('hypothesis')}; Python {sys.version.split()[0]}",
        "",
        "| target | inputs from | inputs | accepted | refused | slowest, ms | memory, MB | s | findings |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        how = row["how"]
        if row["generated"]:
            how = f"mutations {row['inputs'] - row['generated']:,}, Hypothesis {row['generated']:,}"
        lines.append(
            f"| {row['target']} | {how} | {row['inputs']:,} | {row['accepted']:,} | {row['refused']:,} | "
            f"{row['slowest'] * 1000:.0f} | {row['growth'] / 1e6:.0f} | {row['seconds']:.0f} | {len(row['findings'])} |"
        )
    return "\n".join(lines) + "\n"


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


if __name__ == "__main__":
    code = main()
    shutil.rmtree(FOUND, ignore_errors=True) if code == 0 else None
    sys.exit(code)
