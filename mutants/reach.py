"""Which test runs which lines, and a pytest plugin that runs chosen tests within their time."""

import hashlib
import json
import signal
import sys
import time
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from drawn import ROOT, TESTS, Broken, place, test_files, text_of
from operators import Change
from trial import ask, run_tests

LINES = ROOT / "mutants" / "machine-lines.json"
PATIENCE = 4.0  # a test may take this many seconds of the processor more than 5 times what it took
BUDGET = 20.0  # of the tests that run a change the fastest are asked, up to this many seconds in all
Lines = dict[
    str, dict[str, Any]
]  # by test file: "hashes" by folder, and "tests": {id: [seconds, {file: lines}]}


def hash_of(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def file_hash(test_file: str) -> str:
    """Of a test file and the helpers beside it."""
    path = ROOT / test_file
    helpers = [f for f in sorted(path.parent.glob("*.py")) if not f.name.startswith("test_")]
    return hash_of(*map(text_of, [path, *helpers]))


class Tracer:
    """A pytest plugin: the lines of the package that each test runs, and its seconds of processor time.

    Lines that run in a fixture count for every test of the file, which may share it. Caches are emptied before each
    test: what it would take from them, it computes.
    """

    def __init__(self, root: Path) -> None:
        import coverage

        self.cover = coverage.Coverage(
            data_file=None, include=[f"{root}/sparsehead/*", f"{root}/sparsehead_paper/*"], config_file=False
        )
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
    tracer = Tracer(Path.cwd())
    code, _, failed = run_tests([file], "-m", "not slow", plugins=[Quiet({}), tracer])
    return {"code": code, "failed": failed, "tests": tracer.found(Path.cwd())}


def trace_hash(test_file: str, folder: str, tests: dict[str, list[Any]]) -> str:
    """Of a test file and of the files of a folder that its tests ran; what it ran elsewhere hardly matters here."""
    inside = f"{place(folder)[0]}/"
    ran = sorted({name for _, lines in tests.values() for name in lines if name.startswith(inside)})
    return hash_of(
        file_hash(test_file), *(text_of(ROOT / name) if (ROOT / name).is_file() else "" for name in ran)
    )


def lines_of(tree: Path, folder: str, tests: Sequence[str] = ()) -> Lines:
    """Which tests run which lines, from machine-lines.json where neither the tests nor what they ran has changed.

    With `tests`, only those of these files.
    """
    known: Lines = json.loads(LINES.read_text()) if LINES.is_file() else {}
    found: Lines = {}
    for file in tests or test_files(folder):
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
            write(LINES, json.dumps(known))
        found[file] = known[file]
    return found


def write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def reaching(change: Change, lines: Lines) -> dict[str, float]:
    """The tests to ask about a change, with their seconds.

    They are those that run its statement, in the test or in a fixture of the file. What runs at import may concern
    each test of the folder, also one that runs no line of the package: it only reads what was made at import.
    """
    first, last = change.lines
    hit = lambda ran: any(first <= line <= last for line in ran.get(change.file, ()))  # noqa: E731
    found = {}
    for file, entry in lines.items():
        fixture = file in entry["tests"] and hit(entry["tests"][file][1])
        for test, (seconds, ran) in entry["tests"].items():
            touched = not ran or any(name.startswith(str(Path(change.file).parent)) for name in ran)
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
