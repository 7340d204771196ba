"""Two proxies of Sakai and Imaizumi for whole networks: their spectral one, and one for the paper's bound.

Both are sums over the matrices of a network: QK = W_Q W_K^T and V = W_V W_C of each head, M_in and M_out of each MLP.
QK is without the temperature of the scores and norms (2,1) add up columns: of the interpretations tried, only this one
gives the numbers that they publish for MiniLM (docs/neighbours.md). Neither is an error bound.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._base.errors import DomainError
from .._base.log_math import exp, ln
from .._base.types import Array, Float
from ..heads.block import Layer
from ..heads.model import Model


def singular_values(A: Float[Array, "a k"], B: Float[Array, "k b"]) -> Float[Array, " r"]:
    """Return the singular values of A B, using thin QR factorisations so that the SVD is of a k x k matrix at most."""
    R_A, R_B = (np.asarray(np.linalg.qr(M, mode="r")) for M in (A, B.T))
    return np.asarray(np.linalg.svd(R_A @ R_B.T, compute_uv=False))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The singular values of a matrix, and the sum of the lengths of its columns: all that the proxies need."""

    sigma: Float[Array, " r"]
    n21: float

    @property
    def largest(self) -> float:
        return float(self.sigma.max(initial=0.0))

    @staticmethod
    def of(A: Float[Array, "a k"], B: Float[Array, "k b"] | None = None) -> "Spectrum":
        """Return the spectrum of A, or of A B."""
        if B is None:
            return Spectrum(np.linalg.svd(A, compute_uv=False), float(np.linalg.norm(A, axis=0).sum()))
        R = np.asarray(np.linalg.qr(A, mode="r"))
        return Spectrum(singular_values(A, B), float(np.linalg.norm(R @ B, axis=0).sum()))


@dataclass(frozen=True, eq=False)
class LayerSpectra:
    """The spectra of one layer: QK and V of each head, and the two matrices of its MLP."""

    heads: tuple[tuple[Spectrum, Spectrum], ...]
    M_in: Spectrum
    M_out: Spectrum

    @property
    def log_amplification(self) -> float:
        """The logarithm of 1.13 ||M_in|| ||M_out|| sum_h ||V_h|| (1 + 4 ||QK_h||), by which the layer amplifies
        errors.
        """
        mixed = sum(V.largest * (1 + 4 * QK.largest) for QK, V in self.heads)
        lipschitz = 1.13  # as their code rounds it
        return math.log(lipschitz) + ln(self.M_in.largest) + ln(self.M_out.largest) + ln(mixed)


def layer_spectra(layer: Layer, M_in: Float[Array, "d n"], M_out: Float[Array, "n d"]) -> LayerSpectra:
    """Return the spectra of a layer of attention followed by an MLP."""
    heads = tuple(
        (Spectrum.of(Q, K.T), Spectrum.of(V, C))
        for Q, K, V, C in zip(layer.W_Q, layer.W_K, layer.W_V, layer.W_C, strict=True)
    )
    return LayerSpectra(heads, Spectrum.of(M_in), Spectrum.of(M_out))


def model_spectra(model: Model) -> list[LayerSpectra]:
    """Return the spectra of every layer of a model, the first layer first."""
    found = []
    for layer in model.layers:
        if layer.mlp is None or layer.sigma != "identity":
            raise DomainError(
                "the spectral proxies are for layers with an MLP and linear values; "
                "this model has a layer without them."
            )
        found.append(layer_spectra(layer, layer.mlp.W_1, layer.mlp.W_2))
    return found


def spectrum(layers: Sequence[LayerSpectra], N: int) -> float:
    """Return the spectrum-adaptive proxy: sqrt L plus, for each matrix with singular values sigma,

        min over p in {0, 1/q, .., 2} of (sum sigma^p)^{1/(p+2)} (gamma alpha L)^{p/(p+2)} N^{(p+1)/(p+2)},

    where L is the depth, N the token width, q = ceil(L + ln N), and sum sigma^0 is the rank. M_in and M_out are the two
    matrices of the MLP. gamma is 2 ||V|| ||M_out|| ||M_in|| for QK, ||M_out|| ||M_in|| for V, ||M_out|| for M_in, 1 for
    M_out; alpha is the product over later layers of 1.13 ||M_in|| ||M_out|| sum_h ||V_h|| (1 + 4 ||QK_h||).
      Paper: spectra-minilm
    """
    return math.sqrt(len(layers)) + sum(value for value, _ in spectrum_terms(layers, N))


def spectrum_terms(layers: Sequence[LayerSpectra], N: int) -> list[tuple[float, float]]:
    """Return for each matrix, the last layer first, its term of `spectrum` and the p that gives it."""
    L, log_alpha, found = len(layers), 0.0, []
    q = math.ceil(L + math.log(N))
    for layer in reversed(layers):
        log_in, log_out = ln(layer.M_in.largest), ln(layer.M_out.largest)
        parts: list[tuple[Spectrum, float]] = []
        for QK, V in layer.heads:
            parts += [(QK, math.log(2) + ln(V.largest) + log_out + log_in), (V, log_out + log_in)]
        parts += [(layer.M_in, log_out), (layer.M_out, 0.0)]
        found += [_least(matrix.sigma, log_gamma + log_alpha, L, N, q) for matrix, log_gamma in parts]
        log_alpha += layer.log_amplification
    return found


def _least(sigma: Float[Array, " r"], log_gamma: float, L: int, N: int, q: int) -> tuple[float, float]:
    """Return the least term of the proxy for one matrix, and its p; log_gamma is ln(gamma alpha)."""
    kept = sigma[sigma > 1e-10 * sigma.max(initial=0.0)]
    if len(kept) == 0:
        return 0.0, 0.0
    logs = []
    for j in range(2 * q + 1):
        p = j / q
        log_sum = math.log(len(kept)) if j == 0 else math.log(float((sigma[sigma > 0] ** p).sum()))
        scaled = 0.0 if j == 0 else p * (log_gamma + math.log(L))
        logs.append((log_sum + scaled + (p + 1) * math.log(N)) / (p + 2))
    best = int(np.argmin(logs))
    return exp(logs[best]), best / q


def edelman(layers: Iterable[LayerSpectra]) -> float:
    """Return the proxy for the paper's bound, (1 + sum_l alpha_l^{2/3} xi_l)^{3/2} over layers l, with alpha as in
    `spectrum` and

    xi = sum_h (||M_out|| ||M_in|| ||V|| ||QK||_{2,1})^{2/3} + (||M_out|| ||M_in|| ||V||_{2,1})^{2/3}
         + (||M_out|| ||M_in||_{2,1})^{2/3} + ||M_out||_{2,1}^{2/3}.
    """
    total, log_alpha = 1.0, 0.0
    for layer in reversed(list(layers)):
        s_in, s_out = layer.M_in.largest, layer.M_out.largest
        terms = [s_out * layer.M_in.n21, layer.M_out.n21]
        for QK, V in layer.heads:
            terms += [s_out * s_in * V.largest * QK.n21, s_out * s_in * V.n21]
        total += exp(2 / 3 * log_alpha) * sum(term ** (2 / 3) for term in terms)
        log_alpha += layer.log_amplification
    return float(total**1.5)
