"""Heads recomputed from the extracted weights are the model's own, for every family; and what is refused is refused."""

from typing import Any

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead._base.errors import DomainError, FileError, ShapeError
from sparsehead.capacity.families import ARCHITECTURES
from sparsehead.probing.inputs import inputs_of
from sparsehead.probing.load import source_of
from sparsehead.probing.modules import weights_of_state
from sparsehead.probing.running import check, run

TOLERANCE = 1e-4  # float32 rounding is some 1e-6 here
NOTHING: dict[str, Any] = {"text": None, "tokens": None, "tokenizer": None, "longest": None, "seed": 0}


def ids(n=20, seed=0):
    return np.random.default_rng(seed).integers(0, 100, n)


def calls_of(source, tokens):
    calls: list[Any] = []
    run(source, tokens, calls.append)
    return calls


def attentions(model, tokens):
    """The attention weights that transformers returns, layer by layer, encoder before decoder."""
    if model.config.model_type == "vit":  # nine patches of 4 x 4 pixels of two channels, row by row
        rows = [np.concatenate(tokens[i : i + 3].reshape(3, 2, 4, 4), axis=2) for i in (0, 3, 6)]
        given: dict[str, Any] = {"pixel_values": torch.as_tensor(np.concatenate(rows, axis=1))[None].float()}
    else:
        given = {"input_ids": torch.as_tensor(tokens)[None]}
        given |= {"use_cache": False} if getattr(model.config, "use_cache", False) else {}
    if getattr(model.config, "is_encoder_decoder", False):
        given["decoder_input_ids"] = given["input_ids"]
    with torch.no_grad():
        out = model(**given, output_attentions=True)
    return out.attentions if "attentions" in out else (*out.encoder_attentions, *out.decoder_attentions)


@pytest.mark.parametrize("kind", [kind for kind, family in ARCHITECTURES.items() if family.probed])
def test_recomputed_attention_and_heads_equal_the_models_own(kind, tiny):
    """Attention as transformers returns it, mixed values as its projection receives them, and what it makes of them."""
    model = tiny(kind)
    source, outputs = source_of(model), []
    projections = {id(site.projection): site.projection for site in source.sites}.values()
    hooks = [p.register_forward_hook(lambda m, args, out: outputs.append(out[0])) for p in projections]
    tokens = ids() if source.takes_ids else inputs_of(source, **NOTHING).sequences[0]
    calls = calls_of(source, tokens)
    for hook in hooks:
        hook.remove()
    own = attentions(model, tokens)
    assert len(calls) == len(own) == (4 if kind == "t5" else 2)
    for call, weights, output in zip(calls, own, outputs, strict=True):
        every = torch.arange(call.T)
        for h in range(4):
            assert torch.allclose(call.attention(h, every), weights[0, h], atol=TOLERANCE)
        assert call.disagreement() < TOLERANCE
        added = torch.stack([call.head_output(h) for h in range(4)]).sum(dim=0)
        added = added if call.weights.b_O is None else added + call.weights.b_O
        assert torch.allclose(added, output, atol=TOLERANCE * max(1, float(output.abs().max())))
        assert call.mixed.abs().max() > 0.01  # not equal because all is zero


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mpnet", "albert"])
def test_the_comparison_notices_a_wrong_weight_a_wrong_scale_and_a_missing_rotation(kind, tiny):
    from dataclasses import replace

    call = calls_of(source_of(tiny(kind)), ids())[1]
    for name in ("W_Q", "W_K", "W_V"):
        wrong = replace(call.weights, **{name: getattr(call.weights, name).roll(1, dims=0)})
        if not torch.equal(getattr(wrong, name), getattr(call.weights, name)):
            assert replace(call, weights=wrong).disagreement() > 10 * TOLERANCE
    assert (
        replace(call, weights=replace(call.weights, scale=1.1 * call.weights.scale)).disagreement()
        > 10 * TOLERANCE
    )
    if call.rotate is not None:
        assert replace(call, rotate=None).disagreement() > 10 * TOLERANCE
    if call.mask is not None and bool((call.mask != 0).any()):
        assert replace(call, mask=None).disagreement() > 10 * TOLERANCE


@pytest.mark.parametrize("options", [{}, {"batch_first": False}, {"norm_first": True}], ids=str)
def test_torch_encoders_agree_with_their_own_weights_and_outputs(options, encoder):
    model = encoder(**options)
    X = np.random.default_rng(1).normal(size=(15, 32)).astype(np.float32)
    source = source_of(model)
    calls = calls_of(source, X)
    for call, site in zip(calls, source.sites, strict=True):
        assert check(call) < TOLERANCE
        x = call.X[None] if site.module.batch_first else call.X[:, None]
        with torch.no_grad():
            _, own = site.module(x, x, x, average_attn_weights=False)
        for h in range(4):
            assert torch.allclose(call.attention(h, torch.arange(15)), own[0, h], atol=TOLERANCE)
    plain = torch.as_tensor(X)[None] if options.get("batch_first", True) else torch.as_tensor(X)[:, None]
    with torch.no_grad():
        assert torch.allclose(run(source, X), model(plain).reshape(15, 32), atol=1e-4)


def test_state_dicts_fused_and_separate_give_the_weights_of_the_module(tiny):
    model = tiny("gpt2")
    (_, first), _ = weights_of_state(model.state_dict(), heads=4)
    assert torch.allclose(first.W_K, source_of(model).weights[0].W_K)
    assert torch.allclose(first.b_O, source_of(model).weights[0].b_O)
    for kind in ("bert", "distilbert", "mpnet", "albert"):
        model = tiny(kind)
        found, wanted = weights_of_state(model.state_dict(), heads=4)[-1][1], source_of(model).weights[-1]
        for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_V", "b_O"):
            assert torch.allclose(getattr(found, name), getattr(wanted, name)), (kind, name)


def test_the_model_is_left_as_it_was(tiny):
    from transformers import BertModel  # heavy: only where it is needed

    model = BertModel(tiny("bert").config)
    model.set_attn_implementation("sdpa")
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    run(source_of(model), ids(), lambda call: None)
    assert model.training and model.config._attn_implementation == "sdpa"
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_every_part_of_the_model_keeps_its_own_mode(encoder):
    """Frozen parts of a model in training are in evaluation mode, and the other way round."""
    model = encoder().train()
    model.layers[0].eval()
    model.layers[1].dropout.eval()
    before = [part.training for part in model.modules()]
    assert len(set(before)) == 2
    run(source_of(model), np.random.default_rng(0).normal(size=(5, 32)), lambda call: None)
    assert [part.training for part in model.modules()] == before


def test_layers_of_different_numbers_of_heads_are_said_to_be(encoder):
    parts = [encoder(layers=1, heads=H).layers[0] for H in (4, 2, 4)]
    found = sh.probe(torch.nn.Sequential(*parts), baselines=False, bounds=False)
    assert "3 layers of 2 to 4 heads" in found.summary and found.heads_per_layer == 4
    assert len(found.heads) == 10


def test_misuse_is_one_line(tmp_path, tiny):
    with pytest.raises(FileError, match=r"there is no .*nothing is fetched from a hub"):
        source_of("bert-base-uncased")
    with pytest.raises(FileError, match=r"has no config\.json"):
        source_of(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "rwkv"}')
    with pytest.raises(
        DomainError,
        match=r"does not know models of type 'rwkv'; it reads bert.*; an Architecture of your own",
    ):
        source_of(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(FileError, match="no weights"):
        source_of(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12345678901")
    with pytest.raises(FileError, match="cannot load"):
        source_of(tmp_path)
    with pytest.raises(DomainError, match="probe takes a path, a torch module, a state dict or a Model"):
        source_of(3)
    with pytest.raises(DomainError, match="no attention layers found in this Linear"):
        source_of(torch.nn.Linear(2, 2))
    with pytest.raises(DomainError, match="give heads="):
        source_of(tiny("bert").state_dict())
    with pytest.raises(ShapeError, match="5 heads do not divide"):
        source_of(tiny("bert").state_dict(), heads=5)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(FileError, match="cannot load"):
        source_of(tmp_path / "x.gguf")


def test_nan_weights_and_weights_that_are_not_there_are_refused(tmp_path, tiny):
    model = tiny("bert")
    with torch.no_grad():
        model.encoder.layer[1].attention.self.key.weight[0, 0] = float("nan")
    with pytest.raises(
        DomainError, match=r"encoder\.layer\.1\.attention\.self holds NaN or infinite weights"
    ):
        source_of(model)
    short = tiny("bert")
    short.save_pretrained(tmp_path)
    assert source_of(tmp_path).family == "bert"
    config = (
        (tmp_path / "config.json").read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(FileError, match="lacks 16 of its model's weights"):
        source_of(tmp_path)


def test_pickled_weights_are_read_only_if_asked_for_and_never_run(tmp_path, tiny):
    torch.save(tiny("bert").state_dict(), tmp_path / "w.pt")
    with pytest.raises(FileError, match="pickled weights, which can run code when read; if you trust"):
        source_of(tmp_path / "w.pt", heads=4)
    assert len(source_of(tmp_path / "w.pt", heads=4, pickle=True).weights) == 2

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    torch.save({"x": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(FileError, match="cannot be read as plain tensors"):
        source_of(tmp_path / "evil.pt", heads=4, pickle=True)
    assert not (tmp_path / "ran").exists()


def test_rotary_positions_turn_forwards(tiny):
    """The rotated keys themselves, not only their products with queries: key 0 stands still, key j turns by j w_i."""
    call = calls_of(source_of(tiny("llama")), ids(6))[0]
    plain = call.X @ call.weights.W_K[0]
    turned = call.keys(0)
    w = 10000.0 ** (-torch.arange(4) / 4)  # k = 8: four frequencies
    for j in range(6):
        a, b = plain[j, :4], plain[j, 4:]
        wanted = torch.cat(
            [a * torch.cos(j * w) - b * torch.sin(j * w), b * torch.cos(j * w) + a * torch.sin(j * w)]
        )
        assert torch.allclose(turned[j], wanted, atol=1e-4)


def test_a_layer_that_computes_something_else_is_refused(tiny):
    """A hook that squares the values stands for an architecture that only looks like BERT."""
    model = tiny("bert")
    model.encoder.layer[1].attention.self.value.register_forward_hook(lambda module, args, out: out**2)
    with pytest.raises(DomainError, match="layer 1 of this model is not plain softmax attention"):
        run(source_of(model), ids(), check)  # type: ignore[arg-type]
