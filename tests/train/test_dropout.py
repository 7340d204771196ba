"""Dropout: masks that depend on where they fall alone, and a compiled path that is the general one under them."""

import numpy as np
import pytest
import torch

from sparsehead.train.transformer import forward
from sparsehead.train.transformer.dropout import Dropout, Place, keys, threshold

from .support import (
    GRADIENT,
    OPTIONS,
    OUTPUT,
    close,
    engine_of,
    one_step,
    random_row,
    random_sample,
    spec_of,
    tiny,
    weights_of,
)


def scrambled(x):
    """lowbias32 on whole numbers, from its definition."""
    x ^= x >> 16
    x = x * 0x7FEB352D % 2**32
    x ^= x >> 15
    x = x * 0x846CA68B % 2**32
    return x ^ x >> 16


def split_mix(x):
    """The finaliser of splitmix64, on whole numbers."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def kept_by_definition(p, seed, step, place, n, row, i, width):
    """The rule of dropout.py for one element, in Python's own integers."""
    golden = 0x9E3779B97F4A7C15
    key = split_mix((split_mix((seed + step * golden) % 2**64) + ((place << 32) + n) * golden) % 2**64)
    half = -(-width // 2)
    word = scrambled(((row * half + i % half) * (key >> 32 | 1) + key) % 2**32)
    return (word % 2**16 if i < half else word >> 16) >= threshold(p)


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_masks_follow_their_definition(width):
    seed, step = 2**61 + 12345, 77
    masks = Dropout(0.3, seed, step, range(3, 7)).kept(Place.ATTENTION, 9, width)
    expected = [
        [
            [kept_by_definition(0.3, seed, step, Place.ATTENTION, n, row, i, width) for i in range(width)]
            for row in range(9)
        ]
        for n in range(3, 7)
    ]
    assert masks.tolist() == expected


def test_a_chunk_draws_what_the_whole_would():
    whole = Dropout(0.1, 5, 3, range(8)).kept(Place.EMBEDDING, 6, 10)
    part = Dropout(0.1, 5, 3, range(2, 5)).kept(Place.EMBEDDING, 6, 10)
    assert torch.equal(whole[2:5], part)


def test_masks_are_fair_and_independent():
    """Shares within five standard errors; samples, steps, places, seeds, rows and columns uncorrelated."""
    p, n, rows, width = 0.1, 40, 301, 64
    base = Dropout(p, 1, 0, range(n)).kept(Place.EMBEDDING, rows, width)
    others = {
        "step": Dropout(p, 1, 1, range(n)).kept(Place.EMBEDDING, rows, width),
        "place": Dropout(p, 1, 0, range(n)).kept(Place.MLP_OUTPUT, rows, width),
        "seed": Dropout(p, 2, 0, range(n)).kept(Place.EMBEDDING, rows, width),
        "sample": base.roll(1, 0),
        "row": base.roll(1, 1),
        "column": base.roll(1, 2),
        "half": base.roll(width // 2, 2),
    }
    size, sd = base.numel(), (p * (1 - p)) ** 0.5
    assert abs(float(base.double().mean()) - (1 - p)) < 5 * sd / size**0.5 + 2**-17
    shares = base.double().mean((0, 1)).numpy()
    assert np.abs(shares - (1 - p)).max() < 5 * sd / (n * rows) ** 0.5
    for name, other in others.items():
        both = float((base.double() - 1 + p).mul(other.double() - 1 + p).mean()) / sd**2
        assert abs(both) < 5 / size**0.5, name


def test_keys_differ_between_samples_steps_and_places():
    found = [
        tuple(x)
        for place in range(4)
        for step in range(50)
        for x in zip(*keys(9, step, place, range(50)), strict=True)
    ]
    assert len(set(found)) == len(found)
    assert all(odd % 2 == 1 for _, odd in found)


@pytest.mark.claim("law-dropout")
@pytest.mark.parametrize(("encoding", "norm", "residual", "bias", "mlp"), OPTIONS)
def test_the_compiled_engine_is_torch_under_the_same_masks(encoding, norm, residual, bias, mlp):
    shapes = (
        {"H": 1, "sigma": "identity"},
        {"H": 3, "d": 7, "T": 50, "sigma": "relu"},
        {"H": 9, "d": 17, "T": 23, "sigma": "gelu"},
    )
    for shape, (p_drop, number) in zip(shapes, ((0.1, 0), (0.5, 3), (0.3, 900)), strict=True):
        spec = tiny(encoding, norm, residual, bias, mlp, dropout=p_drop, **shape)
        row = random_row(spec)
        margins, gradient = one_step(spec, "torch", row, number=number)
        found = one_step(spec, "compiled", row, number=number)
        assert close(found[0], margins, OUTPUT) and close(found[1], gradient, GRADIENT)


def test_the_papers_shape_in_float32():
    spec = spec_of(T=300, m=20, d=64, H=16, k=4, mlp=256, dropout=0.1)
    row = random_row(spec, size=0.1)
    margins, gradient = one_step(spec, "torch", row, number=2)
    found = one_step(spec, "compiled", row, dtype="float32", number=2)
    assert close(found[0], margins, 1e-4)
    assert np.linalg.norm(found[1] - gradient) / np.linalg.norm(gradient) < 1e-4


def test_compiled_and_torch_train_alike_with_dropout():
    made = [engine_of(spec_of(dropout=0.1), engine) for engine in ("compiled", "torch")]
    for one in made:
        one.advance(4)
    assert close(weights_of(made[0]), weights_of(made[1]), 1e-7)


def test_deep_models_drop_at_every_place():
    """With two layers, a mask that was forgotten at a place would leave the margins as they are without that place."""
    spec = tiny("trainable", True, True, True, 9, L=2)
    made = engine_of(spec, "torch", random_row(spec), random_sample(spec))
    drop, places = Dropout(0.4, 1, 0, range(spec.m)), []

    class Watched(Dropout):
        def __call__(self, x, place):
            places.append(place)
            return drop(x, place)

    margins = forward.margins(made.p, made.a, made.bits, drop=Watched())
    assert places == list(range(7))
    assert not torch.allclose(margins, forward.margins(made.p, made.a, made.bits))


def test_chunks_of_samples_draw_the_same_masks(monkeypatch):
    from sparsehead.train.transformer import torch_engine

    spec = tiny("trainable", True, True, True, 9, L=2, dropout=0.3)
    whole = one_step(spec, "torch", random_row(spec))
    monkeypatch.setattr(torch_engine, "CHUNK_NUMBERS", 1)
    parts = one_step(spec, "torch", random_row(spec))
    assert close(parts[0], whole[0], OUTPUT) and close(parts[1], whole[1], GRADIENT)


def test_nothing_is_drawn_without_dropout():
    x = torch.ones(2, 3)
    assert Dropout()(x, Place.EMBEDDING) is x


def test_kept_elements_are_scaled_so_that_the_mean_stays():
    drop = Dropout(0.25, 1, 0, range(2))
    values = set(drop(torch.ones(2, 100, 8), Place.EMBEDDING).flatten().tolist())
    assert sorted(values) == pytest.approx([0.0, 4 / 3])


def test_outcomes_with_dropout_name_the_second_version_of_the_compiled_step():
    """Steps with dropout are rounded differently since 0.3, so stored outcomes of both are kept apart."""
    assert engine_of(spec_of(dropout=0.1), "compiled").made_by["engine"] == "compiled 2"
    assert engine_of(spec_of(), "compiled").made_by["engine"] == "compiled"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_heads_and_widths_beside_whole_vectors(dtype):
    """From one head to more than two vectors of heads, and widths around multiples of sixteen."""
    for H, d, T in ((1, 1, 1), (2, 15, 22), (15, 16, 23), (16, 64, 47), (17, 33, 48), (33, 65, 97)):
        spec = tiny("trainable", True, True, True, 9, H=H, d=d, T=T, m=3, dropout=0.2)
        row = random_row(spec, size=0.1).astype(np.float32).astype(np.float64)
        margins, gradient = one_step(spec, "torch", row)
        found = one_step(spec, "compiled", row, dtype=dtype)
        # float32: sums of at most a few hundred terms, eps = 6e-8
        outer, inner = (OUTPUT, GRADIENT) if dtype == "float64" else (1e-4, 1e-4)
        assert close(found[0], margins, outer) and close(found[1], gradient, inner)
