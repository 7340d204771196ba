import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead.construct import build, lens_weights, to_torch
from sparsehead.functions import assignments, parity, parse
from sparsehead.heads.model_file import save

from ..certify.test_verify import practical

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"readout": "head", "attends_cls": False},
        {"encoding": "random", "seed": 0},
        {"encoding": "trainable"},
        {"encoding": "bag"},
        {"encoding": "bag", "d": 40, "seed": 0},
        {"heads": "s"},
        {"method": "paper"},
    ],
    ids=str,
)
def test_torch_gives_the_same_outputs(options):
    model = build(parse("x1 & !x3 ^ x6", T=8), **options)
    bits = assignments(8)
    outputs = to_torch(model)(torch.as_tensor(bits)).detach().numpy()
    np.testing.assert_allclose(outputs, model(bits), atol=1e-10)  # slopes of the decoder times rounding


def test_torch_gives_the_same_outputs_for_a_practical_block():
    from sparsehead._base.rng import stream

    model = practical(stream(0, "torch"), 6)
    bits = assignments(6)
    np.testing.assert_allclose(
        to_torch(model)(torch.as_tensor(bits)).detach().numpy(), model(bits), atol=1e-12
    )


def test_every_weight_has_a_gradient():
    module = to_torch(build(parity((1, 3), T=6), "trainable", readout="mlp"))
    module(torch.as_tensor(assignments(6))).square().sum().backward()
    named = dict(module.named_parameters())
    assert {"layers.0.W_Q", "layers.0.W_K", "encoding.P", "decoder.0.W", "w"} <= set(named)
    assert all(p.grad is not None for p in named.values())


def test_a_saved_file_loads_into_plain_torch(tmp_path):
    from safetensors.torch import load_file

    f = parity((1, 3), T=6)
    path = save(build(f), tmp_path / "head.safetensors")
    module = to_torch(build(parity((0, 2), T=6)))
    module.load_state_dict(load_file(path))
    bits = assignments(6)
    np.testing.assert_allclose(module(torch.as_tensor(bits)).detach().numpy(), f(bits), atol=1e-9)


def test_lens_weights_give_the_attention_as_transformer_lens_defines_it():
    f = parity((1, 3, 4), T=7)
    model = build(f, heads="s")
    w = {name: torch.as_tensor(value) for name, value in lens_weights(model).items()}
    bits = assignments(7)
    tokens = torch.as_tensor(np.hstack([bits, np.full((len(bits), 1), 2)])).long()
    x = w["embed.W_E"][tokens] + w["pos_embed.W_pos"]
    a = "blocks.0.attn."
    q, k, v = (torch.einsum("npd,hde->nphe", x, w[f"{a}W_{n}"]) + w[f"{a}b_{n}"] for n in "QKV")
    pattern = torch.einsum("nhe,nphe->nhp", q[:, -1], k).softmax(-1)
    out = torch.einsum("nhp,nphe,hed->nd", pattern, v, w[f"{a}W_O"]) + w[f"{a}b_O"]
    np.testing.assert_allclose(out.numpy(), model.cls_state(bits.astype(np.int64)), atol=1e-12)
    np.testing.assert_allclose(model.read_out(out.numpy()), f(bits), atol=1e-9)


def test_lens_weights_refuse_what_they_cannot_hold():
    for options in ({"encoding": "bag"}, {"readout": "head"}, {"attends_cls": False}):
        with pytest.raises(DomainError, match=r"to_torch takes every model|attends_cls=True"):
            lens_weights(build(parity((1, 3), T=6), **options))
    with pytest.raises(DomainError, match="float64, float32"):
        to_torch(build(parity((1, 3), T=6)), dtype="int8")
