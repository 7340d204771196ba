"""The record of `build`: the head, its certificate, its norms, and its attention on a few inputs."""

from typing import Any

import numpy as np

from ..certify import verify
from ..construct import norm_report, units
from ..functions import SparseFunction
from ..model import Model
from ..rng import stream

SAMPLES = 4  # inputs whose attention is shown


def build_record(model: Model, f: SparseFunction) -> dict[str, Any]:
    """What `sparsehead build --json` prints of a model that `build` wrote for f, the proof included."""
    return {
        "function": str(f),
        "T": f.T,
        "s": f.s,
        "support": list(f.support),
        "encoding": model.encoding.kind,
        "construction": model.meta["method"],
        "code": model.meta.get("code"),
        "readout": model.meta.get("readout", "mlp" if model.decoder else "head"),
        "d": model.d,
        "heads": model.H,
        "hidden_units": units(model),
        **verify(model, f).to_dict(),
        "norms": norm_report(model, f),
        "attention": samples(model, f),
    }


def samples(model: Model, f: SparseFunction) -> list[dict[str, Any]]:
    """Attention on a few inputs: random irrelevant bits, relevant bits from all 0 to all 1."""
    bits = stream(0, "shown inputs").integers(0, 2, (min(SAMPLES, f.s + 1), f.T), dtype=np.uint8)
    counts = np.linspace(0, f.s, len(bits)).round().astype(int)
    for row, ones in zip(bits, counts):
        row[list(f.support)] = np.arange(f.s) < ones
    weights, outputs = model.attention(bits), model(bits)
    inside = weights[:, :, list(f.support)]
    return [
        {
            "relevant_bits": [int(b) for b in row[list(f.support)]],
            "output": float(outputs[i]),
            "weights": [[float(w) for w in head] for head in inside[i]],
            "elsewhere": [float(w) for w in weights[i].sum(axis=1) - inside[i].sum(axis=1)],
        }
        for i, row in enumerate(bits)
    ]


def verdict(record: dict[str, Any]) -> str:
    """One sentence on the certificate in a record of `build`."""
    if record["correct"] is None:
        return "undecided: neither a proof nor a counterexample was found"
    if not record["correct"]:
        return f"does NOT compute it: wrong on {record['counterexample']}"
    kind = "exact" if record["exact"] else "correct"
    gap = "" if record["gap"] is None else f", gap {record['gap']:.4g}"
    return (
        f"{kind} on all 2^{record['T']} inputs: error at most {record['max_error']:.1e}, of which rounding "
        f"{record['rounding']:.1e}; margin {record['margin']:.4g}, leakage {record['leakage']:.4g}{gap}"
    )
