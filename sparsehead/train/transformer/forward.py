"""The model in plain torch, for R runs at once; gradients are autograd's.

Two forms of attention. `attend_tokens` is the definition: every sample has tokens of its own. `attend_table` serves
the first layer without dropout: the token at position t with bit b is the same in all samples, so there are 2T + 1
distinct tokens, and with e = exp(score - max) and U = [e V, e] over them, numerators and denominators of all samples
are sums of rows of U,

    U_cls + B U_set + (1 - B) U_clear  =  U_cls + 1 U_clear + B (U_set - U_clear),        B in {0, 1}^{m x T}.

Nothing cancels in the first form; the second takes half the work, which counts where all 2T + 1 tokens ask. A
denominator that lost digits to the difference, or that underflows (a sample without any of a head's largest scores), is
reported; the caller then takes the first form, and after that `attend_tokens`, which shifts every sample by its own
maximum.

Weights are a dictionary of tensors with the R runs in front; see `layout`. Head-indexed axes are stored (k, H).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from ...heads.torch_activations import TORCH_ACTIVATIONS
from ..architecture import Architecture
from .dropout import ATTENTION, ATTENTION_OUTPUT, EMBEDDING, MLP_OUTPUT, PLACES_PER_LAYER, Dropout

Tensors = dict[str, Tensor]
NONE = Dropout()
# a denominator below this share of the largest sum there can be has lost ten bits to cancellation.
LOST = 2.0**-10


def linear(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """x (R, .., p) times W (R, p, q), plus b (R, q) where there is one."""
    rows = x.flatten(1, -2)
    out = torch.bmm(rows, W) if b is None else torch.baddbmm(b[:, None], rows, W)
    return out.unflatten(1, x.shape[1:-1])


def norm(x: Tensor, p: Tensors, place: str, a: Architecture) -> Tensor:
    """LayerNorm of (R, .., d), where the architecture has one."""
    if not a.norm:
        return x
    shape = (x.shape[0], *[1] * (x.ndim - 2), a.d)
    return F.layer_norm(x, (a.d,), eps=a.eps) * p[f"g_{place}"].view(shape) + p[f"c_{place}"].view(shape)


def heads(x: Tensor, a: Architecture) -> Tensor:
    """(.., kH) -> (.., k, H)."""
    return x.unflatten(-1, (a.k, a.H))


def token_table(p: Tensors, a: Architecture) -> Tensor:
    """Every token there can be (R, 2T+1, d): clear bits, set bits, [CLS]."""
    P, E = p["P"].mT, p["E"]
    cls = (E[:, 2] + p["P_cls"])[:, None]
    pair = [torch.zeros_like(P), P] if a.is_bag else [P + E[:, :1], P + E[:, 1:2]]
    return torch.cat([*pair, cls], dim=1)


def embed(table: Tensor, bits: Tensor) -> Tensor:
    """Tokens (R, m, T+1, d) of samples with bits (R, m, T), [CLS] last."""
    T = bits.shape[-1]
    body = torch.where(bits[..., None] > 0, table[:, None, T : 2 * T], table[:, None, :T])
    cls = table[:, None, 2 * T :].expand(-1, bits.shape[1], -1, -1)
    return torch.cat([body, cls], dim=2)


def table_values(p: Tensors, a: Architecture, bits: Tensor) -> Tensor | None:
    """What the last layer (L = 1), or all queries of the first one, mix; None where only `attend_tokens` will do."""
    for apart in (False, True) if a.L > 1 else (True,):
        mixed, safe = attend_table(p, a, bits, everywhere=a.L > 1, apart=apart)
        if safe:
            return mixed
    return None


def attend_table(
    p: Tensors, a: Architecture, bits: Tensor, *, everywhere: bool, apart: bool
) -> tuple[Tensor, bool]:
    """Mixed values of the first layer, and whether no denominator lost digits or underflowed.

    (R, m, kH) at the [CLS] query; `everywhere`, (R, m, T+1, kH) at all queries. bits (R, m, T) are 0/1 numbers.
    """
    T = a.T
    z = norm(token_table(p, a), p, "1.0", a)
    q = heads(linear(z if everywhere else z[:, -1:], p["W_Q.0"], p.get("b_Q.0")), a) / a.temperature
    values = heads(linear(z, p["W_V.0"], p.get("b_V.0")), a)
    if everywhere:
        keys = heads(linear(z, p["W_K.0"]), a)  # the key bias shifts all scores alike
        scores = torch.einsum("rqkh,rnkh->rqnh", q, keys)
    else:
        scores = (z @ (heads(p["W_K.0"], a) * q).sum(2))[:, None]
    e = torch.exp(scores - scores.amax(2, keepdim=True).detach())[..., None, :]
    U = torch.cat([e * values[:, None], e], dim=-2).flatten(3)  # (R, queries, 2T+1, (k+1) H)
    B = bits[:, None]
    clear, on, cls = U.split((T, T, 1), dim=2)
    if apart:
        sums, least = B @ on + (1 - B) @ clear + cls, torch.finfo(U.dtype).tiny ** 0.75
    else:
        sums, least = B @ (on - clear) + (clear.sum(2, keepdim=True) + cls), LOST * (2 * T + 1)
    if everywhere:  # a position's query is the one of its own bit
        own = torch.where(bits.mT[..., None] > 0, sums[:, T : 2 * T], sums[:, :T])
        sums = torch.cat([own, sums[:, 2 * T :]], dim=1)
    numerators, denominators = sums.split((a.k * a.H, a.H), dim=-1)
    safe = bool((denominators > least).all())
    mixed = (heads(numerators, a) / denominators[..., None, :]).flatten(3).transpose(1, 2)
    return (mixed if everywhere else mixed[:, :, 0]), safe


def attend_tokens(p: Tensors, a: Architecture, i: int, x: Tensor, drop: Dropout, everywhere: bool) -> Tensor:
    """Mixed values of layer i from tokens x (R, m, T+1, d): at every query, or (R, m, kH) at [CLS]."""
    z = norm(x, p, f"1.{i}", a)
    place = ATTENTION + PLACES_PER_LAYER * i
    W_V, b_V = p[f"W_V.{i}"], p.get(f"b_V.{i}")
    q = heads(linear(z if everywhere else z[:, :, -1], p[f"W_Q.{i}"], p.get(f"b_Q.{i}")), a) / a.temperature
    if everywhere:
        keys, values = heads(linear(z, p[f"W_K.{i}"]), a), heads(linear(z, W_V, b_V), a)
        q, keys, values = (y.permute(0, 1, 4, 2, 3) for y in (q, keys, values))  # (R, m, H, T+1, k)
        w = torch.softmax(q @ keys.mT, dim=-1)
        w = drop(w.permute(0, 1, 3, 4, 2), place).permute(0, 1, 4, 2, 3)
        return (w @ values).permute(0, 1, 3, 4, 2).flatten(3)
    # one query: W_K q is applied to the tokens, and tokens are mixed before they are projected to values
    asked = torch.einsum("rdkh,rmkh->rmdh", heads(p[f"W_K.{i}"], a), q)
    w = drop(torch.softmax(z @ asked, dim=2), place)  # (R, m, T+1, H)
    mixed = torch.einsum("rmhd,rdkh->rmkh", w.mT @ z, heads(W_V, a))
    if b_V is not None:  # weights need not add up to one after dropout
        mixed = mixed + w.sum(2)[:, :, None] * heads(b_V, a)[:, None]
    return mixed.flatten(2)


def finish(p: Tensors, a: Architecture, i: int, x: Tensor, mixed: Tensor, drop: Dropout) -> Tensor:
    """What follows the attention of layer i at any tokens x (R, m, .., d) with mixed values (R, m, .., kH)."""
    y = linear(TORCH_ACTIVATIONS[a.sigma](mixed), p[f"W_C.{i}"], p.get(f"b_C.{i}"))
    y = drop(y, ATTENTION_OUTPUT + PLACES_PER_LAYER * i)
    z = x + y if a.residual else y
    if not a.mlp:
        return z
    h = F.gelu(linear(norm(z, p, f"2.{i}", a), p[f"W_1.{i}"], p[f"b_1.{i}"]))
    y = drop(linear(h, p[f"W_2.{i}"], p[f"b_2.{i}"]), MLP_OUTPUT + PLACES_PER_LAYER * i)
    return z + y if a.residual else y


def margins(
    p: Tensors, a: Architecture, bits: Tensor, *, mixed: Tensor | None = None, drop: Dropout = NONE
) -> Tensor:
    """Margins (R, m), logit of 1 minus logit of 0. `mixed` is what `attend_table` found for these samples, if asked."""
    last = a.L - 1
    table = token_table(p, a)
    if mixed is not None and last == 0:
        x = table[:, -1:].expand(-1, bits.shape[1], -1)
    else:
        x = drop(embed(table, bits), EMBEDDING)
        for i in range(last):
            first = mixed if i == 0 else None
            first = attend_tokens(p, a, i, x, drop, True) if first is None else first
            x = finish(p, a, i, x, first, drop)
        if last or mixed is None:
            mixed = attend_tokens(p, a, last, x, drop, False)
        x = x[:, :, -1]
    assert mixed is not None
    z = norm(finish(p, a, last, x, mixed, drop), p, "f", a)
    return (z @ (p["head"][:, 1] - p["head"][:, 0])[..., None])[..., 0]


def losses(margin: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of every sample: log(1 + exp(-margin)) for label 1, log(1 + exp(margin)) for label 0."""
    return F.softplus((1 - 2 * labels) * margin)
