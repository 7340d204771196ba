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


def compiled_stepper(T: int, tokens: Tensor, labels: Tensor):
    """(b) through torch.compile; None where that cannot be used: without a C++ compiler, or on this Python."""
    step = stepper(torch.compile(ClsOnly(T)), tokens, labels)
    try:
        step()
    except Exception:  # dynamo, inductor and the compiler behind it each have errors of their own
        return None
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


class Deep(nn.Module):
    """Two pre-LN blocks, all queries in the first, the [CLS] query alone in the second; softmax by hand or fused."""

    def __init__(self, T: int, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.token, self.position = nn.Embedding(3, D), nn.Parameter(0.02 * torch.randn(T + 1, D))
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(5))
        self.maps = nn.ModuleList(nn.Linear(D, D) for _ in range(8))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(D, WIDTH), nn.GELU(), nn.Linear(WIDTH, D)) for _ in range(2)
        )
        self.head = nn.Linear(D, 2, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (m, 2) of tokens (m, T+1)."""
        x = self.token(tokens) + self.position
        for i in range(2):
            z = self.norms[2 * i](x)
            x = x if i == 0 else x[:, -1:]
            asked = z if i == 0 else z[:, -1:]
            q, k, v, out = self.maps[4 * i : 4 * i + 4]
            q, k, v = (
                f(y).unflatten(-1, (H, D // H)).transpose(1, 2) for f, y in ((q, asked), (k, z), (v, z))
            )
            if self.fused:
                mixed = F.scaled_dot_product_attention(q, k, v)
            else:
                mixed = torch.softmax(q @ k.mT / (D // H) ** 0.5, dim=-1) @ v
            x = x + out(mixed.transpose(1, 2).flatten(2))
            x = x + self.mlps[i](self.norms[2 * i + 1](x))
        return self.head(self.norms[4](x[:, 0]))


def jax_stepper(T: int, m: int, steps: int):
    """(d) the block of (b) in JAX: `steps` full-batch AdamW steps in one jit-compiled scan; None without JAX."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    tokens, labels = (jnp.asarray(x[0].numpy()) for x in data(T, m))
    names = {
        "q": (D, D),
        "k": (D, D),
        "v": (D, D),
        "o": (D, D),
        "up": (D, WIDTH),
        "down": (WIDTH, D),
        "head": (D, 2),
    }
    key = jax.random.split(jax.random.PRNGKey(0), len(names) + 2)
    w = {n: 0.02 * jax.random.normal(key[i], shape) for i, (n, shape) in enumerate(names.items())}
    w["token"], w["position"] = (
        0.02 * jax.random.normal(key[-1], (3, D)),
        0.02 * jax.random.normal(key[-2], (T + 1, D)),
    )
    w |= {f"b_{n}": jnp.zeros(names[n][1]) for n in ("q", "k", "v", "o", "up", "down")}
    w |= {f"g_{i}": jnp.ones(D) for i in range(3)} | {f"c_{i}": jnp.zeros(D) for i in range(3)}

    def norm(w, x, i):
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[f"g_{i}"] + w[f"c_{i}"]

    def loss(w):
        x = w["token"][tokens] + w["position"]
        z = norm(w, x, 0)
        q = (z[:, -1] @ w["q"] + w["b_q"]).reshape(m, 1, H, D // H)
        k, v = ((z @ w[n] + w[f"b_{n}"]).reshape(m, T + 1, H, D // H) for n in "kv")
        a = jax.nn.softmax((q * k).sum(-1) / (D // H) ** 0.5, axis=1)
        y = x[:, -1] + (a[..., None] * v).sum(1).reshape(m, D) @ w["o"] + w["b_o"]
        h = jax.nn.gelu(norm(w, y, 1) @ w["up"] + w["b_up"], approximate=False)
        logits = norm(w, y + h @ w["down"] + w["b_down"], 2) @ w["head"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def step(state, i):
        w, first, second = state
        g = jax.grad(loss)(w)
        size = jnp.sqrt(sum((x * x).sum() for x in g.values()))
        g = {n: x * jnp.minimum(1.0, 1.0 / (size + 1e-6)) for n, x in g.items()}
        first = {n: 0.9 * first[n] + 0.1 * g[n] for n in g}
        second = {n: 0.999 * second[n] + 0.001 * g[n] ** 2 for n in g}
        root = {n: jnp.sqrt(second[n] / (1 - 0.999 ** (i + 1.0))) + 1e-8 for n in g}
        w = {n: w[n] * (1 - 1e-7) - 1e-3 * first[n] / (1 - 0.9 ** (i + 1.0)) / root[n] for n in g}
        return (w, first, second), 0.0

    zeros = {n: jnp.zeros_like(x) for n, x in w.items()}
    many = jax.jit(lambda state: jax.lax.scan(step, state, jnp.arange(steps))[0])
    state = (w, zeros, zeros)
    return lambda: jax.block_until_ready(many(state))
