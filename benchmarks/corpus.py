"""A corpus for verifiers: attention heads that are right, or wrong on few inputs by little, with their true answers.

    python benchmarks/corpus.py OUT --seed 0 --each 10

writes for each head NAME.safetensors (`sh.load` reads it), NAME.onnx (float64, with softmax), NAME.vnnlib (version 1,
"some input is on the wrong side of the threshold") and a row of index.json: the function, the number of wrong inputs in
exact arithmetic and in float64, whether the property in NAME.vnnlib is satisfiable, and what `verify` says.
benchmarks/corpus_marabou.py asks the public verifier Marabou.

The families, T <= 10:

    one          the threshold lies just below the largest output of f = 0: exactly one input is wrong
    none         the same head with the threshold just above it: every input is right
    tied         uniform attention, outputs k/8 that equal the threshold or miss it by one unit in the last place
    cancelling   two heads whose leakage cancels, one of them scaled by 1 + 10^-k
    overflowing  heads of the first two families whose scores are shifted by 800, or whose values are scaled by 2^1020
                 and scaled back at the end, which changes little or nothing in exact arithmetic

True answers come from the definitions in mpmath with 80 digits, on all 2^T inputs. A VNN-LIB file speaks of boxes: bits
outside the support lie between 0 and 1. Its answer is given where it is known: "sat" if some input is wrong; "unsat" if
none is and the output is affine in the bits (no bit moves attention, no ReLU), since an affine function is largest at a
corner; else null. An output that equals the threshold counts as wrong there, because VNN-LIB has closed sides only.
"""

import argparse
import json
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from corpus_heads import Instance, cancelling, exact_outputs, near, tied
from onnx_file import Graph

import sparsehead as sh
from sparsehead.functions import SparseFunction, assignments
from sparsehead.heads.model import Model


def onnx_bytes(model: Model) -> bytes:
    """The model as ONNX in float64: bits (1, T) in, output (1, 1) out.

    Its operations are MatMul, Add, Softmax, Transpose, Concat and Relu, which most verifiers read.
    """
    graph, layer, T = Graph(), model.layers[0], model.T
    n = T + model.attends_cls
    zeros = graph.node("Add", graph.node("MatMul", "bits", -np.eye(T)), np.ones((1, T)))

    def tokens(column: np.ndarray) -> str:
        """The products (1, n) of the tokens of an input with a column."""
        ends = [float(e @ column) * np.eye(T, n) for e in model.encoding.E]
        sides = [graph.node("MatMul", x, end) for x, end in zip((zeros, "bits"), ends)]
        rows = [*model.encoding.positions(), model.encoding.cls][:n]
        return graph.node("Add", graph.node("Add", *sides), np.array([[float(row @ column) for row in rows]]))

    mixed = []
    for h in range(layer.H):
        query = model.encoding.cls @ layer.W_Q[h]
        attention = graph.node("Softmax", tokens(layer.W_K[h] @ query / layer.temperature), axis=1)
        for column in layer.W_V[h].T:
            mixed.append(
                graph.node("MatMul", attention, graph.node("Transpose", tokens(column), perm=(1, 0)))
            )
    y = graph.node("Concat", *mixed, axis=1) if mixed[1:] else mixed[0]
    y = graph.node("Relu", y) if layer.sigma == "relu" else y
    y = graph.node("MatMul", y, layer.W_C.reshape(-1, layer.d))
    for dense in model.decoder:
        y = graph.node("Relu", graph.node("Add", graph.node("MatMul", y, dense.W), dense.b[None]))
    y = graph.node("Add", graph.node("MatMul", y, model.w[:, None]), np.full((1, 1), model.bias))
    return graph.packed(inputs={"bits": (1, T)}, output=y, shape=(1, 1))


def vnnlib(model: Model, f: SparseFunction) -> str:
    """Some input on the wrong side: for each pattern, its bits fixed, the other bits between 0 and 1."""
    lines = [
        *(f"(declare-const X_{t} Real)" for t in range(model.T)),
        "(declare-const Y_0 Real)",
        "(assert (or",
    ]
    patterns = np.zeros((2**f.s, model.T), dtype=np.uint8)
    patterns[:, list(f.support)] = list(product((0, 1), repeat=f.s))
    for bits, label in zip(patterns, f(patterns)):
        ranges = [(b, b) if t in f.support else (0, 1) for t, b in enumerate(bits)]
        box = " ".join(f"(>= X_{t} {low}) (<= X_{t} {high})" for t, (low, high) in enumerate(ranges))
        lines.append(f"  (and {box} ({'<=' if label else '>='} Y_0 {model.threshold!r}))")
    return "\n".join([*lines, "))", ""])


def answered(instance: Instance) -> dict[str, Any]:
    """The row of index.json: true answers, and what `verify` says."""
    model, f = instance.model, instance.f
    bits = assignments(model.T)
    labels, outputs, threshold = f(bits), exact_outputs(model), mpmath.mpf(model.threshold)
    wrong = sum((y > threshold) != bool(label) for y, label in zip(outputs, labels))
    closed = wrong + sum(y == threshold and not label for y, label in zip(outputs, labels))
    with np.errstate(all="ignore"):
        floats = model(bits)
        float_wrong = int((~np.isfinite(floats) | ((floats > model.threshold) != (labels == 1))).sum())
    start = time.process_time()
    verdicts = {method: sh.verify(model, f, method=method).correct for method in ("exhaustive", "patterns")}
    return {
        "name": instance.name,
        "family": instance.family,
        "T": model.T,
        "function": str(f),
        "threshold": model.threshold,
        "margin": float(min(abs(y - threshold) for y in outputs)),
        "wrong": int(wrong),
        "wrong_in_float64": float_wrong,
        "vnnlib": "sat" if closed else "unsat" if instance.affine else None,
        "verify": verdicts,
        "verify_seconds": round(time.process_time() - start, 3),
    }


def false_verdict(row: dict[str, Any]) -> bool:
    """A proof of a head that is wrong in either arithmetic, or a counterexample to one that is right in float64."""
    proved, refuted = (value in row["verify"].values() for value in (True, False))
    return bool(
        (proved and (row["wrong"] or row["wrong_in_float64"])) or (refuted and not row["wrong_in_float64"])
    )


def write(instance: Instance, folder: Path) -> dict[str, Any]:
    """Write the three files of a head; return its row."""
    sh.save(instance.model, folder / f"{instance.name}.safetensors")
    (folder / f"{instance.name}.onnx").write_bytes(onnx_bytes(instance.model))
    (folder / f"{instance.name}.vnnlib").write_text(vnnlib(instance.model, instance.f))
    return answered(instance)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=10, help="draws of each family")
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    draws = product((near, tied, cancelling), range(options.each))
    with mpmath.workdps(80):
        heads = [instance for family, number in draws for instance in family(options.seed, number)]
        rows = [write(instance, options.out) for instance in heads]
    (options.out / "index.json").write_text(json.dumps({"seed": options.seed, "heads": rows}, indent=1))
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        wrong = (bool(row["wrong"]), bool(row["wrong_in_float64"]))
        counts.update((row["family"], *wrong, method, correct) for method, correct in row["verify"].items())
    print("family | wrong in exact arithmetic | wrong in float64 | method | verdict of `verify` | heads")
    for key, n in sorted(counts.items(), key=str):
        print(*key, n, sep=" | ")
    false = [row["name"] for row in rows if false_verdict(row)]
    print(f"{len(rows)} heads, false verdicts: {false or 'none'}")
    return bool(false)


if __name__ == "__main__":
    sys.exit(main())
