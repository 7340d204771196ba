"""Models that read each relevant bit separately (s heads, one vector-valued head); two heads that cancel leakage."""

import numpy as np

from .._base.errors import DomainError
from .._base.types import Array, Float
from ..functions import SparseFunction, assignments
from ..heads.block import Layer
from ..heads.encoding import Encoding
from ..heads.model import Dense, Model
from .assemble import decoded, intervals, query_and_key
from .attention import (
    Selection,
    TooNarrow,
    additive_selection,
    check_reach,
    dual,
    scale_for_leak,
    support_rows,
)
from .code import Code, best_code
from .decoder import interpolation, plateaus


def s_heads(f: SparseFunction, encoding: Encoding, *, attends_cls: bool) -> Model:
    """Return a model with one head per relevant position; ReLU units round each output to a bit, others compute f.

    All slopes are O(1), so no precision of 2^-s is needed. Each head puts a quarter of its attention outside its
    position, so its output is in [0, 1/4] for bit 0 and in [3/4, 1] for bit 1.
    Paper: s-heads
    """
    one_bit = Code((1,), changes=1)
    picks = [
        additive_selection(encoding, (i,), one_bit, leak=1 / 4, attends_cls=attends_cls) for i in f.support
    ]
    pairs = [query_and_key(encoding, pick.key) for pick in picks]
    layer = Layer(
        W_Q=np.stack([q for q, _ in pairs]),
        W_K=np.stack([k for _, k in pairs]),
        W_V=np.stack([pick.value[:, None] for pick in picks]),
        W_C=np.eye(f.s, encoding.d)[:, None, :],
    )
    return _read_bits(f, layer, picks)


def bag_bits(f: SparseFunction, encoding: Encoding, *, attends_cls: bool) -> Model:
    """Return a model with one head of value width s, for a bag of approximately orthonormal vectors.

    The i-th relevant token has score beta and as its value the unit vector e_i (`dual` finds key and value maps for
    this); [CLS], if attended, has score beta and value 0. If irrelevant tokens get attention zeta and their values have
    entries of at most nu, then coordinate i of the output is at most nu zeta for bit 0 and at least (1 - zeta)/(s + 1)
    - nu zeta for bit 1. Without [CLS] irrelevant tokens may get all attention, so the coordinate may be nu for bit 0,
    and nu must be below about 1/s.
    Paper: single-head-bag-approximate
    """
    s = f.s
    rows = support_rows(encoding, f.support)
    targets = np.zeros((len(rows), s + 1))
    targets[:s, 0] = 1.0
    targets[s, 0] = float(attends_cls)
    targets[:s, 1:] = np.eye(s)
    U = dual(rows, targets)
    slopes = np.delete(encoding.project(U[:, :1])[0][:, 1, 0], list(f.support))
    rho = check_reach(float(slopes.max(initial=0.0)), encoding)  # an absent token has score 0
    n = encoding.T + attends_cls
    beta = scale_for_leak(np.full(n, rho), np.zeros(n), total=1, leak=1 / (2 * s + 2))
    W_Q, W_K = query_and_key(encoding, beta * U[:, 0])
    layer = Layer(W_Q=W_Q[None], W_K=W_K[None], W_V=U[None, :, 1:], W_C=np.eye(s, encoding.d)[None])
    picks = [
        Selection(encoding, (i,), attends_cls, beta * U[:, 0], U[:, 1 + j], rho)
        for j, i in enumerate(f.support)
    ]
    return _read_bits(f, layer, picks)


def _read_bits(f: SparseFunction, layer: Layer, picks: list[Selection]) -> Model:
    """Return the model in which picks[i] reads bit i, two units round it to 0 or 1, and a second layer computes f."""
    ends = [intervals(pick) for pick in picks]
    return of_read_bits(f, picks[0].encoding, layer, ends, attends_cls=picks[0].attends_cls)


def of_read_bits(
    f: SparseFunction,
    encoding: Encoding,
    layer: Layer,
    ends: list[tuple[Float[Array, " 2"], Float[Array, " 2"]]],
    *,
    attends_cls: bool,
    flat: float = 1.0,
) -> Model:
    """Return the model in which coordinate i of the layer's output reads bit i: for bit b it is between ends[i][0][b]
    and ends[i][1][b]. Two units round it to 0 or 1, as `plateaus` with this `flat` does; a second layer computes f.
    """
    s = f.s
    W_1, b_1, clean = np.zeros((encoding.d, 2 * s)), np.zeros(2 * s), np.zeros((2 * s, s))
    for i, (low, high) in enumerate(ends):
        zero, one = high[0], low[1]  # the largest reading of a 0, and the smallest of a 1
        if zero >= one:
            raise TooNarrow(
                f"position {f.support[i]} reads up to {zero:.3f} when its bit is 0 and down to {one:.3f} when it is 1; "
                f"d={encoding.d} is too small for T={encoding.T}."
            )
        start, stop = plateaus(low, high, np.array([0, 1]), flat=flat).kinks
        W_1[i, 2 * i : 2 * i + 2] = 1 / (stop - start)
        b_1[2 * i : 2 * i + 2] = -start / (stop - start), -stop / (stop - start)
        clean[2 * i : 2 * i + 2, i] = 1.0, -1.0
    W_2, b_2, w, bias = of_clean_bits(f)
    decoder = Dense(W_1, b_1), Dense(clean @ W_2, b_2)
    return Model(encoding, (layer,), w=w, bias=bias, decoder=decoder, attends_cls=attends_cls)


def of_clean_bits(
    f: SparseFunction,
) -> tuple[Float[Array, "s units"], Float[Array, " units"], Float[Array, " units"], float]:
    """Return W, c, w, bias with f(b) = w . ReLU(b W + c) + bias for all b in {0,1}^s.

    The smaller of two constructions: interpolation along the best code (s kinks for a symmetric f, two for a threshold
    function), or one unit for each a in {0,1}^s with the rarer value of f, at most 2^(s-1):
    ReLU(sum_{a_i = 1} b_i - sum_{a_i = 0} b_i - ones(a) + 1), which is 1 if b = a, else 0.
    """
    code = best_code(f.values)
    table = assignments(f.s).astype(np.float64)
    levels, first = np.unique(table @ np.array(code.weights), return_index=True)
    decoder = interpolation(levels, f.values[first])
    rare = int(2 * f.values.astype(np.int64).sum() <= len(f.values))
    minterms = table[f.values == rare]
    if len(decoder.kinks) <= len(minterms):
        W = np.repeat(np.array(code.weights, dtype=np.float64)[:, None], len(decoder.kinks), axis=1)
        return W, -decoder.kinks, decoder.slopes, decoder.start
    w = np.full(len(minterms), 2.0 * rare - 1)
    return 2 * minterms.T - 1, 1 - minterms.sum(axis=1), w, 1.0 - rare


def cancelling_heads(f: SparseFunction, encoding: Encoding, code: Code, *, attends_cls: bool) -> Model:
    """Return a model with two heads whose leakage cancels: before any ReLU, their output is exactly sum_i c_i b_i.

    The code's integers are c_i. Head 1 has scores eta_i = ln(1 + N c_i) on the support, head 2 attends uniformly to the
    same N tokens, and o_1, o_2 are their outputs. With Z = sum e^{eta_i} + N - s,  Z o_1 - N o_2 = sum_i (e^{eta_i} -
    1) b_i = N sum_i c_i b_i. The scores of irrelevant tokens must be exactly 0: one-hot or trainable positions.
      Paper: cancelling-heads
    """
    n = f.T + attends_cls
    rows = support_rows(encoding, f.support)
    targets = np.zeros((len(rows), 2))
    targets[: f.s, 0] = np.log1p(n * np.array(code.weights, dtype=np.float64))
    targets[f.s + 1, 1] = 1.0
    U = dual(rows, targets)
    tokens, _ = encoding.project(U[:, :1])
    if np.abs(np.delete(tokens, list(f.support), axis=0)).max(initial=0.0) > 1e-12:
        raise DomainError(
            "heads='cancel' needs irrelevant positions that score exactly 0; use encoding 'positional' or 'trainable'."
        )
    W_Q, W_K = query_and_key(encoding, U[:, 0])
    axis = np.eye(1, encoding.d)
    layer = Layer(
        W_Q=np.stack([W_Q, 0 * W_Q]),
        W_K=np.stack([W_K, 0 * W_K]),
        W_V=np.stack([U[:, 1:], U[:, 1:]]),
        W_C=np.stack([(code.total + 1) * axis, -axis]),
    )
    levels = assignments(f.s).astype(np.float64) @ np.array(code.weights)
    return decoded(encoding, layer, plateaus(levels, levels, f.values), attends_cls=attends_cls)
