"""Deliberate breakages: each is applied to a copy of the tree, and the claim's check or the named test must notice.

    python mutants/run.py                  every mutants/*.toml, and mutants/RESULT.md
    python mutants/run.py --area capacity  one file
    python mutants/run.py --name a --name b

A breakage is an entry `[[mutant]]` with name, file, old, new, why, and claim (a label) or test (a pytest id) or both;
`old` must occur exactly once in the file. It is caught when the check's verdict is another one than without the
breakage, when the check raises, or when the test fails. Where both are named, the check is asked first.
"""

import argparse
import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "mutants"
LEFT_OUT = (
    ".*",
    "__pycache__",
    "*.db",
    "*.db-*",
    "reproduction",
    "build",
    "dist",
    "*.egg-info",
    "node_modules",
)
SEED = 1
# test_a_theory_claim_checks_out uses the same stride; all 256 functions of three bits take a minute
STRIDE = 16


@dataclass(frozen=True)
class Mutant:
    """One breakage; the fields are those of its entry, and `area` is the name of its file."""

    area: str
    name: str
    file: str
    old: str
    new: str
    why: str
    claim: str | None = None
    test: str | None = None


@dataclass(frozen=True)
class Result:
    """What became of a breakage: `by` says what caught it ("" for nothing), `note` what was seen."""

    mutant: Mutant
    by: str
    note: str
    seconds: float


class Broken(Exception):
    """The list or the tree is not as it must be before anything is broken."""


def load(areas: list[str] | None = None, names: list[str] | None = None) -> list[Mutant]:
    """The entries of mutants/*.toml, or of those areas and names only."""
    found = []
    for path in sorted(HERE.glob("*.toml")):
        if areas and path.stem not in areas:
            continue
        entries = tomllib.loads(path.read_text()).get("mutant", [])
        found += [Mutant(path.stem, **entry) for entry in entries if not names or entry["name"] in names]
    if not found:
        raise Broken(
            f"no breakage matches areas {areas or 'all'} and names {names or 'all'}; see {HERE}/*.toml."
        )
    return found


def problems(mutants: list[Mutant]) -> Iterator[str]:
    """What is wrong with the list itself, one sentence each."""
    names = [m.name for m in mutants]
    yield from (
        f"{name}: the name is used twice" for name in sorted({n for n in names if names.count(n) > 1})
    )
    for m in mutants:
        path = ROOT / m.file
        occurs = path.read_text().count(m.old) if path.is_file() else 0
        if occurs != 1:
            yield f"{m.name}: `old` occurs {occurs} times in {m.file}, not once"
        if m.old == m.new:
            yield f"{m.name}: `new` is `old`"
        if not (m.claim or m.test):
            yield f"{m.name}: names neither a claim nor a test"


def copy_tree(target: Path) -> Path:
    """What checks and tests need of the tree, without .git, .venv, caches and databases.

    Bytecode is compiled once and checked against the hash of its source: a breakage is always seen, even one of equal
    length within a second, and all other files load fast.
    """
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    compileall.compile_dir(
        str(target / "sparsehead"), quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )
    return target


def run(tree: Path, command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """`command` in a fresh Python on `tree`."""
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def judge(labels: list[str]) -> None:
    """Print the verdict of each claim's check, one JSON line each; runs in the copy. An error of a check ends it."""
    from sparsehead.claims.claim import Context
    from sparsehead.claims.registry import CLAIMS

    for label in labels:
        found = CLAIMS[label](Context(seed=SEED, options={"stride": STRIDE, "results": "results"}))
        print(json.dumps([found.verdict, f"{found.ours}"[:150]]), flush=True)


def verdict(tree: Path, label: str, timeout: float) -> tuple[str, str]:
    """The verdict of a claim's check on `tree` and what it says; ("raises", the error) when it breaks."""
    ran = run(tree, [str(tree / "mutants" / "run.py"), "--judge", label], timeout)
    if ran.returncode:
        return "raises", _last_line(ran.stderr)
    answer = json.loads(ran.stdout.splitlines()[-1])
    return answer[0], answer[1]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1][:150]


def run_tests(tree: Path, tests: list[str], timeout: float, *more: str) -> subprocess.CompletedProcess[str]:
    """pytest on these ids, in the order of the files; code 0 (all pass), 1 (some fail) or 2 (an import fails).

    Raises:
        Broken: anything else, such as a test that is not there or is skipped.
    """
    ran = run(
        tree, ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:randomly", *more, *tests], timeout
    )
    if ran.returncode not in (0, 1, 2):
        raise Broken(f"pytest {' '.join(tests)} ended with code {ran.returncode}: {ran.stdout[-300:]}")
    if ran.returncode == 0 and " passed" not in ran.stdout:
        raise Broken(f"pytest {' '.join(tests)} ran no test: {ran.stdout.strip()[-200:]}")
    return ran


def baseline(tree: Path, mutants: list[Mutant], timeout: float) -> dict[str, str]:
    """The verdict of every claim named, without a breakage; Broken unless all checks and tests are green."""
    labels = sorted({m.claim for m in mutants if m.claim})
    tests = sorted({m.test for m in mutants if m.test})
    verdicts, red = {}, []
    if labels:
        ran = run(
            tree, [str(tree / "mutants" / "run.py"), "--judge", ",".join(labels)], timeout * len(labels)
        )
        found = [json.loads(line)[0] for line in ran.stdout.splitlines() if line.startswith("[")]
        if ran.returncode:
            red.append(f"{labels[len(found)]} raises {_last_line(ran.stderr)}")
        verdicts = dict(zip(labels, found, strict=False))
        red += [f"{c} {v}" for c, v in verdicts.items() if v in ("fails", "not run")]
    if tests:
        ran = run_tests(tree, tests, timeout * len(tests))
        red += [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if red:
        raise Broken("not green without any breakage: " + "; ".join(red))
    return verdicts


def attempt(mutant: Mutant, tree: Path, verdicts: dict[str, str], timeout: float) -> Result:
    """Apply the breakage to `tree`, ask the check and then the test, and undo it."""
    file, started = tree / mutant.file, time.monotonic()
    text = file.read_text()
    file.write_text(text.replace(mutant.old, mutant.new))
    by = note = ""
    try:
        if mutant.claim:
            found, note = verdict(tree, mutant.claim, timeout)
            by = f"check {mutant.claim}" if found != verdicts[mutant.claim] else ""
            note = f"{found}: {note}"
        if not by and mutant.test:
            by = f"test {mutant.test}" if run_tests(tree, [mutant.test], timeout, "-x").returncode else ""
    except subprocess.TimeoutExpired:
        note = f"no answer within {timeout:.0f} s"
    finally:
        file.write_text(text)
    return Result(mutant, by, note, time.monotonic() - started)


def run_all(mutants: list[Mutant], *, jobs: int, timeout: float) -> list[Result]:
    """Every breakage in turn, on `jobs` copies at a time; in the order of the list."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: Queue[Path] = Queue()
        for i in range(jobs):
            trees.put(copy_tree(Path(folder) / str(i)))
        verdicts = baseline(Path(folder) / "0", mutants, timeout)
        print(f"green without breakages: {len(verdicts)} claims and the tests named", flush=True)

        def one(mutant: Mutant) -> Result:
            tree = trees.get()
            try:
                result = attempt(mutant, tree, verdicts, timeout)
            finally:
                trees.put(tree)
            print(
                f"{result.by or 'SURVIVES':60.60} {mutant.name} ({result.seconds:.1f} s) {result.note}",
                flush=True,
            )
            return result

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, mutants))


def table(results: list[Result]) -> str:
    """RESULT.md: totals, then survivors, then the rest."""
    caught = [r for r in results if r.by]
    survivors = [r for r in results if not r.by]
    seconds = sum(r.seconds for r in results)
    lines = [
        "# Deliberate breakages",
        "",
        "Written by `make mutants`: each entry of `mutants/*.toml` is applied to a copy of the tree, and the check of",
        "the claim it concerns, or the test it names, must notice.",
        "",
        f"{len(caught)} of {len(results)} caught ({len(caught) / len(results):.1%}), {len(survivors)} not; "
        f"{seconds / 60:.1f} minutes of work.",
        "",
        "| area | breakages | caught |",
        "|---|---|---|",
    ]
    for area in sorted({r.mutant.area for r in results}):
        inside = [r for r in results if r.mutant.area == area]
        lines.append(f"| {area} | {len(inside)} | {sum(bool(r.by) for r in inside)} |")
    lines += ["", "| breakage | file | what it breaks | caught by | seconds |", "|---|---|---|---|---|"]
    lines += [_row(r) for r in [*survivors, *caught]]
    return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    m = result.mutant
    by = result.by.replace("::", ":: ") if result.by else f"**nothing** ({result.note or 'the test passes'})"
    cells = [f"`{m.name}`", m.file, m.why, by, f"{result.seconds:.1f}"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    """Exit code 0 when everything was caught, 1 with survivors, 2 when nothing could be judged."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--area", action="append", help="only mutants/AREA.toml; may be repeated")
    parser.add_argument("--name", action="append", help="only this breakage; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default 2)")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds for one check or test (default 600)"
    )
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        judge(options.judge.split(","))
        return 0
    try:
        mutants = load(options.area, options.name)
        if found := list(problems(mutants)):
            raise Broken("; ".join(found))
        results = run_all(mutants, jobs=options.jobs, timeout=options.timeout)
    except (Broken, subprocess.TimeoutExpired) as error:
        print(f"mutants: {error}"[:2000], file=sys.stderr)
        return 2
    survivors = [r.mutant.name for r in results if not r.by]
    if not (options.area or options.name):
        (HERE / "RESULT.md").write_text(table(results))
    print(f"{len(results) - len(survivors)} of {len(results)} caught")
    print("".join(f"  survives: {name}\n" for name in survivors), end="")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
