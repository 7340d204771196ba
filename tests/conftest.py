"""Shapes are types: every annotation of the package is checked while tests run."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two pytest workers share two cores

import hypothesis
import jaxtyping
import pytest

# An example may take as long as it takes: how long depends on the machine and on what else it does.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background of a shell ignores Ctrl-C, and so would the commands that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter, config):
    """The seed of the order, in which tests run at random; -q hides the line in which the plugin itself says it."""
    seed = getattr(config.option, "randomly_seed", None)
    if isinstance(seed, int):
        terminalreporter.write_line(f"order of the tests: repeat it with -p randomly --randomly-seed={seed}")


def pytest_configure(config):
    """Build the kernel where a checkout's is missing or out of date, so that tests train at full speed."""
    if not hasattr(config, "workerinput"):
        path = Path(__file__).parents[1] / "sparsehead" / "train" / "transformer" / "build.py"
        subprocess.run([sys.executable, str(path)], stdout=subprocess.DEVNULL, check=False)


CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

hook = jaxtyping.install_import_hook("sparsehead", "beartype.beartype")


@pytest.fixture
def unchecked():
    """Annotations off, as for users: what the library itself says about a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def do_without_browser(why):
    """Skip the test, saying why; in continuous integration fail it, so that these tests cannot go unrun unnoticed."""
    if os.environ.get("CI"):
        pytest.fail(f"{why}, and CI is set: continuous integration must run the browser tests.")
    pytest.skip(f"{why}; the browser tests need it.")


@pytest.fixture(scope="session")
def without_browser():
    return do_without_browser


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, headless; without one, tests that need it are skipped, or fail in CI."""
    try:
        from playwright import sync_api
    except ImportError:
        do_without_browser("the Python package playwright is not installed")
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        do_without_browser("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield chromium
        chromium.close()
