"""A plugin for pytest: threads, hypothesis and Ctrl-C as tests need them, a built kernel, and the order of work."""

import functools
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two pytest workers share two cores

import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
# whose tests share a server, a browser, a report, or transformers, which takes a second to import
SHARED = ("tests/lab/", "tests/report/", "tests/probing/")

# An example may take as long as it takes: how long depends on the machine and on what else it does.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background of a shell ignores Ctrl-C, and so would the commands that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed of the random order of tests; -q hides the line in which pytest-randomly prints it."""
    seed = getattr(config.option, "randomly_seed", None)
    if isinstance(seed, int):
        terminalreporter.write_line(f"order of the tests: repeat it with -p randomly --randomly-seed={seed}")


def pytest_configure(config: pytest.Config) -> None:
    """Build the kernel where a checkout's is missing or out of date, so that tests train at full speed."""
    if not hasattr(config, "workerinput"):
        path = ROOT / "sparsehead" / "train" / "transformer" / "build.py"
        subprocess.run([sys.executable, str(path)], stdout=subprocess.DEVNULL, check=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave out of Python's search for cycles what lives to the end: it took half the time of collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@functools.cache
def scope_of(file: str) -> str | None:
    """The folder or file whose tests share fixtures, or None."""
    folder = next((folder for folder in SHARED if file.startswith(folder)), None)
    return folder or (file if 'scope="module"' in (ROOT / file).read_text() else None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send tests that share a fixture to one worker, so that it is made once; all others where there is room.

    xdist's own --dist loadgroup groups nothing under pytest 9: it adds the group to an item's id, which is not read.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFixtures(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid.partition("::")[0]) or nodeid

    return ByFixtures(config, log)
