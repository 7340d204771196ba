"""The heads of a trained layer, measured by `norms` and by WeightWatcher: what each sees, and how long it takes.

    python benchmarks/norms.py --out results/norms_vs_weightwatcher.json

WeightWatcher (`pip install 'sparsehead[oracles]'`) looks at one matrix at a time, and the query and key matrices of
a layer hold those of all its heads. Its spectral norms of W_Q and W_K bound the norm of a head's W_QK = W_Q W_K^T,
through which the head scores its tokens, by their product; `norms` measures the W_QK of each head. overestimate is that
product over the largest norm of a head's W_QK: what is lost by looking at whole matrices one at a time.
"""

import argparse
import json
import logging
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

import sparsehead as sh
from sparsehead._base.provenance import processor

ROUNDS = 20
MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj")


def trained_layer(T: int) -> tuple[nn.Module, int]:
    """The attention matrices of a layer that has found three of T positions, as four linear maps; and its heads."""
    run = sh.learn(sh.conjunction((5, 20, 30), T=T), m=300, seed=0)
    if not run.solved or run.model is None:
        raise SystemExit(f"the trial was not solved at T={T}; there is nothing to measure.")
    layer = run.model.layers[0]
    module = nn.Module()
    beside = [np.concatenate(list(W), axis=1) for W in (layer.W_Q, layer.W_K, layer.W_V)]
    for name, W in zip(MATRICES, [*beside, np.concatenate(list(layer.W_C))]):
        linear = nn.Linear(*W.shape, bias=False)
        linear.weight.data = torch.as_tensor(W.T.copy(), dtype=torch.float32)
        setattr(module, name, linear)
    return module, layer.H


def seconds(call: Callable[[], object], rounds: int) -> float:
    call()
    start = time.perf_counter()
    for _ in range(rounds):
        call()
    return (time.perf_counter() - start) / rounds


def measure(T: int) -> dict[str, object]:
    import weightwatcher

    module, H = trained_layer(T)
    logging.disable(logging.WARNING)
    watcher = weightwatcher.WeightWatcher(model=module)
    details = watcher.analyze(min_evals=1)
    # WeightWatcher reports squared spectral norms
    apart = {row.longname: float(np.sqrt(row.spectral_norm)) for row in details.itertuples()}
    (heads,) = sh.norms(module.state_dict(), heads=H).values()
    k = module.q_proj.weight.shape[0] // H
    # ours include the temperature sqrt(k)
    largest = max(head.QK.spectral for head in heads) * float(np.sqrt(k))
    return {
        "T": T,
        "H": H,
        "k": k,
        "weightwatcher_W_Q": apart["q_proj"],
        "weightwatcher_W_K": apart["k_proj"],
        "largest_W_QK": largest,
        "overestimate": apart["q_proj"] * apart["k_proj"] / largest,
        "weightwatcher_seconds": seconds(lambda: watcher.analyze(min_evals=1), 3),
        "ours_seconds": seconds(lambda: sh.norms(module.state_dict(), heads=H), ROUNDS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--T", type=int, default=50, help="context length of the trained head")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    row = measure(options.T)
    print(json.dumps(row, indent=1))
    if options.out is not None:
        about = {
            "command": f"python benchmarks/norms.py --T {options.T} --out {options.out}",
            "machine": processor(),
            "python": platform.python_version(),
        }
        options.out.write_text(json.dumps({**about, **row}, indent=1) + "\n")


if __name__ == "__main__":
    main()
