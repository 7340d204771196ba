"""A plugin for pytest: the system's Chromium for tests that open a page."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE = 600_000  # milliseconds: only ends what would never end, however slow the machine


def do_without_browser(why: str) -> NoReturn:
    """Skip the test, saying why; in continuous integration fail it, so that these tests cannot go unrun unnoticed."""
    if os.environ.get("CI"):
        pytest.fail(f"{why}, and CI is set: continuous integration must run the browser tests.")
    pytest.skip(f"{why}; the browser tests need it.")


@pytest.fixture(scope="session")
def without_browser() -> Callable[[str], NoReturn]:
    return do_without_browser


class Patient:
    """A browser whose pages wait for as long as a busy machine needs; Playwright's own limit is half a minute."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    def new_context(self, **settings: Any) -> Any:
        context = self._browser.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        return context

    def new_page(self, **settings: Any) -> Any:
        return self.new_context(**settings).new_page()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._browser, name)


@pytest.fixture(scope="session")
def browser() -> Iterator[Patient]:
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
