"""Memory that a trial takes, estimated from its shapes; no torch, so that a caller can ask before it starts.

The constants are bytes per number and were fitted to the peak of resident memory (Linux, torch 2.13) over
T = 10^3 .. 10^5, m = 100 .. 10^5, d = 64 and 128, H = 4 and 16, with and without dropout, in float32 and float64.
`tests/base/test_memory.py` compares the estimate with the measured peak.
"""

from .._base.memory import require_memory
from .architecture import width_of
from .data import MOST
from .spec import LEARNERS, TrainSpec
from .transformer.compiled import refusal
from .transformer.library import Missing, library

STARTED = 300e6  # Python and torch before the first trial
PER_WEIGHT = (
    80  # weights, gradient, two moments, and the float64 copies in which attention and norms are looked at
)
PER_PROJECTION = 80  # keys and values of the 2T + 1 tokens, their gradients and scratch
PER_BIT = 17  # a bit of the training set or of the holdout chunk in hand, and what is computed from it
# The same for the compiled engine: a bit is a byte here, a byte in the engine and half a byte of nibbles.
COMPILED_WEIGHT, COMPILED_PROJECTION, COMPILED_BIT, COMPILED_CHUNK_BIT = 30, 30, 3, 9
PER_MASK = 4  # with dropout, one number for each head, sample and position
PER_SAMPLE = 16  # the block after the attention, forward and backward
# With several layers every position attends to every other, for chunks of samples of about CHUNK numbers.
CHUNK, PER_CHUNK, PER_WEIGHT_OF_PAIR, PER_PROJECTED_PAIR = 2**21, 20, 9, 17
LSTM, LSTM_CHECK = 4700, 1500  # per bit: states of all positions, with and without what the gradient needs
PLAIN_BIT, PLAIN_WEIGHT = 24, 32  # the other learners: bits as floats, weights with moments
CHECKED = 512


def trial_bytes(spec: TrainSpec, *, T: int, m: int, dtype: str = "float32") -> float:
    """Bytes at the peak of one trial with the settings of `spec` at this T and m."""
    size: float = LEARNERS[spec.learner].memory(spec, T, m, dtype)
    return size


def plain_bytes(spec: TrainSpec, T: int, m: int, dtype: str, *, weights: float = 0.0) -> float:
    """A learner that holds the training set and a chunk of the holdout as floats, and some weights."""
    return STARTED + PLAIN_BIT * (float(m) * T + _chunk(spec, T)) + PLAIN_WEIGHT * weights


def lstm_bytes(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    """The LSTM: states of all positions."""
    return STARTED + LSTM * float(m) * T + LSTM_CHECK * float(min(CHECKED, spec.holdout)) * T


def transformer_bytes(spec: TrainSpec, T: int, m: int, dtype: str) -> float:
    """The Transformer, by whichever engine takes more."""
    bits = float(m) * T
    double = 2 if dtype == "float64" else 1
    d = width_of(spec.encoding, T=T, d=spec.d)
    width = spec.k * spec.H + spec.H
    weights = float(T) * d + spec.L * float(d) * (4 * spec.k * spec.H + 2 * spec.mlp)
    masks = PER_MASK * spec.H * bits if spec.dropout else 0.0
    per_weight, per_projection, per_bit, per_chunk = PER_WEIGHT, PER_PROJECTION, PER_BIT, PER_BIT
    known = dtype in ("float32", "float64")  # anything else is refused where the engine is made
    if known and refusal(spec) is None and not isinstance(library(dtype), Missing):
        per_weight, per_projection = COMPILED_WEIGHT, COMPILED_PROJECTION
        per_bit, per_chunk = COMPILED_BIT, COMPILED_CHUNK_BIT
    size = STARTED + per_weight * double * weights + per_projection * double * float(T) * width
    size += per_bit * bits + per_chunk * _chunk(spec, T) + masks
    size += PER_SAMPLE * double * float(m) * (spec.mlp + 2 * d + width)
    return size + (double * _pairs(spec, float(T), width) if spec.L > 1 else 0)


def _chunk(spec: TrainSpec, T: int) -> float:
    """Bits of the holdout chunk in hand."""
    return min(float(MOST), float(spec.holdout) * T)


def _pairs(spec: TrainSpec, T: float, width: int) -> float:
    """What full attention takes beyond the attention of [CLS]: weights of all pairs for a chunk of n samples."""
    n_T = CHUNK / max(spec.d, spec.mlp) + T  # n T, with at least one sample
    weights = spec.H * T * n_T * (spec.L - 1)
    return PER_WEIGHT_OF_PAIR * weights + PER_PROJECTED_PAIR * T * T * width + PER_CHUNK * CHUNK * spec.L


def require_trial(spec: TrainSpec, *, what: str = "learn", workers: int = 1, dtype: str = "float32") -> None:
    """Refuse a trial, or `workers` of them side by side, that memory cannot hold.

    Raises:
        TooLarge: with the estimate and the largest T or m that would fit.
    """
    require_memory(
        what if workers == 1 else f"{what} in {workers} processes",
        lambda T, m: workers * trial_bytes(spec, T=T, m=m, dtype=dtype),
        T=spec.T,
        m=spec.m,
    )
