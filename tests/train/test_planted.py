"""A tiny problem against a hand-written module with torch's own optimisers: fifty steps, the same numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from sparsehead.train.data import training_set
from sparsehead.train.spec import preset
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import initial, to_model

from .support import engine_of, weights_of

SPEC = preset("fast", function="x1 & x4", T=9, m=40, seed=5, d=8, H=2, k=4, mlp=16, restarts=1)
RECIPES = {  # settings of the spec; what a user of torch would write for them
    "adamw on matrices": (
        {},
        lambda matrices, rest: torch.optim.AdamW(groups(matrices, rest, 1e-4), lr=1e-3),
    ),
    "adam, L2 on matrices": (
        {"optimiser": "adam", "weight_decay": 0.01, "clip": 0.0},
        lambda matrices, rest: torch.optim.Adam(groups(matrices, rest, 0.01), lr=1e-3),
    ),
    "adam, L2 on all": (
        {"optimiser": "adam", "decay": "all", "weight_decay": 0.01, "clip": 0.0},
        lambda matrices, rest: torch.optim.Adam([*matrices, *rest], lr=1e-3, weight_decay=0.01),
    ),
    "adamw on all, eps, clip": (
        {"decay": "all", "weight_decay": 0.1, "adam_eps": 1e-3, "learning_rate": 1e-2, "clip": 0.05},
        lambda matrices, rest: torch.optim.AdamW([*matrices, *rest], lr=1e-2, weight_decay=0.1, eps=1e-3),
    ),
    "betas": (
        {"beta_1": 0.8, "beta_2": 0.95},
        lambda matrices, rest: torch.optim.AdamW(groups(matrices, rest, 1e-4), lr=1e-3, betas=(0.8, 0.95)),
    ),
    "sgd": (
        {"optimiser": "sgd", "learning_rate": 0.3, "weight_decay": 0.01},
        lambda matrices, rest: torch.optim.SGD(groups(matrices, rest, 0.01), lr=0.3),
    ),
}


def groups(matrices, rest, decay):
    return [{"params": matrices, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


class Block(nn.Module):
    """minGPT's block as a module, read at the last token; every sample has its own T + 1 tokens."""

    def __init__(self, d, f, T, H):
        super().__init__()
        self.H, self.k = H, d // H
        self.bit, self.position = nn.Parameter(torch.zeros(3, d)), nn.Parameter(torch.zeros(T + 1, d))
        self.ln1, self.ln2, self.lnf = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.key, self.v, self.out = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down, self.head = nn.Linear(d, f), nn.Linear(f, d), nn.Linear(d, 2, bias=False)
        self.double()

    def forward(self, bits):
        m, T = bits.shape
        tokens = torch.cat([bits, torch.full((m, 1), 2)], dim=1)
        x = self.bit[tokens] + self.position
        z = self.ln1(x)

        def split(y):
            return y.view(m, T + 1, self.H, self.k).transpose(1, 2)

        q, k, v = split(self.q(z)), split(self.key(z)), split(self.v(z))
        a = torch.softmax(q @ k.transpose(2, 3) / self.k**0.5, dim=-1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(m, T + 1, -1))
        x = x + self.down(nn.functional.gelu(self.up(self.ln2(x))))
        return self.head(self.lnf(x))[:, -1]


def module_with(spec, row):
    """The module with these weights, by way of the public Model and the raw embeddings."""
    module = Block(spec.d, spec.mlp, spec.T, spec.H)
    p, model = layout(spec.architecture).views(row), to_model(spec.architecture, row)
    layer = model.layers[0]

    def put(target, array):
        target.data = torch.from_numpy(np.array(array))

    put(module.bit, p["E"])
    put(module.position, np.vstack([p["P"].T, p["P_cls"]]))
    for linear, name in ((module.q, "Q"), (module.key, "K"), (module.v, "V")):
        put(linear.weight, getattr(layer, f"W_{name}").transpose(0, 2, 1).reshape(-1, layer.W_Q.shape[1]))
        put(linear.bias, getattr(layer, f"b_{name}").reshape(-1))
    put(module.out.weight, layer.W_C.reshape(-1, layer.W_C.shape[2]).T)
    put(module.out.bias, layer.b_C)
    for linear, W, b in ((module.up, "W_1", "b_1"), (module.down, "W_2", "b_2")):
        put(linear.weight, getattr(layer.mlp, W).T)
        put(linear.bias, getattr(layer.mlp, b))
    put(module.head.weight, p["head"])
    return module


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize("init", ["mingpt", "torch"])
def test_fifty_steps_equal_a_module_with_torchs_optimiser(engine, recipe, init):
    settings, make = RECIPES[recipe]
    # larger than usual, so that everything moves within fifty steps
    spec = replace(SPEC, init=init, init_std=0.1, **settings)  # type: ignore[arg-type]
    row, (bits, labels) = initial(spec, 0), training_set(spec)
    made = engine_of(spec, engine, row, (bits, labels))
    module = module_with(spec, row)
    matrices = [x.weight for x in module.modules() if isinstance(x, nn.Linear)]
    rest = [x for x in module.parameters() if not any(x is w for w in matrices)]
    optimiser = make(matrices, rest)
    X, y = torch.from_numpy(bits).long(), torch.from_numpy(labels).long()
    expected = []
    for _ in range(50):
        loss = nn.functional.cross_entropy(module(X), y)
        expected.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        if spec.clip:
            nn.utils.clip_grad_norm_(module.parameters(), spec.clip)
        optimiser.step()
    losses = made.advance(50)
    assert expected[-1] < 0.95 * expected[0]  # something was learned, so the comparison says something
    # Adam divides by |gradient|, so rounding of tiny gradients is amplified, but by eps = 1e-8 at most
    assert np.abs(np.array(losses) - expected).max() < 1e-8
    logits = module(X).detach().numpy()
    assert np.abs(made.model({})(bits) - (logits[:, 1] - logits[:, 0])).max() < 1e-7
    if init == "mingpt":  # key biases are zero, and what torch makes of them is rounding
        return
    # no loss depends on the key biases; they still decay as torch decays them
    key_bias = layout(spec.architecture).views(weights_of(made))["b_K.0"]
    assert np.allclose(np.sort(key_bias), np.sort(module.key.bias.detach().numpy()), atol=1e-6)
