"""The gradient of the table path: `table.py` differentiated by hand, in its notation.

One more product with the bit matrix carries the gradient from samples to tokens; from there on nothing depends on
the number of samples. A gradient at a quantity x is called d_x. With G the gradient at `change` and g_0 the one at
`base`, the bit-1 row of a token has gradient G and its bit-0 row has g_0 - G.
"""

import torch
from torch import Tensor

from .parameters import Ensemble
from .plain import losses
from .readout import read, read_gradient, through_norm
from .table import Mixed, Tables, mix, tables
from .workspace import Workspace


def step(
    p: Ensemble, grad: Ensemble, bits: Tensor, labels: Tensor, w: Workspace
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean loss (R,), margins (R, m) and whether a run is unsafe (R,); writes the gradient of the mean loss.

    The numbers of unsafe runs are not to be used.
    """
    t = tables(p, w)
    mixed = mix(t, p.architecture, bits, w)
    reading = read(p, mixed.values, t.x_cls, w)
    loss = losses(reading.margin, labels).mean(1)
    d_margin = (torch.sigmoid(reading.margin) - labels).div_(bits.shape[1])
    d_values, d_x_cls = read_gradient(p, grad, reading, mixed.values, d_margin, w)
    d_sums = _through_division(p, mixed, d_values, w)
    _through_tables(p, grad, t, bits, d_sums, d_values, d_x_cls, w)
    return loss, reading.margin, mixed.unsafe


def _through_division(p: Ensemble, mixed: Mixed, d_values: Tensor, w: Workspace) -> Tensor:
    """Gradient at all samples' numerators and denominators (R, m, kH+H)."""
    a = p.architecture
    R, m, width = d_values.shape
    d_sums = w("sums", R, m, width + a.H)
    top, bottom = d_sums[:, :, :width].view(R, m, a.k, a.H), d_sums[:, :, width:]
    torch.mul(d_values.view(R, m, a.k, a.H), mixed.inverse[:, :, None], out=top)
    torch.sum(mixed.ratio.view(R, m, a.k, a.H).mul_(top), 2, out=bottom)  # ratio is not needed any more
    bottom.neg_()
    return d_sums


def _through_tables(
    p: Ensemble,
    grad: Ensemble,
    t: Tables,
    bits: Tensor,
    d_sums: Tensor,
    d_values: Tensor,
    d_x_cls: Tensor | None,
    w: Workspace,
) -> None:
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    columns = width + a.H
    g_0 = d_sums.sum(1)  # (R, columns)
    G = torch.bmm(d_sums.mT, bits, out=w("G", R, columns, a.T))
    d_Y = w("d_Y", R, t.M.shape[2], a.T)
    d_small_Y = torch.zeros_like(t.small_Y)
    d_a = _through_values(p, t, G[:, :width], g_0, d_Y, d_small_Y, w)
    d_length = _through_scores(p, t, G[:, width:], g_0[:, width:], d_a, d_Y, d_small_Y, w)
    d_r_cls = _through_cls(p, t, g_0, d_small_Y)
    d_M = torch.bmm(p["P"], d_Y.mT, out=w("d_M", R, a.d, t.M.shape[2]))
    d_M.baddbmm_(t.small.mT, d_small_Y)
    d_small = torch.bmm(d_small_Y, t.M.mT)
    if a.trains_encoding:
        d_P = torch.bmm(t.M, d_Y, out=grad["P"])
        if d_length is not None:
            d_P.addcmul_(p["P"], d_length.sum(1, keepdim=True))
    _through_weights(p, grad, t, d_M, d_small, d_length, d_r_cls, d_values.sum(1), d_x_cls, w)


def _through_values(
    p: Ensemble, t: Tables, G: Tensor, g_0: Tensor, d_Y: Tensor, d_small_Y: Tensor, w: Workspace
) -> Tensor:
    """Writes the value rows of d_Y and d_small_Y; returns d_a (R, H, 2, T)."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    shape = (R, a.k, a.H, a.T)
    V1, G, d_V = t.Y[:, :width].view(shape), G.view(shape), d_Y[:, :width].view(shape)
    tmp, d_a = w("tmp_v", *shape), w("d_a", R, a.H, 2, a.T)
    torch.sum(torch.mul(G, V1, out=tmp), 1, out=d_a[:, :, 1])
    a_1 = t.a[:, None, :, 1]
    if a.is_bag:
        d_a[:, :, 0] = 0.0
        torch.mul(G, a_1, out=d_V)
        return d_a
    a_0, g = t.a[:, None, :, 0], g_0[:, :width].view(R, a.k, a.H, 1)
    D = t.small_Y[:, 1, :width].view(R, a.k, a.H, 1)
    torch.mul(V1, g, out=tmp).addcmul_(G, D)
    torch.sum(tmp, 1, out=d_a[:, :, 0])
    d_a[:, :, 0] -= d_a[:, :, 1]
    d_a[:, :, 0] -= (g * D).sum(1)
    total_0 = t.a[:, :, 0].sum(2)[:, None]
    torch.mul(G, a_0, out=tmp)
    d_D = tmp.sum(3).addcmul_(g[..., 0], total_0, value=-1)
    torch.mul(G, w("difference", R, a.H, a.T)[:, None], out=d_V)
    d_V.addcmul_(a_0, g)
    d_small_Y[:, 1, :width] = d_D.flatten(1)
    d_small_Y[:, 0, :width] = d_V.sum(3).flatten(1)
    return d_a


def _through_scores(
    p: Ensemble,
    t: Tables,
    G_e: Tensor,
    g_e: Tensor,
    d_a: Tensor,
    d_Y: Tensor,
    d_small_Y: Tensor,
    w: Workspace,
) -> Tensor | None:
    """Writes the score and statistics rows of d_Y; returns d_length (R, 2, T), the gradient at |x|^2 times 2."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    columns = width + a.H
    d_s = w("d_s", R, a.H, 2, a.T)
    if t.r is None:
        d_s.copy_(d_a)
    else:
        torch.mul(d_a, t.r, out=d_s)
    d_s[:, :, 1] += G_e
    d_s[:, :, 0] += torch.sub(g_e[:, :, None], G_e, out=w("tmp_e", R, a.H, a.T))
    d_s *= t.e
    d_length = None
    if t.r is not None:
        # r d_r = sum over heads of a d_a + s d_s, because a = e r and s is proportional to r
        d_r = d_a.mul_(t.a).addcmul_(d_s, t.s).sum(1)
        d_length = d_r.mul_(t.r[:, 0]).mul_(t.r[:, 0]).mul_(-1.0 / a.d)  # 2 d_var / d,  d_var = - r^3 d_r / 2
        if a.is_bag:
            d_length[:, 0] = 0.0
        else:
            d_Y[:, columns : columns + 2] = d_length
        torch.mul(d_length.sum(1), t.Y[:, columns + 2], out=d_Y[:, columns + 2])
        d_Y[:, columns + 2] *= -a.d
        d_s *= t.r
    if a.is_bag:
        d_Y[:, width:columns] = d_s[:, :, 1]
        return d_length
    torch.add(d_s[:, :, 0], d_s[:, :, 1], out=d_Y[:, width:columns])
    sums = d_s.sum(3)
    d_small_Y[:, 0, width:columns] = sums.sum(2)
    d_small_Y[:, 1, width:columns] = -sums[:, :, 0]
    return d_length


def _through_cls(p: Ensemble, t: Tables, g_0: Tensor, d_small_Y: Tensor) -> Tensor | None:
    """[CLS] as one of the tokens attended to; returns r d_r of its scale (R, 1)."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    columns = width + a.H
    g = g_0[:, :width].view(R, a.k, a.H)
    d_a = (g * t.small_Y[:, 2, :width].view(R, a.k, a.H)).sum(1)
    r = 1.0 if t.cls_norm is None else t.cls_norm[2]
    d_s = (g_0[:, width:] + d_a * r) * t.e_cls
    d_small_Y[:, 2, :width] = (g * t.a_cls[:, None]).flatten(1)
    d_small_Y[:, 2, width:columns] = d_s * r
    return None if t.cls_norm is None else (d_a * t.a_cls + d_s * t.s_cls).sum(1, keepdim=True)


def _through_weights(
    p: Ensemble,
    grad: Ensemble,
    t: Tables,
    d_M: Tensor,
    d_small: Tensor,
    d_length: Tensor | None,
    d_r_cls: Tensor | None,
    d_const: Tensor,
    d_x_cls: Tensor | None,
    w: Workspace,
) -> None:
    """From M, the small tokens and the constant back to the weights they were made of."""
    a = p.architecture
    R, width = p.n_runs, a.k * a.H
    columns = width + a.H
    d_raw = d_M[:, :, :columns]
    if a.norm:
        d_raw -= d_raw.mean(1, keepdim=True)
        torch.sum(t.raw.mul_(d_raw), 2, out=grad["g_1.0"])  # raw is not needed any more
        d_raw *= p["g_1.0"][:, :, None]
    grad["W_V.0"].copy_(d_raw[:, :, :width])
    if a.bias:
        grad["b_V.0"].copy_(d_const)
    if a.norm:
        grad["W_V.0"].baddbmm_(p["c_1.0"][:, :, None], d_const[:, None])
        torch.bmm(p["W_V.0"], d_const[:, :, None], out=grad["c_1.0"][..., None])
    d_asked = d_raw[:, :, width:].div_(a.temperature)[:, :, None]  # (R, d, 1, H)
    torch.mul(d_asked, t.q.view(R, 1, a.k, a.H), out=grad["W_K.0"].view(R, a.d, a.k, a.H))
    d_q = (
        torch.mul(p["W_K.0"].view(R, a.d, a.k, a.H), d_asked, out=w("asked", R, a.d, a.k, a.H))
        .sum(1)
        .view(R, width)
    )
    torch.mul(t.h_cls[:, :, None], d_q[:, None], out=grad["W_Q.0"])
    if a.bias:
        grad["b_Q.0"].copy_(d_q)
    d_h_cls = torch.bmm(p["W_Q.0"], d_q[:, :, None])[..., 0]
    d_cls = d_small[:, 2] if d_x_cls is None else d_small[:, 2] + d_x_cls
    if t.cls_norm is None or d_r_cls is None:
        d_cls = d_cls + d_h_cls
    else:
        xhat, _, r = t.cls_norm
        grad["c_1.0"].add_(d_h_cls)
        grad["g_1.0"].addcmul_(d_h_cls, xhat)
        d_cls = d_cls + through_norm(d_h_cls * p["g_1.0"], t.cls_norm, t.x_cls)
        d_cls = d_cls - xhat * (r * d_r_cls / a.d)  # var(x_cls) = |centred x_cls|^2 / d, centred = xhat / r
    if not a.trains_encoding:
        return
    grad["P_cls"].copy_(d_cls)
    d_E = grad["E"]
    d_E[:, 2] = d_cls
    torch.add(d_small[:, 0], d_small[:, 1], out=d_E[:, 1])
    torch.neg(d_small[:, 1], out=d_E[:, 0])
    if d_length is not None:
        centred = (
            d_M[:, :, columns : columns + 2].mT
            + d_length.sum(2)[:, :, None] * t.M[:, :, columns : columns + 2].mT
        )
        d_E[:, :2] += centred - centred.mean(2, keepdim=True)
