"""Learned models, and how many of them `verify` decides; and how long the checker of certificates takes.

    python benchmarks/proof.py train FOLDER --T 20 30 50 --each 12     train, and keep the solved models in FOLDER
    python benchmarks/proof.py train FOLDER --T 300 1000 10000 --each 12
    python benchmarks/proof.py all FOLDER --out results/proof.json
                                                  T = 20, 30, 50: proved or refuted on all inputs
    python benchmarks/proof.py share FOLDER --out results/proof-share.json
                                                  T = 300, 1000, 10^4: the proved share of wrong inputs
    python benchmarks/proof.py checker            seconds and bytes of certificates of built heads, T = 50 and 10^4

AND, OR and majority of 3 for the short lengths, AND of 3 for the long ones; presets `best` and `fast`, m = 200 (--m:
another number; 100 was taken for `best` at T = 10^4), the first seeds whose runs are solved. FOLDER is outside the
checkout; it keeps rows too, so that a run that was stopped goes on; the rows of an existing --out file count as
measured, unless FOLDER has newer ones. Times are processor seconds. Where the proved share misses the bar of 1e-9
(`best`) or 1e-6 (`fast`), wrong inputs among random ones are counted: a model that is wrong on a larger share cannot be
proved.
"""

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.certify import check
from sparsehead.certify.certificate_file import certificate_content
from sparsehead.heads.model_file import packed
from sparsehead_paper.studies.folder import write_results
from sparsehead_paper.studies.proofs import ProofRecord, ProofRow, proof_counts

SHORT, LONG = (20, 30, 50), (300, 1000, 10_000)
FAMILIES = ("and", "or", "majority")


def train(folder: Path, lengths: list[int], each: int, m: int) -> None:
    """The first `each` solved seeds of each preset, length and family."""
    for T in lengths:
        for preset in ("best", "fast"):
            for family in FAMILIES if T in SHORT else ("and",):
                found = seed = 0
                while found < each:
                    path = folder / f"{preset}-{family}-{T}-{seed}.safetensors"
                    if not path.exists():
                        start = time.process_time()
                        run = sh.learn(family, T=T, s=3, m=m, seed=seed, preset=preset)
                        if run.solved and run.model is not None:
                            sh.save(run.model, path)
                        print(path.name, run.solved, f"{time.process_time() - start:.1f} s", flush=True)
                    found += path.exists()
                    seed += 1


def kept(folder: Path, lengths: list[int], each: int) -> list[Path]:
    """The first `each` models of each preset, length and family."""
    groups: dict[tuple[str, int, str], list[tuple[int, Path]]] = {}
    for path in folder.glob("*.safetensors"):
        preset, family, T, seed = path.stem.split("-")
        if int(T) in lengths:
            groups.setdefault((preset, int(T), family), []).append((int(seed), path))
    return [path for key in sorted(groups) for _, path in sorted(groups[key])[:each]]


def measure(path: Path, *, share: bool) -> ProofRow:
    """What `verify` says of one model, and how long it takes."""
    preset, family, T, seed = path.stem.split("-")
    model = sh.load(path)
    start = time.process_time()
    found = sh.verify(model, model.meta["function"], p=model.meta["p"] if share else None)
    seconds = round(time.process_time() - start, 2)
    verdict = {True: "proved", False: "refuted", None: "undecided"}[found.correct]
    row = ProofRow(preset, family, int(T), int(seed), verdict, seconds, share=found.share)
    if not share or row.below:
        return row
    inputs = 20_000 if LONG[-1] > model.T else 2000
    return ProofRow(**asdict(row) | {"sampled_wrong": sampled_wrong(model, inputs), "sampled": inputs})


def sampled_wrong(model: sh.Model, inputs: int) -> int:
    """How many of some random inputs model and function differ on."""
    f, p, rng = sh.parse(model.meta["function"], T=model.T), model.meta["p"], stream(0, "sampled share")
    wrong, at_once = 0, 2**20 // model.T
    for start in range(0, inputs, at_once):
        bits = (rng.random((min(at_once, inputs - start), model.T)) < p).astype(np.uint8)
        wrong += int((model.predict(bits) != f(bits)).sum())
    return wrong


def measured(
    folder: Path, paths: list[Path], *, share: bool, only_known: bool, out: Path | None
) -> tuple[ProofRow, ...]:
    """Measure, or leave out, the models that have no row yet; return all rows.

    Rows stand in FOLDER/share.jsonl or all.jsonl, and in `out`.
    """
    store = folder / ("share.jsonl" if share else "all.jsonl")
    known = json.loads(out.read_text())["rows"] if out is not None and out.exists() else []
    known += [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    rows = {(row.preset, row.family, row.T, row.seed): row for row in (ProofRow(**each) for each in known)}
    found = []
    for path in paths:
        preset, family, T, seed = path.stem.split("-")
        key = preset, family, int(T), int(seed)
        if only_known and key not in rows:
            continue
        if key not in rows:
            rows[key] = measure(path, share=share)
            with store.open("a") as file:
                file.write(json.dumps(asdict(rows[key])) + "\n")
        print(*asdict(rows[key]).values(), flush=True)
        found.append(rows[key])
    return tuple(found)


def time_checker() -> None:
    """Print processor seconds and bytes for built heads."""
    for text, T, settings in (
        ("x2 & x5 & x11", 50, {}), ("x2 ^ x5 ^ x11", 50, {}), ("maj(x1,x4,x9)", 50, {"readout": "mlp"}),
        ("x1 & x4", 50, {"heads": "cancel"}), ("x1 ^ x2 ^ x3", 50, {"method": "paper"}),
        ("x1 ^ x2", 50, {"heads": "s"}),
        ("x2 & x5 & x11", 10_000, {}), ("x2 | x5", 10_000, {"encoding": "bag"}), ("x2 ^ x5 ^ x11", 10_000, {}),
    ):  # fmt: skip
        f = sh.parse(text, T=T)
        raw = packed(sh.build(f, **settings))
        start = time.process_time()
        certificate = json.dumps(certificate_content(raw, f)).encode()
        written = time.process_time()
        check.check(raw, certificate)
        checked = time.process_time()
        print(
            f"{text}, T={T}, {settings}: written in {written - start:.2f} s, "
            f"checked in {checked - written:.2f} s, {len(certificate)} bytes",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("train", "all", "share", "checker"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--T", type=int, nargs="+", help="by default the lengths of the task")
    parser.add_argument("--each", type=int, default=12, help="models of each preset, T and family")
    parser.add_argument("--m", type=int, default=200, help="samples to train on")
    parser.add_argument("--known", action="store_true", help="measure nothing: write the rows that there are")
    parser.add_argument("--out", type=Path, help="write the rows there")
    options = parser.parse_args()
    if options.what == "checker":
        time_checker()
        return
    if options.folder is None:
        parser.error(f"{options.what} needs a FOLDER for models and rows.")
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "train":
        train(options.folder, options.T or [*SHORT, *LONG], options.each, options.m)
        return
    share = options.what == "share"
    paths = kept(options.folder, options.T or list(LONG if share else SHORT), options.each)
    rows = measured(options.folder, paths, share=share, only_known=options.known, out=options.out)
    print(*proof_counts(rows, share=share), sep="\n")
    if options.out is not None:
        given = ["FOLDER" if word == str(options.folder) else word for word in sys.argv[1:]]
        command = " ".join(["python benchmarks/proof.py", *given])
        complete = len(rows) == len(paths)
        record = ProofRecord(command=command, machine=platform.machine(), rows=rows, complete=complete)
        write_results(options.out.parent, options.out.stem, record)


if __name__ == "__main__":
    main()
