"""Norms, effective ranks and capacity bounds of found heads; verdicts are those of `bound`.

A head is a `Layer` with one head: its items are the score (W_QK) and the value path (W_VO = W_V W_O), read at one
query per sequence of T tokens no longer than the longest layer input that was seen. Norms were chosen by training, so
the union bound over norms is paid. The head of a model of this library with one layer is that model with this head
alone: its tokens and its query are known.

The spectral proxy is one more figure, marked as a proxy and no proof. A matrix whose Schatten-p quantity is
S_p = sum_i sigma_i^p is within x (in spectral norm) of one of rank at most S_p / x^p, which has (rows + columns)
numbers per rank. So, up to logarithms, its description at resolution x takes

    min over 0 < p <= 2 of (rows + columns) min(rank, S_p (b/x)^p)        for inputs of length b,

p chosen after training for each matrix. Sakai and Imaizumi (arXiv 2605.07297) bound deep transformers by Schatten
quantities whose indices are chosen after training; only their abstract was at hand, so this formula is ours, made in
that spirit, and its figures are not theirs.
"""

from dataclasses import dataclass

import numpy as np

from .._base.types import Array, Float
from ..capacity.declared import declare_layer, declare_model
from ..capacity.families import outside
from ..capacity.norms import HeadNorms, head_norms
from ..capacity.verdict import Verdict, judge
from ..heads.block import Layer
from ..heads.model import Model
from .statistics import Plain


@dataclass(frozen=True, repr=False, kw_only=True)
class HeadBound(Verdict):
    """The verdict of `bound` on a head or a layer, on tokens of length at most radius.

    proxy: the spectral proxy for ln N at the same resolution, no proof; proxy_indices: the Schatten index chosen for
    each matrix.
    """

    radius: float
    proxy: float | None = None
    proxy_indices: dict[str, float] | None = None


@dataclass(frozen=True, repr=False)
class HeadWeightsReport(Plain):
    """What the weights alone say about one head: all norms of `bound`, and effective ranks of W_QK and W_VO.

    The effective rank is exp of the entropy of the normalised singular values (Roy and Vetterli); the stable rank is
    ||.||_F^2 / ||.||^2. Both are between 1 and k, of the products without biases.
    """

    norms: HeadNorms
    rank_QK: float
    rank_OV: float
    stable_rank_QK: float
    stable_rank_OV: float


def singular_values(A: Float[Array, "a k"], B: Float[Array, "k b"]) -> Float[Array, " r"]:
    """Singular values of A B, from thin QR factorisations: no larger matrix than k x k is decomposed."""
    R_A, R_B = (np.asarray(np.linalg.qr(M, mode="r")) for M in (A, B.T))
    return np.asarray(np.linalg.svd(R_A @ R_B.T, compute_uv=False))


def effective_rank(sigma: Float[Array, " r"]) -> float:
    """exp of the entropy of sigma / sum sigma; 0 for the zero matrix.

    >>> round(effective_rank(np.array([2.0, 2.0, 2.0, 0.0])), 6)
    3.0
    """
    total = float(sigma.sum())
    if total == 0:
        return 0.0
    p = sigma[sigma > 0] / total
    return float(np.exp(-(p * np.log(p)).sum()))


def report_weights(layer: Layer, h: int) -> HeadWeightsReport:
    """Norms and ranks of head h."""
    both = singular_values(layer.W_Q[h], layer.W_K[h].T), singular_values(layer.W_V[h], layer.W_C[h])
    stable = (float((sigma**2).sum() / sigma[0] ** 2) if sigma[0] > 0 else 0.0 for sigma in both)
    return HeadWeightsReport(head_norms(layer, h), *map(effective_rank, both), *stable)


def bound_layer(
    layer: Layer, *, T: int, m: int, radius: float, form: str | None, positions: str, model: Model | None
) -> HeadBound:
    """The bound on all heads of a layer together, with the proxy beside it.

    Args:
        positions: how the layer knows positions; see `LayerWeights`.
        model: the model whose only layer this is, if it is one of ours.
    """
    if model is None:
        lengths = {"BX": radius}
        declared = declare_layer(layer, T=T, lengths=lengths, margin=1.0, outside=outside(positions))
    else:
        declared = declare_model(model)
    judged = judge(declared, m=m, delta=0.05, form=form)
    proxy, indices = spectral_proxy(layer, radius=radius, eps=declared.margin_used / 2)
    return HeadBound(**vars(judged), radius=radius, proxy=proxy, proxy_indices=indices)


def spectral_proxy(layer: Layer, *, radius: float, eps: float) -> tuple[float, dict[str, float]]:
    """The proxy defined above, summed over the heads' two matrices, each with half of the head's share of eps.

    An error x of the scores is x R ||W_VO|| at the output, one of the value path x itself.
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
    """min over p of min(rank, sum_i (sigma_i scale)^p), and its p."""
    live = sigma[sigma > 0] * scale
    indices = np.round(np.geomspace(0.05, 2.0, 40), 4)
    costs = [min(float(len(live)), float((live**p).sum())) for p in indices]
    best = int(np.argmin(costs))
    return costs[best], float(indices[best])
