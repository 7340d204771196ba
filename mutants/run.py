"""Deliberate breakages: each is applied to a copy of the tree, and the claim's check or the named test must notice.

    python mutants/run.py                  what changed since it was last judged, and mutants/RESULT.md
    python mutants/run.py --again          everything
    python mutants/run.py --table          nothing; mutants/RESULT.md from what is known
    python mutants/run.py --area capacity  one file of mutants/*.toml
    python mutants/run.py --name a --name b

A breakage is an entry `[[mutant]]` with name, file, old, new, why, and claim (a label) or test (a pytest id) or both;
`old` must occur exactly once in the file. It is caught when the check's verdict is another one than without the
breakage, when the check raises, or when the test fails; one that gives no answer in time has caught nothing. Where
both are named, the check is asked first.

mutants/results.json keeps what was found, under a hash of the entry, of the file it breaks and of the check or test
that is asked: a run that was ended goes on where it was, and an unchanged breakage that was caught is not tried again.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "mutants"
sys.path.insert(0, str(HERE))

from trial import (  # noqa: E402
    FIRST_PART,
    Breakage,
    TimedOut,
    Unanswered,
    ask,
    copy_tree,
    judge,
    preload,
    run_tests,
    write_part,
)

RESULTS = HERE / "results.json"
NO_ANSWER = "no answer"
LATER = ", before a change"
Verdicts = dict[str, str]


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


@cache
def _text(path: Path) -> str:
    return path.read_text()


def key(mutant: Mutant) -> str:
    """A hash of what the result depends on most: the entry, the file it breaks, and the check or test asked."""
    files = [ROOT / mutant.file]
    if mutant.claim:
        claims = sorted((ROOT / "sparsehead_paper" / "claims").rglob("*.py"))
        files += [file for file in claims if f'"{mutant.claim}"' in _text(file)]
    if mutant.test:
        files.append(ROOT / mutant.test.partition("::")[0])
    parts = [json.dumps(asdict(mutant), sort_keys=True), *map(_text, files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def remembered(mutants: list[Mutant], *, survivors: bool = False) -> dict[str, Result]:
    """By name, the results kept for breakages that are as they were and were caught, or `survivors` as well."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    return {
        m.name: Result(m, *kept[m.name][1:])
        for m in mutants
        if m.name in kept and kept[m.name][0] == key(m) and (kept[m.name][1] or survivors)
    }


def outdated(mutants: list[Mutant]) -> list[Result]:
    """Results of breakages that were caught, and whose file, check or test has changed since."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    found = [m for m in mutants if m.name in kept and kept[m.name][0] != key(m) and kept[m.name][1]]
    return [Result(m, f"{kept[m.name][1]}{LATER}", *kept[m.name][2:]) for m in found]


def remember(result: Result, key: str) -> None:
    """Put one result into mutants/results.json under its key; those of entries that are gone are left out."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    kept[result.mutant.name] = [key, result.by, result.note, round(result.seconds, 1)]
    names = {m.name for m in load()}
    lines = [f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept) if name in names]
    new = RESULTS.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    new.replace(RESULTS)


def baseline(tree: Path, mutants: list[Mutant], timeout: float) -> tuple[Verdicts, set[str]]:
    """Without a breakage: the verdict of every claim named, and the tests named that do not pass."""
    labels = sorted({m.claim for m in mutants if m.claim})
    tests = sorted({m.test for m in mutants if m.test})
    verdicts = ask(tree, partial(judge, labels), timeout * len(labels), keep_bytecode=True) if labels else {}
    red = set()
    if tests:
        code, passed, failed = ask(tree, partial(run_tests, tests), timeout * len(tests), keep_bytecode=True)
        if code not in (0, 1):
            said = (tree / ".output").read_text(errors="replace").strip().splitlines()[-3:]
            raise Broken(f"pytest ended with code {code} without any breakage: {' '.join(said)}")
        under = lambda ids, test: any(i == test or i.startswith((f"{test}[", f"{test}::")) for i in ids)  # noqa: E731
        red = {test for test in tests if under(failed, test) or not under(passed, test)}
    return {label: verdict for label, (verdict, _) in verdicts.items()}, red


def attempt(mutant: Mutant, tree: Path, verdicts: Verdicts, red: set[str], timeout: float) -> Result:
    """Apply the breakage to `tree`, ask the check and then the test, and undo it.

    What is not green without a breakage is not asked; a survivor that could not be asked says so.
    """
    started, by, notes = time.monotonic(), "", []
    with Breakage(tree, mutant.file, mutant.old, mutant.new):
        before = verdicts.get(mutant.claim or "", "raises")
        if mutant.claim and before in ("fails", "not run", "raises"):
            notes.append(f"the check {before} without the breakage")
        elif mutant.claim:
            verdict, seen = _verdict(tree, mutant.claim, timeout)
            by = f"check {mutant.claim}" if verdict not in (before, NO_ANSWER) else ""
            notes.append(f"{verdict}: {seen}")
        if not by and mutant.test and mutant.test in red:
            notes.append("the test does not pass without the breakage")
        elif not by and mutant.test:
            failed, seen = _test(tree, mutant.test, timeout)
            by = f"test {mutant.test}" if failed else ""
            notes.append(seen)
    return Result(mutant, by, "; ".join(notes), time.monotonic() - started)


def _verdict(tree: Path, label: str, timeout: float) -> tuple[str, str]:
    """What the check says now; an import that fails is noticed as well."""
    try:
        verdict, seen = ask(tree, partial(judge, [label]), timeout)[label]
    except TimedOut as error:
        return NO_ANSWER, str(error)
    except Unanswered as error:
        return "raises", str(error)
    return verdict, seen


def _test(tree: Path, test: str, timeout: float) -> tuple[bool, str]:
    """Whether the test fails now: pytest's code is 1 (it fails), 2 to 4 (an import fails)."""
    try:
        code, _, failed = ask(tree, partial(run_tests, [test], "-x"), timeout)
    except TimedOut as error:
        return False, str(error)
    except Unanswered as error:
        return True, str(error)
    return code != 0, (failed or [f"pytest ends with code {code}"])[0].partition("::")[2]


def _take_copy(tree: Path) -> None:
    """A worker's own copy, bytecode included."""
    global own
    own = shutil.copytree(tree, tree.with_name(str(os.getpid())), symlinks=True)


def _attempt(mutant: Mutant, verdicts: Verdicts, red: set[str], timeout: float) -> Result:
    return attempt(mutant, own, verdicts, red, timeout)


def run_all(mutants: list[Mutant], *, jobs: int, timeout: float) -> list[Result]:
    """Every breakage in turn, area by area, on `jobs` copies at a time; in the order of the list."""
    keys = {m.name: key(m) for m in mutants}
    preload()
    found: dict[str, Result] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copy_tree(ROOT, Path(folder) / "whole")
        for area in dict.fromkeys(m.area for m in mutants):
            for result in run_area(tree, [m for m in mutants if m.area == area], jobs, timeout):
                remember(result, keys[result.mutant.name])
                found[result.mutant.name] = result
    return [found[m.name] for m in mutants]


def run_area(tree: Path, mutants: list[Mutant], jobs: int, timeout: float) -> Iterator[Result]:
    """What became of these breakages, as it is found; all that is asked is asked without a breakage first."""
    started = time.monotonic()
    verdicts, red = baseline(tree, mutants, timeout)
    said = f"{mutants[0].area} without breakages ({time.monotonic() - started:.0f} s): {len(verdicts)} claims asked"
    print(f"{said}; tests that fail: {sorted(red) or 'none'}", flush=True)
    with ProcessPoolExecutor(jobs, get_context("fork"), _take_copy, (tree,)) as pool:
        work = [pool.submit(_attempt, mutant, verdicts, red, timeout) for mutant in mutants]
        for done in as_completed(work):
            result = done.result()
            said = f"{result.by or 'SURVIVES':60.60} {result.mutant.name} ({result.seconds:.1f} s)"
            print(said, result.note, flush=True)
            yield result


def table(results: list[Result], untried: Sequence[Mutant] = ()) -> str:
    """RESULT.md: totals, then survivors, then the rest, then what is new or changed and was not tried since."""
    caught = [r for r in results if r.by]
    survivors = [r for r in results if not r.by]
    claims = {r.mutant.claim for r in caught if r.by.removesuffix(LATER) == f"check {r.mutant.claim}"}
    lines = [
        FIRST_PART,
        "",
        "Written by `make mutants`: each entry of `mutants/*.toml` is applied to a copy of the tree, and the check of",
        "the claim it concerns, or the test it names, must notice. `before a change`: caught; the file, the check or",
        "the test has changed since.",
        "",
        f"{len(caught)} of {len(results)} caught ({len(caught) / len(results):.1%}), {len(survivors)} not; "
        f"{len(claims)} claims noticed a breakage by their own check; "
        f"{sum(r.seconds for r in results) / 60:.0f} minutes of work.",
        "",
        "| area | breakages | caught |",
        "|---|---|---|",
    ]
    for area in sorted({r.mutant.area for r in results}):
        inside = [r for r in results if r.mutant.area == area]
        lines.append(f"| {area} | {len(inside)} | {sum(bool(r.by) for r in inside)} |")
    lines += ["", "| breakage | file | what it breaks | caught by | seconds |", "|---|---|---|---|---|"]
    lines += [_row(r) for r in [*survivors, *caught]]
    if untried:
        lines += [
            "",
            f"Not tried since they were added or changed ({len(untried)}; `make mutants` tries them):",
            "",
        ]
        lines += [", ".join(f"`{m.name}`" for m in untried)]
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
    parser.add_argument("--again", action="store_true", help="also what is unchanged since it was caught")
    parser.add_argument("--table", action="store_true", help="only write RESULT.md from what is known")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default 2)")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds for one check or test (default 600)"
    )
    options = parser.parse_args()
    try:
        mutants = load(options.area, options.name)
        if found := list(problems(mutants)):
            raise Broken("; ".join(found))
        known = {} if options.again else remembered(mutants, survivors=options.table)
        changed = [m for m in mutants if m.name not in known]
        if options.table:
            older = {r.mutant.name: r for r in outdated(changed)}
            untried = [m for m in changed if m.name not in older]
            write_part(HERE / "RESULT.md", FIRST_PART, table([*known.values(), *older.values()], untried))
            return 0
        print(f"{len(changed)} to try, {len(known)} known from before", flush=True)
        if changed:
            known |= {r.mutant.name: r for r in run_all(changed, jobs=options.jobs, timeout=options.timeout)}
    except (Broken, Unanswered) as error:
        print(f"mutants: {error}"[:2000], file=sys.stderr)
        return 2
    results = [known[m.name] for m in mutants]
    survivors = [r.mutant.name for r in results if not r.by]
    if not (options.area or options.name):
        write_part(HERE / "RESULT.md", FIRST_PART, table(results))
    print(f"{len(results) - len(survivors)} of {len(results)} caught")
    print("".join(f"  survives: {name}\n" for name in survivors), end="")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
