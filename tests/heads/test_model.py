"""`Model` against the definitions: the table of tokens must change nothing."""

import itertools

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, ShapeError
from sparsehead._base.rng import stream
from sparsehead.heads.block import Layer, LayerNorm, Mlp, attention_rows, block
from sparsehead.heads.encoding import bag, positional, random_positions, trainable
from sparsehead.heads.heads import HeadWeights, tf_deep, tf_heads, tf_mlp, tf_scalar
from sparsehead.heads.model import Dense, Model

EXACT = 1e-12  # the same sums in another order, in float64, on numbers of order 1


def every_input(T):
    return np.array(list(itertools.product([0, 1], repeat=T)))


def encodings(T, rng):
    return {
        "positional": positional(T),
        "random": random_positions(T, 9, rng=rng),
        "trainable": trainable(rng.normal(size=(T, 6)), rng.normal(size=(2, 6)), rng.normal(size=6)),
        "bag": bag(T),
    }


def random_layer(d, rng, *, H=2, k=3, v=4, rich=False, **options):
    weights = dict(
        W_Q=rng.normal(size=(H, d, k)),
        W_K=rng.normal(size=(H, d, k)),
        W_V=rng.normal(size=(H, d, v)),
        W_C=rng.normal(size=(H, v, d)),
    )
    if rich:
        weights |= dict(
            b_Q=rng.normal(size=(H, k)),
            b_K=rng.normal(size=(H, k)),
            b_V=rng.normal(size=(H, v)),
            b_C=rng.normal(size=d),
            temperature=k**0.5,
            residual=True,
            norm_attention=LayerNorm(rng.normal(size=d), rng.normal(size=d)),
            norm_mlp=LayerNorm(rng.normal(size=d), rng.normal(size=d)),
            mlp=Mlp(rng.normal(size=(d, 7)), rng.normal(size=7), rng.normal(size=(7, d)), rng.normal(size=d)),
        )
    return Layer(**(weights | options))


def by_definition(model, b):
    X = model.encoding(b)
    for layer in model.layers:
        X = block(X, layer, attends_cls=model.attends_cls)
    return model.read_out(X[-1:])[0]


@pytest.mark.claim("model")
@pytest.mark.parametrize("kind", ["positional", "random", "trainable", "bag"])
@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize("attends_cls", [False, True])
def test_outputs_and_attention_equal_the_definitions_on_every_input(kind, rich, attends_cls):
    rng = stream(1, kind, int(rich))
    encoding = encodings(5, rng)[kind]
    layer = random_layer(encoding.d, rng, rich=rich, sigma="identity" if rich else "relu")
    norm = LayerNorm(rng.normal(size=encoding.d), rng.normal(size=encoding.d)) if rich else None
    decoder = (Dense(rng.normal(size=(encoding.d, 3)), rng.normal(size=3)),)
    model = Model(encoding, (layer,), rng.normal(size=3), 0.3, norm, decoder, attends_cls=attends_cls)
    bits = every_input(5)
    np.testing.assert_allclose(model(bits), [by_definition(model, b) for b in bits], atol=EXACT, rtol=EXACT)
    for b, weights in zip(bits, model.attention(bits)):
        rows = [attention_rows(encoding(b), layer, h, attends_cls=attends_cls)[-1] for h in range(2)]
        np.testing.assert_allclose(weights, rows, atol=EXACT)
    assert (model.attention(bits)[..., -1] == 0).all() != attends_cls


@pytest.mark.claim("tf-scalar", "tf-heads", "tf-mlp")
def test_tf_scalar_tf_heads_and_tf_mlp_are_models():
    rng = stream(2)
    encoding = random_positions(6, 8, rng=rng)
    layer = random_layer(8, rng, sigma="relu")
    heads = [HeadWeights(*(getattr(layer, n)[h] for n in ("W_Q", "W_K", "W_V", "W_C"))) for h in range(2)]
    w, W_1, W_2 = rng.normal(size=8), rng.normal(size=(8, 5)), rng.normal(size=(5, 3))
    bits = every_input(6)
    scalar = Model(encoding, (random_layer(8, stream(2, "one"), H=1, sigma="relu"),), w)
    one = scalar.layers[0]
    W = HeadWeights(one.W_Q[0], one.W_K[0], one.W_V[0], one.W_C[0])
    np.testing.assert_allclose(scalar(bits), [tf_scalar(encoding(b), W, w) for b in bits], atol=EXACT)
    multi = Model(encoding, (layer,), w)
    expected = [w @ tf_heads(encoding(b), heads)[-1] for b in bits]
    np.testing.assert_allclose(multi(bits), expected, atol=EXACT)
    decoder = (Dense(W_1, np.zeros(5)), Dense(W_2, np.zeros(3)))
    with_mlp = Model(encoding, (random_layer(8, stream(2, "m")),), w[:3], decoder=decoder)
    layer = with_mlp.layers[0]
    heads = [HeadWeights(*(getattr(layer, n)[h] for n in ("W_Q", "W_K", "W_V", "W_C"))) for h in range(2)]
    expected = [tf_mlp(encoding(b), heads, W_1, W_2, w[:3]) for b in bits]
    np.testing.assert_allclose(with_mlp(bits), expected, atol=EXACT, rtol=EXACT)


@pytest.mark.claim("tf-deep")
def test_depth_with_the_projection_is_tf_deep():
    rng = stream(3)
    d, encoding = 5, trainable(rng.normal(size=(4, 5)), rng.normal(size=(2, 5)), rng.normal(size=5))
    layers, definition = [], []
    for _ in range(3):
        Q, K, V, C = (rng.normal(size=(d, d)) for _ in range(4))
        definition.append([HeadWeights(Q, K, V, C)])
        layers.append(
            Layer(
                Q[None], K[None], V[None], np.eye(d)[None],
                mlp=Mlp(np.eye(d), np.zeros(d), C, np.zeros(d), activation="relu"), project=True,
            )
        )  # fmt: skip
    model = Model(encoding, tuple(layers), rng.normal(size=d))
    bits = every_input(4)
    expected = [model.w @ tf_deep(encoding(b), definition)[-1] for b in bits]
    np.testing.assert_allclose(model(bits), expected, atol=EXACT)
    assert model.attention(bits).shape == (16, 1, 5)


def test_large_scores_do_not_overflow():
    encoding = positional(4)
    layer = Layer(*(500 * np.eye(7)[None, :, i : i + 1] for i in (2, 3, 1)), np.eye(7)[None, 1:2])  # type: ignore[arg-type, call-arg]
    assert Model(encoding, (layer,), np.ones(7))(every_input(4)).max() == pytest.approx(500, abs=1e-9)


def test_chunks_change_nothing(monkeypatch):
    rng = stream(4)
    encoding = positional(6)
    model = Model(encoding, (random_layer(9, rng, rich=True),), rng.normal(size=9))
    whole = model(every_input(6))
    monkeypatch.setattr("sparsehead.heads.model.CHUNK", 64)
    np.testing.assert_allclose(model(every_input(6)), whole, atol=EXACT)
    assert model(np.empty((0, 6), dtype=int)).shape == (0,)


def test_misuse_is_explained(unchecked):
    rng = stream(5)
    model = Model(positional(4), (random_layer(7, rng),), np.ones(7))
    with pytest.raises(DomainError, match="bits are 0 or 1, got 2"):
        model(np.array([[0, 1, 2, 0]]))
    with pytest.raises(ShapeError, match="T=4"):
        model(np.zeros((2, 5), dtype=int))
    with pytest.raises(ShapeError, match=r"pass \(n, 4\)"):
        model.predict(np.zeros(4, dtype=int))
    with pytest.raises(ShapeError, match="layer 0 works in d=6"):
        Model(positional(4), (random_layer(6, rng),), np.ones(6))
    with pytest.raises(DomainError, match="NaN or infinite"):
        Model(positional(4), (random_layer(7, rng),), np.full(7, np.nan))
    with pytest.raises(DomainError, match="W_K; weights must be finite"):
        random_layer(7, rng, W_K=np.full((2, 7, 3), np.inf))
    with pytest.raises(ShapeError, match="W_C of shape"):
        random_layer(7, rng, W_C=np.zeros((2, 4, 6)))
