"""What the public verifier Marabou says of the corpus that benchmarks/corpus.py wrote.

    python benchmarks/corpus_marabou.py OUT          prints a table; needs `pip install maraboupy` (2.0.0 was tried)

Each head is asked in a process of its own, because some end Marabou with a fault; for each pattern of the relevant bits
it gets the box of NAME.vnnlib and five seconds. "sat": it has found an input on the wrong side; "unsat": it says that
there is none; otherwise what stopped it.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import sparsehead as sh

SECONDS = 5  # for each pattern; the answers that come at all come within a tenth of it


def ask(folder: Path, row: dict[str, Any]) -> str:
    """Marabou's answer for one head."""
    from maraboupy import Marabou

    f = sh.parse(row["function"], T=row["T"])
    patterns = np.zeros((2**f.s, f.T), dtype=np.uint8)
    patterns[:, list(f.support)] = list(product((0, 1), repeat=f.s))
    said = set()
    for bits, label in zip(patterns, f(patterns)):
        net = Marabou.read_onnx(str(folder / f"{row['name']}.onnx"))
        for t, x in enumerate(net.inputVars[0].flatten()):
            net.setLowerBound(x, float(bits[t]) if t in f.support else 0.0)
            net.setUpperBound(x, float(bits[t]) if t in f.support else 1.0)
        output = net.outputVars[0].flatten()[0]
        (net.setUpperBound if label else net.setLowerBound)(output, row["threshold"])
        options = Marabou.createOptions(timeoutInSeconds=SECONDS, verbosity=0)
        said.add(net.solve(verbose=False, options=options)[0])
        if "sat" in said:
            return "sat"
    return "unsat" if said == {"unsat"} else sorted(said - {"unsat"})[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", help="ask about this head in this process; print the answer")
    options = parser.parse_args()
    rows = json.loads((options.folder / "index.json").read_text())["heads"]
    if options.name:
        print(ask(options.folder, next(row for row in rows if row["name"] == options.name)))
        return 0
    counts: Counter[tuple[str, str, str]] = Counter()
    false = []
    for row in rows:
        command = [sys.executable, __file__, str(options.folder), "--name", row["name"]]
        done = subprocess.run(command, capture_output=True, text=True)
        said = (
            done.stdout.split()[-1] if done.returncode == 0 and done.stdout else f"ended by {done.returncode}"
        )
        counts[row["family"], str(row["vnnlib"]), said] += 1
        if said in ("sat", "unsat") and row["vnnlib"] not in (said, None):
            false.append(f"{row['name']}: {said}, margin {row['margin']:.1g}")
    print("family | true answer | Marabou | heads")
    for key, n in sorted(counts.items()):
        print(*key, n, sep=" | ")
    print(f"{len(rows)} heads, {len(false)} false answers", *false, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
