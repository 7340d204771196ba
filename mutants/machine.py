"""Machine-made breakages, drawn by seed: the tests of the folder must notice.

    python mutants/machine.py                               what changed since it was last judged, and RESULT.md
    python mutants/machine.py --folder capacity --count 60  one folder's first 60
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
import difflib
import hashlib
import json
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "mutants"
sys.path.insert(0, str(HERE))

from operators import Change, changes, parses  # noqa: E402
from run import _take_copy  # noqa: E402
from trial import Breakage, TimedOut, Unanswered, ask, copy_tree, preload, run_tests, write_part  # noqa: E402

RESULTS, LINES, EQUIVALENTS = HERE / "machine.json", HERE / "machine-lines.json", HERE / "equivalents.toml"
HEADING = "## Machine-made breakages"
COUNT, LEAST = 480, 50
# by folder of sparsehead/, its tests: tests/FOLDER, tests/test_doctests.py, and these
TESTS = {
    "certify": (),
    "capacity": (
        "tests/claims/test_attention_lipschitz.py", "tests/claims/test_capacity.py",
        "tests/claims/test_capacity_lemmas.py", "tests/claims/test_depth.py",
        "tests/claims/test_generalization_bounds.py", "tests/claims/test_limits.py",
        "tests/claims/test_linear_covers.py", "tests/claims/test_notes_errata.py",
        "tests/claims/test_paper_errata.py",
    ),
    "reading": (),
    "floor": ("tests/claims/test_floor.py",),
    "measure": ("tests/sweep/test_thresholds.py", "tests/experiments/test_law.py"),
    "covering": (
        "tests/claims/test_capacity.py", "tests/claims/test_covering.py",
        "tests/claims/test_generalization_bounds.py", "tests/claims/test_notes_errata.py",
    ),
    "construct": (
        "tests/claims/test_limits.py", "tests/claims/test_paper_errata.py", "tests/claims/test_representation.py",
        "tests/claims/test_sparse_functions.py", "tests/test_cli_build.py",
    ),
}  # fmt: skip
PATIENCE = 4.0  # a test may take this many seconds of the processor more than 5 times what it took
BUDGET = 20.0  # of the tests that run a change the fastest are asked, up to this many seconds in all
Lines = dict[
    str, dict[str, Any]
]  # by test file: "hashes" by folder, and "tests": {id: [seconds, {file: lines}]}


@dataclass(frozen=True)
class Result:
    """What became of a change: `by` is the test that failed ("" for none), `key` a hash of what that depends on."""

    key: str
    by: str
    note: str
    seconds: float


class Broken(Exception):
    """What was asked for cannot be judged."""


# --- The sample ---


@cache
def candidates(folder: str) -> tuple[Change, ...]:
    files = sorted((ROOT / "sparsehead" / folder).rglob("*.py"))
    return tuple(c for file in files for c in changes(str(file.relative_to(ROOT)), _text(file)))


@cache
def _text(path: Path) -> str:
    return path.read_text()


def sample(folder: str, seed: int, count: int) -> list[Change]:
    """The `count` changes of a folder whose names hash lowest with the seed, among those that parse."""
    rank = lambda c: hashlib.sha256(f"{seed} {c.name}".encode()).digest()  # noqa: E731
    found: list[Change] = []
    for change in sorted(candidates(folder), key=rank):
        if len(found) < count and parses(change.applied(_text(ROOT / change.file))):
            found.append(change)
    return found


def shares(count: int, least: int = LEAST) -> dict[str, int]:
    """How many of `count` each folder gets: in proportion to its candidates, at least `least`."""
    sizes = {folder: len(candidates(folder)) for folder in TESTS}
    free = max(0, count - least * len(sizes))
    total = sum(sizes.values())
    return {folder: least + round(free * size / total) for folder, size in sizes.items()}


def difference(change: Change) -> str:
    text = _text(ROOT / change.file)
    pair = (text.splitlines(), change.applied(text).splitlines())
    rows = list(difflib.unified_diff(*pair, change.file, change.file, lineterm="", n=2))
    return "\n".join([change.id, *rows])


# --- Which test runs which lines ---


def test_files(folder: str) -> list[str]:
    """The files whose tests a folder's changes are shown to."""
    own = sorted(str(f.relative_to(ROOT)) for f in (ROOT / "tests" / folder).glob("test_*.py"))
    return [*own, *TESTS[folder], "tests/test_doctests.py"]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def file_hash(test_file: str) -> str:
    """Of a test file and the helpers beside it."""
    path = ROOT / test_file
    helpers = [f for f in sorted(path.parent.glob("*.py")) if not f.name.startswith("test_")]
    return _hash(*map(_text, [path, *helpers]))


class Tracer:
    """A pytest plugin: the lines of the package that each test runs, and its seconds of processor time.

    Lines that run in a fixture count for every test of the file, which may share it. Caches are emptied before each
    test: what it would take from them, it computes.
    """

    def __init__(self, package: Path) -> None:
        import coverage

        self.cover = coverage.Coverage(data_file=None, include=[f"{package}/*"], config_file=False)
        self.cover.set_option("run:disable_warnings", ["no-data-collected"])
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.cover.start()

    def pytest_runtest_setup(self, item: Any) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith(("sparsehead", "tests")) or module is item.module:
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear") and hasattr(value, "cache_info"):
                        value.cache_clear()
        self.started = time.process_time()
        self.cover.switch_context(item.nodeid.partition("::")[0])

    def pytest_runtest_call(self, item: Any) -> None:
        self.cover.switch_context(item.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> None:
        self.cover.switch_context("")
        self.seconds[item.nodeid] = round(time.process_time() - self.started, 3)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)

    def found(self, root: Path) -> dict[str, list[Any]]:
        """{test id: [seconds, {file: lines}]} of the tests that passed, and {file: lines} of each fixture's file."""
        self.cover.stop()
        data = self.cover.get_data()
        ran: dict[str, dict[str, list[int]]] = {}
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    ran.setdefault(context, {}).setdefault(str(Path(path).relative_to(root)), []).append(line)
        tests = {t: [s, ran.get(t, {})] for t, s in self.seconds.items() if t not in self.failed}
        return tests | {f: [0.0, ran[f]] for f in {t.partition("::")[0] for t in tests} if f in ran}


def trace(file: str) -> dict[str, Any]:
    """Run in a fork: the quick tests of a file, traced."""
    tracer = Tracer(Path.cwd() / "sparsehead")
    code, _, failed = run_tests([file], "-m", "not slow", plugins=[Quiet({}), tracer])
    return {"code": code, "failed": failed, "tests": tracer.found(Path.cwd())}


def trace_hash(test_file: str, folder: str, tests: dict[str, list[Any]]) -> str:
    """Of a test file and of the files of a folder that its tests ran; what it ran elsewhere hardly matters here."""
    inside = f"sparsehead/{folder}/"
    ran = sorted({name for _, lines in tests.values() for name in lines if name.startswith(inside)})
    return _hash(
        file_hash(test_file), *(_text(ROOT / name) if (ROOT / name).is_file() else "" for name in ran)
    )


def lines_of(tree: Path, folder: str) -> Lines:
    """Which tests run which lines, from machine-lines.json where neither the tests nor what they ran has changed."""
    known: Lines = json.loads(LINES.read_text()) if LINES.is_file() else {}
    found: Lines = {}
    for file in test_files(folder):
        old = known.get(file, {"hashes": {}, "tests": {}})
        if old["hashes"].get(folder) != trace_hash(file, folder, old["tests"]):
            started = time.monotonic()
            seen = ask(tree, partial(trace, file), 3600, keep_bytecode=True)
            if seen["code"] not in (0, 1, 5):
                raise Broken(f"pytest ends with code {seen['code']} for {file} without any change")
            print(
                f"  {file}: {len(seen['tests'])} tests traced in {time.monotonic() - started:.0f} s", end=""
            )
            print(f"; fail without any change: {seen['failed']}" if seen["failed"] else "", flush=True)
            known = json.loads(LINES.read_text()) if LINES.is_file() else {}
            marks = {name: trace_hash(file, name, seen["tests"]) for name in TESTS}
            known[file] = {"hashes": marks, "tests": seen["tests"]}
            _write(LINES, json.dumps(known))
        found[file] = known[file]
    return found


def _write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def reaching(change: Change, lines: Lines) -> dict[str, float]:
    """The tests to ask about a change, with their seconds.

    They are those that run its statement, in the test or in a fixture of the file. What runs at import may concern
    each test of the folder.
    """
    first, last = change.lines
    hit = lambda ran: any(first <= line <= last for line in ran.get(change.file, ()))  # noqa: E731
    found = {}
    for file, entry in lines.items():
        fixture = file in entry["tests"] and hit(entry["tests"][file][1])
        for test, (seconds, ran) in entry["tests"].items():
            touched = any(name.startswith(str(Path(change.file).parent)) for name in ran)
            if test != file and (fixture or hit(ran) or (change.at_import and touched)):
                found[test] = seconds
    return found


def affordable(tests: dict[str, float]) -> dict[str, float]:
    """The fastest tests whose seconds add up to BUDGET, and at least one: a survivor costs no more than that."""
    chosen: dict[str, float] = {}
    for test, seconds in sorted(tests.items(), key=lambda item: item[1]):
        if chosen and sum(chosen.values()) + seconds > BUDGET:
            break
        chosen[test] = seconds
    return chosen


# --- Judging ---


class OutOfTime(BaseException):
    """A test took far more processor time than without the change."""


class Quiet:
    """A pytest plugin: hypothesis draws the same examples each time, and does not shrink those that fail.

    With `chosen` (seconds by test id) only these tests are run, the fastest first, each with its share of time; tests
    of a file with a fixture for the whole file stay together.
    """

    def __init__(self, chosen: dict[str, float]) -> None:
        self.chosen = chosen

    def pytest_configure(self) -> None:
        import hypothesis

        quick = [phase for phase in hypothesis.Phase if phase.name in ("explicit", "generate")]
        hypothesis.settings.register_profile(
            "mutants", hypothesis.settings.default, database=None, phases=quick, derandomize=True
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if not self.chosen:
            return
        wanted = [item for item in items if item.nodeid in self.chosen]
        shared: dict[str, float] = {}
        for item in wanted:
            file = item.nodeid.partition("::")[0]
            if 'scope="module"' in Path(file).read_text():
                shared[file] = shared.get(file, 0.0) + self.chosen[item.nodeid]

        def order(item: Any) -> tuple[float, str]:
            file = item.nodeid.partition("::")[0]
            return (shared.get(file, self.chosen[item.nodeid]), file)

        items[:] = sorted(wanted, key=order)

    def pytest_runtest_setup(self, item: Any) -> None:
        if self.chosen:
            signal.signal(signal.SIGPROF, _out_of_time)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 5 * self.chosen[item.nodeid])

    def pytest_runtest_teardown(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _out_of_time(*_: object) -> None:
    raise OutOfTime("far more processor time than without the change")


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
    return _hash(change.id, *map(file_hash, files))


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
    _write(RESULTS, "{\n" + ",\n".join(rows) + "\n}\n")


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


def judge_folder(folder: str, asked: list[Change], jobs: int) -> None:
    """Judge these changes of a folder; each result is kept as it is found."""
    with tempfile.TemporaryDirectory(prefix="machine-") as place:
        tree = copy_tree(ROOT, Path(place) / "whole")
        print(f"{folder}: {len(asked)} to try", flush=True)
        lines = lines_of(tree, folder)
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
    text = _text(ROOT / change.file)
    start = text.rfind("\n", 0, change.edit.start) + 1
    end = (text + "\n").find("\n", change.edit.end)
    new = text[start : change.edit.start] + change.edit.new + text[change.edit.end : end]
    code = [f"`{' '.join(piece.split())}`" for piece in (text[start:end], new)]
    cells = [f"`{change.id}`", f"{change.file}:{change.lines[0]}", *code, reason]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def find(start: str) -> list[Change]:
    """Changes whose id begins so."""
    folder = start.partition("/")[0]
    found = [c for c in candidates(folder) if c.id.startswith(start)] if folder in TESTS else []
    if not found:
        raise Broken(
            f"no change begins with {start!r}; ids look like capacity/linear:ratio:arithmetic.1@01234567."
        )
    return found


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
        chosen = {f: sample(f, options.seed, options.count or counts[f]) for f in options.folder or TESTS}
        if options.list or options.survivors:
            report(chosen, options.survivors)
            return 0
        work = [] if options.table else list(unjudged(options, chosen))
        if work:
            preload()
        for folder, asked in work:
            judge_folder(folder, asked, options.jobs)
    except (Broken, Unanswered) as error:
        print(f"mutants: {error}"[:2000], file=sys.stderr)
        return 2
    if options.only:
        return 0
    return conclude(chosen, options)


def conclude(chosen: dict[str, list[Change]], options: argparse.Namespace) -> int:
    """Write the page for a whole sample, and say what is left to explain."""
    results, explained = recall(), equivalents()
    if not (options.folder or options.count or options.seed):
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
