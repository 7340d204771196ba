"""Norms against independent oracles, and from every layout in which weights arrive."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.capacity import norms
from sparsehead.capacity.norms import head_norms, matrix_norm, matrix_norms, product_norms, spectral_norm
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer
from sparsehead.heads.model import Model

M = np.array([[3.0, 0.0], [4.0, 1.0], [0.0, 0.0]])


@pytest.mark.claim("matrix-norms")
def test_matrix_norms_convention_columns_first():
    assert matrix_norm(M, 2, 1) == 6
    assert matrix_norm(M.T, 2, 1) == pytest.approx(3 + math.sqrt(17))
    assert matrix_norm(M.T, 2, np.inf) == pytest.approx(math.sqrt(17))
    assert matrix_norm(M, 1, 1) == 8


@pytest.mark.claim("matrix-norms")
@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8))
def test_matrix_norms_chain(seed, rows, columns):
    """spec <= F <= (2,1) <= sqrt(#columns) F, and the longest column is no longer than spec."""
    W = stream(seed, "W").normal(size=(rows, columns))
    n = matrix_norms(W)
    slack = 1 + 1e-12
    assert np.linalg.norm(W, axis=0).max() <= n.spectral * slack
    assert (
        n.spectral <= n.frobenius * slack <= n.n21 * slack**2 <= math.sqrt(columns) * n.frobenius * slack**3
    )
    assert n.n21 <= n.n11 * slack


def test_matrix_norms_chain_is_attained():
    rank_one = np.outer([1.0, 2.0], [3.0])
    n = matrix_norms(rank_one)
    assert n.spectral == pytest.approx(n.frobenius) == pytest.approx(n.n21)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.integers(1, 12))
def test_product_norms_equal_those_of_the_product(seed, a, b, k):
    rng = stream(seed, "factors")
    A, B = rng.normal(size=(a, k)), rng.normal(size=(b, k))
    fast, slow = product_norms(A, B), matrix_norms(A @ B.T)
    for name in ("frobenius", "spectral", "n21", "n21_T", "n11"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=1e-9)
    assert (fast.rows, fast.columns) == (a, b)


def test_matrix_norms_equal_torch():
    torch = pytest.importorskip("torch")
    W = stream(1, "torch").normal(size=(5, 7))
    t, n = torch.from_numpy(W), matrix_norms(W)
    assert n.spectral == pytest.approx(float(torch.linalg.matrix_norm(t, 2)))
    assert n.frobenius == pytest.approx(float(torch.linalg.matrix_norm(t, "fro")))
    assert n.n21 == pytest.approx(float(torch.linalg.vector_norm(t, dim=0).sum()))
    linear = torch.nn.Linear(5, 7)  # weight is (out, in): outputs are its rows
    assert matrix_norm(linear.weight.detach().numpy().T.astype(float), 2, 1) == pytest.approx(
        float(linear.weight.detach().norm(dim=1).sum()), rel=1e-6
    )


def test_spectral_norms_equal_weightwatcher():
    """WeightWatcher reports squared spectral norms; an optional extra."""
    watcher = pytest.importorskip("weightwatcher")
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(60, 70))
    details = watcher.WeightWatcher(model=model).analyze(min_evals=1)
    W = model[0].weight.detach().numpy().astype(float)
    assert float(details.lambda_max.iloc[0]) == pytest.approx(spectral_norm(W) ** 2, rel=1e-4)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_matrix_norms_neither_overflow_nor_underflow(scale):
    n = matrix_norms(M * scale / 8)
    assert n.n21 / scale == pytest.approx(6 / 8) and n.spectral > 0 and n.frobenius > 0


def test_matrix_norms_of_zero_and_of_nan(unchecked):
    assert matrix_norms(np.zeros((2, 3))).n21 == 0
    with pytest.raises(DomainError, match="not finite"):
        matrix_norm(np.array([[np.nan]]), 2, 1)
    with pytest.raises(DomainError, match="not finite"):
        spectral_norm(np.array([[np.inf]]))
    with pytest.raises(ShapeError, match="inner widths"):
        product_norms(np.ones((2, 3)), np.ones((2, 4)))


def test_head_norms_include_temperature_and_biases():
    rng = stream(3, "head")
    W_Q, W_K, W_V, W_C = rng.normal(size=(3, 6, 2)).tolist() + [rng.normal(size=(2, 6)).tolist()]
    W_Q, W_K, W_V, W_C = map(np.array, (W_Q, W_K, W_V, W_C))
    b = rng.normal(size=(2, 2))
    layer = Layer(W_Q[None], W_K[None], W_V[None], W_C[None], b_Q=b[:1], b_V=b[1:], temperature=2.0)
    found = head_norms(layer, 0)
    QK = np.vstack([W_Q, b[0]]) @ W_K.T / 2
    assert found.QK.frobenius == pytest.approx(np.linalg.norm(QK))
    assert found.QK.n21_T == pytest.approx(np.linalg.norm(QK, axis=1).sum())
    assert found.VO.spectral == pytest.approx(np.linalg.norm(np.vstack([W_V, b[1]]) @ W_C, 2))
    assert found.V.n21 == pytest.approx(np.linalg.norm(np.vstack([W_V, b[1]]), axis=0).sum())


def as_model(W_Q, W_K, W_V, W_C, b_Q, b_V, temperature):
    d = W_Q.shape[1]
    X = encoding.trainable(np.ones((2, d)), np.ones((2, d)), np.ones(d))
    layer = Layer(W_Q, W_K, W_V, W_C, b_Q=b_Q, b_V=b_V, temperature=temperature)
    return Model(encoding=X, layers=(layer,), w=np.ones(d))


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        for part in ("QK", "V", "C", "VO"):
            for name in ("frobenius", "spectral", "n21", "n21_T", "n11"):
                assert getattr(getattr(a, part), name) == pytest.approx(
                    getattr(getattr(b, part), name), rel=1e-5
                )


def layouts():
    """The same layer, d = 6 with 2 heads, as torch keeps it in five ways; biases everywhere."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(6, 2)
    torch.nn.init.normal_(layer.in_proj_bias)
    fused = dict(layer.state_dict())
    W, b = fused["in_proj_weight"], fused["in_proj_bias"]
    out = fused["out_proj.weight"]
    parts = {
        f"{n}.{kind}": x
        for n, i in zip("qkv", range(3))
        for kind, x in (("weight", W[6 * i : 6 * i + 6]), ("bias", b[6 * i : 6 * i + 6]))
    }
    long = {"q": "query", "k": "key", "v": "value"}
    yield {f"encoder.0.self_attn.{n}": x for n, x in fused.items()}, fused
    yield {"h.0.attn.c_attn.weight": W, "h.0.attn.c_attn.bias": b, "h.0.attn.c_proj.weight": out}, fused
    yield {"h.0.attn.c_attn.weight": W.T, "h.0.attn.c_attn.bias": b, "h.0.attn.c_proj.weight": out.T}, fused
    yield {f"a.{n[0]}_proj{n[1:]}": x for n, x in parts.items()} | {"a.o_proj.weight": out}, fused
    yield (
        {f"l.attention.self.{long[n[0]]}{n[1:]}": x for n, x in parts.items()}
        | {"l.attention.output.dense.weight": out},
        fused,
    )


def test_norms_of_state_dicts_fused_or_separate_are_those_of_the_model():
    for state, fused in layouts():
        W, b = fused["in_proj_weight"].numpy().astype(float), fused["in_proj_bias"].numpy().astype(float)
        heads = [[W[6 * i + 3 * h : 6 * i + 3 * h + 3].T for h in range(2)] for i in range(3)]
        out = fused["out_proj.weight"].numpy().astype(float)
        model = as_model(  # type: ignore[call-arg]
            *(np.array(h) for h in heads),
            np.array([out[:, 3 * h : 3 * h + 3].T for h in range(2)]),
            b[:6].reshape(2, 3),
            b[12:].reshape(2, 3),
            3**0.5,
        )
        found = norms(state, heads=2)
        assert len(found) == 1
        same(next(iter(found.values())), norms(model)["layer0"])


def test_norms_of_plain_arrays_need_no_torch():
    state = {f"{n}_proj.weight": np.eye(4) for n in "qkvo"}
    found = norms(state, heads=2)[""]
    assert found[0].QK.frobenius == pytest.approx(math.sqrt(2) / math.sqrt(2))  # two ones, divided by sqrt(k)


def test_norms_say_what_is_missing():
    with pytest.raises(DomainError, match="heads="):
        norms({"in_proj_weight": np.ones((6, 2))})
    with pytest.raises(DomainError, match="no attention weights among 1 names"):
        norms({"fc.weight": np.ones((2, 2))}, heads=1)
    with pytest.raises(ShapeError, match="3 heads do not divide"):
        norms({f"{n}_proj.weight": np.eye(4) for n in "qkvo"}, heads=3)
    with pytest.raises(ShapeError, match=r"\(3d, d\) or \(d, 3d\)"):
        norms({"in_proj_weight": np.ones((5, 2)), "out_proj.weight": np.ones((2, 2))}, heads=1)
    with pytest.raises(DomainError, match=r"k_proj\.weight is not"):
        norms({"q_proj.weight": np.eye(2)}, heads=1)
