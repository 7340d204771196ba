"""Forms of the bound that only `atlas` lists: rank, sensitivity of softmax, codes of the weights, VC dimension.

rank               proved here (docs/theory.md 3.6): counts the numbers that describe matrices of small rank
sensitivity        as `minimum`, with softmax's sensitivity at the weights that occur instead of 1 (theory 4.5); a proxy
code, compression  count the bits of a text that contains the weights (theory 6.5)
vc                 L W ln(T W) for L layers, W weights: order of the VC dimension (arXiv 2606.09731), constant unknown
"""

import math
import zlib
from dataclasses import replace
from functools import partial

import numpy as np

from .._base.log_math import LOG_ZERO, as_float, exp, ln
from .._base.types import Array, Float
from ..heads.block import Layer
from ..heads.model import Model, arrays_of
from .forms import FORMS, Charge, Form
from .items import numeric_covering
from .norms import MatrixNorms


def rank_linear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge for the rank (rows + columns) numbers that describe a matrix W of small rank, at norm 2 ||W||_F.

    If W has at most that many entries, charge for its entries at norm ||W||_F instead. Write W = P Q, where P has
    orthonormal columns; P and Q are covered one after the other, each with half of the error.
    """
    rows, columns = min(as_float(W.rows), exp(log_N)), as_float(W.columns)
    return _by_rank(W, rows, columns, full=rows * columns)


def rank_bilinear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge as `rank_linear` does, for scores z^T W x on N pairs, which have at most N different x and z each."""
    rows, columns = (min(as_float(n), exp(log_N)) for n in (W.rows, W.columns))
    return _by_rank(W, rows, columns, full=min(as_float(W.rows * W.columns), exp(log_N)))


def _by_rank(W: MatrixNorms, rows: float, columns: float, *, full: float) -> Charge:
    numbers = min(W.largest_rank, rows, columns) * (rows + columns)
    if numbers < full:
        return Charge("twice F", 2 * W.frobenius, LOG_ZERO, numbers)
    return Charge("F", W.frobenius, LOG_ZERO, full)


RANK = Form(
    "volume covers of the two factors of every matrix: counts rank (rows + columns) numbers",
    rank_linear,
    rank_bilinear,
    covering=partial(numeric_covering, parametric_only=True),
    below_capacity=False,
    source="this project, docs/theory.md 3.6 (rank-dependent bounds: Truong, arXiv 2410.11500, was not at hand)",
    assumes="ranks are those of the architecture: the width inside a head, not that of trained weights",
)


def sensitivity(p: Float[Array, "... n"]) -> Float[Array, "..."]:
    """Return theta(p) = 4 max_S P(S) (1 - P(S)), the largest l1 change of softmax weights p per unit change of the
    scores.

    P(S) sums p over S. If some p_i >= 1/2 the best S is {i}. Otherwise some S has P(S) between 1/3 and 2/3, so that
    theta >= 8/9, and 1 is returned.

    >>> sensitivity(np.array([[0.9, 0.1], [0.25, 0.75]])).round(3).tolist()
    [0.36, 0.75]
    """
    largest = p.max(axis=-1)
    return np.where(largest >= 0.5, 4 * largest * (1 - largest), 1.0)


def sensitivity_form(attention: Float[Array, "... n"], *, where: str) -> Form:
    """Return `minimum` with the largest sensitivity of these attention weights; `where` says where they occur."""
    theta = float(sensitivity(attention).max())
    return replace(
        FORMS["minimum"],
        description=f"as minimum, with sensitivity {theta:.4g} of softmax instead of 1",
        log_softmax=ln(max(theta, 1e-300)),
        proven=False,
        source="after arXiv 2602.18849 (abstract), docs/theory.md 4.5",
        assumes=f"no head of the class attends less sharply than this one {where} (theta = {theta:.4g})",
    )


def model_sensitivity(model: Model, *, inputs: int = 256) -> Form:
    """Return `sensitivity_form` for the last layer's attention at [CLS] on some inputs.

    The inputs are the all-zero one, the all-one one, and random ones. Other layers keep the constant 1, so use the form
    only for models of one layer.
    """
    inputs = max(2, min(inputs, 2**24 // model.T))  # 128 MB of weights for each head
    bits = np.random.default_rng(0).integers(0, 2, size=(inputs, model.T))
    bits[0], bits[1] = 0, 1
    return sensitivity_form(model.attention(bits), where=f"on {inputs} inputs")


def weights_in(source: Model | Layer) -> list[Float[Array, "..."]]:
    """Return all trained arrays: those of a layer, or those of a model without its encoding if that is fixed."""
    arrays = list(arrays_of(source))
    if isinstance(source, Layer):
        return [array for _, array in arrays]
    fixed = source.encoding.kind != "trainable"
    return [array for name, array in arrays if not (fixed and name.startswith("encoding"))] + [
        np.array([source.bias])
    ]


def code_bits(source: Model | Layer) -> int:
    """Return the number of bits of the weights, 64 for each of them."""
    return 64 * sum(array.size for array in weights_in(source))


def compressed_bits(source: Model | Layer) -> int:
    """Return the number of bits of the weights compressed by zlib, plus that number's bits in Elias' gamma code."""
    raw = b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in weights_in(source))
    length = len(zlib.compress(raw, 9))
    return 8 * length + 2 * (length.bit_length() - 1) + 1


def code_gap(nats: float, *, m: int, delta: float) -> float:
    """Return sqrt((nats + ln 1/delta)/2m), a bound on P(error) - training error for a code of `nats` nats."""
    return math.sqrt((nats - math.log(delta)) / (2 * m))


def code_realizable(nats: float, *, m: int, delta: float) -> float:
    """Return a bound on P(error) for a function without training errors that has a code of `nats` nats."""
    return -math.expm1(-(nats - math.log(delta)) / m)


def vc_order(source: Model | Layer, T: int) -> float:
    """Return L W ln(T W) for L layers with W weights on T tokens; L = 1 if `source` is a single layer."""
    W = sum(array.size for array in weights_in(source))
    return (source.L if isinstance(source, Model) else 1) * W * math.log(T * W)
