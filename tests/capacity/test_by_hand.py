"""`sparsehead.capacity` against the slow computation of `by_hand`: equality, on models of every shape."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from sparsehead.block import Layer, LayerNorm, Mlp
from sparsehead.capacity.forms import FORMS, covering
from sparsehead.capacity.networks import model_items
from sparsehead.capacity.pricing import Pricing
from sparsehead.encoding import bag, positional, random_bag, random_positions, trainable
from sparsehead.model import Dense, Model

location = importlib.util.spec_from_file_location("by_hand", Path(__file__).parent / "by_hand.py")
by_hand = importlib.util.module_from_spec(location)
location.loader.exec_module(by_hand)

CLOSE = 1e-12  # two orders of summation in float64, some hundred operations
GELU = 1e-7  # the library's slope of GELU is rounded up in the eighth digit


def draw(rng, choices):
    return choices[rng.integers(len(choices))]


def random_encoding(rng, T):
    d = int(rng.integers(4, 7))
    return draw(
        rng,
        [
            lambda: trainable(*(rng.normal(size=shape) for shape in ((T, d), (2, d), d))),
            lambda: positional(T),
            lambda: random_positions(T, d, rng=rng),
            lambda: bag(T),
            lambda: random_bag(T, d, rng=rng),
        ],
    )()


def random_norm(rng, d):
    bias = rng.normal(size=d) * rng.integers(2)
    return draw(rng, [None, LayerNorm(rng.normal(size=d), bias, float(draw(rng, [1e-5, 0.01, 2.0])))])


def random_layer(rng, d):
    H, k, v, f = (int(n) for n in rng.integers(1, 4, size=4))
    normal = lambda *shape: rng.normal(size=shape) * rng.uniform(0.1, 2)  # noqa: E731
    bias = lambda *shape: draw(rng, [None, np.zeros(shape), normal(*shape)])  # noqa: E731
    mlp = None
    if rng.integers(2):
        b_1, b_2 = normal(f) * rng.integers(2), normal(d) * rng.integers(2)
        mlp = Mlp(normal(d, f), b_1, normal(f, d), b_2, draw(rng, ["gelu", "relu", "tanh", "identity"]))
    return Layer(
        *(normal(H, d, k), normal(H, d, k), normal(H, d, v), normal(H, v, d)),
        *(bias(H, k), bias(H, k), bias(H, v), bias(d)),
        temperature=float(draw(rng, [1.0, math.sqrt(k), 0.3])),
        sigma=draw(rng, ["identity", "identity", "relu", "tanh", "gelu"]),
        residual=bool(rng.integers(2)),
        norm_attention=random_norm(rng, d),
        norm_mlp=random_norm(rng, d),
        mlp=mlp,
        project=bool(rng.integers(2)),
    )


def random_model(seed, L=None):
    """Depth 1 to 3, with or without each part that a model can have."""
    rng = np.random.default_rng(seed)
    encoding = random_encoding(rng, T=int(rng.integers(1, 5)))
    layers = tuple(random_layer(rng, encoding.d) for _ in range(L or rng.integers(1, 4)))
    widths = [encoding.d, *rng.integers(1, 4, size=rng.integers(3))]
    decoder = tuple(
        Dense(rng.normal(size=(a, b)), rng.normal(size=b) * rng.integers(2))
        for a, b in zip(widths, widths[1:], strict=False)
    )
    return Model(
        encoding,
        layers,
        w=rng.normal(size=widths[-1]),
        bias=float(rng.normal() * rng.integers(2)),
        final_norm=random_norm(rng, encoding.d),
        decoder=decoder,
        attends_cls=bool(rng.integers(2)),
    )


def gelus(model):
    return any("gelu" in (layer.sigma, layer.mlp and layer.mlp.activation) for layer in model.layers)


def terms_of(model, m, form):
    """(r, lambda, dim, p) of every part, by hand."""
    softmax = 2.0 if form == "paper" else 1.0
    return [(*by_hand.price(part, form), part.p) for part in by_hand.items(model, m, softmax)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(60))
def test_every_item_is_the_one_worked_out_by_hand(seed, form):
    model, m = random_model(seed), (1, 2, 7, 10**6)[seed % 4]
    found = model_items(model, m=m, price=Pricing(form))
    close = GELU * model.L if gelus(model) else CLOSE
    parts = by_hand.items(model, m, 2.0 if form == "paper" else 1.0)
    assert [k.name for k in found] == [part.name for part in parts]
    for k, part in zip(found, parts, strict=True):
        r, lam, dim = by_hand.price(part, form)
        assert k.c == pytest.approx(r * r * lam, rel=4 * close), k.name
        assert k.p == pytest.approx(part.p, rel=4 * close), k.name
        assert k.dim == pytest.approx(dim, rel=CLOSE), k.name
        assert k.log_copies == 0.0
