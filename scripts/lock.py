"""requirements.lock from constraints.txt: every pinned package with the SHA-256 of each file that may be installed.

    python scripts/lock.py --index URL [--wheels FOLDER]     URL: of a package index (its simple API)

Files are wheels for Python 3.11 to 3.13 on Linux (x86-64, aarch64) and macOS, and the source archive where a package
has no such wheel. torch is the CPU build of FOLDER, and macOS's: PyPI's wheel for Linux needs several GB of CUDA
packages, which are not locked. Where no locked file fits, `make` says so and installs by constraints.txt.
"""

import argparse
import hashlib
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
PYTHONS = ("cp311", "cp312", "cp313", "py3", "py311")
PLATFORMS = ("any", "manylinux", "macosx")
LINK = re.compile(r'href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')
MACHINES = ("x86_64", "aarch64", "arm64", "universal2", "any")


def pins() -> dict[str, str]:
    """Package and version of each line of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().split()
    return {str(canonicalize_name(name)): version for name, version in (line.split("==") for line in lines)}


def fits(name: str, file: str) -> bool:
    """Whether a wheel may be chosen on the systems above."""
    tags = parse_wheel_filename(file)[3]
    return any(_fits(name, tag.interpreter, tag.abi, tag.platform) for tag in tags)


def _fits(name: str, interpreter: str, abi: str, platform: str) -> bool:
    python = interpreter in PYTHONS or (abi == "abi3" and interpreter.startswith("cp3"))
    system = platform.startswith("macosx" if name == "torch" else PLATFORMS) and platform.endswith(MACHINES)
    return python and system and not abi.endswith("t")


def files(index: str, name: str, version: str) -> Iterator[tuple[str, str]]:
    """The files of a release that fit, with their SHA-256."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as answer:
        found = dict(LINK.findall(answer.read().decode()))
    wheels = [
        file for file in found if file.endswith(".whl") and _version(file) == version and fits(name, file)
    ]
    sources = [file for file in found if file.endswith(".tar.gz") and _version(file) == version]
    for file in sorted(wheels) or sorted(sources):
        yield file, found[file]


def _version(file: str) -> str:
    try:
        parse = parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename
        return str(parse(file)[1])
    except ValueError:  # names of long ago
        return ""


def main() -> None:
    """Write requirements.lock."""
    parser = argparse.ArgumentParser(description="Lock the packages of constraints.txt with hashes.")
    parser.add_argument("--index", required=True)
    parser.add_argument("--wheels", type=Path, help="a folder with wheels that the index does not have")
    options = parser.parse_args()
    lines = [
        "# Written by scripts/lock.py from constraints.txt; `make` installs from it with --require-hashes."
    ]
    for name, version in sorted(pins().items()):
        found = [digest for _, digest in files(options.index, name, version)]
        for wheel in (
            sorted(options.wheels.glob(f"{name.replace('-', '_')}-{version}*.whl")) if options.wheels else []
        ):
            found.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
        if not found:
            raise SystemExit(f"{name}=={version} has no file that fits")
        lines.append(f"{name}=={version} \\")
        lines += [f"    --hash=sha256:{digest} \\" for digest in dict.fromkeys(found)]
        lines[-1] = lines[-1].removesuffix(" \\")
    LOCK.write_text("\n".join(lines) + "\n")
    print(f"{len(pins())} packages, {sum('--hash' in line for line in lines)} files")


if __name__ == "__main__":
    main()
