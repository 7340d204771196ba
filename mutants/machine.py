"""Machine-made breakages, drawn by seed: the tests of the folder must notice.

    python mutants/machine.py                               what changed since it was last judged, and RESULT.md
    python mutants/machine.py --folder capacity --count 60  one folder's first 60
    python mutants/machine.py --folder theory --file sparsehead_paper/theory/flipped.py --count 9
                                                            the first 9 of one file
    python mutants/machine.py --list [--survivors]          the sample, and what is known of it
    python mutants/machine.py --show ID                     the difference; the start of an ID is enough
    python mutants/machine.py --only ID                     judge this one again

`operators.py` makes the changes. A sample takes from each folder those whose names hash lowest with the seed: a larger
sample contains a smaller one, and an edit changes the draw only of the function it is in. For each change the quick
tests of the folder that run its statement are run, the fastest first, until one fails or 20 seconds are spent. A test
that takes far more processor time than without the change has failed.

machine.json keeps what was found, machine-lines.json (not committed) which test runs which lines. A change that was
killed is tried again when the function, or the file of the test that killed it, has changed; a survivor when a test of
its folder has. equivalents.toml says of survivors why no test can notice; an entry is stale when its function changes.
"""

import argparse
import json
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "mutants"
sys.path.insert(0, str(HERE))

from drawn import COUNT, TESTS, Broken, candidates, difference, find, sample, shares, test_files, text_of  # noqa: E402
from operators import Change  # noqa: E402
from reach import Quiet, affordable, file_hash, hash_of, lines_of, reaching, write  # noqa: E402
from run import _take_copy  # noqa: E402
from trial import Breakage, TimedOut, Unanswered, ask, copy_tree, preload, run_tests, write_part  # noqa: E402

RESULTS, EQUIVALENTS = HERE / "machine.json", HERE / "equivalents.toml"
HEADING = "## Machine-made breakages"


@dataclass(frozen=True)
class Result:
    """What became of a change: `by` is the test that failed ("" for none), `key` a hash of what that depends on."""

    key: str
    by: str
    note: str
    seconds: float


# --- Judging ---


def _question(tests: dict[str, float]) -> list[Any]:
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return run_tests(files, "-x", "--tb=line", "-m", "not slow", plugins=[Quiet(tests)])


def judge(change: Change, tests: dict[str, float], tree: Path) -> tuple[str, str, float]:
    """(test that fails or "", note, seconds) with the change made in `tree`."""
    if not tests:
        return "", "no test runs this line", 0.0
    started, text = time.monotonic(), (tree / change.file).read_text()
    with Breakage(tree, change.file, text, change.applied(text)):
        try:
            code, passed, failed = ask(tree, partial(_question, tests), 120 + 30 * sum(tests.values()))
            by = failed[0] if failed else f"pytest, code {code}" if code else ""
            note = "" if by else f"{len(passed)} of {len(tests)} tests pass"
        except TimedOut:
            by, note = "no answer in time", ""
        except Unanswered as error:
            by, note = "its process ended", str(error)
    return by, note, time.monotonic() - started


def _judge(change: Change, tests: dict[str, float]) -> tuple[str, str, float]:
    from run import own  # the worker's copy, set by _take_copy

    return judge(change, tests, own)


def key(change: Change, by: str) -> str:
    """A killed change depends on its function and on the test's file, a survivor on all test files of its folder."""
    folder = change.id.partition("/")[0]
    file = by.partition("::")[0]
    files = [file] if by and (ROOT / file).is_file() else [] if by else test_files(folder)
    return hash_of(change.id, *map(file_hash, files))


def recall() -> dict[str, Result]:
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    return {name: Result(*values) for name, values in kept.items()}


def remember(new: dict[str, Result]) -> None:
    """Add results to machine.json, one line each, sorted; those of changes that can no longer be made are left out."""
    made = {c.id for folder in TESTS for c in candidates(folder)}
    kept = {name: r for name, r in (recall() | new).items() if name in made}
    rows = [
        f"{json.dumps(n)}: {json.dumps([r.key, r.by, r.note, r.seconds])}" for n, r in sorted(kept.items())
    ]
    write(RESULTS, "{\n" + ",\n".join(rows) + "\n}\n")


def equivalents() -> dict[str, str]:
    """Why no test can notice, by the id of the change."""
    folders = tomllib.loads(EQUIVALENTS.read_text()).values()
    return {name: why for reasons in folders for name, why in reasons.items()}


def is_known(change: Change, results: dict[str, Result], explained: dict[str, str]) -> bool:
    """Whether a change need not be tried again."""
    result = results.get(change.id)
    return result is not None and (
        result.key == key(change, result.by) or (not result.by and change.id in explained)
    )


def judge_folder(folder: str, asked: list[Change], jobs: int, tests: list[str]) -> None:
    """Judge these changes of a folder by all of its tests, or by some; each result is kept as it is found."""
    with tempfile.TemporaryDirectory(prefix="machine-") as place:
        tree = copy_tree(ROOT, Path(place) / "whole")
        print(f"{folder}: {len(asked)} to try", flush=True)
        lines = lines_of(tree, folder, tests)
        with ProcessPoolExecutor(jobs, get_context("fork"), _take_copy, (tree,)) as pool:
            work = {pool.submit(_judge, c, affordable(reaching(c, lines))): c for c in asked}
            for done in as_completed(work):
                change, (by, note, seconds) = work[done], done.result()
                remember({change.id: Result(key(change, by), by, note, round(seconds, 1))})
                print(f"{by or 'SURVIVES':70.70} {change.id} ({seconds:.1f} s) {note}", flush=True)


# --- The page ---


def section(chosen: dict[str, list[Change]], seed: int) -> str:
    """The second part of RESULT.md: totals by folder, then the changes that no test noticed."""
    results, explained = recall(), equivalents()
    rows, table, totals = [], [], [0, 0, 0, 0, 0]
    for folder, asked in chosen.items():
        seen = [c for c in asked if c.id in results]
        alive = [c for c in seen if not results[c.id].by]
        known = [c for c in alive if c.id in explained]
        counts = [
            len(asked),
            len(seen) - len(alive),
            len(known),
            len(alive) - len(known),
            len(asked) - len(seen),
        ]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        table.append(f"| {folder} | {' | '.join(map(str, counts))} |")
        rows += [_row(c, explained.get(c.id) or f"**unexplained**: {results[c.id].note}") for c in alive]
    made, killed, equivalent, surviving, untried = totals
    minutes = sum(results[c.id].seconds for asked in chosen.values() for c in asked if c.id in results) / 60
    tried = [c for asked in chosen.values() for c in asked if c.id in results]
    older = sum(not is_known(c, results, explained) for c in tried)
    text = [
        HEADING,
        "",
        f"Written by `make mutants` (`mutants/machine.py`): {made} changes drawn with seed {seed} from all those of",
        f"`mutants/operators.py`; {killed} killed by a quick test of their folder ({killed / max(1, made):.1%}), "
        f"{equivalent} explained, {surviving} unexplained, {untried} not tried; {minutes:.0f} minutes of work.",
        "",
        f"{older} of those tried were judged before a change of their tests, and are tried again by the next run.",
        "",
        "| folder | changes | killed | explained | unexplained | not tried |",
        "|---|---|---|---|---|---|",
        *table,
        "",
        "| change | where | from | to | why no test notices |",
        "|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join(text) + "\n"


def _row(change: Change, reason: str) -> str:
    text = text_of(ROOT / change.file)
    start = text.rfind("\n", 0, change.edit.start) + 1
    end = (text + "\n").find("\n", change.edit.end)
    new = text[start : change.edit.start] + change.edit.new + text[change.edit.end : end]
    code = [f"`{' '.join(piece.split())}`" for piece in (text[start:end], new)]
    cells = [f"`{change.id}`", f"{change.file}:{change.lines[0]}", *code, reason]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def report(chosen: dict[str, list[Change]], survivors: bool) -> None:
    """One line for each change of the sample, or the difference of each that survives unexplained."""
    results, explained = recall(), equivalents()
    for change in (c for asked in chosen.values() for c in asked):
        result = results.get(change.id)
        if survivors and result and not result.by and change.id not in explained:
            print(difference(change), f"\n# {result.note}\n", sep="")
        elif not survivors:
            said = "not tried" if result is None else result.by or explained.get(change.id) or "SURVIVES"
            print(f"{change.id} line {change.lines[0]}: {said}")


def options_from(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", action="append", choices=TESTS, help="only this folder; may be repeated")
    parser.add_argument(
        "--file", action="append", default=[], help="only changes of this file; may be repeated"
    )
    parser.add_argument(
        "--tests", action="append", default=[], help="ask only this file of tests; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default 0)")
    parser.add_argument("--count", type=int, help=f"changes per folder (default: {COUNT} over all folders)")
    parser.add_argument("--list", action="store_true", help="only print the sample")
    parser.add_argument("--survivors", action="store_true", help="only print unexplained survivors")
    parser.add_argument("--show", metavar="ID", help="only print the difference")
    parser.add_argument("--only", metavar="ID", help="judge this change again")
    parser.add_argument("--again", action="store_true", help="also what is unchanged since it was judged")
    parser.add_argument("--table", action="store_true", help="only write RESULT.md from what is known")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default 1)")
    return parser.parse_args(arguments)


def unjudged(
    options: argparse.Namespace, chosen: dict[str, list[Change]]
) -> Iterator[tuple[str, list[Change]]]:
    if options.only:
        yield options.only.partition("/")[0], find(options.only)
        return
    results, explained = recall(), equivalents()
    for folder, asked in chosen.items():
        new = [c for c in asked if options.again or not is_known(c, results, explained)]
        if new:
            yield folder, new


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 when all were tried, survivors explained and no reason stale, 1 otherwise, 2 for a wrong question."""
    options = options_from(arguments)
    try:
        if options.show:
            print("\n\n".join(map(difference, find(options.show))))
            return 0
        counts = shares(COUNT)
        chosen = {
            f: sample(f, options.seed, options.count or counts[f], options.file)
            for f in options.folder or TESTS
        }
        if options.list or options.survivors:
            report(chosen, options.survivors)
            return 0
        work = [] if options.table else list(unjudged(options, chosen))
        if work:
            preload()
        for folder, asked in work:
            judge_folder(folder, asked, options.jobs, options.tests)
    except (Broken, Unanswered) as error:
        print(f"mutants: {error}"[:2000], file=sys.stderr)
        return 2
    if options.only:
        return 0
    return conclude(chosen, options)


def conclude(chosen: dict[str, list[Change]], options: argparse.Namespace) -> int:
    """Write the page for a whole sample, and say what is left to explain."""
    results, explained = recall(), equivalents()
    if not (options.folder or options.count or options.seed or options.file):
        write_part(HERE / "RESULT.md", HEADING, section(chosen, options.seed))
    drawn = [c.id for asked in chosen.values() for c in asked]
    alive = [name for name in drawn if name in results and not results[name].by]
    open_ones = [name for name in alive if name not in explained]
    untried, stale = sum(name not in results for name in drawn), stale_reasons()
    print(
        f"{len(drawn) - untried - len(alive)} of {len(drawn)} killed, {len(alive) - len(open_ones)} explained",
        end="",
    )
    print(f", {untried} not tried" if untried else "")
    print("".join(f"  survives: {name}\n" for name in open_ones), end="")
    print("".join(f"  stale reason: {name}\n" for name in stale), end="")
    return 1 if open_ones or stale or untried else 0


def stale_reasons() -> list[str]:
    """Entries of equivalents.toml whose function has changed."""
    made = {c.id for folder in TESTS for c in candidates(folder)}
    return [name for name in equivalents() if name not in made]


if __name__ == "__main__":
    sys.exit(main())
