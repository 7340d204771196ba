"""The definitions against oracles that are not ours: torch's attention and its Transformer layer, in float64."""

import numpy as np
import pytest
import torch

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.heads.block import Layer, LayerNorm, Mlp, block
from sparsehead.heads.heads import (
    HeadWeights,
    activation,
    attention,
    attention_head,
    gelu,
    layer_norm,
    project_rows,
    softmax,
    tf_deep,
    tf_head,
    tf_heads,
    tf_layer,
    tf_mlp,
    tf_scalar,
)  # fmt: skip

ORACLE = 1e-10  # the bar; float64 sums of a few hundred products agree far below it


def weights(rng, d=6, k=3, v=4):
    return HeadWeights(*(rng.normal(size=s) for s in [(d, k), (d, k), (d, v), (v, d)]))


@pytest.mark.claim("tf-layer")
def test_attention_is_torchs_scaled_dot_product():
    rng = stream(0)
    X, W = rng.normal(size=(7, 6)), weights(rng)
    q, k, v = (torch.tensor(X @ M)[None] for M in (W.W_Q, W.W_K, W.W_V))
    oracle = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)[0].numpy()
    ours = [attention(X, z, W) @ X @ W.W_V for z in X]
    np.testing.assert_allclose(ours, oracle, atol=ORACLE)
    np.testing.assert_allclose(tf_layer(X, W), np.maximum(oracle, 0) @ W.W_C, atol=ORACLE)


@pytest.mark.claim("attention-head", "self-attention", "tf-layer", "tf-scalar", "tf-head", "tf-heads")
def test_the_general_head_specialises_to_every_other_form():
    rng = stream(1)
    X, W = rng.normal(size=(5, 6)), weights(rng)

    def general(z, phi_out):
        return attention_head(
            X, z, score=lambda x, z: float(z @ W.W_Q @ W.W_K.T @ x), norm=softmax,
            phi_in=lambda x: W.W_V.T @ x, phi_out=phi_out,
        )  # fmt: skip

    relu = activation("relu")
    layer = tf_layer(X, W)
    for tau in range(5):
        np.testing.assert_allclose(general(X[tau], lambda y: W.W_C.T @ relu(y)), layer[tau], atol=1e-12)
        head = tf_head(X, X[tau], W_QK=W.W_Q @ W.W_K.T, W_V=W.W_V)
        np.testing.assert_allclose(general(X[tau], relu), head, atol=1e-12)
    w = rng.normal(size=6)
    assert tf_scalar(X, W, w) == pytest.approx(w @ layer[-1], abs=1e-12)
    np.testing.assert_allclose(tf_heads(X, [W, W]), 2 * layer, atol=1e-12)


@pytest.mark.claim("attention-head")
def test_norm_is_pluggable():
    X = np.array([[1.0], [2.0], [4.0]])
    hard = lambda s: (s == s.max()).astype(float)  # noqa: E731
    y = attention_head(X, np.ones(1), score=lambda x, z: float(x @ z), norm=hard, phi_in=lambda x: 10 * x,
                       phi_out=lambda y: y + 1)  # fmt: skip
    assert y.tolist() == [41.0]


@pytest.mark.claim("tf-mlp")
def test_tf_mlp_reads_cls_through_two_relu_layers():
    rng = stream(2)
    X, W, W_1, W_2, w = (
        rng.normal(size=(5, 6)),
        weights(rng),
        *(rng.normal(size=s) for s in [(6, 4), (4, 3), 3]),  # type: ignore[call-overload]
    )
    y = tf_heads(X, [W], sigma="identity")[-1]
    assert tf_mlp(X, [W], W_1, W_2, w) == pytest.approx(np.maximum(np.maximum(y @ W_1, 0) @ W_2, 0) @ w)


@pytest.mark.claim("tf-deep")
def test_projection_stays_in_the_unit_ball_and_moves_nothing_inside_it():
    X = np.array([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(project_rows(X), [[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]])
    deep = tf_deep(stream(3).normal(size=(5, 6)), [[weights(stream(4), v=6)]] * 3)
    assert np.linalg.norm(deep, axis=1).max() <= 1 + 1e-12


def test_softmax_survives_large_and_infinite_scores():
    assert softmax(np.array([1e4, 0.0, -1e4])).tolist() == [1, 0, 0]
    assert softmax(np.array([2.0, 2.0, -np.inf])).tolist() == [0.5, 0.5, 0]


def test_gelu_and_layer_norm_are_torchs():
    x = stream(5).normal(size=(4, 9)) * 5
    np.testing.assert_allclose(gelu(x), torch.nn.GELU()(torch.tensor(x)).numpy(), atol=1e-12)
    gain, bias = stream(6).normal(size=(2, 9))
    oracle = torch.nn.functional.layer_norm(
        torch.tensor(x), (9,), torch.tensor(gain), torch.tensor(bias), 1e-5
    )
    np.testing.assert_allclose(layer_norm(x, gain, bias, eps=1e-5), oracle.numpy(), atol=1e-12)


def test_unknown_activation_and_no_heads_are_refused():
    with pytest.raises(DomainError, match="identity, relu, gelu, tanh"):
        activation("swish")
    with pytest.raises(DomainError, match="at least one head"):
        tf_heads(np.ones((2, 3)), [])


@pytest.mark.claim("practical-block")
@pytest.mark.parametrize("H", [1, 2, 4])
def test_the_practical_block_is_torchs_pre_ln_encoder_layer(H):
    d, f = 8, 20
    torch.manual_seed(H)
    oracle = torch.nn.TransformerEncoderLayer(
        d, H, f, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    for p in oracle.parameters():
        torch.nn.init.normal_(p)
    X = stream(7).normal(size=(6, d))
    with torch.no_grad():
        expected = oracle(torch.tensor(X)[None])[0].numpy()
    np.testing.assert_allclose(block(X, layer_of(oracle, H)), expected, atol=ORACLE)


def layer_of(module, H):
    """The same weights in our letters: torch stores (out, in) and stacks Q, K, V."""
    get = lambda p: p.detach().numpy()  # noqa: E731
    d = module.self_attn.embed_dim
    k = d // H
    Q, K, V = (get(module.self_attn.in_proj_weight)[i * d : (i + 1) * d].T for i in range(3))
    b_Q, b_K, b_V = get(module.self_attn.in_proj_bias).reshape(3, H, k)
    per_head = lambda W: W.reshape(d, H, k).transpose(1, 0, 2)  # noqa: E731
    norm = lambda m: LayerNorm(get(m.weight), get(m.bias), m.eps)  # noqa: E731
    return Layer(
        per_head(Q), per_head(K), per_head(V), get(module.self_attn.out_proj.weight).T.reshape(H, k, d),
        b_Q, b_K, b_V, get(module.self_attn.out_proj.bias), temperature=k**0.5, residual=True,
        norm_attention=norm(module.norm1), norm_mlp=norm(module.norm2),
        mlp=Mlp(get(module.linear1.weight).T, get(module.linear1.bias),
                get(module.linear2.weight).T, get(module.linear2.bias)),
    )  # fmt: skip
