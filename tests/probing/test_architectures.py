"""Attention recomputed by an `Architecture` is what transformers returns, for each setting that changes scores."""

from typing import Any

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead._base.errors import DomainError, ShapeError
from sparsehead.capacity.architecture import OUTSIDE
from sparsehead.probing.load import source_of
from sparsehead.probing.running import check, run

CLOSE = 5e-6  # of attention weights; float32 rounding of scores up to 30 is about 2e-6
ROPE = {"rope_type": "default", "rope_theta": 1e4}


def ids(n=20, seed=0):
    return np.random.default_rng(seed).integers(0, 100, n)


def own_attentions(model, **given):
    """The attention weights that transformers returns with eager attention, encoder before decoder."""
    with torch.no_grad():
        out = model(**given, output_attentions=True)
    return out.attentions if "attentions" in out else (*out.encoder_attentions, *out.decoder_attentions)


def compare(model, tokens, **given):
    """Raise unless weights of all heads of all layers agree with those of transformers, and return the calls."""
    calls: list[Any] = []
    source = source_of(model)
    run(source, tokens, calls.append)
    theirs = own_attentions(model, **given)
    assert len(calls) == len(theirs)
    for call, weights in zip(calls, theirs, strict=True):
        check(call)
        ours = torch.stack([call.attention(h, torch.arange(call.T)) for h in range(call.weights.H)])
        assert ours.shape == weights[0].shape
        assert float((ours - weights[0]).abs().max()) < CLOSE
        assert float(weights.max()) > 1.3 / call.T  # not equal because all is uniform
    return calls


def of_ids(model, n=20, **more):
    given = torch.as_tensor(ids(n))[None]
    if model.config.is_encoder_decoder:
        more["decoder_input_ids"] = given
    return compare(model, ids(n), input_ids=given, **more)


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("qwen3", {}),
    ("qwen3", {"num_key_value_heads": 1, "attention_bias": True}),
    ("qwen3", {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4}),
    ("gemma", {}),
    ("gemma", {"num_key_value_heads": 1, "attention_bias": True}),
    ("gemma2", {}),
    ("gemma2", {"attn_logit_softcapping": None}),
    ("gemma2", {"attn_logit_softcapping": 0.5, "sliding_window": 3}),
    ("gemma2", {"query_pre_attn_scalar": 100, "num_key_value_heads": 4}),
    ("gemma3_text", {}),
    ("gemma3_text", {"query_pre_attn_scalar": 100, "num_key_value_heads": 1}),
    ("gemma3_text", {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 3}),
    ("phi3", {}),
    ("phi3", {"rope_parameters": {**ROPE, "partial_rotary_factor": 1.0}, "sliding_window": None}),
    ("phi3", {"num_key_value_heads": 4}),
    ("phi3", {"num_key_value_heads": 1, "head_dim": 12}),
    ("gpt_neox", {}),
    ("gpt_neox", {"attention_bias": False, "rope_parameters": {**ROPE, "partial_rotary_factor": 0.25}}),
    ("gpt_neox", {"rope_parameters": {**ROPE, "partial_rotary_factor": 1.0}, "use_parallel_residual": False}),
    ("t5", {}),
    ("t5", {"num_decoder_layers": 1, "d_kv": 16, "is_gated_act": True}),
    ("t5", {"relative_attention_num_buckets": 6, "relative_attention_max_distance": 9}),
    ("granite", {}),
    ("electra", {}),
]


@pytest.mark.parametrize(("kind", "options"), SETTINGS, ids=str)
def test_attention_is_that_of_transformers(kind, options, tiny):
    of_ids(tiny(kind, **options), **{} if kind == "electra" else {"use_cache": False})


@pytest.mark.parametrize(
    "options", [{}, {"qkv_bias": False}, {"num_channels": 3, "image_size": [8, 16]}], ids=str
)
def test_attention_to_patches_is_that_of_transformers(options, tiny):
    model = tiny("vit", **options)
    shape = {"num_channels": 2, "image_size": [12, 12]} | options
    picture = np.random.default_rng(0).normal(size=(shape["num_channels"], *shape["image_size"]))
    source = source_of(model)
    from sparsehead.probing.inputs import inputs_of

    found = inputs_of(source, text=None, tokens=[picture], tokenizer=None, longest=None, seed=0)
    assert found is not None
    calls = compare(model, found.sequences[0], pixel_values=torch.as_tensor(picture)[None].float())
    assert calls[0].T == 1 + len(found.sequences[0]) == 1 + np.prod(shape["image_size"]) // 16


@pytest.mark.parametrize("name", ["T5EncoderModel", "T5ForConditionalGeneration"])
def test_both_stacks_of_t5_are_read_and_the_encoder_alone(name, tiny):
    import transformers

    torch.manual_seed(0)
    config = tiny("t5").config
    if name == "T5EncoderModel":
        config.is_encoder_decoder = False
    model = getattr(transformers, name)._from_config(config, attn_implementation="eager").eval()
    found = sh.probe(model, tokens=[ids(9)], baselines=False, bounds=False)
    alone = name == "T5EncoderModel"
    assert found.layers == (2 if alone else 4) and found.recomputed_error < 1e-5
    assert any("the decoder was given the same tokens" in note for note in found.notes) is not alone


def test_the_language_model_of_a_multimodal_gemma_is_read(tiny):
    from transformers import Gemma3Config, Gemma3Model

    text = tiny("gemma3_text").config.to_dict()
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    vision = {**sizes, "image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    model = Gemma3Model._from_config(config, attn_implementation="eager").eval()
    found = sh.probe(model, tokens=[ids(9)], baselines=False, bounds=False)
    assert (found.family, found.layers, found.heads_per_layer) == ("gemma3_text", 2, 4)
    assert found.recomputed_error < 1e-5


KINDS = ("qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "gpt_neox", "t5", "vit")


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_probed_from_its_folder(kind, tiny, tmp_path):
    """Saved by transformers, loaded from the disk, with baselines, influence, ablation and what bounds say."""
    tiny(kind, scale=2.0).save_pretrained(tmp_path / kind)
    given: dict[str, Any] = {} if kind == "vit" else {"tokens": [ids(8), ids(8, seed=1)]}
    found = sh.probe(tmp_path / kind, influence=1, total=1, ablation=1, form="ours", **given)
    assert found.family == kind and found.recomputed_error < 1e-5
    assert len(found.heads) == (16 if kind == "t5" else 8)
    head = found.heads[0]
    assert set(head.baselines) == {"random_weights", "shuffled_input", "uniform_attention"}
    assert len(head.influence["total"].positions) == (9 if kind == "vit" else 8)
    assert any(found.head(layer, 0).ablation > 1e-3 for layer in range(found.layers))
    reasons = {
        "qwen3": ("rotary", "norms"), "gemma": ("rotary",), "gemma2": ("rotary", "cap"), "phi3": ("rotary",),
        "gemma3_text": ("rotary", "norms"), "gpt_neox": ("rotary",), "t5": ("relative bias",), "vit": (),
    }[kind]  # fmt: skip
    assert [note for note in found.notes if note in OUTSIDE.values()] == [OUTSIDE[name] for name in reasons]
    assert head.bound.proven is (not reasons)


def test_each_part_of_the_formula_is_needed(tiny):
    """Without the norms, the cap, the rotation or the mask a recomputed layer is off."""
    from dataclasses import replace

    for kind, names in {
        "qwen3": ("query_norm", "key_norm"), "gemma3_text": ("query_norm", "key_norm"), "gemma2": ("cap",)
    }.items():  # fmt: skip
        call = of_ids(tiny(kind), use_cache=False)[1]
        for name in names:
            assert replace(call, weights=replace(call.weights, **{name: None})).disagreement() > 1e-3
    for kind in ("phi3", "gpt_neox", "t5"):
        call = of_ids(tiny(kind), use_cache=False)[1]
        assert replace(call, mask=None).disagreement() > 1e-3
        if kind != "t5":
            assert replace(call, rotate=None).disagreement() > 1e-3


def test_a_token_s_influence_on_a_picture_model_is_compared_with_the_attention_to_its_patch(tiny):
    """The patch at position t of the picture is position t + 1 of the layers, behind [CLS]."""
    from sparsehead.probing.influence import total_influence
    from sparsehead.probing.inputs import Inputs

    source = source_of(tiny("vit"))
    patches = np.random.default_rng(0).normal(size=(2, 9, 32))
    inputs = Inputs(tuple(patches), ids=False)
    seen: list[Any] = []
    run(source, patches[0], lambda call: seen.append(call.attention(0, torch.arange(10)).mean(dim=0)))
    from sparsehead.probing import influence as module

    (first, *_), *_ = total_influence(source, inputs, count=1, rows=torch.arange)
    expected = module.spearman(np.array(first.positions), seen[0].numpy()[1:])
    assert first.correlation == pytest.approx(expected)


def test_pictures_are_checked(tiny):
    model = tiny("vit")
    for tokens, words in (
        ([np.zeros((2, 12, 8))], r"arrays \(2, 12, 12\); \(2, 12, 8\) arrived"),
        ([np.full((2, 12, 12), np.nan)], "NaN or infinite"),
        ([np.full((2, 12, 12), "a")], "arrays of numbers"),
    ):
        with pytest.raises((DomainError, ShapeError), match=words):
            sh.probe(model, tokens=tokens)
    with pytest.raises(DomainError, match="pictures have all their patches"):
        sh.probe(model, longest=4)
    with pytest.raises(DomainError, match="text needs a model with a vocabulary"):
        sh.probe(model, text=["a cat"])
