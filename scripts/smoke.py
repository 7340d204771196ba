"""Try an installed sparsehead: build, read, bound, cover, learn and law, the last two by the compiled engine.

    python scripts/smoke.py        in an environment with the wheel, and no more than that

Works in a temporary folder with the package as it is installed, never with a checkout's, and asks that the wheel
brought a kernel for every instruction-set level. Ends with code 1 and one line if something is wrong; half a minute.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
ENGINE = """
import sparsehead
from sparsehead.train.transformer import build
levels = [f"{level}-{dtype}" for level in build.levels() for dtype in build.DTYPES]
print(sparsehead.__file__)
print(*(level for level in levels if not any(level + ".so" in name for name in build.manifest().get("files", ()))))
"""


def ask(expected: Any, found: Any, what: str) -> None:
    """End with one line unless what was found is what was expected."""
    if found != expected:
        raise SystemExit(f"smoke: {what}: expected {expected!r}, got {found!r}")


def run(folder: str, *arguments: str) -> str:
    """Run Python in the folder, without a source tree or a compiler; return what it prints."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARSEHEAD_KERNEL")
    }
    settings = {**inherited, "CC": "no-compiler", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    ask(0, done.returncode, f"{' '.join(arguments[:4])} ended with {done.stderr.strip()[-300:]!r}; its code")
    return done.stdout


def main() -> None:
    """Run each command once and compare its answer with what is known."""
    with tempfile.TemporaryDirectory() as folder:
        place, missing = run(folder, "-c", ENGINE).splitlines()
        ask(False, HERE in Path(place).parents and "site-packages" not in place, f"{place} is a checkout's")
        ask("", missing, "kernel libraries that are missing")

        def answer(*arguments: str) -> Any:
            return json.loads(run(folder, "-m", "sparsehead", *arguments, "--json"))

        built = answer("build", "x2 & !x5", "--T", "40", "--out", "head.safetensors")
        ask((True, True), (built["exact"], built["correct"]), "build, on all 2^40 inputs")
        found = answer("read", "head.safetensors")
        ask(("x2 & !x5", True), (found["function"], found["proved"]), "read of the written head")
        bound = answer("bound", "head.safetensors", "--m", "1000")
        ask((True, True), (bound["proven"], bound["log_covering"] > 0), "bound of the written head")
        Path(folder, "points.csv").write_text("0,0\n0,3\n4,0\n4,3\n")
        sizes = [answer("cover", "points.csv", "--eps", eps)["size"] for eps in ("2.9", "3", "5")]
        ask([4, 2, 1], sizes, "cover of a rectangle's corners")
        run_ = answer("learn", "x1 & x2", "--T", "9", "--m", "60", "--engine", "compiled", "--restarts", "3")
        ask((True, "compiled"), (run_["solved"], run_["made_by"]["engine"]), "learn by the compiled engine")
        ask("x1 & x2", run_["reading"]["function"], "read of the learned head")
        law = answer(
            "law", "and", "--s", "2", "--T", "8,16", "--trials", "8", "--start", "20", "--workers", "1"
        )
        ask((True, [8, 8]), (law["complete"], [row["trials"] for row in law["thresholds"]]), "law")
        run(folder, "-m", "sparsehead", "results", "export", "rows.json")
        engines = {row["engine"] for row in json.loads(Path(folder, "rows.json").read_text())}
        ask({"compiled"}, engines, "engines of the law's trials")
    print(f"smoke: build, read, bound, cover, learn and law work; {place}")


if __name__ == "__main__":
    main()
