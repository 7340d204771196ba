"""Do what a release needs, step by step, and say which steps failed: `make release-check`.

    python scripts/release_check.py [--only NAME,..]

    files     the package, CITATION.cff and CHANGELOG.md name one version, and the changelog has its date
    lint      format, ruff, codespell, mypy
    tests     the tests of the house: documents, layers, supply chain, versions
    build     the source archive; the wheel, made from that archive
    install   the wheel in a fresh environment, and scripts/smoke.py in it without compiler
    docs      the documentation site, where a warning is an error

All steps run even if one fails. Ends with code 1 if one failed. Takes minutes; `build` and `install` fetch packages.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


class Failed(Exception):
    """A step failed; the message says how."""


def run(*command: str | Path, **environment: str) -> None:
    """Run a command in the root of the checkout; raise with its last lines if it fails."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise Failed(f"{' '.join(map(str, command))} ended with code {done.returncode}:\n{last}")


def disagreements(root: Path) -> list[str]:
    """Return what stands between the three files that name the version and a release."""
    package = re.search(r'^__version__ = "(.+)"$', (root / "sparsehead/__init__.py").read_text(), re.M)
    if package is None:
        return ["sparsehead/__init__.py has no __version__"]
    version, wrong = package[1], []
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.M)
    if cited is None or cited[1].strip() != version:
        wrong.append(f"CITATION.cff has version {cited and cited[1]}, the package {version}")
    newest = re.search(r"^## (\S+), (.+)$", (root / "CHANGELOG.md").read_text(), re.M)
    if newest is None or newest[1] != version:
        wrong.append(f"the newest section of CHANGELOG.md is {newest and newest[1]}, the package {version}")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2]):
        wrong.append(
            f'CHANGELOG.md says {version} is "{newest[2]}": put the date there when the release is made'
        )
    return wrong


def files() -> None:
    """Compare the files that name the version."""
    if wrong := disagreements(ROOT):
        raise Failed("\n".join(wrong))


def lint() -> None:
    """Run the format, style, spelling and type checks."""
    run(BIN / "ruff", "format", "--check", ".")
    run(BIN / "ruff", "check", ".")
    run(BIN / "codespell")
    run(BIN / "mypy")


def tests() -> None:
    """Run the tests of the house; `make test-all` runs all tests."""
    run(sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "tests/house")


def build() -> None:
    """Build the source archive, and from it a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        _archives(Path(folder))


def install() -> None:
    """Install the wheel in a fresh environment and try it; neither step sees a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = _archives(Path(folder))
        run(sys.executable, "-m", "venv", f"{folder}/fresh")
        fresh = Path(folder) / "fresh" / "bin" / "python"
        run(fresh, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel, CC="no-compiler")
        run(fresh, ROOT / "scripts" / "smoke.py", CC="no-compiler")


def _archives(folder: Path) -> Path:
    """Build both archives into the folder; return the wheel."""
    hatchling = (sys.executable, "-m", "hatchling", "build", "-t")
    run(*hatchling, "sdist", "-d", folder)
    (archive,) = folder.glob("*.tar.gz")
    run(
        sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, archive
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def docs() -> None:
    """Build the site into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-b", "html", "docs", folder)


STEPS: dict[str, Callable[[], None]] = {
    "files": files, "lint": lint, "tests": tests, "build": build, "install": install, "docs": docs,
}  # fmt: skip


def check(names: Iterable[str]) -> list[str]:
    """Run the steps and print a line for each; return the names of those that failed."""
    failed = []
    for name in names:
        started = time.monotonic()
        try:
            STEPS[name]()
            said = "ok"
        except Failed as error:
            failed.append(name)
            said = f"FAILED\n{error}"
        print(f"{name:8} {time.monotonic() - started:5.0f} s  {said}", flush=True)
    return failed


def main() -> None:
    """Run the steps that are asked for; all of them by default."""
    parser = argparse.ArgumentParser(description="Do what a release needs; say which steps failed.")
    parser.add_argument(
        "--only", default=",".join(n for n in STEPS if n != "build"), help="steps, with commas"
    )
    names = [name.strip() for name in parser.parse_args().only.split(",")]
    if unknown := [name for name in names if name not in STEPS]:
        parser.error(f"there is no step {unknown[0]}; the steps are {', '.join(STEPS)}.")
    failed = check(names)
    print(f"not ready for a release: {', '.join(failed)} failed" if failed else "ready for a release")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
