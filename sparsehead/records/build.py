"""The record of `build`: the head, its certificate, its norms, and its attention on a few inputs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..certify import verify
from ..construct import build, norm_report, units
from ..functions import SparseFunction, parse
from ..model import Model
from ..rng import stream

SAMPLES = 4  # inputs whose attention is shown


@dataclass(frozen=True, eq=False)
class Built:
    """A written model, the function that it computes, and both described as JSON values."""

    function: SparseFunction
    model: Model
    record: dict[str, Any]


def built(
    expression: str,
    *,
    T: int,
    encoding: str = "positional",
    d: int | None = None,
    method: str = "compact",
    heads: str = "one",
    readout: str | None = None,
    epsilon: float | None = None,
    attends_cls: bool = True,
    seed: int = 0,
) -> Built:
    """Write the head that computes `expression` on T bits and prove it; the arguments are those of `build`."""
    f = parse(expression, T=T)
    model = build(
        f,
        encoding,
        d=d,
        method=method,
        heads=heads,
        readout=readout,
        epsilon=epsilon,
        attends_cls=attends_cls,
        seed=seed,
    )
    record: dict[str, Any] = {
        "function": str(f),
        "T": T,
        "s": f.s,
        "support": list(f.support),
        "encoding": encoding,
        "construction": method,
        "code": model.meta.get("code"),
        "readout": model.meta.get("readout", "mlp" if model.decoder else "head"),
        "d": model.d,
        "heads": model.H,
        "hidden_units": units(model),
        **verify(model, f).to_dict(),
        "norms": norm_report(model, f),
        "attention": samples(model, f),
    }
    return Built(f, model, record)


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
