"""Ask a claim's check or a test about a copy of the tree, in a process forked from one that has the libraries loaded.

Starting Python with numpy, torch and pytest takes longer than most checks. The libraries do not change between
breakages, so they are imported once (`preload`); each question is put in a fork, which imports the package afresh
from the copy. `sparsehead` itself must never be imported before the fork.
"""

import gc
import importlib
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LEFT_OUT = (
    ".git",
    ".venv",
    ".*_cache",
    ".hypothesis",
    "__pycache__",
    "*.db",
    "*.db-*",
    "reproduction",
    "build",
    "dist",
    "*.egg-info",
    "node_modules",
)
LIBRARIES = (
    "numpy", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "scipy.linalg", "torch", "lark",
    "safetensors.numpy", "typer.main", "typer.testing", "rich.table", "rich.progress", "sklearn.linear_model",
    "hypothesis.strategies", "hypothesis.extra.numpy", "jaxtyping", "beartype", "altair", "vl_convert", "jinja2",
    "latex2mathml.converter", "flint", "pytest", "_pytest.assertion.rewrite", "xdist.plugin", "pytest_timeout",
    "sqlite3", "sympy", "mpmath", "jax",
)  # fmt: skip
KERNEL = "sparsehead/train/transformer"
SEED = 1
FIRST_PART = "# Deliberate breakages"
# test_a_theory_claim_checks_out uses the same stride; all 256 functions of three bits take a minute
STRIDE = 16


class Unanswered(Exception):
    """A question had no answer: its process ended or was ended first."""


class TimedOut(Unanswered):
    """A question had no answer in time, which may say more about the machine than about the breakage."""


def preload() -> None:
    """Import the libraries that checks and tests use; one that is not installed is left out.

    Without `freeze` each garbage collection in a fork would walk all that they made, and so copy it.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.collect()
    gc.freeze()


def copy_tree(source: Path, target: Path) -> Path:
    """What checks and tests need of the tree, without .git, .venv, caches and databases."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    return target


class Breakage:
    """A file of a copy with `old` replaced by `new`, until the block ends.

    Bytecode is found by the time and size of its source: the broken file gets a time of its own and the whole one its
    old time back, so that no breakage runs from bytecode of the whole file, or the other way round. A kernel that was
    built from broken sources is replaced by the one before.
    """

    def __init__(self, tree: Path, file: str, old: str, new: str) -> None:
        self.path, self.old, self.new = tree / file, old, new
        self.built = tree / KERNEL / "built" if file.startswith(f"{KERNEL}/kernel/") else None
        self.kept = tree / "built-before"

    def __enter__(self) -> None:
        self.text, self.times = self.path.read_text(), self.path.stat()
        self.path.write_text(self.text.replace(self.old, self.new))
        os.utime(self.path, (self.times.st_atime, self.times.st_mtime + 100))
        if self.built and self.built.is_dir():
            shutil.copytree(self.built, self.kept)

    def __exit__(self, *_: object) -> None:
        self.path.write_text(self.text)
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))
        if self.built and self.kept.is_dir():
            shutil.rmtree(self.built)
            self.kept.rename(self.built)


def ask(tree: Path, question: Callable[[], Any], timeout: float, *, keep_bytecode: bool = False) -> Any:
    """The answer of `question`, put in a fork whose folder and package are those of `tree`.

    Returns what it returns, which must fit JSON.

    Raises:
        Unanswered: it raised (the last line of the traceback) or its process died.
        TimedOut: `timeout` seconds were up.
    """
    answer, output = tree / ".answer", tree / ".output"
    answer.unlink(missing_ok=True)
    process = os.fork()
    if process == 0:
        _inside(tree, question, answer, output, keep_bytecode)
    deadline = time.monotonic() + timeout
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise TimedOut(f"no answer within {timeout:.0f} s")
        time.sleep(0.02)
    if not answer.is_file():
        raise Unanswered(last_line(output.read_text(errors="replace")))
    return json.loads(answer.read_text())


def _inside(tree: Path, question: Callable[[], Any], answer: Path, output: Path, keep_bytecode: bool) -> None:
    """The forked process: never returns."""
    try:
        os.setpgid(0, 0)
        sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(sink), "w") for _ in range(2))
        os.chdir(tree)
        sys.dont_write_bytecode = not keep_bytecode
        os.environ["PYTHONPATH"] = str(tree)
        if not keep_bytecode:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path.insert(0, str(tree))
        found = json.dumps(question())
        answer.with_suffix(".new").write_text(found)
        answer.with_suffix(".new").rename(answer)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1][:150]


def judge(labels: list[str]) -> dict[str, list[str]]:
    """Verdict and result of each claim's check; ["raises", the error] for one that breaks."""
    from sparsehead_paper.claims.claim import Context
    from sparsehead_paper.claims.registry import CLAIMS

    answers = {}
    for label in labels:
        try:
            found = CLAIMS[label](Context(seed=SEED, options={"stride": STRIDE, "results": "results"}))
            answers[label] = [found.verdict, f"{found.ours}"[:150]]
        except Exception as error:
            answers[label] = ["raises", f"{type(error).__name__}: {error}"[:150]]
    return answers


def unused_plugins(tests: list[str]) -> list[str]:
    """Plugins of pytest that these tests do without; loading them took longer than most tests."""
    texts = [Path(test.partition("::")[0]).read_text() for test in tests]
    used = any("schemathesis" in text for text in texts)
    return ["cacheprovider", "randomly", "pytest_cov", "anyio", *(() if used else ("schemathesis",))]


def run_tests(tests: list[str], *more: str, plugins: Sequence[Any] = ()) -> list[Any]:
    """[exit code of pytest, ids that passed, ids that failed] for these tests, in the order of the files."""
    import pytest

    passed: list[str] = []
    failed: list[str] = []

    class Recorder:
        @staticmethod
        def pytest_runtest_logreport(report: Any) -> None:
            if report.failed:
                failed.append(report.nodeid)
            elif report.when == "call" and report.passed:
                passed.append(report.nodeid)

    options = ["-q", "--hypothesis-seed=0", *more]
    options += [part for name in unused_plugins(tests) for part in ("-p", f"no:{name}")]
    code = pytest.main([*options, *tests], plugins=[Recorder(), *plugins])
    return [int(code), passed, failed]


def write_part(page: Path, heading: str, text: str) -> None:
    """Replace the part of a page that begins with the line `heading` and ends at the next line "# .." or "## ..".

    A part that is not there yet is added: the first one at the top, another one at the end.
    """
    parts = re.split(r"^(?=##? )", page.read_text() if page.is_file() else "", flags=re.M)
    kept = [part.rstrip("\n") for part in parts if part.strip() and not part.startswith(f"{heading}\n")]
    at = 0 if heading == FIRST_PART else len(kept)
    page.write_text("\n\n".join([*kept[:at], text.rstrip("\n"), *kept[at:]]) + "\n")
