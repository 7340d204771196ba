"""Estimate the memory of a trial from its shapes, without importing torch.

The constants are bytes per entry of an array. They were fitted to the peak of resident memory (Linux, torch 2.13) over
T = 10^3 .. 10^5, m = 100 .. 10^5, d = 64 and 128, H = 4 and 16, with and without dropout, in float32 and float64.
`tests/base/test_memory.py` compares the estimate with the measured peak.
"""

from .._base.memory import require_memory
from .architecture import width_of
from .data import CHUNK_BITS
from .spec import LEARNERS, TrainSpec
from .transformer.compiled import refusal
from .transformer.library import Missing, library

STARTED_BYTES = 300e6  # Python and torch before the first trial


def trial_bytes(spec: TrainSpec, *, T: int, m: int, dtype: str = "float32") -> float:
    """Estimate the peak bytes of one trial with the settings of `spec` at this T and m."""
    size: float = LEARNERS[spec.learner].memory(spec, T, m, dtype)
    return size


def plain_bytes(spec: TrainSpec, T: int, m: int, dtype: str, *, weights: float = 0.0) -> float:
    """Estimate the bytes of a learner that holds training set, a chunk of the holdout (both as floats) and weights."""
    return STARTED_BYTES + 24 * (float(m) * T + _chunk(spec, T)) + 32 * weights


def lstm_bytes(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    """Estimate the bytes of the LSTM: mostly states at all positions, of m samples in training or 512 in checks."""
    return STARTED_BYTES + 4700 * float(m) * T + 1500 * float(min(512, spec.holdout)) * T


def transformer_bytes(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    """Estimate the bytes of the Transformer, on the compiled engine if that can train the spec, else on torch."""
    bits = float(m) * T
    double = 2 if dtype == "float64" else 1
    d = width_of(spec.encoding, T=T, d=spec.d)
    width = spec.k * spec.H + spec.H
    weights = float(T) * d + spec.L * float(d) * (4 * spec.k * spec.H + 2 * spec.mlp)
    # Weights: with gradient, two moments, and float64 copies for measuring attention and norms.
    # Projections: keys and values of the 2T + 1 tokens, their gradients and scratch.
    # Bits: of the training set and of the current holdout chunk, and what is computed from them.
    per_weight, per_projection, per_bit, per_chunk = 80, 80, 17, 17
    known = dtype in ("float32", "float64")  # other values are rejected when the engine is made
    if known and refusal(spec) is None and not isinstance(library(dtype), Missing):
        # The compiled engine: a bit takes a byte in Python, a byte in the engine, and half a byte when packed.
        per_weight, per_projection, per_bit, per_chunk = 30, 30, 3, 9
    size = STARTED_BYTES + per_weight * double * weights + per_projection * double * float(T) * width
    size += per_bit * bits + per_chunk * _chunk(spec, T)
    size += 4 * spec.H * bits if spec.dropout else 0.0  # masks: one entry for each head, sample and position
    size += 16 * double * float(m) * (spec.mlp + 2 * d + width)  # the block after attention
    if spec.L == 1:
        return size
    # Full attention: the weights of all pairs of tokens for a chunk of n samples.
    chunk = 2**21  # entries in a chunk of samples x tokens x width: `torch_engine.CHUNK_NUMBERS`
    n_T = chunk / max(spec.d, spec.mlp) + T  # n T, with at least one sample
    pairs = spec.H * float(T) * n_T * (spec.L - 1)
    return size + double * (9 * pairs + 17 * float(T) * T * width + 20 * chunk * spec.L)


def _chunk(spec: TrainSpec, T: int) -> float:
    """Return the largest number of bits in one chunk of the holdout."""
    return min(float(CHUNK_BITS), float(spec.holdout) * T)


def require_trial(spec: TrainSpec, *, what: str = "learn", workers: int = 1, dtype: str = "float32") -> None:
    """Raise TooLarge if memory cannot hold a trial, or `workers` of them in parallel."""
    require_memory(
        what if workers == 1 else f"{what} in {workers} processes",
        lambda T, m: workers * trial_bytes(spec, T=T, m=m, dtype=dtype),
        T=spec.T,
        m=spec.m,
    )
