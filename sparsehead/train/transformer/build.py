"""Build the compiled kernel into `built/`, for each instruction-set level of this kind of machine.

Run when the package is installed (hatch_build.py), by `make`, and by hand:

    python -m sparsehead.train.transformer.build [--force]

There is one shared library per level and dtype, so that a run's numbers depend on the level and not on the machine. The
manifest beside them records the hashes of the sources and of every library; `library.py` compares both before it loads
a library. This file uses only the standard library: installers run it without the package's dependencies.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

KERNEL, BUILT = (Path(__file__).resolve().parent / name for name in ("kernel", "built"))
MANIFEST = "manifest.json"
FLAGS = ["-O3", "-std=gnu11", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"]
DTYPES = {"float32": [], "float64": ["-DDOUBLE"]}
SECONDS = 1200  # a compiler that takes longer for one file is stopped; it takes seconds on an idle machine


def machine() -> str:
    """Return the kind of processor, under one name where systems use several."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(name, name)


def levels() -> dict[str, list[str]]:
    """Return the levels of this kind of machine, with the compiler's flags for each."""
    known = {  # from the level that every such machine has to the one that asks most
        "x86_64": {
            "x86-64": ["-march=x86-64"],
            "x86-64-v3": ["-march=x86-64-v3"],
            "x86-64-v4": ["-march=x86-64-v4", "-mprefer-vector-width=512", "-DVEC=64"],
        },
        "arm64": {"arm64": ["-march=armv8-a"]},
    }
    return known.get(machine(), {machine() or "generic": []})


def source_hash() -> str:
    """Hash everything that a built library depends on, except the compiler."""
    texts = [path.read_bytes() for path in sorted(KERNEL.iterdir()) if path.suffix in (".c", ".h")]
    settings = json.dumps([FLAGS, levels()], sort_keys=True).encode()
    return hashlib.sha256(b"\0".join([*texts, settings])).hexdigest()


def manifest() -> dict[str, Any]:
    """Return the record of the last build; empty if it is missing or unreadable."""
    try:
        found = json.loads((BUILT / MANIFEST).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def compiler() -> str | None:
    """Return the C compiler: $CC, or the first of cc, gcc and clang that is installed; else None."""
    asked = os.environ.get("CC")
    names = [asked] if asked else ["cc", "gcc", "clang"]
    return next((path for name in names if (path := shutil.which(name))), None)


def _compile(command: list[str], target: Path) -> str:
    """Run the compiler; return the reason why it failed, or ""."""
    try:
        done = subprocess.run(
            [*command, "-o", str(target), "-lm"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not finish within {SECONDS} s"
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit code {done.returncode}"]
    return "" if done.returncode == 0 else f"{command[0]} failed: {lines[0]}"


def build(force: bool = False) -> dict[str, Any]:
    """Build libraries that are missing or out of date; return the manifest. Does not raise without a compiler."""
    source = source_hash()
    found = manifest()
    if not force and found.get("source") == source and found.get("files"):
        return found
    cc, reason = compiler(), "no C compiler was found when it was to be built"
    files: dict[str, str] = {}
    missing: dict[str, str] = {}
    BUILT.mkdir(mode=0o755, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILT) as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {}
        for level, march in levels().items() if cc else ():
            for dtype, defines in DTYPES.items():
                made = Path(work) / f"kernel-{source[:8]}-{level}-{dtype}.so"
                command = [str(cc), *FLAGS, *march, *defines, str(KERNEL / "kernel.c")]
                jobs[made] = pool.submit(_compile, command, made)
        for made, job in jobs.items():
            if job.result():
                reason = missing[made.name] = job.result()
                continue
            made.chmod(0o755)
            files[made.name] = hashlib.sha256(made.read_bytes()).hexdigest()
            made.replace(BUILT / made.name)  # atomic: no process sees half a library
        record = {
            "source": source,
            "compiler": cc,
            "files": files,
            "missing": missing,
            "reason": "" if files else reason,
        }
        note = Path(work) / MANIFEST
        note.write_text(json.dumps(record, indent=1) + "\n")
        note.replace(BUILT / MANIFEST)
    for old in BUILT.glob("kernel-*.so"):
        if old.name not in files:
            old.unlink(missing_ok=True)
    return record


if __name__ == "__main__":
    made = build(force="--force" in sys.argv)
    print(
        f"kernel: {len(made['files'])} libraries in {BUILT}" if made["files"] else f"kernel: {made['reason']}"
    )
    for name, why in made.get("missing", {}).items() if made["files"] else ():
        print(f"kernel: {name} is missing: {why}")
