"""Norms, effective ranks and capacity bounds of found heads, with the verdict of the same `bound` machinery.

A head is a `Layer` with one head: its items are the score (W_QK) and the value path (W_VO = W_V W_O), read at one
query per sequence of T tokens no longer than the longest layer input that was seen. Norms were chosen by training, so
the union bound over norms is paid.

The spectral proxy is one more figure, marked as a proxy and no proof. A matrix whose Schatten-p quantity is
S_p = sum_i sigma_i^p is within x (in spectral norm) of one of rank at most S_p / x^p, which has (rows + columns)
numbers per rank. So, up to logarithms, its description at resolution x takes

    min over 0 < p <= 2 of (rows + columns) min(rank, S_p (b/x)^p)        for inputs of length b,

p chosen after training for each matrix. Sakai and Imaizumi (arXiv 2605.07297) bound deep transformers by Schatten
quantities whose indices are chosen after training; only their abstract was at hand, so this formula is ours, made in
that spirit, and its figures are not theirs.
"""

import math
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from ..block import Layer
from ..capacity.attention_stages import Counts, attention_stage
from ..capacity.forms import covering
from ..capacity.generalization import margin_gap, samples_needed
from ..capacity.items import Covering, Item, log_capacity
from ..capacity.norms import HeadNorms, head_norms
from ..capacity.pricing import Pricing, declared_margin
from ..capacity.stages import network_items
from ..display import Short
from ..logs import ln
from ..types import Array, Float
from .families import BIAS, ROTARY
from .recompute import LayerWeights

FORM = "ours"
DELTA, MARGIN = 0.05, 1.0
INDICES = tuple(np.round(np.geomspace(0.05, 2.0, 40), 4))
OUTSIDE = {
    ROTARY: "rotary positions turn queries and keys by their place, which the bound's class does not: outside its "
    "assumptions, figures are those of the same weights without the rotation",
    BIAS: "a relative position bias is added to the scores, which the bound's class does not have: outside its "
    "assumptions, figures are those of the same weights without it",
}


@dataclass(frozen=True, repr=False)
class HeadBound(Short):
    """ln N and margin gap of a head's or a layer's class on m sequences of T tokens with rows of length at most radius.

    vacuous_by: how many times more samples bring the gap below 1; None beyond 1e300. proxy: the spectral proxy for ln N
    at the same resolution, no proof; proxy_indices: the Schatten index chosen for each matrix.
    """

    m: int
    T: int
    radius: float
    log_covering: float
    gap: float
    vacuous: bool
    vacuous_by: float | None
    dominated_by: str
    items: dict[str, float]
    proxy: float | None = None
    proxy_indices: dict[str, float] | None = None

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.vacuous:
            return f"gap {self.gap:.3g}, dominated by {self.dominated_by}"
        factor = "more than 1e300" if self.vacuous_by is None else f"{self.vacuous_by:.2g}"
        return f"vacuous: {factor} times m = {self.m:.0e} would bring the gap below 1; dominated by {self.dominated_by}"


@dataclass(frozen=True, repr=False)
class HeadWeightsReport(Short):
    """What the weights alone say about one head: all norms of `bound`, and effective ranks of W_QK and W_VO.

    The effective rank is exp of the entropy of the normalised singular values (Roy and Vetterli); the stable rank is
    ||.||_F^2 / ||.||^2. Both are between 1 and k, of the products without biases.
    """

    norms: HeadNorms
    rank_QK: float
    rank_OV: float
    stable_rank_QK: float
    stable_rank_OV: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data."""
        return asdict(self)


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
    b_Q, b_V = (None if b is None else b[h] for b in (layer.b_Q, layer.b_V))
    norms = head_norms(
        layer.W_Q[h],
        layer.W_K[h],
        layer.W_V[h],
        layer.W_C[h],
        b_Q=b_Q,
        b_V=b_V,
        temperature=layer.temperature,
    )
    QK, OV = singular_values(layer.W_Q[h], layer.W_K[h].T), singular_values(layer.W_V[h], layer.W_C[h])
    return HeadWeightsReport(norms, effective_rank(QK), effective_rank(OV), _stable(QK), _stable(OV))


def _stable(sigma: Float[Array, " r"]) -> float:
    return float((sigma**2).sum() / sigma[0] ** 2) if sigma[0] > 0 else 0.0


def bound_layer(weights: LayerWeights, *, T: int, m: int, radius: float) -> HeadBound:
    """The bound on all heads of a layer together, or on one (`weights.head(h)`), with the proxy beside it.

    The margin is 1 and the output is a vector: what is bounded is any read-out of it of length 1.
    """
    layer = weights.as_layer()
    measured: dict[str, Any] = {}
    margin, margin_penalty = declared_margin(MARGIN, chosen=True)

    @cache
    def priced(n: int | float) -> tuple[tuple[Item, ...], float]:
        price = Pricing(FORM, a_posteriori=True, measured=measured)
        counts = Counts(pairs=ln(n) + ln(T), values=ln(n), rows=ln(n))
        stage = attention_stage(price, "layer", layer, log_R=price.log_norm("radius", radius), counts=counts)
        return network_items([stage]), price.penalty + margin_penalty

    @cache
    def gap(n: int | float) -> float:
        items, penalty = priced(n)
        return margin_gap(m=n, delta=DELTA, margin=margin, log_C=log_capacity(items), penalty=penalty)

    items = priced(m)[0]
    at_eps = covering(items, eps=margin / 2, form=FORM)
    found = gap(m)
    enough = samples_needed(gap, accuracy=math.nextafter(1, 0)) if found >= 1 else None
    proxy, indices = spectral_proxy(layer, radius=radius, eps=margin / 2)
    return HeadBound(
        m=m,
        T=T,
        radius=radius,
        log_covering=at_eps.log_covering,
        gap=found,
        vacuous=found >= 1,
        vacuous_by=None if enough is None else enough / m,
        dominated_by=_short(items[int(np.argmax(at_eps.shares))].name, layer.H),
        items=_shares(items, at_eps, layer.H),
        proxy=proxy,
        proxy_indices=indices,
    )


def _shares(items: tuple[Item, ...], at_eps: Covering, H: int) -> dict[str, float]:
    return {_short(item.name, H): share for item, share in zip(items, at_eps.shares, strict=True)}


def _short(name: str, H: int) -> str:
    """layer.head0.QK is QK for a single head, head0.QK in a layer."""
    parts = name.split(".")
    return parts[-1] if H == 1 else ".".join(parts[1:])


def spectral_proxy(layer: Layer, *, radius: float, eps: float) -> tuple[float, dict[str, float]]:
    """The proxy of this file's head, added over the heads' two matrices, each with half of the head's share of eps.

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
    costs = [min(float(len(live)), float((live**p).sum())) for p in INDICES]
    best = int(np.argmin(costs))
    return costs[best], float(INDICES[best])
