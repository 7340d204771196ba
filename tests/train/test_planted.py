"""A tiny problem against a hand-written module with torch's own optimiser: fifty steps, the same numbers."""

import numpy as np
import pytest
import torch
from torch import nn

from sparsehead.spec import preset
from sparsehead.train import engine
from sparsehead.train.data import training_set
from sparsehead.train.engine import Slots
from sparsehead.train.weights import initial

SPEC = preset("fast", function="x1 & x4", T=9, m=40, seed=5, d=8, H=2, k=4, mlp=16, restarts=1)


class Block(nn.Module):
    """minGPT's block as a module, read at the last token; every sample has its own T + 1 tokens."""

    def __init__(self, model):
        super().__init__()
        layer, e = model.layers[0], model.encoding
        self.H, self.k = layer.W_Q.shape[0], layer.W_Q.shape[2]
        d, f = layer.mlp.W_1.shape
        self.bit, self.position = nn.Parameter(torch.zeros(3, d)), nn.Parameter(torch.zeros(e.T + 1, d))
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


def load(module, slots):
    """Copy the slot's weights into the module, by way of the public Model and the raw embeddings."""
    p, model = slots.weights, slots.model(0, {})
    layer = model.layers[0]

    def put(target, array):
        target.data = torch.from_numpy(np.array(array))

    put(module.bit, p["E"][0].numpy())
    put(module.position, np.vstack([p["P"][0].numpy().T, p["P_cls"].numpy()]))
    for linear, name in ((module.q, "Q"), (module.key, "K"), (module.v, "V")):
        put(linear.weight, getattr(layer, f"W_{name}").transpose(0, 2, 1).reshape(-1, layer.W_Q.shape[1]))
        put(linear.bias, getattr(layer, f"b_{name}").reshape(-1))
    put(module.out.weight, layer.W_C.reshape(-1, layer.W_C.shape[2]).T)
    put(module.out.bias, layer.b_C)
    for linear, W, b in ((module.up, "W_1", "b_1"), (module.down, "W_2", "b_2")):
        put(linear.weight, getattr(layer.mlp, W).T)
        put(linear.bias, getattr(layer.mlp, b))
    put(module.head.weight, p["head"][0].numpy())


@pytest.mark.parametrize("form", ["compiled", "torch"])
def test_fifty_steps_equal_a_module_with_adamw(form, monkeypatch):
    if form == "torch":
        monkeypatch.setattr(engine, "library", lambda dtype: None)
    slots = Slots(SPEC, 1, dtype="float64")
    if form == "compiled" and slots.kernel is None:
        pytest.skip("no C compiler here")
    slots.load_weights(
        0, initial(SPEC, 0) * 5
    )  # larger than usual, so that everything moves within fifty steps
    slots.weights["g_1.0"].fill_(1.0)
    bits, labels = training_set(SPEC)
    slots.load_data(0, (bits, labels))
    module = Block(slots.model(0, {}))
    load(module, slots)
    for norm, gain in ((module.ln2, "g_2.0"), (module.lnf, "g_f")):
        norm.weight.data = slots.weights[gain][0].clone()
    matrices = [x.weight for x in module.modules() if isinstance(x, nn.Linear)]
    others = [x for x in module.parameters() if not any(x is w for w in matrices)]
    groups = [{"params": matrices, "weight_decay": 1e-4}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-3)
    X, y = torch.from_numpy(bits).long(), torch.from_numpy(labels).long()
    expected = []
    for _ in range(50):
        loss = nn.functional.cross_entropy(module(X), y)
        expected.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
    losses = slots.advance(0, 50)
    assert expected[-1] < 0.7 * expected[0]  # something was learned, so the comparison says something
    # Adam divides by |gradient|, so rounding of tiny gradients is amplified, but by eps = 1e-8 at most
    assert np.abs(np.array(losses) - expected).max() < 1e-8
    logits = module(X).detach().numpy()
    assert np.abs(slots.model(0, {})(bits) - (logits[:, 1] - logits[:, 0])).max() < 1e-7
