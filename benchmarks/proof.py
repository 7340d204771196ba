"""Learned models, and how many of them `verify` decides.

    python benchmarks/proof.py train FOLDER --T 20 30 50 --each 12     train, and keep the solved models in FOLDER
    python benchmarks/proof.py train FOLDER --T 300 1000 10000 --each 12
    python benchmarks/proof.py all FOLDER --out results/proof-all.json
                                                  T = 20, 30, 50: proved or refuted on all inputs
    python benchmarks/proof.py share FOLDER --out results/proof-share.json
                                                  T = 300, 1000, 10^4: the proved share of wrong inputs

AND, OR and majority of 3 for the short lengths, AND of 3 for the long ones; presets `best` and `fast`, m = 200, the
first seeds whose runs are solved. FOLDER is outside the checkout. Times are processor seconds. `sampled` in the rows
of `share` is the share of wrong inputs among 10^5 random ones (10^4 for T = 10^4): if it is not 0, no proved share is
small.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import sparsehead as sh
from sparsehead._base.files import write_whole
from sparsehead._base.rng import stream
from sparsehead.laws.intervals import clopper_pearson

SHORT, LONG = (20, 30, 50), (300, 1000, 10_000)
FAMILIES = ("and", "or", "majority")
Row = dict[str, Any]


def train(folder: Path, lengths: list[int], each: int) -> None:
    """The first `each` solved seeds of each preset, length and family."""
    for T in lengths:
        for preset in ("best", "fast"):
            for family in FAMILIES if T in SHORT else ("and",):
                found = seed = 0
                while found < each:
                    path = folder / f"{preset}-{family}-{T}-{seed}.safetensors"
                    if not path.exists():
                        start = time.process_time()
                        run = sh.learn(family, T=T, s=3, m=200, seed=seed, preset=preset)
                        if run.solved and run.model is not None:
                            sh.save(run.model, path)
                        print(path.name, run.solved, f"{time.process_time() - start:.1f} s", flush=True)
                    found += path.exists()
                    seed += 1


def kept(folder: Path, lengths: list[int]) -> list[tuple[Row, Path]]:
    """(what its name says, path) of every model of these lengths, by preset, T, family and seed."""
    found = []
    for path in folder.glob("*.safetensors"):
        preset, family, T, seed = path.stem.split("-")
        if int(T) in lengths:
            found.append(({"preset": preset, "T": int(T), "family": family, "seed": int(seed)}, path))
    return sorted(found, key=lambda row: tuple(row[0].values()))


def measure(named: Row, path: Path, *, share: bool) -> Row:
    """What `verify` says of one model, and how long it takes."""
    model = sh.load(path)
    start = time.process_time()
    found = sh.verify(model, model.meta["function"], p=model.meta["p"] if share else None)
    seconds = time.process_time() - start
    verdict = {True: "proved", False: "refuted", None: "undecided"}[found.correct]
    row = {**named, "verdict": verdict, "seconds": round(seconds, 2)}
    return {**row, "share": found.share, "sampled": sampled_share(model)} if share else row


def sampled_share(model: sh.Model) -> float:
    """The share of random inputs on which model and function differ."""
    f, p, rng = sh.parse(model.meta["function"], T=model.T), model.meta["p"], stream(0, "sampled share")
    wrong, inputs = 0, 10**5 if LONG[-1] > model.T else 10**4
    at_once = min(inputs, 2**21 // model.T)
    for start in range(0, inputs, at_once):
        bits = (rng.random((min(at_once, inputs - start), model.T)) < p).astype(np.uint8)
        wrong += int((model.predict(bits) != f(bits)).sum())
    return wrong / inputs


def summary(rows: list[Row], *, share: bool) -> list[Row]:
    """By preset and T, and by preset alone: how many rows reach the bar, with a 95 % interval, and the longest time."""
    groups = sorted({(row["preset"], row["T"]) for row in rows}) + [
        (preset, None) for preset in ("best", "fast")
    ]
    found = []
    for preset, T in groups:
        own = [row for row in rows if row["preset"] == preset and T in (row["T"], None)]
        if not own:
            continue
        counts: dict[str, Any] = {"preset": preset, "T": T, "models": len(own)}
        if share:
            below = 1e-9 if preset == "best" else 1e-6
            good = sum(row["share"] < below for row in own)
            counts |= {"bar": below, "below": good, "sampled wrong": sum(row["sampled"] > 0 for row in own)}
        else:
            verdicts = [row["verdict"] for row in own]
            good = len(own) - verdicts.count("undecided")
            counts |= {"proved": verdicts.count("proved"), "refuted": verdicts.count("refuted")}
        interval = [round(end, 3) for end in clopper_pearson(good, len(own))]
        found.append({**counts, "interval": interval, "most seconds": max(row["seconds"] for row in own)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("train", "all", "share"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--T", type=int, nargs="+", help="by default the lengths of the task")
    parser.add_argument("--each", type=int, default=12, help="models to train of each preset, T and family")
    parser.add_argument("--out", type=Path, help="write rows and summary there")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "train":
        train(options.folder, options.T or [*SHORT, *LONG], options.each)
        return
    share = options.what == "share"
    rows = []
    for named, path in kept(options.folder, options.T or list(LONG if share else SHORT)):
        rows.append(measure(named, path, share=share))
        print(*rows[-1].values(), flush=True)
    counts = summary(rows, share=share)
    print(*counts, sep="\n")
    if options.out is not None:
        command = " ".join(["python benchmarks/proof.py", *sys.argv[1:]])
        content = {"command": command, "machine": platform.machine(), "summary": counts, "rows": rows}
        write_whole(options.out, (json.dumps(content, indent=1) + "\n").encode(), force=True)


if __name__ == "__main__":
    main()
