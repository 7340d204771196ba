"""The one-layer model through its 2T + 1 distinct tokens, in plain torch with autograd: the obvious form.

`table.py` computes the same numbers with hand-written gradients and is tested against this file. It also hands
runs over to this file whenever its own shortcut would lose digits:

- `mix` sums e_{t,1} over set bits and e_{t,0} over clear ones, so nothing cancels;
- `mix_by_sample` shifts every sample's softmax by its own maximum, so nothing underflows, at the price of
  gathering every sample's scores.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .parameters import Architecture, Ensemble

SIGMA = {"identity": lambda x: x, "relu": torch.relu, "gelu": F.gelu, "tanh": torch.tanh}
GATHERED = 2**24  # numbers gathered at once by mix_by_sample


def norm(x: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """LayerNorm of (R, n, d) with gains and biases per run (R, d); nothing where there is no gain."""
    if gain is None or bias is None:
        return x
    return F.layer_norm(x, x.shape[-1:], eps=eps) * gain[:, None] + bias[:, None]


def heads_last(x: Tensor, a: Architecture) -> Tensor:
    """(..., k H) -> (..., k, H): the head-indexed axis as it is stored."""
    return x.unflatten(-1, (a.k, a.H))


def shifted(x: Tensor, bias: Tensor | None) -> Tensor:
    """x (R, n, p) plus a bias per run (R, p), where there is one."""
    return x if bias is None else x + bias[:, None]


def tokens(p: Ensemble) -> tuple[Tensor, Tensor]:
    """Every token there can be: (R, 2, T, d), bit value first, and [CLS] (R, 1, d)."""
    a = p.architecture
    P, E = p["P"].mT, p["E"]
    cls = (E[:, 2] + p["P_cls"])[:, None]
    if a.is_bag:
        return torch.stack([torch.zeros_like(P), P], dim=1), cls
    return torch.stack([P + E[:, :1], P + E[:, 1:2]], dim=1), cls


def tables(p: Ensemble) -> tuple[Tensor, Tensor, Tensor]:
    """Scores (R, 2T+1, H), values (R, 2T+1, k, H) and the [CLS] token (R, 1, d).

    Tokens are ordered: clear bits, set bits, [CLS]. Scores lack the key bias, which shifts all of them alike.
    """
    a = p.architecture
    table, cls = tokens(p)
    z = norm(torch.cat([table.flatten(1, 2), cls], dim=1), p.get("g_1.0"), p.get("c_1.0"), a.eps)
    q = heads_last(shifted(z[:, -1:] @ p["W_Q.0"], p.get("b_Q.0")), a)
    asked = (heads_last(p["W_K.0"], a) * q).sum(2) / a.temperature
    values = shifted(z @ p["W_V.0"], p.get("b_V.0"))
    return z @ asked, heads_last(values, a), cls


def mix(scores: Tensor, values: Tensor, bits: Tensor) -> tuple[Tensor, Tensor]:
    """Attention-weighted values (R, m, k, H) and denominators (R, m, H), shifted by each head's maximum."""
    e = torch.exp(scores - scores.amax(1, keepdim=True).detach())
    U = torch.cat([(e[:, :, None] * values).flatten(2), e], dim=2)
    T = bits.shape[-1]
    sums = bits @ U[:, T : 2 * T] + (1 - bits) @ U[:, :T] + U[:, 2 * T :]
    H = scores.shape[-1]
    denominators = sums[..., -H:]
    return sums[..., :-H].unflatten(-1, (-1, H)) / denominators[:, :, None], denominators


def mix_by_sample(scores: Tensor, values: Tensor, bits: Tensor) -> Tensor:
    """The same weighted values for scores of any size: each sample's softmax on its own."""
    on = torch.nn.functional.pad(bits, (0, 1)).mT[:, None].bool()  # (R, 1, T+1, m): [CLS] counts as clear
    T = bits.shape[-1]
    s = (
        torch.cat([scores[:, :T], scores[:, 2 * T :]], 1),
        torch.cat([scores[:, T : 2 * T], scores[:, 2 * T :]], 1),
    )
    v = (
        torch.cat([values[:, :T], values[:, 2 * T :]], 1),
        torch.cat([values[:, T : 2 * T], values[:, 2 * T :]], 1),
    )
    chosen = torch.where(on, s[1].mT[..., None], s[0].mT[..., None])  # (R, H, T+1, m)
    w = torch.softmax(chosen, dim=2)
    mixed = [torch.einsum("rhtm,rtkh->rmkh", torch.where(on == bool(b), w, 0.0), v[b]) for b in (0, 1)]
    return mixed[0] + mixed[1]


def finish(p: Ensemble, i: int, cls: Tensor, mixed: Tensor) -> Tensor:
    """What follows the attention of layer i at one token: (R, n, k H) mixed values -> (R, n, d)."""
    a = p.architecture
    z = shifted(SIGMA[a.sigma](mixed) @ p[f"W_C.{i}"], p.get(f"b_C.{i}"))
    if a.residual:
        z = z + cls
    if not a.mlp:
        return z
    h = norm(z, p.get(f"g_2.{i}"), p.get(f"c_2.{i}"), a.eps)
    y = shifted(F.gelu(shifted(h @ p[f"W_1.{i}"], p[f"b_1.{i}"])) @ p[f"W_2.{i}"], p[f"b_2.{i}"])
    return z + y if a.residual else y


def read_out(p: Ensemble, z: Tensor) -> Tensor:
    """Margins (R, n), logit of 1 minus logit of 0, from the last layer's [CLS] output."""
    h = norm(z, p.get("g_f"), p.get("c_f"), p.architecture.eps)
    return (h @ (p["head"][:, 1] - p["head"][:, 0])[..., None])[..., 0]


def margins(p: Ensemble, bits: Tensor, *, by_sample: bool = True) -> Tensor:
    """Margins (R, m) of bits (R, m, T), which are 0/1 in the weights' dtype."""
    scores, values, cls = tables(p)
    mixed = mix_by_sample(scores, values, bits) if by_sample else mix(scores, values, bits)[0]
    return read_out(p, finish(p, 0, cls, mixed.flatten(2)))


def losses(margin: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of every sample: log(1 + exp(-margin)) for label 1, log(1 + exp(margin)) for label 0."""
    return F.softplus((1 - 2 * labels) * margin)


def add_gradient(p: Ensemble, gradient: Ensemble, bits: Tensor, labels: Tensor, *, by_sample: bool) -> Tensor:
    """Write the gradient of the mean loss into `gradient` and return margins (R, m); by autograd.

    Samples are walked in chunks, so that memory stays bounded when every score is gathered.
    """
    a = p.architecture
    m, T = bits.shape[1:]
    chunk = max(1, GATHERED // (T * a.H)) if by_sample else m
    gradient.flat.zero_()
    out = []
    for start in range(0, m, chunk):
        with torch.enable_grad():
            flat = p.flat.detach().clone().requires_grad_(True)
            margin = margins(Ensemble(a, flat), bits[:, start : start + chunk], by_sample=by_sample)
            loss = losses(margin, labels[:, start : start + chunk]).sum() / m
            (g,) = torch.autograd.grad(loss, flat)
        gradient.flat.add_(g)
        out.append(margin.detach())
    return torch.cat(out, dim=1)
