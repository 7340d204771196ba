import re
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, FileError, MissingExtra, ShapeError
from sparsehead._base.lazy import install_command
from sparsehead.construct import build, lens_weights, to_onnx, to_torch, to_transformer_lens
from sparsehead.functions import assignments, parity, parse
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import trainable
from sparsehead.heads.model import Model
from sparsehead.heads.model_file import save
from sparsehead.importing import from_torch

from ..certify.test_verify import practical

torch = pytest.importorskip("torch")

from ..importing.lens import HookedTransformer, config  # noqa: E402


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


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        (torch.tensor([[0.37, 0, 1, 0]]), "bits are 0 or 1, got 0.37"),
        (torch.tensor([[0, -1, 1, 0]]), "bits are 0 or 1, got -1"),
        (torch.tensor([[0.0, float("nan"), 1, 0]]), "bits are 0 or 1, got nan"),
        (torch.zeros(2, 5), r"bits of shape \(2, 5\) arrived; T=4 needs \(n, 4\)"),
        (torch.zeros(4), r"bits of shape \(4,\) arrived"),
        (np.zeros((2, 4)), "bits are a tensor"),
        ([[0, 1, 1, 0]], "bits are a tensor"),
    ],
    ids=str,
)
def test_a_module_refuses_what_are_no_bits(bits, said):
    module = to_torch(build(parity((1, 3), T=4)))
    with pytest.raises((DomainError, ShapeError), match=said):
        module(bits)


def test_a_module_can_be_exported_for_any_number_of_inputs():
    """What `to_onnx` hands to torch.onnx; the package onnx is not needed for it."""
    f = parity((1, 3), T=5)
    module = to_torch(build(f))
    shapes = {"bits": {0: torch.export.Dim("n")}}
    graph = torch.export.export(module, (torch.zeros((2, 5), dtype=torch.int64),), dynamic_shapes=shapes)
    bits = assignments(5)
    outputs = graph.module()(torch.as_tensor(bits, dtype=torch.int64)).detach().numpy()
    np.testing.assert_allclose(outputs, f(bits), atol=1e-9)


def test_onnx_is_written_whole_or_its_absence_is_said(tmp_path, monkeypatch):
    model = build(parity((1, 3), T=4))
    if find_spec("onnx") is None:
        with pytest.raises(MissingExtra, match=re.escape(f"{install_command('onnx')} brings it")):
            to_onnx(model, tmp_path / "head.onnx")
        assert list(tmp_path.iterdir()) == []
    asked = []

    def export(module, arguments, **settings):
        asked.append((module, arguments, settings))
        return SimpleNamespace(model_proto=SimpleNamespace(SerializeToString=lambda: b"the file"))

    monkeypatch.setattr("sparsehead.construct.export.require_module", lambda name: None)
    monkeypatch.setattr(torch.onnx, "export", export)
    assert to_onnx(model, tmp_path / "head.onnx").read_bytes() == b"the file"
    ((module, (bits,), settings),) = asked
    assert module.w.dtype == torch.float32 and bits.shape == (2, 4) and settings["input_names"] == ["bits"]
    with pytest.raises(FileError, match="exists"):
        to_onnx(model, tmp_path / "head.onnx")


@pytest.mark.parametrize("heads", ["one", "s"])
def test_transformer_lens_gets_the_whole_of_a_linear_head(heads, monkeypatch):
    """With a stand-in for the package: its logits differ by the model's output, and it comes back as a Model."""
    monkeypatch.setattr("sparsehead.construct.export.require_module", lambda name: None)
    stand_in = SimpleNamespace(HookedTransformer=HookedTransformer, HookedTransformerConfig=config)
    monkeypatch.setitem(sys.modules, "transformer_lens", stand_in)
    model = linear_model() if heads == "one" else build(parity((1, 3), T=5), heads="s")
    module = to_transformer_lens(model)
    bits = assignments(5)
    ids = torch.as_tensor(np.hstack([bits, np.full((32, 1), 2)]).astype(np.int64))
    logits = module(ids)[:, -1].detach().numpy()
    back = from_torch(module, tokens=(0, 1), after=[2], T=5)
    assert isinstance(back, Model)
    np.testing.assert_allclose(back(bits), logits[:, 1] - logits[:, 0], atol=1e-12)
    if not model.decoder:
        np.testing.assert_allclose(logits[:, 1] - logits[:, 0], model(bits), atol=1e-12)


def linear_model():
    """One head, two wide, without a residual or a decoder."""
    from sparsehead._base.rng import stream

    rng = stream(0, "lens")
    code = trainable(*(rng.standard_normal(shape) for shape in ((5, 6), (2, 6), 6)))
    Q, K, V, C = (rng.standard_normal(shape) for shape in ((1, 6, 2), (1, 6, 2), (1, 6, 3), (1, 3, 6)))
    return Model(
        code,
        (Layer(Q, K, V, C, b_V=rng.standard_normal((1, 3)), temperature=1.5),),
        rng.standard_normal(6),
        0.5,
    )


def test_transformer_lens_that_is_missing_is_named_with_its_extra():
    if find_spec("transformer_lens") is None:
        with pytest.raises(MissingExtra, match=re.escape(f"{install_command('lens')} brings it")):
            to_transformer_lens(linear_model())


def test_a_module_gives_its_weights_back_as_they_are_now():
    model = build("x1 & x2", T=8)
    module = to_torch(model)
    with torch.no_grad():
        module.layers[0].W_C.mul_(2)
    found = module.to_model()
    assert np.array_equal(found.layers[0].W_C, 2 * model.layers[0].W_C)
    assert np.array_equal(found.layers[0].W_V, model.layers[0].W_V) and np.array_equal(found.w, model.w)
