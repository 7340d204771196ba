"""`bound` and `norms` for weights that are no Model: torch modules, state dicts, safetensors files."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import ShapeError
from sparsehead.capacity.declared import declare_layer
from sparsehead.capacity.families import architecture_by_names
from sparsehead.capacity.pricing import Pricing
from sparsehead.capacity.state_dicts import attention_layers

HEADS, D = 2, 6
# Where the weights come from is compared, not forms: sample sizes by any other take a hundred times as long.
OURS: dict[str, Any] = {"form": "ours"}


def layer_state(*, bias=True, seed=0):
    """One attention layer as (out, in) matrices, and the same as W_Q, W_K, W_V, W_C acting on rows."""
    rng = np.random.default_rng(seed)
    state = {f"{n}_proj.weight": rng.normal(size=(D, D)) for n in "qkvo"}
    if bias:
        state |= {f"{n}_proj.bias": rng.normal(size=D) for n in "qkv"}
    return state


def by_hand(state, h):
    """W_QK and W_VO of head h with query and value biases as one more row."""
    k = D // HEADS
    s = slice(h * k, (h + 1) * k)
    Q, K, V, C = (state[f"{n}_proj.weight"].T for n in "qkvo")
    Q, K, V, C = Q[:, s] / math.sqrt(k), K[:, s], V[:, s], C[s]
    if "q_proj.bias" in state:
        Q = np.vstack([Q, state["q_proj.bias"][s] / math.sqrt(k)])
        V = np.vstack([V, state["v_proj.bias"][s]])
    return Q @ K.T, V @ C


def test_encoders_and_decoders_have_heads_of_their_own():
    state = {f"{side}.0.{name}": W for side in ("encoder", "decoder") for name, W in layer_state().items()}
    config = SimpleNamespace(encoder_attention_heads=3, decoder_attention_heads=2)
    found = {prefix: place.layer.H for prefix, place in attention_layers(state, heads=None, config=config)}
    assert found == {"decoder.0": 2, "encoder.0": 3}


@pytest.mark.parametrize(
    ("kind", "prefix", "query", "output"),
    [
        ("bert", "encoder.layer.0.attention.self", "query", "encoder.layer.0.attention.output.dense"),
        ("distilbert", "transformer.layer.0.attention", "q_lin", "transformer.layer.0.attention.out_lin"),
        ("albert", "albert_layers.0.attention", "query", "albert_layers.0.attention.dense"),
        ("mpnet", "encoder.layer.0.attention.attn", "q", "encoder.layer.0.attention.attn.o"),
        ("gpt2", "h.0.attn", "c_attn", "h.0.attn.c_proj"),
        ("llama", "model.layers.0.self_attn", "q_proj", "model.layers.0.self_attn.o_proj"),
        ("opt", "decoder.layers.0.self_attn", "q_proj", "decoder.layers.0.self_attn.out_proj"),
        ("gpt_neo", "h.0.attn.attention", "q_proj", "h.0.attn.attention.out_proj"),
        ("gptj", "h.0.attn", "q_proj", "h.0.attn.out_proj"),
        ("codegen", "h.0.attn", "qkv_proj", "h.0.attn.out_proj"),
        ("mpt", "blocks.0.attn", "Wqkv", "blocks.0.attn.out_proj"),
        ("t5", "encoder.block.0.layer.0.SelfAttention", "q", "encoder.block.0.layer.0.SelfAttention.o"),
        ("plain attention", "h.0.attention", "q", "h.0.attention.o"),
    ],
)
def test_families_are_known_by_the_names_that_transformers_gives(kind, prefix, query, output):
    state = {f"{prefix}.{query}.weight": 0, f"{output}.weight": 0}
    assert architecture_by_names(state, prefix)[0] == kind


def test_keys_and_values_of_another_width_than_the_query_are_refused():
    state = layer_state(bias=False)
    state |= {f"{n}_proj.weight": np.ones((D, D - 1)) for n in "kv"}
    with pytest.raises(ShapeError, match=r"the key has shape \(6, 5\), the query \(6, 6\)"):
        list(attention_layers(state, heads=HEADS))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", ["ours", "paper", "parametric", "minimum"])
def test_a_head_of_a_layer_is_the_class_of_heads_with_its_norms(bias, form):
    """Query and value biases are met by a 1 that is appended to the query and to the attended token."""
    state = layer_state(bias=bias)
    call: dict[str, Any] = {"m": 10**4, "T": 16, "form": form, "a_posteriori": False}
    for h in range(HEADS):
        found = {
            term.name: term for term in sh.bound(state, heads=HEADS, head=h, norms={"BX": 3.0}, **call).items
        }
        QK, VO = by_hand(state, h)
        norms: dict[str, Any] = {
            "QK": np.linalg.norm(QK),
            "QK21": np.linalg.norm(QK, axis=1).sum(),
            "V": np.linalg.norm(VO, ord=2),
            "V21": np.linalg.norm(VO, axis=0).sum(),
            "k": D,
            "d": D + bias,
        }
        longer = math.sqrt(10) if bias else 3.0
        score = sh.bound(norms={**norms, "BX": 3.0, "BZ": longer}, **call).items[0]
        value = sh.bound(norms={**norms, "BX": longer}, **call).items[1]
        if form in (
            "ours",
            "paper",
        ):  # parametric forms count entries of W_QK, here (D + 1) D and there (D + 1)^2
            assert found["QK"].log_c == pytest.approx(score.log_c, rel=1e-12)
            assert found["V"].log_c == pytest.approx(value.log_c, rel=1e-12)
        grown = math.log(longer / 3.0)  # the value that a score moves
        assert found["QK"].log_p == pytest.approx(score.log_p + grown, rel=1e-12, abs=1e-12)
        assert found["V"].log_p == pytest.approx(value.log_p, abs=1e-12)


def test_longest_query_and_read_out_enter_where_the_class_of_heads_has_them():
    state = layer_state(bias=False)
    QK, VO = by_hand(state, 1)
    norms: dict[str, Any] = {
        "QK": np.linalg.norm(QK),
        "V": np.linalg.norm(VO, ord=2),
        "V21": np.linalg.norm(VO, axis=0).sum(),
    }
    given: dict[str, Any] = {"BX": 3.0, "BZ": 2.0, "w": 0.5}
    call: dict[str, Any] = {"m": 10**4, "T": 16, "a_posteriori": False, **OURS}
    found = sh.bound(state, heads=HEADS, head=1, norms=given, **call)
    wanted = sh.bound(norms={**norms, **given, "k": D, "d": D}, **call)
    assert found.log_covering == pytest.approx(wanted.log_covering, rel=1e-9)
    assert (found.gap, found.samples_needed) == pytest.approx((wanted.gap, wanted.samples_needed), rel=2e-3)
    assert [t.name for t in found.items] == [t.name for t in wanted.items] == ["QK", "V", "w"]


def test_heads_of_a_layer_add_up_and_its_output_bias_is_fixed():
    state = layer_state() | {"o_proj.bias": np.full(D, 1e9)}
    call: dict[str, Any] = {
        "m": 10**4,
        "T": 16,
        "heads": HEADS,
        "norms": {"BX": 3.0},
        "a_posteriori": False,
        **OURS,
    }
    whole = {term.name: (term.c, term.p) for term in sh.bound(state, **call).items}
    heads = {
        f"head{h}.{term.name}": (term.c, term.p)
        for h in range(HEADS)
        for term in sh.bound(state, head=h, **call).items
    }
    assert whole == heads
    with pytest.raises(sh.SparseheadError, match="head is 0 to 1; got 2"):
        sh.bound(state, head=2, **call)
    with pytest.raises(
        sh.SparseheadError, match="norms has BX and perhaps BZ and w; V is read off the weights"
    ):
        sh.bound(state, **{**call, "norms": {"BX": 1, "V": 2}})


def test_a_query_of_the_layer_stays_within_what_its_norms_allow():
    """The layer's radius bounds its output: with biases, on random tokens."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(D, HEADS, batch_first=True).double()
    with torch.no_grad():
        module.in_proj_bias.normal_()
    X = torch.randn(50, 9, D, dtype=torch.float64)
    out, _ = module(X, X, X)
    (found,) = (a.layer for _, a in attention_layers(module.state_dict(), heads=HEADS))
    BX = float(X.norm(dim=-1).max())
    lengths = sum(
        np.linalg.norm(np.vstack([found.W_V[h], found.b_V[h]]) @ found.W_C[h], 2) for h in range(HEADS)
    )
    items = declare_layer(found, T=9, lengths={"BX": BX, "w": 1.0}, a_posteriori=False, margin=1.0).make(
        10, Pricing("ours")
    )
    assert items[-1].name == "w"
    assert out.norm(dim=-1).max() <= lengths * math.hypot(BX, 1)


def test_bound_is_the_same_from_a_module_its_state_dict_a_file_and_its_norms(tmp_path):
    from safetensors.torch import save_file
    from torch import nn

    module = nn.MultiheadAttention(D, HEADS)
    save_file(module.state_dict(), tmp_path / "layer.safetensors")
    call: dict[str, Any] = dict(m=10**9, T=16, heads=HEADS, norms={"BX": 2.0}, **OURS)
    first = sh.bound(module, **call)
    for weights in (
        module,
        module.state_dict(),
        tmp_path / "layer.safetensors",
        str(tmp_path / "layer.safetensors"),
    ):
        found = sh.bound(weights, **call)
        assert found == first and found.proven
        assert found.union_penalty > 0  # norms seen after training
        assert "attention layer (the only one) alone" in found.notes[0]


def test_of_several_layers_one_is_named():
    state = {f"{i}.{name}": x for i in (0, 1) for name, x in layer_state(seed=i).items()}
    with pytest.raises(sh.SparseheadError, match=r"2 attention layers; give layer=, one of 0, 1\."):
        sh.bound(state, m=100, T=8, heads=HEADS, norms={"BX": 1})
    one = sh.bound(state, m=100, T=8, heads=HEADS, layer="1", norms={"BX": 1}, **OURS)
    alone = sh.bound(layer_state(seed=1), m=100, T=8, heads=HEADS, norms={"BX": 1}, **OURS)
    assert one.log_covering == alone.log_covering


def test_layers_are_in_the_order_of_their_numbers_whatever_the_order_of_the_names():
    names = [f"h.{i}" for i in (10, 2, 0, 11, 1)]
    state = {f"{name}.{part}": x for name in names for part, x in layer_state().items()}
    assert list(sh.norms(state, heads=HEADS)) == ["h.0", "h.1", "h.2", "h.10", "h.11"]
    huge = {f"{'9' * n}.{part}": x for n in (5001, 5000) for part, x in layer_state().items()}
    assert [len(name) for name in sh.norms(huge, heads=HEADS)] == [5000, 5001]


def test_a_model_file_and_a_torch_module_of_ours_are_the_model(tmp_path):
    model = sh.build("x1 & x2", T=8)
    path = sh.save(model, tmp_path / "m.safetensors")
    module = sh.to_torch(model)
    plain = sh.bound(model, m=10**6, **OURS)
    for weights in (path, str(path), module):
        assert sh.bound(weights, m=10**6, **OURS) == plain
        assert sh.norms(weights) == sh.norms(model)
    assert sh.verify(str(path), "x1 & x2").correct


def test_a_module_of_ours_gives_its_weights_back_as_they_are_now():
    import torch

    model = sh.build("x1 & x2", T=8)
    module = sh.to_torch(model)
    bits = np.random.default_rng(0).integers(0, 2, (50, 8))
    assert np.array_equal(module.to_model()(bits), model(bits))
    with torch.no_grad():
        module.w.mul_(-1)
    assert np.allclose(module.to_model()(bits), 2 * model.bias - model(bits))
    assert not sh.verify(module.to_model(), "x1 & x2").correct


def test_a_pickle_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "w.pt").write_bytes(b"PK\x03\x04 not safetensors")
    with pytest.raises(sh.SparseheadError, match="is a pickle"):
        sh.norms(tmp_path / "w.pt", heads=2)
