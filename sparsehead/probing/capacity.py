"""Norms, effective ranks and capacity bounds of the heads of pretrained models; bounds are computed by `bound`.

A head is bounded as a `Layer` with one head. The bound has two items, the score (W_QK) and the value path
(W_VO = W_V W_O), for one query per sequence of T tokens whose norms are at most the largest seen at the layer's input.
Training chose the norms, so the bound includes the union bound over norms. For a one-layer model of this library, the
bound is that of the same model with only this head, since its tokens and its query are known.

The spectral proxy is an additional number that is not a proven bound. For a matrix with singular values sigma_i let S_p
= sum_i sigma_i^p (the Schatten-p quantity). The matrix is within x, in spectral norm, of a matrix of rank at most S_p /
x^p, which is described by (rows + columns) numbers for each unit of rank. So, up to logarithms, the number of
parameters that describe the matrix at resolution x is

    min over 0 < p <= 2 of (rows + columns) min(rank, S_p (b/x)^p)        for inputs of length b,

with p chosen after training for each matrix. Sakai and Imaizumi (arXiv 2605.07297) bound deep transformers by Schatten
quantities whose indices are chosen after training. This proxy is for single heads and is not their formula, which is
for whole models: `capacity.spectra.spectrum`.
"""

from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from ..capacity.declared import declare_layer, declare_model
from ..capacity.norms import HeadNorms, head_norms
from ..capacity.spectra import singular_values
from ..capacity.verdict import Verdict, judge
from ..heads.block import Layer
from ..heads.model import Model
from .statistics import Plain


@dataclass(frozen=True, repr=False, kw_only=True)
class HeadBound(Verdict):
    """The result of `bound` for a head or a layer, on tokens of norm at most radius.

    proxy: the spectral proxy for ln N at the bound's resolution, not proven; proxy_indices: the Schatten index p of
    each matrix.
    """

    radius: float
    proxy: float | None = None
    proxy_indices: dict[str, float] | None = None


@dataclass(frozen=True, repr=False)
class HeadWeightsReport(Plain):
    """Measures that need only the weights of a head: all norms of `bound`, and ranks of W_QK and W_VO.

    The effective rank is exp of the entropy of the normalised singular values (Roy and Vetterli); the stable rank is
    ||.||_F^2 / ||.||^2. Both are between 1 and the rank; biases are left out.
    """

    norms: HeadNorms
    rank_QK: float
    rank_OV: float
    stable_rank_QK: float
    stable_rank_OV: float


def effective_rank(sigma: Float[Array, " r"]) -> float:
    """Return exp of the entropy of sigma / sum sigma; 0 for the zero matrix.

    >>> round(effective_rank(np.array([2.0, 2.0, 2.0, 0.0])), 6)
    3.0
    """
    total = float(sigma.sum())
    if total == 0:
        return 0.0
    p = sigma[sigma > 0] / total
    return float(np.exp(-(p * np.log(p)).sum()))


def report_weights(layer: Layer, h: int) -> HeadWeightsReport:
    """Return the norms and ranks of head h."""
    both = singular_values(layer.W_Q[h], layer.W_K[h].T), singular_values(layer.W_V[h], layer.W_C[h])
    stable = (float((sigma**2).sum() / sigma[0] ** 2) if sigma[0] > 0 else 0.0 for sigma in both)
    return HeadWeightsReport(head_norms(layer, h), *map(effective_rank, both), *stable)


def bound_layer(
    layer: Layer,
    *,
    T: int,
    m: int,
    radius: float,
    form: str | None,
    outside: tuple[str, ...],
    model: Model | None,
) -> HeadBound:
    """Return the bound and the spectral proxy for all heads of a layer together.

    Args:
        outside: why the layer is outside the class of the bound; empty if it is inside.
        model: the one-layer model of this library to which the layer belongs; None for other layers.
    """
    if model is None:
        lengths = {"BX": radius}
        declared = declare_layer(layer, T=T, lengths=lengths, margin=1.0, outside=outside)
    else:
        declared = declare_model(model)
    judged = judge(declared, m=m, delta=0.05, form=form)
    proxy, indices = spectral_proxy(layer, radius=radius, eps=declared.margin_used / 2)
    return HeadBound(**vars(judged), radius=radius, proxy=proxy, proxy_indices=indices)


def spectral_proxy(layer: Layer, *, radius: float, eps: float) -> tuple[float, dict[str, float]]:
    """Return the proxy summed over W_QK and W_VO of all heads, and the Schatten index of each matrix.

    eps is divided equally among the heads, and for each head among its two matrices. An error x of the scores changes
    the output by x R ||W_VO||, R = radius; an error x of the value path changes it by x.
    """
    total, indices = 0.0, {}
    share = eps / (2 * layer.H)
    for h in range(layer.H):
        QK = singular_values(layer.W_Q[h] / layer.temperature, layer.W_K[h].T)
        OV = singular_values(layer.W_V[h], layer.W_C[h])
        size = layer.W_Q.shape[1] + layer.W_K.shape[1]
        parts = {
            "QK": (QK, radius**2, share / max(radius * float(OV[0]), 1e-300)),
            "VO": (OV, radius, share),
        }
        for name, (sigma, b, x) in parts.items():
            cost, p = _schatten(sigma, b / x)
            total += size * cost
            indices[name if layer.H == 1 else f"head{h}.{name}"] = p
    return total, indices


def _schatten(sigma: Float[Array, " r"], scale: float) -> tuple[float, float]:
    """Return min over p of min(rank, sum_i (sigma_i scale)^p), and the p that attains it."""
    live = sigma[sigma > 0] * scale
    indices = np.round(np.geomspace(0.05, 2.0, 40), 4)
    costs = [min(float(len(live)), float((live**p).sum())) for p in indices]
    best = int(np.argmin(costs))
    return costs[best], float(indices[best])
