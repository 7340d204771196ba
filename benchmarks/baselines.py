"""What the engine is compared with: the same block, full batch, AdamW, written as most people would write it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

D, H, WIDTH = 64, 16, 256


class Encoder(nn.Module):
    """(a) nn.TransformerEncoderLayer, every query computed, read at the last token."""

    def __init__(self, T: int, dropout: float) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(3, D), nn.Parameter(0.02 * torch.randn(T + 1, D))
        self.drop = nn.Dropout(dropout)
        self.layer = nn.TransformerEncoderLayer(
            D, H, WIDTH, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, 2, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (m, 2) of tokens (m, T+1)."""
        return self.head(self.norm(self.layer(self.drop(self.token(tokens) + self.position))[:, -1]))


class ClsOnly(nn.Module):
    """(b) the same block with a hand-written attention that computes the [CLS] query only."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(3, D), nn.Parameter(0.02 * torch.randn(T + 1, D))
        self.ln1, self.ln2, self.lnf = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.q, self.k, self.v, self.out = (nn.Linear(D, D) for _ in range(4))
        self.up, self.down, self.head = nn.Linear(D, WIDTH), nn.Linear(WIDTH, D), nn.Linear(D, 2, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (m, 2) of tokens (m, T+1)."""
        x = self.token(tokens) + self.position
        m, n, _ = x.shape
        z = self.ln1(x)
        q = self.q(z[:, -1]).view(m, H, 1, D // H)
        k = self.k(z).view(m, n, H, D // H).transpose(1, 2)
        v = self.v(z).view(m, n, H, D // H).transpose(1, 2)
        weights = torch.softmax((q * k).sum(-1) / (D // H) ** 0.5, dim=-1)
        mixed = (weights[..., None] * v).sum(2).reshape(m, D)
        y = x[:, -1] + self.out(mixed)
        y = y + self.down(F.gelu(self.up(self.ln2(y))))
        return self.head(self.lnf(y))


def data(T: int, m: int, n_runs: int = 1) -> tuple[Tensor, Tensor]:
    """Tokens (R, m, T+1) with [CLS] = 2 last, and labels (R, m): conjunctions of the first three bits."""
    bits = (torch.rand(n_runs, m, T) < 0.5 ** (1 / 3)).long()
    return torch.cat([bits, torch.full((n_runs, m, 1), 2)], 2), bits[:, :, :3].prod(2)


def stepper(module: nn.Module, tokens: Tensor, labels: Tensor):
    """A function that makes one full-batch step."""
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=1e-4)

    def step() -> None:
        loss = F.cross_entropy(module(tokens), labels)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()

    return step


def vmap_stepper(T: int, m: int, n_runs: int):
    """(c) torch.func.vmap over (b): one step of n_runs runs at once, gradients by torch.func.grad."""
    from torch.func import functional_call, grad, stack_module_state, vmap

    modules = [ClsOnly(T) for _ in range(n_runs)]
    weights, buffers = stack_module_state(modules)
    tokens, labels = data(T, m, n_runs)
    flat = [w.detach().requires_grad_(True) for w in weights.values()]
    optimiser = torch.optim.AdamW(flat, lr=1e-3, weight_decay=1e-4)

    def loss(w, b, x, y):
        return F.cross_entropy(functional_call(modules[0], (w, b), (x,)), y)

    gradients = vmap(grad(loss), in_dims=(0, 0, 0, 0))

    def step() -> None:
        found = gradients(dict(zip(weights, flat)), buffers, tokens, labels)
        for leaf, g in zip(flat, found.values()):
            scale = (1.0 / (g.flatten(1).norm(dim=1) + 1e-6)).clamp(max=1.0)
            leaf.grad = g * scale.view(-1, *[1] * (g.ndim - 1))
        optimiser.step()

    return step
