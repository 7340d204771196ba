"""Written heads beside Tracr on the same functions: layers, heads, width, parameters, norms, seconds, examples/s.

    python benchmarks/build.py --T 4,8,16,32,64 --out results/build_vs_tracr

Tracr (PyPI `tracr-pypi`, which brings JAX) is optional; without it only our rows are written. Its program reads each
relevant position with one selector, joins the bits pairwise into a number, and looks the answer up. norm_QK is the norm
that acts on tokens: it includes the 1/sqrt(k) by which Tracr's attention divides scores. norm_QK_stored leaves it out.
"""

import argparse
import csv
import platform
import time
from pathlib import Path

import numpy as np

from sparsehead._base.provenance import processor
from sparsehead.capacity.norms import product_norms
from sparsehead.certify import verify
from sparsehead.construct import build, units
from sparsehead.functions import assignments, conjunction, parity
from sparsehead.heads.model import Model
from sparsehead_paper.studies.folder import write_results
from sparsehead_paper.studies.records import BuildComparison, BuiltFunction

FUNCTIONS = {"and": conjunction, "parity": parity}
EVALUATED = 512  # inputs timed for our models; Tracr takes one at a time and gets TRACR_EVALUATED
TRACR_EVALUATED = 10


def inputs(T: int, n: int) -> np.ndarray:
    return assignments(T) if n >= 2**T else np.random.default_rng(0).integers(0, 2, (n, T))


def parameters(model: Model) -> int:
    """Numbers in the weights; one-hot positions count as the T x d matrix they stand for."""
    layer, encoding = model.layers[0], model.encoding
    arrays = [layer.W_Q, layer.W_K, layer.W_V, layer.W_C, encoding.E, encoding.cls, model.w]
    arrays += [x for dense in model.decoder for x in (dense.W, dense.b)]
    return sum(a.size for a in arrays) + model.T * model.d


def ours(name: str, T: int, s: int, encoding: str) -> dict[str, object]:
    f = FUNCTIONS[name](range(s), T=T)
    start = time.perf_counter()
    model = build(f, encoding)
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    certificate = verify(model, f)
    certified = time.perf_counter() - start
    bits = inputs(T, EVALUATED)
    start, rounds = time.perf_counter(), 0
    while time.perf_counter() - start < 0.5:
        model(bits)
        rounds += 1
    rate = rounds * len(bits) / (time.perf_counter() - start)
    layer = model.layers[0]
    return {
        "tool": f"sparsehead {encoding}",
        "function": name,
        "T": T,
        "s": s,
        "layers": model.L,
        "heads": model.H,
        "width": model.d,
        "hidden_units": units(model),
        "parameters": parameters(model),
        "norm_QK": product_norms(layer.W_Q[0], layer.W_K[0]).frobenius,
        "norm_QK_21": product_norms(layer.W_Q[0], layer.W_K[0]).n21,
        "norm_QK_stored": product_norms(layer.W_Q[0], layer.W_K[0]).frobenius,
        "compile_seconds": compiled,
        "examples_per_second": rate,
        "wrong": int((model.predict(bits) != f(bits)).sum()),
        "certified": bool(certificate.exact),
        "certificate_seconds": certified,
    }


def tracr_row(name: str, T: int, s: int) -> dict[str, object]:
    """The same function compiled by Tracr."""
    from tracr.compiler import compiling
    from tracr.rasp import rasp

    f = FUNCTIONS[name](range(s), T=T)
    reads = [
        rasp.Aggregate(rasp.Select(rasp.indices, rasp.indices, lambda k, q, i=i: k == i), rasp.tokens)
        for i in f.support
    ]
    code = reads[0]
    for j, bit in enumerate(reads[1:], 1):
        code = rasp.SequenceMap(lambda a, b, j=j: a + (b << j), code, bit)
    table = [int(v) for v in f.values]
    program = rasp.Map(lambda c: table[c], code)
    start = time.perf_counter()
    model = compiling.compile_rasp_to_model(program, vocab={0, 1}, max_seq_len=T, compiler_bos="BOS")
    compiled = time.perf_counter() - start
    bits = inputs(T, EVALUATED)[:TRACR_EVALUATED]
    model.apply(["BOS", *map(int, bits[0])])  # traced once before timing
    start = time.perf_counter()
    decoded = [model.apply(["BOS", *map(int, b)]).decoded[-1] for b in bits]
    rate = len(bits) / (time.perf_counter() - start)
    config, w = model.model_config, {k: np.asarray(v["w"]) for k, v in model.params.items() if "w" in v}
    heads, k = config.num_heads, config.key_size
    norms = []
    for layer in range(config.num_layers):
        Q, K = (w[f"transformer/layer_{layer}/attn/{n}"].astype(float) for n in ("query", "key"))
        norms += [
            product_norms(Q[:, h * k : (h + 1) * k] / np.sqrt(k), K[:, h * k : (h + 1) * k])
            for h in range(heads)
        ]
    return {
        "tool": "tracr",
        "function": name,
        "T": T,
        "s": s,
        "layers": config.num_layers,
        "heads": heads,
        "width": len(model.residual_labels),
        "hidden_units": config.mlp_hidden_size * config.num_layers,
        "parameters": sum(int(np.size(a)) for part in model.params.values() for a in part.values()),
        "norm_QK": max(n.frobenius for n in norms),
        "norm_QK_21": max(n.n21 for n in norms),
        "norm_QK_stored": max(n.frobenius for n in norms) * np.sqrt(k),
        "compile_seconds": compiled,
        "examples_per_second": rate,
        "wrong": int(sum(int(a) != int(f(b)) for a, b in zip(decoded, bits))),
        "certified": False,
        "certificate_seconds": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--T", default="4,8,16,32,64", help="context lengths, comma separated")
    parser.add_argument("--s", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write PATH.json and PATH.csv")
    options = parser.parse_args()
    lengths = [int(t) for t in options.T.split(",")]
    try:
        import tracr  # noqa: F401

        with_tracr = True
    except ImportError:
        print("Tracr is not installed (pip install tracr-pypi); only our rows are measured.")
        with_tracr = False
    rows = []
    for name in FUNCTIONS:
        for T in lengths:
            rows += [ours(name, T, options.s, encoding) for encoding in ("positional", "trainable")]
            if with_tracr:
                rows.append(tracr_row(name, T, options.s))
            for row in rows[-3:]:
                print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    if options.out is not None:
        command = f"python benchmarks/build.py --T {options.T} --s {options.s} --out {options.out}"
        options.out.parent.mkdir(parents=True, exist_ok=True)
        about = {"command": command, "machine": processor(), "python": platform.python_version()}
        record = BuildComparison(**about, rows=tuple(BuiltFunction(**row) for row in rows))
        write_results(options.out.parent, options.out.name, record)
        with options.out.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
