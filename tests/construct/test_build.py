"""`build`: what it accepts, what it refuses, and the shapes of what it returns."""

import math
import sys

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.certify import verify
from sparsehead.construct import build, units
from sparsehead.functions import assignments, conjunction, from_table, majority, parity, parse, symmetric
from sparsehead.heads.encoding import positional, random_positions, trainable
from sparsehead.heads.model_file import load, save


def largest_error(model, f):
    bits = assignments(f.T)
    return np.abs(model(bits) - f(bits)).max()


@pytest.mark.parametrize("encoding", ["positional", "random", "trainable", "bag"])
@pytest.mark.parametrize("attends_cls", [True, False])
def test_constants_and_full_supports_work(encoding, attends_cls):
    cases = [
        parse("x1 & !x1", T=4),
        parse("x1 | !x1", T=4),
        parity(range(4), T=4),
        conjunction(range(4), T=4),
    ]
    cases += [conjunction((0,), T=1), symmetric(range(4), (0, 1, 1, 0, 1), T=4)]
    for f in cases:
        model = build(f, encoding, attends_cls=attends_cls, seed=0)
        assert largest_error(model, f) < 1e-9


@pytest.mark.parametrize("readout", ["head", "mlp"])
@pytest.mark.parametrize("encoding", ["positional", "random", "trainable", "bag"])
def test_both_readouts_compute_the_same(encoding, readout):
    f = parse("x1 & !x4 ^ x6", T=8)
    model = build(f, encoding, readout=readout, seed=3)
    assert largest_error(model, f) < 1e-9
    assert (model.layers[0].sigma == "relu") == (readout == "head")
    assert bool(model.decoder) == (readout == "mlp")


def test_thresholds_take_the_head_alone_and_two_units():
    for f in (conjunction((1, 2, 3), T=9), majority((0, 4, 8), T=9), parse("x1 & !x4", T=9)):
        model = build(f)
        assert (units(model), model.decoder, model.H) == (2, (), 1)


@pytest.mark.parametrize("s", [2, 3, 4])
def test_parity_takes_2s_units_and_one_head(s):
    model = build(parity(range(s), T=8))
    assert (units(model), model.H, model.L) == (2 * s, 1, 1)


def test_an_encoding_of_ones_own_is_built_for():
    rng = stream(0, "own")
    E, cls = rng.normal(size=(2, 40)), rng.normal(size=40)
    own = trainable(rng.normal(size=(9, 40)), E, cls)  # bits, positions and [CLS] all at odd angles
    for f in (parity((1, 5), T=9), parse("x1 & !x5", T=9)):
        for readout in ("head", "mlp"):
            model = build(f, own, readout=readout)
            assert model.encoding is own
            assert largest_error(model, f) < 1e-9


def test_random_positions_below_the_length_are_enough():
    f = parity((3, 77, 140), T=300)
    model = build(f, "random", d=96, seed=1)
    assert model.d == 96
    assert verify(model, f).exact
    assert build(f, "random", seed=1).d == 32 * math.ceil(8 * 3 * math.log(100 * 300) / 32) == 256


@pytest.mark.parametrize("heads", ["s", "cancel"])
@pytest.mark.parametrize("encoding", ["positional", "trainable"])
def test_other_arrangements_of_heads(heads, encoding):
    f = from_table(T=7, support=(0, 2, 5), table=(0, 1, 1, 0, 0, 1, 1, 1))
    model = build(f, encoding, heads=heads)
    wanted = {"s": 3, "cancel": 2}[heads]
    assert wanted == model.H
    assert largest_error(model, f) < 1e-9


def test_cancelling_heads_count_exactly_before_any_relu():
    f = symmetric((1, 2, 6), (0, 1, 0, 1), T=8)
    model = build(f, heads="cancel")
    bits = assignments(8)
    np.testing.assert_allclose(
        model.cls_state(bits.astype(np.int64))[:, 0], bits[:, [1, 2, 6]].sum(1), atol=1e-12
    )


def test_d_too_small_names_a_d_that_works():
    f = conjunction((1, 500, 900), T=1000)
    with pytest.raises(DomainError, match=r"d=8 is too small .* smallest d tried that works is \d+") as error:
        build(f, "random", d=8, seed=0)
    works = int(str(error.value).rstrip(".").split()[-1])
    assert verify(build(f, "random", d=works, seed=0), f).exact
    with pytest.raises(DomainError, match="smallest d tried that works"):
        build(f, "bag", d=8, seed=0)


def test_the_search_for_a_width_ends(monkeypatch):
    """No width gives an error of 1e-300: the search ends at eight times the usual width, 8 * 192 for s = 3, T = 16."""
    widths = []

    def counted(T, d, *, rng):
        widths.append(d)
        assert len(widths) < 60
        return random_positions(T, d, rng=rng)

    monkeypatch.setattr("sparsehead.heads.encoding.random_positions", counted)
    # No width is enough then.
    monkeypatch.setattr(sys.modules["sparsehead.construct.build"], "LEAST_EPSILON", 0.0)
    with pytest.raises(DomainError, match="linearly dependent"):
        build("x2 & x5 & x11", "random", T=16, d=4, epsilon=1e-300, seed=0)
    assert 192 < widths[-1] <= 1536


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoding": "sinusoidal"},
            "encoding is one of trainable, random, positional, bag; got 'sinusoidal'",
        ),
        ({"epsilon": 0}, "epsilon is an allowed error > 0"),
        ({"epsilon": float("nan")}, "epsilon is a finite number; got nan"),
        ({"epsilon": -1.0}, "epsilon is an allowed error > 0"),
        ({"epsilon": 1e-300}, "give at least 1e-100"),
        ({"method": "tracr"}, "method is one of compact, paper; got 'tracr'"),
        ({"heads": "two"}, "heads is one of one, s, cancel"),
        ({"readout": "both"}, "readout is one of head, mlp"),
        ({"encoding": "random"}, "needs a seed"),
        ({"encoding": "random", "d": 3, "seed": 0}, "random positions need d >= 4"),
        ({"d": 10}, "has d = 9 at T=6, got d=10"),
        ({"encoding": "trainable", "d": 3}, "need d >= 4"),
        ({"heads": "s", "readout": "head"}, "needs readout 'mlp'"),
        ({"heads": "s", "encoding": "bag"}, "one head reads every bit separately"),
        ({"heads": "cancel", "encoding": "bag"}, "no leakage to cancel"),
        ({"heads": "cancel", "encoding": "random", "seed": 0}, "score exactly 0"),
        ({"method": "paper", "encoding": "bag", "attends_cls": False}, "needs attends_cls=True"),
    ],
)
def test_misuse_is_one_line_that_says_what_works(options, message):
    with pytest.raises(DomainError, match=message) as error:
        build(conjunction((1, 2), T=6), **options)
    assert "\n" not in str(error.value)


def test_an_encoding_for_another_length_is_refused():
    with pytest.raises(DomainError, match="T=6, the encoding T=7"):
        build(conjunction((1, 2), T=6), positional(7))


def test_dependent_positions_are_refused():
    encoding = random_positions(6, 5, rng=stream(0, "narrow"))  # two free dimensions for three positions
    with pytest.raises(DomainError, match="linearly dependent"):
        build(parity((1, 2, 4), T=6), encoding)


def test_a_built_model_survives_its_file(tmp_path):
    f = parse("x1 ^ x3 & x5", T=7)
    model = build(f, "random", seed=2)
    again = load(save(model, tmp_path / "head.safetensors"))
    np.testing.assert_array_equal(again(assignments(7)), model(assignments(7)))
    assert again.meta == model.meta
    assert again.meta["function"] == str(f)
