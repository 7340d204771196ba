"""Models in float16, bfloat16 and float64 are measured as they would be in float32, and stay as they are."""

import numpy as np
import pytest
import torch

import sparsehead as sh
from sparsehead.probing.modules import weights_of_state

FORMATS = (torch.float16, torch.bfloat16, torch.float64)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_causal_models_in_other_formats_give_the_numbers_of_float32(kind, dtype, tiny):
    other, rounded = tiny(kind).to(dtype), tiny(kind).to(dtype).float()
    tokens = np.random.default_rng(0).integers(0, 100, (2, 16))
    wanted, found = (sh.probe(model, tokens=tokens, bounds=False) for model in (rounded, other))
    assert found.notes[0] == f"weights in {str(dtype)[6:]}: a float32 copy of the model was measured"
    assert not any("float32" in note for note in wanted.notes)
    for head in wanted.heads:
        same = found.head(head.layer, head.head)
        assert same.score(4) == pytest.approx(head.score(4), abs=1e-2)
        assert same.measured.entropy == pytest.approx(head.measured.entropy, abs=1e-2)
        flat = [h.baselines["uniform_attention"].effective_support for h in (head, same)]
        assert flat[0] == flat[1] == pytest.approx(8.5)  # row i may attend to i positions, i = 1 .. 16
    assert {value.dtype for value in other.parameters()} == {dtype}


def test_float16_is_near_the_model_that_was_rounded(tiny):
    tokens = np.random.default_rng(0).integers(0, 100, (2, 16))
    wanted, found = (
        sh.probe(model, tokens=tokens, bounds=False, baselines=False)
        for model in (tiny("gpt2", scale=2.0), tiny("gpt2", scale=2.0).half())
    )
    for head in wanted.heads:
        same = found.head(head.layer, head.head).measured
        assert same.effective_support == pytest.approx(head.measured.effective_support, rel=1e-2)
        assert same.score[4] == pytest.approx(head.measured.score[4], abs=1e-2)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_torch_encoders_in_other_formats(dtype, encoder):
    tokens = np.random.default_rng(0).normal(size=(2, 12, 32))
    other = encoder().to(dtype)
    wanted = sh.probe(encoder().to(dtype).float(), tokens=tokens, bounds=False, baselines=False)
    found = sh.probe(other, tokens=tokens, bounds=False, baselines=False, ablation=1)
    assert [h.score() for h in found.heads] == [h.score() for h in wanted.heads]
    assert next(other.parameters()).dtype == dtype


def test_state_dicts_in_bfloat16_and_parameters_that_require_gradients(tiny):
    model = tiny("gpt2")
    wanted = weights_of_state(model.state_dict(), heads=4)
    for state in (dict(model.named_parameters()), tiny("gpt2").bfloat16().state_dict()):
        for (name, found), (same, weights) in zip(weights_of_state(state, heads=4), wanted, strict=True):
            assert name == same and torch.allclose(found.b_O, weights.b_O, rtol=1e-2)
            assert torch.allclose(found.W_Q, weights.W_Q, rtol=1e-2) and not found.b_O.requires_grad
    assert len(sh.probe(dict(model.named_parameters()), heads=4).heads) == 8


def test_layers_of_a_file_are_counted_as_people_count(tmp_path):
    """safetensors writes names in the order of texts: h.0, h.1, h.10, h.11, h.2, ..."""
    from safetensors.torch import save_file

    rng = np.random.default_rng(0)
    state = {}
    for i in range(12):
        for name, shape in {"c_attn": (4, 12), "c_proj": (4, 4)}.items():
            state[f"h.{i}.attn.{name}.weight"] = torch.as_tensor(rng.normal(size=shape)).float()
    save_file(state, tmp_path / "w.safetensors")
    wanted = [f"h.{i}.attn" for i in range(12)]
    found = sh.probe(tmp_path / "w.safetensors", heads=2, baselines=False, bounds=False)
    assert {head.layer: head.label for head in found.heads} == dict(enumerate(wanted))
    assert list(sh.norms(tmp_path / "w.safetensors", heads=2)) == wanted
