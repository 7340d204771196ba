"""`bound` and `norms` for weights that are no Model: torch modules, state dicts, safetensors files."""

import math

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.capacity.foreign import layer_class

HEADS, D = 2, 6
# Where the weights come from is compared, not forms: sample sizes by any other take a hundred times as long.
OURS = {"form": "ours"}


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


@pytest.mark.parametrize("bias", [True, False])
def test_the_class_of_a_layer_has_the_largest_norms_of_its_heads(bias):
    state = layer_state(bias=bias)
    found, _ = layer_class(state, heads=HEADS, layer=None, given={"BX": 3.0})
    QK, VO = zip(*(by_hand(state, h) for h in range(HEADS)))
    expected = {
        "QK": max(np.linalg.norm(M) for M in QK),
        "QK21": max(np.linalg.norm(M, axis=1).sum() for M in QK),
        "QK11": max(np.abs(M).sum() for M in QK),
        "V": max(np.linalg.norm(M, ord=2) for M in VO),
        "V21": max(np.linalg.norm(M, axis=0).sum() for M in VO),
        "V11": max(np.abs(M).sum() for M in VO),
        "BX": math.sqrt(10) if bias else 3.0,
        "H": HEADS, "k": D, "d": D + bias,
    }  # fmt: skip
    assert found == pytest.approx(expected, rel=1e-12)  # sums of 6 products in two orders


def test_a_query_of_the_layer_stays_within_what_its_norms_allow():
    """||output|| <= H ||W_VO|| sqrt(B_X^2 + 1), and scores move by at most ||W_QK||_F ||x|| ||z||: with biases."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(D, HEADS, batch_first=True).double()
    with torch.no_grad():
        module.in_proj_bias.normal_()
    X = torch.randn(50, 9, D, dtype=torch.float64)
    out, _ = module(X, X, X)
    found, _ = layer_class(
        module.state_dict(), heads=HEADS, layer=None, given={"BX": float(X.norm(dim=-1).max())}
    )
    assert out.norm(dim=-1).max() <= HEADS * found["V"] * found["BX"]


def test_bound_is_the_same_from_a_module_its_state_dict_a_file_and_its_norms(tmp_path):
    from safetensors.torch import save_file
    from torch import nn

    module = nn.MultiheadAttention(D, HEADS)
    save_file(module.state_dict(), tmp_path / "layer.safetensors")
    call = dict(m=10**9, T=16, heads=HEADS, norms={"BX": 2.0}, **OURS)
    given, name = layer_class(module.state_dict(), heads=HEADS, layer=None, given={"BX": 2.0})
    by_norms = sh.bound(norms=given, m=10**9, T=16, a_posteriori=True, **OURS)
    for weights in (
        module,
        module.state_dict(),
        tmp_path / "layer.safetensors",
        str(tmp_path / "layer.safetensors"),
    ):
        found = sh.bound(weights, **call)
        assert found.log_covering == pytest.approx(by_norms.log_covering, rel=1e-6)  # float32 weights
        assert found.gap == pytest.approx(by_norms.gap, rel=1e-6)
        assert found.union_penalty > 0  # norms seen after training
        assert f"attention layer {name} alone" in found.notes[0]


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
    with pytest.raises(sh.SparseheadError, match="not a safetensors file"):
        sh.norms(tmp_path / "w.pt", heads=2)
