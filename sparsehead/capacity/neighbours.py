"""Forms of the atlas beside those of `bound`: rank, sensitivity of softmax, codes of the weights, proxies.

rank               proved here (docs/theory.md 3.6): counts the numbers that describe matrices of small rank
sensitivity        `minimum`, but with the sensitivity of softmax at weights that occur, not 1 (theory 4.5); a proxy
code, compression  count the bits of a text that contains the weights (theory 6.5)
spectrum           Sakai and Imaizumi (arXiv 2605.07297), as their code has it; a proxy without m, eps or constants
edelman            the proxy for the paper's bound with which Sakai and Imaizumi compare theirs
vc                 L W ln(T W), the order of the VC dimension (arXiv 2606.09731); its constant was not found
"""

import math
import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from .._base.errors import DomainError
from .._base.log_math import LOG_ZERO, as_float, exp, ln
from .._base.types import Array, Float
from ..heads.block import Layer
from ..heads.model import Model, arrays_of
from .forms import FORMS, Charge, Form
from .items import numeric_covering
from .norms import MatrixNorms, matrix_norm, spectral_norm

LN_2 = math.log(2)  # nats in a bit
GELU_LIPSCHITZ = 1.13  # as their code rounds it


def rank_linear(W: MatrixNorms, log_N: float) -> Charge:
    """Charge for rank (rows + columns) parameters and norm 2 ||W||_F, or for all entries and ||W||_F if no more.

    W = P Q, where P has orthonormal columns; P and Q are covered one after the other, each at half of the error.
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
    """Return theta(p) = 4 max_S P(S) (1 - P(S)): how far the weights p of a softmax move in l1 per unit of scores.

    P(S) sums p over S. If some p_i >= 1/2 the best S is {i}. Otherwise some S has P(S) between 1/3 and 2/3, so that
    theta >= 8/9, and 1 is returned.

    >>> sensitivity(np.array([[0.9, 0.1], [0.25, 0.75]])).round(3).tolist()
    [0.36, 0.75]
    """
    largest = p.max(axis=-1)
    return np.where(largest >= 0.5, 4 * largest * (1 - largest), 1.0)


def sensitivity_form(model: Model, *, inputs: int = 256) -> Form:
    """Return `minimum` with the largest sensitivity of the last layer's attention at [CLS] on some inputs.

    These are the all-zero and the all-one input, and random ones. The other layers keep the constant 1, so the form is
    for models of one layer.
    """
    inputs = max(2, min(inputs, 2**24 // model.T))  # 128 MB of weights for each head
    bits = np.random.default_rng(0).integers(0, 2, size=(inputs, model.T))
    bits[0], bits[1] = 0, 1
    theta = float(sensitivity(model.attention(bits)).max())
    return replace(
        FORMS["minimum"],
        description=f"as minimum, with sensitivity {theta:.4g} of softmax instead of 1",
        log_softmax=ln(max(theta, 1e-300)),
        proven=False,
        source="after arXiv 2602.18849 (abstract), docs/theory.md 4.5",
        assumes=f"no head of the class attends less sharply than this one on {inputs} inputs (theta = {theta:.4g})",
    )


def weights_in(model: Model) -> list[Float[Array, "..."]]:
    """Return the arrays that training chose: all but those of a fixed encoding."""
    fixed = model.encoding.kind != "trainable"
    return [array for name, array in arrays_of(model) if not (fixed and name.startswith("encoding"))] + [
        np.array([model.bias])
    ]


def code_bits(model: Model) -> int:
    """Return the number of bits of the weights, 64 for each of them."""
    return 64 * sum(array.size for array in weights_in(model))


def compressed_bits(model: Model) -> int:
    """Return the number of bits of the weights compressed by zlib, plus that of their length in Elias' gamma code."""
    raw = b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in weights_in(model))
    length = len(zlib.compress(raw, 9))
    return 8 * length + 2 * (length.bit_length() - 1) + 1


def code_gap(nats: float, *, m: int, delta: float) -> float:
    """Return sqrt((nats + ln 1/delta)/2m), a bound on P(error) - training error for functions with a code this long."""
    return math.sqrt((nats - math.log(delta)) / (2 * m))


def code_realizable(nats: float, *, m: int, delta: float) -> float:
    """Return a bound on P(error) for a function without training errors that has a code of `nats` nats."""
    return -math.expm1(-(nats - math.log(delta)) / m)


def vc_order(model: Model) -> float:
    """Return L W ln(T W) for a model with L layers and W weights."""
    W = sum(array.size for array in weights_in(model))
    return model.L * W * math.log(model.T * W)


def spectrum(model: Model) -> float:
    """Return the spectrum-adaptive proxy: sqrt L plus, for each matrix with singular values sigma,

        min over p in {0, 1/q, .., 2} of (sum sigma^p)^{1/(p+2)} (gamma alpha L)^{p/(p+2)} N^{(p+1)/(p+2)},

    q = ceil(L + ln N), N the token width, L the depth, sum sigma^0 the rank. M_in, M_out are W_1, W_2 of the MLP. gamma
    is 2 ||V|| ||M_out|| ||M_in|| for QK, ||M_out|| ||M_in|| for V, ||M_out|| for M_in, 1 for M_out; alpha is the
    product over later layers of 1.13 ||M_in|| ||M_out|| sum_h ||V_h|| (1 + 4 ||QK_h||).
    """
    L, N = model.L, model.d
    q = math.ceil(L + math.log(N))
    total, log_alpha = math.sqrt(L), 0.0
    for layer in reversed(model.layers):
        heads, M_in, M_out = _matrices(layer)
        log_in, log_out = ln(spectral_norm(M_in)), ln(spectral_norm(M_out))
        for QK, V in heads:
            total += _least(QK, math.log(2) + ln(spectral_norm(V)) + log_out + log_in + log_alpha, L, N, q)
            total += _least(V, log_out + log_in + log_alpha, L, N, q)
        total += _least(M_in, log_out + log_alpha, L, N, q) + _least(M_out, log_alpha, L, N, q)
        log_alpha += ln(_amplification(layer))
    return total


def _least(W: Float[Array, "a b"], log_gamma: float, L: int, N: int, q: int) -> float:
    """Return the least term of the proxy for one matrix; log_gamma is ln(gamma alpha)."""
    sigma = np.linalg.svd(W, compute_uv=False)
    kept = sigma[sigma > 1e-10 * sigma.max(initial=0.0)]
    if len(kept) == 0:
        return 0.0
    logs = []
    for j in range(2 * q + 1):
        p = j / q
        log_sum = math.log(len(kept)) if j == 0 else math.log(float((sigma[sigma > 0] ** p).sum()))
        scaled = 0.0 if j == 0 else p * (log_gamma + math.log(L))
        logs.append((log_sum + scaled + (p + 1) * math.log(N)) / (p + 2))
    return exp(min(logs))


def edelman(model: Model) -> float:
    """Return the proxy for the paper's bound, (1 + sum_l alpha_l^{2/3} xi_l)^{3/2}, with alpha of `spectrum` and

    xi = sum_h (||M_out|| ||M_in|| ||V|| ||QK||_{2,1})^{2/3} + (||M_out|| ||M_in|| ||V||_{2,1})^{2/3}
         + (||M_out|| ||M_in||_{2,1})^{2/3} + ||M_out||_{2,1}^{2/3}.
    """
    total, alpha = 1.0, 1.0
    for layer in reversed(model.layers):
        heads, M_in, M_out = _matrices(layer)
        s_in, s_out = spectral_norm(M_in), spectral_norm(M_out)
        terms = [s_out * matrix_norm(M_in, 2, 1), matrix_norm(M_out, 2, 1)]
        for QK, V in heads:
            terms += [
                s_out * s_in * spectral_norm(V) * matrix_norm(QK, 2, 1),
                s_out * s_in * matrix_norm(V, 2, 1),
            ]
        total += alpha ** (2 / 3) * sum(term ** (2 / 3) for term in terms)
        alpha *= _amplification(layer)
    return float(total**1.5)


def _matrices(layer: Layer) -> tuple[list[tuple[Array, Array]], Array, Array]:
    """Return QK and V of each head, M_in and M_out; V is W_V W_C, and QK has the temperature."""
    if layer.mlp is None or layer.sigma != "identity":
        raise DomainError(
            "the spectral proxies are for layers with an MLP and linear values; this model has a layer without them."
        )
    QK = [Q @ K.T / layer.temperature for Q, K in zip(layer.W_Q, layer.W_K, strict=True)]
    V = [V @ C for V, C in zip(layer.W_V, layer.W_C, strict=True)]
    return list(zip(QK, V, strict=True)), layer.mlp.W_1, layer.mlp.W_2


def _amplification(layer: Layer) -> float:
    heads, M_in, M_out = _matrices(layer)
    mixed: Iterable[float] = (spectral_norm(V) * (1 + 4 * spectral_norm(QK)) for QK, V in heads)
    return GELU_LIPSCHITZ * spectral_norm(M_in) * spectral_norm(M_out) * sum(mixed)
