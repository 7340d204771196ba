"""Learned models, and how many of them `verify` decides.

    python benchmarks/proof.py train FOLDER --models 12       train, and keep the solved models in FOLDER
    python benchmarks/proof.py all FOLDER                     T = 20, 30, 50: proved or refuted on all inputs
    python benchmarks/proof.py share FOLDER                   T = 300, 1000, 10^4: the proved share of wrong inputs

AND, OR and majority of 3 for the short lengths, AND of 3 for the long ones; presets `best` and `fast`, m = 200, the
first seeds whose runs are solved. FOLDER is outside the checkout. Times are processor seconds.
"""

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import sparsehead as sh
from sparsehead.certify import Certificate

SHORT, LONG = (20, 30, 50), (300, 1000, 10_000)
FAMILIES = ("and", "or", "majority")


def train(folder: Path, models: int) -> None:
    """The first solved seeds: `models` of each preset at long lengths, a ninth of each family at short ones."""
    for T in (*SHORT, *LONG):
        for preset in ("best", "fast"):
            for family in FAMILIES if T in SHORT else ("and",):
                found = seed = 0
                while found < (models if T in LONG else -(-models // 9)):
                    path = folder / f"{preset}-{family}-{T}-{seed}.safetensors"
                    if not path.exists():
                        run = sh.learn(family, T=T, s=3, m=200, seed=seed, preset=preset)
                        if run.solved and run.model is not None:
                            sh.save(run.model, path)
                        print(path.name, run.solved, flush=True)
                    found += path.exists()
                    seed += 1


def kept(folder: Path, lengths: tuple[int, ...]) -> list[tuple[str, int, Path]]:
    """(preset, T, path) of every model of these lengths."""
    found = []
    for path in folder.glob("*.safetensors"):
        preset, _, T, _ = path.stem.split("-")
        if int(T) in lengths:
            found.append((preset, int(T), path))
    return sorted(found, key=lambda row: (row[0], row[1], row[2].name))


def measure(folder: Path, lengths: tuple[int, ...], *, share: bool) -> None:
    """One line for each model, then a table by preset and length."""
    table: dict[tuple[str, int], list[tuple[Certificate, float]]] = defaultdict(list)
    for preset, T, path in kept(folder, lengths):
        model = sh.load(path)
        start = time.process_time()
        found = sh.verify(model, model.meta["function"], p=model.meta["p"] if share else None)
        seconds = time.process_time() - start
        table[preset, T].append((found, seconds))
        verdict = {True: "proved", False: "refuted", None: "undecided"}[found.correct]
        print(
            path.stem,
            verdict,
            "" if found.share is None else f"{found.share:.2g}",
            f"{seconds:.1f} s",
            flush=True,
        )
    for (preset, T), rows in sorted(table.items()):
        n, slowest = len(rows), max(seconds for _, seconds in rows)
        if share:
            shares = np.array([found.share for found, _ in rows], dtype=np.float64)
            said = f"below 1e-9 {(shares < 1e-9).sum()} of {n}, below 1e-6 {(shares < 1e-6).sum()} of {n}"
        else:
            decided = [found.correct for found, _ in rows]
            said = f"proved {decided.count(True)}, refuted {decided.count(False)} of {n}"
        print(f"{preset:5} T = {T:6} {said}, slowest {slowest:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("train", "all", "share"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=12)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "train":
        train(options.folder, options.models)
    else:
        measure(options.folder, SHORT if options.what == "all" else LONG, share=options.what == "share")


if __name__ == "__main__":
    main()
