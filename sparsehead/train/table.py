"""The table path: one layer trained exactly through its 2T + 1 distinct tokens, gradients written by hand.

Notation, for one run; every tensor has the ensemble axis R in front, and T runs along rows.

A token is x = c P_t + E_b, with c = 1, or c = b in a bag of vectors. LayerNorm is affine in x once its two
statistics are known, so with M = centred(diag(g) [W_V | W_K q]) and r = 1 / sqrt(var(x) + eps)

    value(x) = r (x^T M)_V + const,        score(x) = r (x^T M)_K + const',

where const joins all values alike (it is added after mixing) and const' shifts all scores alike (it drops out).
So ONE product Y = M^T P serves both bit values. Three more columns of M, E_0 and E_1 centred and 1/d, give the
statistics. Writing Y1 = Y + M^T E_1 and D = M^T (E_1 - E_0), the token's share of numerator and denominator is

    bit 1:  a_1 Y1,   e_1        bit 0:  a_0 (c_0 Y1 - D),   e_0        e = exp(score - max), a = e r

and all samples' sums are  base + B (bit 1 - bit 0),  base = [CLS] + sum of the bit 0 rows. The difference cancels
where a sample's own denominator is far below the largest terms; `Reading.unsafe` tells, and the caller then takes
`plain.py` for that run. Nothing is ever returned that lost more than a few of its digits this way.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .parameters import Architecture, Ensemble
from .workspace import Workspace

STATISTICS = 8  # columns of M beyond values and scores: E_0, E_1, 1/d, then zeros up to a width gemm likes
UNSAFE = 2.0**-10  # a denominator below this share of all exponentials has lost ten bits to cancellation


@dataclass
class Tables:
    """Everything about the 2T + 1 tokens that samples need, and what the gradient needs again."""

    x_cls: Tensor  # (R, d)
    h_cls: Tensor  # (R, d): LN(x_cls)
    cls_norm: tuple[Tensor, Tensor, Tensor] | None  # xhat, mean, 1/sd of x_cls
    q: Tensor  # (R, kH)
    raw: Tensor  # (R, d, kH+H): [W_V | W_K q / temperature]
    M: Tensor  # (R, d, C)
    Y: Tensor  # (R, C, T); the first kH + H rows hold Y1
    small: Tensor  # (R, 3, d): E_1, E_1 - E_0, x_cls
    small_Y: Tensor  # (R, 3, C): their products with M
    r: Tensor | None  # (R, 1, 2, T): 1/sd of every token
    s: Tensor  # (R, H, 2, T): scores
    s_cls: Tensor  # (R, H)
    e: Tensor  # (R, H, 2, T)
    e_cls: Tensor  # (R, H)
    a: Tensor  # (R, H, 2, T): e r
    a_cls: Tensor  # (R, H)
    change: Tensor  # (R, kH+H, T): bit 1 minus bit 0
    base: Tensor  # (R, kH+H)
    total: Tensor  # (R, H): sum of all exponentials
    const: Tensor | None  # (R, kH): what joins all values alike


def _question(
    p: Ensemble, w: Workspace
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor] | None, Tensor, Tensor]:
    """x_cls, LN(x_cls), its statistics, the query, and raw = [W_V | W_K q / temperature]."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    x_cls = p["E"][:, 2] + p["P_cls"]
    h_cls, statistics = x_cls, None
    if a.norm:
        statistics = torch.native_layer_norm(x_cls, (a.d,), None, None, a.eps)
        h_cls = torch.addcmul(p["c_1.0"], statistics[0], p["g_1.0"])
    q = torch.bmm(h_cls[:, None], p["W_Q.0"])[:, 0]
    if a.bias:
        q += p["b_Q.0"]
    raw = w("raw", R, a.d, width + a.H)
    raw[:, :, :width] = p["W_V.0"]
    asked = w("asked", R, a.d, a.k, a.H)
    torch.mul(p["W_K.0"].view(R, a.d, a.k, a.H), (q / a.temperature).view(R, 1, a.k, a.H), out=asked)
    torch.sum(asked, 2, out=raw[:, :, width:])
    return x_cls, h_cls, statistics, q, raw


def _matrix(p: Ensemble, raw: Tensor, w: Workspace) -> Tensor:
    """M: the columns that positions are multiplied by."""
    a = p.architecture
    if not a.norm:
        return raw
    R, columns = p.n_runs, a.k * a.H + a.H
    M = w("M", R, a.d, columns + STATISTICS)
    head = M[:, :, :columns]
    torch.mul(raw, p["g_1.0"][:, :, None], out=head)
    head -= head.mean(1, keepdim=True)
    bit_vectors = p["E"][:, :2]
    M[:, :, columns : columns + 2] = (bit_vectors - bit_vectors.mean(2, keepdim=True)).mT
    M[:, :, columns + 2] = 1.0 / a.d
    return M


def _scales(p: Ensemble, M: Tensor, Y: Tensor, w: Workspace) -> Tensor:
    """r = 1 / sd of every token (R, 1, 2, T), from |P_t|^2, P_t . E_b and the means: no token is formed."""
    a = p.architecture
    R, columns = p.n_runs, a.k * a.H + a.H
    P = p["P"]
    square = torch.mul(P, P, out=w("tmp_d", R, a.d, a.T))
    variance = torch.sum(square, 1, out=w("var", R, a.T))
    mean = Y[:, columns + 2]
    variance.addcmul_(mean, mean, value=-a.d)
    r = w("r", R, 2, a.T)
    if a.is_bag:
        r[:, 1] = variance
        r[:, 0] = a.d * (1 - a.eps)  # the zero token: its scale multiplies nothing
    else:
        lengths = M[:, :, columns : columns + 2].square().sum(1)
        torch.add(variance[:, None], Y[:, columns : columns + 2], alpha=2, out=r)
        r += lengths[:, :, None]
    r.mul_(1.0 / a.d).add_(a.eps).rsqrt_()
    return r[:, None]


def tables(p: Ensemble, w: Workspace) -> Tables:
    """Products, scores, exponentials and sums over all 2T + 1 tokens. Costs O(T d (d + H)), no sample involved."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    columns = width + a.H
    x_cls, h_cls, statistics, q, raw = _question(p, w)
    M = _matrix(p, raw, w)
    Y = torch.bmm(M.mT, p["P"], out=w("Y", R, M.shape[2], a.T))
    E = p["E"]
    small = torch.stack([E[:, 1], E[:, 1] - E[:, 0], x_cls], 1)
    small_Y = torch.bmm(small, M)
    r = _scales(p, M, Y, w) if a.norm else None
    r_cls = statistics[2] if statistics is not None else 1.0
    Y1 = Y[:, :columns]
    if not a.is_bag:
        Y1 += small_Y[:, 0, :columns, None]
    s, K1 = w("s", R, a.H, 2, a.T), Y1[:, width:]
    s[:, :, 1] = K1
    if a.is_bag:
        s[:, :, 0] = 0.0
    else:
        torch.sub(K1, small_Y[:, 1, width:columns, None], out=s[:, :, 0])
    if r is not None:
        s *= r
    s_cls = small_Y[:, 2, width:columns] * r_cls
    top = torch.maximum(s.flatten(2).amax(2), s_cls)
    e = torch.sub(s, top[:, :, None, None], out=w("e", R, a.H, 2, a.T)).exp_()
    e_cls = torch.exp(s_cls - top)
    weight = e if r is None else torch.mul(e, r, out=w("a", R, a.H, 2, a.T))
    a_cls = e_cls * r_cls
    change, base, total = _sums(a, Y1, small_Y, weight, a_cls, e, e_cls, w)
    return Tables(
        x_cls=x_cls, h_cls=h_cls, cls_norm=statistics, q=q, raw=raw, M=M, Y=Y, small=small, small_Y=small_Y, r=r,
        s=s, s_cls=s_cls, e=e, e_cls=e_cls, a=weight, a_cls=a_cls, change=change, base=base, total=total,
        const=_constant(p),
    )  # fmt: skip


def _sums(
    a: Architecture,
    Y1: Tensor,
    small_Y: Tensor,
    weight: Tensor,
    a_cls: Tensor,
    e: Tensor,
    e_cls: Tensor,
    w: Workspace,
) -> tuple[Tensor, Tensor, Tensor]:
    """What a set bit changes in numerators and denominators, what they are with all bits clear, and all e added up."""
    R, width = Y1.shape[0], a.k * a.H
    columns = width + a.H
    change = w("change", R, columns, a.T)
    V1, D = Y1[:, :width].view(R, a.k, a.H, a.T), small_Y[:, 1, :width].view(R, a.k, a.H, 1)
    value_change, a_0 = change[:, :width].view(R, a.k, a.H, a.T), weight[:, None, :, 0]
    cls_value = small_Y[:, 2, :width].view(R, a.k, a.H) * a_cls[:, None]
    if a.is_bag:
        torch.mul(V1, weight[:, None, :, 1], out=value_change)
    else:
        torch.mul(V1, a_0, out=value_change)
        cls_value += value_change.sum(3).addcmul_(D[..., 0], weight[:, :, 0].sum(2)[:, None], value=-1)
        difference = torch.sub(weight[:, :, 1], weight[:, :, 0], out=w("difference", R, a.H, a.T))
        torch.mul(V1, difference[:, None], out=value_change)
        value_change.addcmul_(a_0, D)
    torch.sub(e[:, :, 1], e[:, :, 0], out=change[:, width:])
    sums = e.sum(3)
    base = torch.cat([cls_value.flatten(1), sums[:, :, 0] + e_cls], dim=1)
    return change, base, sums.sum(2) + e_cls


def _constant(p: Ensemble) -> Tensor | None:
    """What every token's value contains: c_1^T W_V + b_V."""
    a = p.architecture
    const = torch.bmm(p["c_1.0"][:, None], p["W_V.0"])[:, 0] if a.norm else None
    if not a.bias:
        return const
    return p["b_V.0"] if const is None else const + p["b_V.0"]


@dataclass
class Mixed:
    """Attention-weighted values of every sample."""

    ratio: Tensor  # (R, m, kH): numerators over denominators
    inverse: Tensor  # (R, m, H): 1 / denominators
    values: Tensor  # (R, m, kH): ratio + const
    unsafe: Tensor  # (R,): whether some denominator lost too many digits


def mix(t: Tables, a: Architecture, bits: Tensor, w: Workspace) -> Mixed:
    """One product with the bit matrix (R, m, T), then the division."""
    R, m, width = bits.shape[0], bits.shape[1], a.k * a.H
    sums = torch.bmm(bits, t.change.mT, out=w("sums", R, m, width + a.H))
    sums += t.base[:, None]
    denominators = sums[:, :, width:]
    # written so that NaN counts as unsafe
    unsafe = ~(denominators.amin(1) > UNSAFE * t.total).all(1)
    inverse = torch.reciprocal(denominators)
    ratio = torch.mul(
        sums[:, :, :width].view(R, m, a.k, a.H), inverse[:, :, None], out=w("ratio", R, m, a.k, a.H)
    )
    ratio = ratio.view(R, m, width)
    values = ratio if t.const is None else torch.add(ratio, t.const[:, None], out=w("values", R, m, width))
    return Mixed(ratio, inverse, values, unsafe)
