"""Scores and outputs by the extracted weights are those that transformers computes, for every family in the table."""

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead.capacity.families import ARCHITECTURES
from sparsehead.capacity.state_dicts import attention_layers

CLOSE = 2e-5  # relative to the largest entry; float32 sums of some 40 products are off by about 1e-6


def layers_of(model):
    return dict(attention_layers(model.state_dict(), heads=None, config=model.config))


def recorded(model, seed):
    """(prefix, queries' tokens, keys' tokens, scores, output of the projection) of each call, by transformers."""
    calls, family, softmax = [], ARCHITECTURES[model.config.model_type], torch.nn.functional.softmax

    def enter(prefix):
        def hook(module, args, kwargs):
            z = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
            X = kwargs.get("key_value_states")
            calls.append([prefix, z[0], z[0] if X is None else X[0]])

        return hook

    def seen(scores, *args, **kwargs):
        calls[-1].append(scores[0])
        return softmax(scores, *args, **kwargs)

    with ExitStack() as stack:
        for prefix in layers_of(model):
            module = model.get_submodule(prefix)
            stack.callback(module.register_forward_pre_hook(enter(prefix), with_kwargs=True).remove)
            projection = model.get_submodule(family.at(prefix, family.output))
            hook = projection.register_forward_hook(lambda m, args, out: calls[-1].append(out[0]))
            stack.callback(hook.remove)
        stack.callback(setattr, torch.nn.functional, "softmax", softmax)
        torch.nn.functional.softmax = seen  # type: ignore[assignment]
        ids = torch.as_tensor(np.random.default_rng(seed).integers(3, 100, (1, 12)))
        given: dict[str, Any] = {"input_ids": ids}
        if family.tokens == "pictures":
            pixels = np.random.default_rng(seed).normal(size=(1, 2, 12, 12))
            given = {"pixel_values": torch.as_tensor(pixels).float()}
        if getattr(model.config, "is_encoder_decoder", False):
            given["decoder_input_ids"] = ids[:, :7]
        with torch.no_grad():
            model(**given)
    return [(name, *(t.double().numpy() for t in tensors)) for name, *tensors in calls]


def affine(X, W, b, h):
    return X @ W[h] + (0 if b is None else b[h])


def scores_of(layer, z, X):
    """Scores of the library's own `Layer`, (H, queries, keys)."""
    return np.array(
        [
            affine(z, layer.W_Q, layer.b_Q, h) @ affine(X, layer.W_K, layer.b_K, h).T / layer.temperature
            for h in range(layer.H)
        ]
    )


def outputs_of(layer, X, scores):
    """The layer's output if its scores are those given."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    heads = [weights[h] @ affine(X, layer.W_V, layer.b_V, h) @ layer.W_C[h] for h in range(layer.H)]
    return sum(heads) + (0 if layer.b_C is None else layer.b_C)


def compare(model):
    """Raise unless every call of every layer agrees with the table's facts about the family."""
    found, family = layers_of(model), ARCHITECTURES[model.config.model_type]
    differences: list[Any] = []
    for seed in (0, 1):
        differences.append([])
        for prefix, z, X, theirs, output in recorded(model, seed):
            layer, positions = found[prefix].layer, found[prefix].positions
            ours, allowed = scores_of(layer, z, X), theirs > -1e30
            if (cap := family.cap(model.config)) is not None:
                ours = cap * np.tanh(ours / cap)
            off = np.where(allowed, theirs - ours, 0.0)
            size = np.abs(np.where(allowed, theirs, 0.0)).max()
            assert size > 0.1  # not equal because all is small
            close = CLOSE * size
            if positions == "rotary":  # a token is not turned against itself
                largest = np.abs(np.diagonal(off, axis1=1, axis2=2)).max()
                # norms of queries and keys are compared in test_families
                assert close < np.abs(off).max() and (largest < close or family.norms)
            elif positions != "relative bias":
                assert np.abs(off).max() < close
            differences[-1].append((off, close))
            made = outputs_of(layer, X, theirs)
            assert np.abs(made - output).max() < CLOSE * np.abs(output).max()
    if model.config.model_type in [
        kind for kind, f in ARCHITECTURES.items() if f.positions == "relative bias"
    ]:
        for (one, close), (two, _) in zip(*differences, strict=True):
            assert np.abs(one - two).max() < 3 * close  # a bias depends on positions, not on tokens
        assert np.abs(differences[0][0][0]).max() > 0.05


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_scores_and_outputs_are_those_of_transformers(kind, tiny):
    compare(tiny(kind))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gpt2", {"scale_attn_weights": False}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}),
        ("llama", {"head_dim": 12}),
        ("llama", {"attention_bias": True, "num_key_value_heads": 1}),
        ("llama", {"num_key_value_heads": 4}),
        ("mistral", {"head_dim": 6, "num_key_value_heads": 1, "sliding_window": 4}),
        ("mistral", {"sliding_window": None}),
        ("gemma", {"num_key_value_heads": 1}),
        ("granite", {"attention_multiplier": 2.5, "attention_bias": True}),
        ("albert", {"num_hidden_groups": 1}),
        ("albert", {"num_hidden_groups": 1, "inner_group_num": 2}),
        ("bert", {"is_decoder": True}),
        ("opt", {"enable_bias": False}),
        ("gptj", {"rotary_dim": 8}),
        ("codegen", {"rotary_dim": 2, "n_head": 8}),
        ("t5", {"d_kv": 16, "is_gated_act": True}),
        ("t5", {"num_decoder_layers": 1}),
    ],
    ids=str,
)
def test_settings_that_change_scores_are_read(kind, options, tiny):
    compare(tiny(kind, **options))


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_names_alone_give_the_same_facts_and_say_that_they_are_assumed(kind, tiny):
    """Granite's factor is in its configuration alone; BART's decoder has other heads than its encoder."""
    model = tiny(  # type: ignore[arg-type]
        kind,
        **{
            "granite": {"attention_multiplier": 8**-0.5},
            "bart": {"decoder_attention_heads": 4},
            "gemma2": {"query_pre_attn_scalar": 10},
            "gemma3_text": {"query_pre_attn_scalar": 10},
        }.get(kind, {}),
    )
    by_names = dict(attention_layers(model.state_dict(), heads=4))
    for prefix, found in layers_of(model).items():
        same = by_names[prefix]
        assert (same.layer.temperature, same.positions) == (
            pytest.approx(found.layer.temperature),
            found.positions,
        )
        assert np.array_equal(same.layer.W_K, found.layer.W_K) and np.array_equal(
            same.layer.W_V, found.layer.W_V
        )
        assert "no configuration came with the weights" in same.notes[0]
        assert not any("no configuration" in note for note in found.notes)
    if kind != "granite":  # whose factor is rounded otherwise
        assert sh.norms(model) == sh.norms(model.state_dict(), heads=4)


def test_a_file_with_its_configuration_beside_it_is_read_by_it(tiny, tmp_path):
    model = tiny("granite")
    model.save_pretrained(tmp_path)
    found = sh.norms(tmp_path / "model.safetensors")
    assert found == sh.norms(model) and not any("no configuration" in note for note in found.notes)


def test_other_types_and_contradictions_are_refused(tiny):
    from transformers import Olmo2Config, Olmo2Model

    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
    }
    model = Olmo2Model(Olmo2Config(vocab_size=100, intermediate_size=48, num_key_value_heads=2, **sizes))
    with pytest.raises(
        DomainError, match="not known how models of type 'olmo2' compute their scores; known are bert"
    ):
        sh.norms(model)
    with pytest.raises(DomainError, match="the configuration says 4 heads; heads=2 contradicts it"):
        sh.norms(tiny("bert"), heads=2)
