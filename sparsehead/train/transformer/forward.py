"""The model in plain torch; gradients are autograd's.

There are two forms of attention. `attend_tokens` is the definition: every sample has its own tokens. `attend_table` is
for the first layer without dropout: the token at position t with bit b is the same in all samples, so there are 2T + 1
distinct tokens. With e = exp(score - max) and U = [e V, e] over them, numerators and denominators of all samples are
sums of rows of U,

    U_cls + B U_set + (1 - B) U_clear  =  U_cls + 1 U_clear + B (U_set - U_clear),        B in {0, 1}^{m x T}.

The left form has no cancellation. The right form takes half the work, which matters if all 2T + 1 tokens are queries.
If the difference costs a denominator digits, or the denominator underflows because a sample has none of a head's
largest scores, the caller uses the left form. If that fails too, it uses `attend_tokens`, which subtracts from the
scores of every sample their own maximum.

Weights are a dictionary of tensors; see `layout`. Head-indexed axes are stored (k, H).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from ...heads.torch_activations import TORCH_ACTIVATIONS
from ..architecture import Architecture
from .dropout import Dropout, Place

Tensors = dict[str, Tensor]


def linear(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """Return x (.., p) times W (p, q), plus the bias b (q,) if there is one."""
    rows = x.flatten(0, -2)
    out = rows @ W if b is None else torch.addmm(b, rows, W)
    return out.unflatten(0, x.shape[:-1])


def norm(x: Tensor, p: Tensors, place: str, a: Architecture) -> Tensor:
    """Apply the LayerNorm at `place` to x (.., d); return x if the architecture has no LayerNorm."""
    return F.layer_norm(x, (a.d,), eps=a.eps) * p[f"g_{place}"] + p[f"c_{place}"] if a.norm else x


def heads(x: Tensor, a: Architecture) -> Tensor:
    """Reshape (.., kH) to (.., k, H)."""
    return x.unflatten(-1, (a.k, a.H))


def token_table(p: Tensors, a: Architecture) -> Tensor:
    """Return all possible tokens (2T+1, d): those of clear bits, those of set bits, and [CLS]."""
    P, E = p["P"].mT, p["E"]
    pair = [torch.zeros_like(P), P] if a.is_bag else [P + E[:1], P + E[1:2]]
    return torch.cat([*pair, (E[2] + p["P_cls"])[None]])


def embed(table: Tensor, bits: Tensor) -> Tensor:
    """Return the tokens (m, T+1, d) of samples with bits (m, T), [CLS] last."""
    T = bits.shape[-1]
    body = torch.where(bits[..., None] > 0, table[T : 2 * T], table[:T])
    return torch.cat([body, table[2 * T :].expand(len(bits), -1, -1)], dim=1)


def table_values(p: Tensors, a: Architecture, bits: Tensor) -> Tensor | None:
    """Return the mixed values of the first layer: at [CLS] if it is the only layer, else at all queries.

    Return None if they would lose digits or underflow, so that `attend_tokens` must be used, and for gated keys.
    """
    if a.is_gated:
        return None
    for both in (False, True) if a.L > 1 else (True,):
        mixed, safe = attend_table(p, a, bits, everywhere=a.L > 1, both=both)
        if safe:
            return mixed
    return None


def attend_table(
    p: Tensors, a: Architecture, bits: Tensor, *, everywhere: bool, both: bool
) -> tuple[Tensor, bool]:
    """Return the mixed values of the first layer, and True if no denominator lost digits or underflowed.

    Args:
        bits: (m, T), 0/1 numbers.
        everywhere: return (m, T+1, kH) at all queries, else (m, kH) at [CLS].
        both: sum set and clear bits separately (the left form at the top of this file), else use their difference.
    """
    T = a.T
    z = norm(token_table(p, a), p, "1.0", a)
    q = heads(linear(z if everywhere else z[-1:], p["W_Q.0"], p.get("b_Q.0")), a) / a.temperature
    values = heads(linear(z, p["W_V.0"], p.get("b_V.0")), a)
    if everywhere:
        keys = heads(linear(z, p["W_K.0"]), a)  # the key bias shifts all scores alike
        scores = torch.einsum("qkh,nkh->qnh", q, keys)
    else:
        scores = (z @ (heads(p["W_K.0"], a) * q).sum(1))[None]
    e = torch.exp(scores - scores.amax(1, keepdim=True).detach())[..., None, :]
    U = torch.cat([e * values, e], dim=-2).flatten(2)  # (queries, 2T+1, (k+1) H)
    B = bits[None]
    clear, on, cls = U.split((T, T, 1), dim=1)
    if both:
        sums, least = B @ on + (1 - B) @ clear + cls, torch.finfo(U.dtype).tiny ** 0.75
    else:
        # A denominator below this share of the largest possible sum has lost ten bits to cancellation.
        sums, least = B @ (on - clear) + (clear.sum(1, keepdim=True) + cls), 2.0**-10 * (2 * T + 1)
    if everywhere:  # at each position, take the query of its bit
        chosen = torch.where(bits.mT[..., None] > 0, sums[T : 2 * T], sums[:T])
        sums = torch.cat([chosen, sums[2 * T :]])
    numerators, denominators = sums.split((a.k * a.H, a.H), dim=-1)
    safe = bool((denominators > least).all())
    mixed = (heads(numerators, a) / denominators[..., None, :]).flatten(2).transpose(0, 1)
    return (mixed if everywhere else mixed[:, 0]), safe


def attend_tokens(p: Tensors, a: Architecture, i: int, x: Tensor, drop: Dropout, everywhere: bool) -> Tensor:
    """Return the mixed values of layer i from tokens x (m, T+1, d): at every query, or (m, kH) at [CLS]."""
    z = norm(x, p, f"1.{i}", a)
    place = Place.ATTENTION.of_layer(i)
    W_V, b_V = p[f"W_V.{i}"], p.get(f"b_V.{i}")
    q = heads(linear(z if everywhere else z[:, -1], p[f"W_Q.{i}"], p.get(f"b_Q.{i}")), a) / a.temperature
    if everywhere:
        keys, values = heads(linear(z, p[f"W_K.{i}"]), a), heads(linear(z, W_V, b_V), a)
        q, keys, values = (y.permute(0, 3, 1, 2) for y in (q, keys, values))  # (m, H, T+1, k)
        w = torch.softmax(q @ keys.mT, dim=-1)
        w = drop(w.permute(0, 2, 3, 1), place).permute(0, 3, 1, 2)
        return (w @ values).permute(0, 2, 3, 1).flatten(2)
    # With one query, apply W_K q to the tokens, and mix tokens before projecting them to values.
    asked = torch.einsum("dkh,mkh->mdh", heads(p[f"W_K.{i}"], a), q)
    w = drop(torch.softmax(z @ asked, dim=1), place)  # (m, T+1, H)
    mixed = torch.einsum("mhd,dkh->mkh", w.mT @ z, heads(W_V, a))
    if b_V is not None:  # weights need not add up to one after dropout
        mixed = mixed + w.sum(1)[:, None] * heads(b_V, a)
    return mixed.flatten(1)


def gated_values(p: Tensors, a: Architecture, bits: Tensor) -> Tensor:
    """Return the mixed values (m, kH) at [CLS] of a gated layer; see `gated`."""
    asked = (heads(p["W_K.0"], a) * heads(p["b_Q.0"], a)).sum(1) / a.temperature
    scores = p["P"].mT @ asked  # (T, H)
    own = bits[..., None] == (torch.arange(a.H, device=bits.device) >= a.zero_heads)
    seen = torch.where(own, scores, -torch.inf)
    w = torch.softmax(torch.cat([seen, p["s_cls.0"].expand(len(bits), 1, -1)], dim=1), dim=1)
    mixed = (w[:, :-1].sum(1)[:, None] - 0.5) * heads(p["W_V.0"], a)
    return mixed.flatten(1) + p["b_V.0"] if a.bias else mixed.flatten(1)


def finish(p: Tensors, a: Architecture, i: int, x: Tensor, mixed: Tensor, drop: Dropout) -> Tensor:
    """Return the output of layer i, given its input x (m, .., d) at some tokens and their mixed values (m, .., kH)."""
    y = linear(TORCH_ACTIVATIONS[a.sigma](mixed), p[f"W_C.{i}"], p.get(f"b_C.{i}"))
    y = drop(y, Place.ATTENTION_OUTPUT.of_layer(i))
    z = x + y if a.residual else y
    if not a.mlp:
        return z
    h = F.gelu(linear(norm(z, p, f"2.{i}", a), p[f"W_1.{i}"], p[f"b_1.{i}"]))
    y = drop(linear(h, p[f"W_2.{i}"], p[f"b_2.{i}"]), Place.MLP_OUTPUT.of_layer(i))
    return z + y if a.residual else y


def margins(
    p: Tensors, a: Architecture, bits: Tensor, *, mixed: Tensor | None = None, drop: Dropout | None = None
) -> Tensor:
    """Return margins (m,), the logit of 1 minus that of 0; `mixed` is the result of `table_values`."""
    last, drop = a.L - 1, drop or Dropout()
    if a.is_gated:
        z = finish(p, a, 0, bits.new_zeros(len(bits), a.d), gated_values(p, a, bits), drop)
        return norm(z, p, "f", a) @ (p["head"][1] - p["head"][0])
    table = token_table(p, a)
    if mixed is not None and last == 0:
        x = table[-1:].expand(len(bits), -1)
    else:
        x = drop(embed(table, bits), Place.EMBEDDING)
        for i in range(last):
            first = mixed if i == 0 else None
            first = attend_tokens(p, a, i, x, drop, True) if first is None else first
            x = finish(p, a, i, x, first, drop)
        if last or mixed is None:
            mixed = attend_tokens(p, a, last, x, drop, False)
        x = x[:, -1]
    assert mixed is not None
    z = norm(finish(p, a, last, x, mixed, drop), p, "f", a)
    return z @ (p["head"][1] - p["head"][0])


def losses(margin: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy of every sample: log(1 + exp(-margin)) for label 1, log(1 + exp(margin)) for label 0."""
    return F.softplus((1 - 2 * labels) * margin)
