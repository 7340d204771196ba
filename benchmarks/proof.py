"""Learned models, and how many of them `verify` decides.

python benchmarks/proof.py train FOLDER --models 12       train and keep the solved models
"""

import argparse
import time
from pathlib import Path

import sparsehead as sh

SHORT, LONG = (20, 30, 50), (300, 1000, 10_000)


def name(preset: str, family: str, T: int, seed: int) -> str:
    return f"{preset}-{family}-{T}-{seed}.safetensors"


def train(folder: Path, models: int) -> None:
    """The first `models` seeds of each setting whose run is solved."""
    for T in (*SHORT, *LONG):
        for preset in ("best", "fast"):
            for family in ("and", "or", "majority") if T in SHORT else ("and",):
                count = models if T in LONG else -(-models // 9)
                found = seed = 0
                while found < count:
                    path = folder / name(preset, family, T, seed)
                    start = time.time()
                    if not path.exists():
                        run = sh.learn(family, T=T, s=3, m=200, seed=seed, preset=preset)
                        if run.solved:
                            sh.save(run.model, path)
                        print(path.name, run.solved, f"{time.time() - start:.1f} s", flush=True)
                    found += path.exists()
                    seed += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=int, default=12)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    train(options.folder, options.models)
