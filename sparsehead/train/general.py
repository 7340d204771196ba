"""The general path: any depth, with dropout, by autograd.

Every sample has tokens of its own here, so nothing is shared between samples but the weights. Two savings remain.
Only the [CLS] query is computed in the last layer; and there tokens are mixed before they are projected to values,
m T H d + m H d k instead of m T d k H multiplications, which is less whenever k > 1. Keys are never formed either:
W_K q is applied to the tokens.

Dropout falls on the embedded tokens, on the attention weights, and on the outputs of attention and MLP; see
`dropout.py`. One layer with dropout has a compiled form too, `native/dropout.h`; this file is what it is tested
against.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from ..architecture import Architecture
from .dropout import ATTENTION, ATTENTION_OUTPUT, EMBEDDING, MLP_OUTPUT, PLACES_PER_LAYER, Dropout
from .parameters import Ensemble
from .plain import SIGMA, losses, norm, read_out, shifted

NONE = Dropout()
ELEMENTS = 2**21  # numbers in one (samples, tokens, d) array: eight megabytes in float32


def embed(p: Ensemble, bits: Tensor) -> Tensor:
    """Tokens (m, T+1, d) of one run's samples, bits (m, T) 0/1, [CLS] last."""
    E, P = p["E"][0], p["P"][0].mT
    on = bits[..., None]
    body = on * P if p.architecture.is_bag else P + E[0] + on * (E[1] - E[0])
    cls = (E[2] + p["P_cls"][0]).expand(bits.shape[0], 1, -1)
    return torch.cat([body, cls], dim=1)


def _heads(x: Tensor, a: Architecture) -> Tensor:
    """(m, n, kH) in storage order -> (m, H, n, k)."""
    return x.unflatten(-1, (a.k, a.H)).permute(0, 3, 1, 2)


def _one(p: Ensemble, name: str) -> Tensor | None:
    return p.get(name)


def attend_all(p: Ensemble, i: int, x: Tensor, dropout: Dropout) -> Tensor:
    """Mixed values (m, T+1, kH) of every query in layer i."""
    a = p.architecture
    z = norm(x[None], _one(p, f"g_1.{i}"), _one(p, f"c_1.{i}"), a.eps)[0]
    q, k, v = (_heads(shifted(z[None] @ p[f"W_{x}.{i}"], _one(p, f"b_{x}.{i}"))[0], a) for x in "QKV")
    weights = torch.softmax(q @ k.mT / a.temperature, dim=-1)  # (m, H, T+1, T+1)
    weights = dropout(weights.permute(0, 2, 3, 1), ATTENTION + PLACES_PER_LAYER * i).permute(0, 3, 1, 2)
    return (weights @ v).permute(0, 2, 3, 1).flatten(2)


def attend_cls(p: Ensemble, i: int, x: Tensor, dropout: Dropout) -> Tensor:
    """Mixed values (m, kH) of the [CLS] query in layer i; tokens are mixed before they are projected."""
    a = p.architecture
    z = norm(x[None], _one(p, f"g_1.{i}"), _one(p, f"c_1.{i}"), a.eps)[0]
    q = shifted((z[:, -1] @ p[f"W_Q.{i}"][0])[None], _one(p, f"b_Q.{i}"))[0].unflatten(-1, (a.k, a.H))
    asked = torch.einsum("dkh,mkh->mdh", p[f"W_K.{i}"][0].unflatten(-1, (a.k, a.H)), q) / a.temperature
    weights = torch.softmax(z @ asked, dim=1)  # (m, T+1, H); the key bias shifts all scores alike
    weights = dropout(weights, ATTENTION + PLACES_PER_LAYER * i)
    tokens = weights.mT @ z  # (m, H, d)
    mixed = torch.einsum("mhd,dkh->mkh", tokens, p[f"W_V.{i}"][0].unflatten(-1, (a.k, a.H)))
    if a.bias:  # weights need not add up to one after dropout
        mixed = mixed + weights.sum(1)[:, None] * p[f"b_V.{i}"][0].unflatten(-1, (a.k, a.H))
    return mixed.flatten(1)


def finish(p: Ensemble, i: int, x: Tensor, mixed: Tensor, dropout: Dropout) -> Tensor:
    """What follows the attention of layer i, at any number n of tokens: rows (m, n, d), mixed values (m, n, kH)."""
    a = p.architecture
    y = shifted(SIGMA[a.sigma](mixed) @ p[f"W_C.{i}"][0], _one(p, f"b_C.{i}"))
    y = dropout(y, ATTENTION_OUTPUT + PLACES_PER_LAYER * i)
    z = x + y if a.residual else y
    if not a.mlp:
        return z
    h = norm(z, _one(p, f"g_2.{i}"), _one(p, f"c_2.{i}"), a.eps)
    y = F.gelu(h @ p[f"W_1.{i}"][0] + p[f"b_1.{i}"][0]) @ p[f"W_2.{i}"][0] + p[f"b_2.{i}"][0]
    y = dropout(y, MLP_OUTPUT + PLACES_PER_LAYER * i)
    return z + y if a.residual else y


def margins(p: Ensemble, bits: Tensor, *, dropout: Dropout = NONE) -> Tensor:
    """Margins (m,) of one run's samples, bits (m, T) in the weights' dtype."""
    last = p.architecture.L - 1
    x = dropout(embed(p, bits), EMBEDDING)
    for i in range(last):
        x = finish(p, i, x, attend_all(p, i, x, dropout), dropout)
    z = finish(p, last, x[:, -1:], attend_cls(p, last, x, dropout)[:, None], dropout)
    return read_out(p, z[None, :, 0])[0]


def chunks(a: Architecture, m: int) -> int:
    """Samples per chunk: as many as keep one array in cache; with full attention its T^2 H weights count too."""
    per_sample = (a.T + 1) * (a.d if a.L == 1 else max(a.d, a.H * (a.T + 1)))
    return max(1, min(m, math.ceil(ELEMENTS / per_sample)))


def step(
    p: Ensemble, gradient: Ensemble, bits: Tensor, labels: Tensor, *, dropout: float, seed: int, number: int
) -> tuple[Tensor, Tensor]:
    """Mean loss (1,) and margins (1, m) of one run; writes the gradient of the mean loss.

    seed and number (of the step, from 0) name the dropout masks.

    Samples are walked in chunks, so memory does not grow with m; chunk sizes depend on the shape alone.
    """
    a = p.architecture
    m = bits.shape[1]
    n = chunks(a, m)
    gradient.flat.zero_()
    out = []
    with torch.enable_grad():
        for start in range(0, m, n):
            own = slice(start, start + n)
            leaf = Ensemble(a, p.flat.detach().requires_grad_(True))
            drop = Dropout(dropout, seed, number, range(start, min(m, start + n)))
            margin = margins(leaf, bits[0, own], dropout=drop)
            (g,) = torch.autograd.grad(losses(margin, labels[0, own]).sum() / m, leaf.flat)
            gradient.flat.add_(g)
            out.append(margin.detach())
    margin = torch.cat(out)[None]
    return losses(margin, labels).mean(1), margin
