"""A stand-in for TransformerLens's HookedTransformer: the same configuration, parts, weight names and computation.

Written after transformer_lens/components (attention, layer_norm, mlp, transformer_block) and HookedTransformerConfig;
the package itself is not installed here.
"""

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn


def config(**changed):
    cfg: dict[str, Any] = dict(
        n_layers=1, d_model=8, n_ctx=16, d_head=4, n_heads=2, d_vocab=5, d_mlp=12, act_fn="relu", eps=1e-5,
        normalization_type="LN", attention_dir="causal", attn_only=False, use_attn_scale=True, dtype=torch.float64,
        positional_embedding_type="standard", parallel_attn_mlp=False, gated_mlp=False, final_rms=False,
        use_local_attn=False, n_key_value_heads=None, scale_attn_by_inverse_layer_idx=False, d_vocab_out=-1,
    )  # fmt: skip
    cfg.update(changed)
    cfg.setdefault("attn_scale", cfg["d_head"] ** 0.5)
    return SimpleNamespace(**cfg)


def weight(*shape):
    return nn.Parameter(torch.randn(*shape, dtype=torch.float64) / shape[-1] ** 0.5)


class Embed(nn.Module):
    def __init__(self, name, rows, d):
        super().__init__()
        self.name = name
        setattr(self, name, weight(rows, d))

    def forward(self, ids):
        return getattr(self, self.name)[ids]


class Norm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.eps = cfg.eps
        if cfg.normalization_type == "LN":
            self.w, self.b = weight(cfg.d_model), weight(cfg.d_model)

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return x * self.w + self.b if hasattr(self, "w") else x


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        H, d, k = cfg.n_heads, cfg.d_model, cfg.d_head
        self.W_Q, self.W_K, self.W_V, self.W_O = (
            weight(H, d, k),
            weight(H, d, k),
            weight(H, d, k),
            weight(H, k, d),
        )
        self.b_Q, self.b_K, self.b_V, self.b_O = weight(H, k), weight(H, k), weight(H, k), weight(d)

    def forward(self, x):
        q, k, v = (
            torch.einsum("npd,hde->nphe", x, W) + b
            for W, b in ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V))
        )
        scores = torch.einsum("nqhe,nkhe->nhqk", q, k) / (
            self.cfg.attn_scale if self.cfg.use_attn_scale else 1
        )
        if self.cfg.attention_dir == "causal":
            later = torch.triu(torch.ones(x.shape[1], x.shape[1]), 1).bool()
            scores = scores.masked_fill(later, -torch.inf)
        z = torch.einsum("nhqk,nkhe->nqhe", scores.softmax(-1), v)
        return torch.einsum("nqhe,hed->nqd", z, self.W_O) + self.b_O


class Mlp(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.act = {"relu": torch.relu, "gelu": nn.functional.gelu, "silu": nn.functional.silu}[cfg.act_fn]
        self.W_in, self.b_in = weight(cfg.d_model, cfg.d_mlp), weight(cfg.d_mlp)
        self.W_out, self.b_out = weight(cfg.d_mlp, cfg.d_model), weight(cfg.d_model)

    def forward(self, x):
        return self.act(x @ self.W_in + self.b_in) @ self.W_out + self.b_out


class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln1, self.ln2 = (
            nn.Identity() if cfg.normalization_type is None else Norm(cfg) for _ in range(2)
        )
        self.attn = Attention(cfg)
        self.mlp = None if cfg.attn_only else Mlp(cfg)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x if self.mlp is None else x + self.mlp(self.ln2(x))


class Unembed(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        out = cfg.d_vocab if cfg.d_vocab_out == -1 else cfg.d_vocab_out
        self.W_U, self.b_U = weight(cfg.d_model, out), weight(out)

    def forward(self, x):
        return x @ self.W_U + self.b_U


class HookedTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = Embed("W_E", cfg.d_vocab, cfg.d_model)
        self.pos_embed = Embed("W_pos", cfg.n_ctx, cfg.d_model)
        self.blocks = nn.ModuleList(TransformerBlock(cfg) for _ in range(cfg.n_layers))
        self.ln_final = nn.Identity() if cfg.normalization_type is None else Norm(cfg)
        self.unembed = Unembed(cfg)

    def forward(self, ids):
        x = self.embed(ids) + self.pos_embed(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.unembed(self.ln_final(x))
