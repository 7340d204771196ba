"""From mixed values to margins at the [CLS] token of one layer, and back: the part that costs O(m d^2).

The same formulas as `plain.finish` and `plain.read_out`, with gradients written by hand.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .parameters import Ensemble
from .plain import SIGMA
from .workspace import Workspace

aten = torch.ops.aten
Norm = tuple[Tensor, Tensor, Tensor]  # normalised rows, means, 1/sd


@dataclass
class Reading:
    """Margins and what their gradient needs again."""

    acted: Tensor  # (R, m, kH): sigma(values)
    norm_mlp: Norm | None
    h: Tensor | None  # (R, m, d): input of the MLP
    u: Tensor | None  # (R, m, f): before its activation
    g: Tensor | None  # (R, m, f): after it
    norm_final: Norm | None
    features: Tensor  # (R, m, d): what the head reads, before gain and bias of the final norm
    w: Tensor  # (R, d): the head's difference of rows
    margin: Tensor  # (R, m)


def read(p: Ensemble, values: Tensor, x_cls: Tensor, w: Workspace) -> Reading:
    """Margins (R, m) from mixed values (R, m, kH) and the [CLS] token (R, d)."""
    a = p.architecture
    R, m, _ = values.shape
    acted = values if a.sigma == "identity" else SIGMA[a.sigma](values)
    z = torch.bmm(acted, p["W_C.0"], out=w("z1", R, m, a.d))
    if a.bias:
        z += (p["b_C.0"] + x_cls if a.residual else p["b_C.0"])[:, None]
    elif a.residual:
        z += x_cls[:, None]
    norm_mlp, h, u, g = None, None, None, None
    if a.mlp:
        h = z
        if a.norm:
            norm_mlp = torch.native_layer_norm(z, (a.d,), None, None, a.eps)
            h = torch.addcmul(p["c_2.0"][:, None], norm_mlp[0], p["g_2.0"][:, None], out=w("h", R, m, a.d))
        u = torch.bmm(h, p["W_1.0"], out=w("u", R, m, a.mlp))
        u += p["b_1.0"][:, None]
        g = aten.gelu.out(u, out=w("g", R, m, a.mlp))
        y = torch.bmm(g, p["W_2.0"], out=w("z2", R, m, a.d))
        y += p["b_2.0"][:, None]
        z = y.add_(z) if a.residual else y
    difference = p["head"][:, 1] - p["head"][:, 0]
    if not a.norm:
        margin = torch.bmm(z, difference[..., None])[..., 0]
        return Reading(acted, norm_mlp, h, u, g, None, z, difference, margin)
    norm_final = torch.native_layer_norm(z, (a.d,), None, None, a.eps)
    margin = torch.bmm(norm_final[0], (difference * p["g_f"])[..., None])[..., 0]
    margin += (p["c_f"] * difference).sum(1, keepdim=True)
    return Reading(acted, norm_mlp, h, u, g, norm_final, norm_final[0], difference, margin)


def through_norm(grad: Tensor, norm: Norm, x: Tensor) -> Tensor:
    """Gradient at x of (x - mean) / sd, given the gradient at its output."""
    d = grad.shape[-1]
    return aten.native_layer_norm_backward(grad, x, (d,), norm[1], norm[2], None, None, [True, False, False])[
        0
    ]


def _through_head(p: Ensemble, grad: Ensemble, r: Reading, d_margin: Tensor, w: Workspace) -> Tensor:
    """Gradients of the head and the final norm; returns the gradient at the last layer's output."""
    a = p.architecture
    R, m = d_margin.shape
    per_feature = torch.bmm(d_margin[:, None], r.features)[:, 0]  # (R, d)
    column = r.w
    if r.norm_final is not None:
        total = d_margin.sum(1, keepdim=True)
        torch.mul(per_feature, r.w, out=grad["g_f"])
        torch.mul(total, r.w, out=grad["c_f"])
        per_feature = per_feature * p["g_f"] + p["c_f"] * total
        column = r.w * p["g_f"]
    grad["head"][:, 1] = per_feature
    torch.neg(per_feature, out=grad["head"][:, 0])
    d_z = torch.mul(d_margin[..., None], column[:, None], out=w("d_z", R, m, a.d))
    if r.norm_final is None:
        return d_z
    return through_norm(d_z, r.norm_final, w("z2" if a.mlp else "z1", R, m, a.d))


def _through_mlp(p: Ensemble, grad: Ensemble, r: Reading, d_z: Tensor, w: Workspace) -> Tensor:
    """Gradients of the MLP and its norm; returns the gradient at the attention's output."""
    a = p.architecture
    R, m, _ = d_z.shape
    assert r.h is not None and r.u is not None and r.g is not None
    torch.sum(d_z, 1, out=grad["b_2.0"])
    torch.bmm(r.g.mT, d_z, out=grad["W_2.0"])
    d_u = torch.bmm(d_z, p["W_2.0"].mT, out=w("d_u", R, m, a.mlp))
    d_u = aten.gelu_backward.grad_input(d_u, r.u, grad_input=d_u)
    torch.sum(d_u, 1, out=grad["b_1.0"])
    torch.bmm(r.h.mT, d_u, out=grad["W_1.0"])
    d_h = torch.bmm(d_u, p["W_1.0"].mT, out=w("d_h", R, m, a.d))
    if r.norm_mlp is not None:
        torch.sum(d_h, 1, out=grad["c_2.0"])
        torch.sum(torch.mul(d_h, r.norm_mlp[0], out=w("h", R, m, a.d)), 1, out=grad["g_2.0"])
        d_h = through_norm(d_h.mul_(p["g_2.0"][:, None]), r.norm_mlp, w("z1", R, m, a.d))
    return d_h.add_(d_z) if a.residual else d_h


def read_gradient(
    p: Ensemble, grad: Ensemble, r: Reading, values: Tensor, d_margin: Tensor, w: Workspace
) -> tuple[Tensor, Tensor | None]:
    """Write the gradients of everything after the mixing; return those at `values` and (residual) at x_cls."""
    a = p.architecture
    R, m, width = values.shape
    d_z = _through_head(p, grad, r, d_margin, w)
    if a.mlp:
        d_z = _through_mlp(p, grad, r, d_z, w)
    torch.bmm(r.acted.mT, d_z, out=grad["W_C.0"])
    total = d_z.sum(1)
    if a.bias:
        grad["b_C.0"].copy_(total)
    d_values = torch.bmm(d_z, p["W_C.0"].mT, out=w("d_values", R, m, width))
    if a.sigma == "relu":
        d_values.mul_(values > 0)
    elif a.sigma == "tanh":
        d_values.mul_(1 - r.acted * r.acted)
    elif a.sigma == "gelu":
        d_values = aten.gelu_backward(d_values, values)
    return d_values, total if a.residual else None
