"""The result of `sparsehead build`: the head, its certificate, its norms, and its attention on a few inputs."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._base.rng import stream
from ..construct import norm_report, units
from ..functions import SparseFunction
from ..heads.model import Model
from .certificate import Certificate
from .verify import verify


@dataclass(frozen=True)
class AttentionSample:
    """Attention on one input: for each head, the weights of the relevant positions and the sum of all others."""

    relevant_bits: list[int]
    output: float
    weights: list[list[float]]
    elsewhere: list[float]


@dataclass(frozen=True, eq=False)
class WrittenModel:
    """A model from `build`, with its proof; norms are those of `construct.norm_report`."""

    model: Model
    function: SparseFunction
    certificate: Certificate
    norms: dict[str, Any]
    attention: tuple[AttentionSample, ...]

    @property
    def code(self) -> list[int] | None:
        """The integer weights of the relevant bits in the head's sum; None if the head does not compute such a sum."""
        return self.model.meta.get("code")

    @property
    def readout(self) -> str:
        """The place of the ReLU units: inside the "head", or in the "mlp" after it."""
        readout: str = self.model.meta.get("readout", "mlp" if self.model.decoder else "head")
        return readout

    @property
    def hidden_units(self) -> int:
        """The number of ReLU units."""
        return units(self.model)

    @property
    def verdict(self) -> str:
        """One sentence on the certificate."""
        proof = self.certificate
        if proof.correct is None:
            return "undecided: neither a proof nor a counterexample was found"
        if not proof.correct:
            return f"does NOT compute it: {proof.verdict}"
        gap = "" if proof.gap is None or not math.isfinite(proof.gap) else f", gap {proof.gap:.4g}"
        return (
            f"{'exact' if proof.exact else 'correct'} on all 2^{self.function.T} inputs: error at most "
            f"{proof.max_error:.1e}, of which rounding {proof.rounding:.1e}; margin {proof.margin:.4g}, "
            f"leakage {proof.leakage:.4g}{gap}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The values that `sparsehead build --json` prints, except the path of the file."""
        model, f = self.model, self.function
        return {
            "function": str(f),
            "T": f.T,
            "s": f.s,
            "support": list(f.support),
            "encoding": model.encoding.kind,
            "construction": model.meta["method"],
            "code": self.code,
            "readout": self.readout,
            "d": model.d,
            "heads": model.H,
            "hidden_units": self.hidden_units,
            **self.certificate.to_dict(),
            "norms": self.norms,
            "attention": [asdict(sample) for sample in self.attention],
        }


def certify_written(model: Model, f: SparseFunction) -> WrittenModel:
    """Prove a model that `build` made for f, and measure its norms and attention."""
    return WrittenModel(model, f, verify(model, f), norm_report(model, f), _samples(model, f))


def _samples(model: Model, f: SparseFunction) -> tuple[AttentionSample, ...]:
    """Measure attention on up to four inputs with random irrelevant bits, and relevant bits from all 0 to all 1."""
    bits = stream(0, "shown inputs").integers(0, 2, (min(4, f.s + 1), f.T), dtype=np.uint8)
    counts = np.linspace(0, f.s, len(bits)).round().astype(int)
    for row, ones in zip(bits, counts):
        row[list(f.support)] = np.arange(f.s) < ones
    weights, outputs = model.attention(bits), model(bits)
    inside = weights[:, :, list(f.support)]
    return tuple(
        AttentionSample(
            relevant_bits=row[list(f.support)].tolist(),
            output=float(outputs[i]),
            weights=inside[i].tolist(),
            elsewhere=(weights[i].sum(axis=1) - inside[i].sum(axis=1)).tolist(),
        )
        for i, row in enumerate(bits)
    )
