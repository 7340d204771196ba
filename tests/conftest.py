"""Shapes are types: every annotation of the package is checked while tests run."""

import dataclasses
import functools
import inspect
import os
import shutil
import signal
import subprocess
import sys
import typing
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two pytest workers share two cores

import beartype
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


# whose tests share a server, a browser, a report, or transformers, which takes a second to import
SHARED = ("tests/lab/", "tests/report/", "tests/probing/")


@functools.cache
def scope_of(file):
    """The folder or file whose tests share fixtures, or None."""
    folder = next((folder for folder in SHARED if file.startswith(folder)), None)
    return folder or (file if 'scope="module"' in (Path(__file__).parents[1] / file).read_text() else None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that share a fixture go to one worker, so that it is made once; all others where there is room.

    xdist's own --dist loadgroup groups nothing under pytest 9: it adds the group to an item's id, which is not read.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFixtures(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope_of(nodeid.partition("::")[0]) or nodeid

    return ByFixtures(config, log)


CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def has_shapes(annotation):
    """Whether an annotation speaks of arrays."""
    is_array = inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray)
    parts = annotation if isinstance(annotation, list | tuple) else typing.get_args(annotation)
    return is_array or any(map(has_shapes, parts))


def is_text(annotation):
    """Whether an annotation is, or contains, a name in quotes."""
    return isinstance(annotation, str | typing.ForwardRef) or any(map(is_text, typing.get_args(annotation)))


CONFIG = beartype.BeartypeConf(violation_type=jaxtyping.TypeCheckError)


def checked(what=None, *, typechecker=None):
    """jaxtyping's own decorator with the same checks, without binding the arguments of each call to names.

    Binding is for dimensions computed from arguments, which the package does not use, and takes longer than most
    functions: tests of small functions spent most of their time there. Sizes are compared within one call, as before.
    """
    if what is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(what):
        if dataclasses.is_dataclass(what) and "__init__" in vars(what):
            what.__init__ = checked(what.__init__)
        return what
    annotations = list(getattr(what, "__annotations__", {}).values())
    # what runs later than it is called, and names that are not known yet, are left to jaxtyping
    if not inspect.isfunction(what) or inspect.isgeneratorfunction(what) or any(map(is_text, annotations)):
        return jaxtyped(what, typechecker=typechecker)
    inner, config = beartype.beartype(conf=CONFIG)(what), jaxtyping.config

    def plain(*args, **kwargs):
        return (what if config.jaxtyping_disable else inner)(*args, **kwargs)

    def shaped(*args, **kwargs):
        if config.jaxtyping_disable:
            return what(*args, **kwargs)
        with jaxtyped("context"):
            return inner(*args, **kwargs)

    return functools.wraps(what)(shaped if any(map(has_shapes, annotations)) else plain)


jaxtyped, jaxtyping.jaxtyped = jaxtyping.jaxtyped, checked
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


PATIENCE = 600_000  # milliseconds: only ends what would never end, however slow the machine


class Patient:
    """A browser whose pages wait for as long as a busy machine needs; Playwright's own limit is half a minute."""

    def __init__(self, browser):
        self._browser = browser

    def new_context(self, **settings):
        context = self._browser.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        return context

    def new_page(self, **settings):
        return self.new_context(**settings).new_page()

    def __getattr__(self, name):
        return getattr(self._browser, name)


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
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS), timeout=PATIENCE)
        yield Patient(chromium)
        chromium.close()
