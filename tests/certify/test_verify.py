"""`verify` says the truth: it agrees with enumeration, and never certifies what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.certify import verify
from sparsehead.certify.certificate import spell_bits
from sparsehead.certify.chain import kinks, relu_chain, run, tail
from sparsehead.certify.regions import Box, Zonotope, output_range
from sparsehead.construct import build
from sparsehead.functions import (
    assignments,
    conjunction,
    disjunction,
    from_table,
    parity,
    parse,
    random_function,
)
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import positional, trainable
from sparsehead.heads.model import Dense, Model

BUILDS = [
    {},
    {"readout": "head", "attends_cls": False},
    {"encoding": "random", "d": 40, "seed": 0},
    {"encoding": "trainable"},
    {"encoding": "bag"},
    {"encoding": "bag", "d": 64, "seed": 0},
    {"heads": "s"},
    {"heads": "cancel"},
    {"method": "paper"},
    {"method": "paper", "encoding": "bag"},
]


def damaged(model, rng, size):
    layer = model.layers[0]
    return replace(model, layers=(replace(layer, W_K=layer.W_K + size * rng.normal(size=layer.W_K.shape)),))


@pytest.mark.claim("exact-certificate")
@pytest.mark.parametrize("options", BUILDS, ids=str)
def test_patterns_agree_with_enumeration(options):
    rng = stream(1, "verify", str(options))
    for _ in range(3):
        f = random_function(T=9, s=3, rng=rng)
        model = build(f, **options)
        for candidate in (model, damaged(model, rng, 0.05), damaged(model, rng, 1.0)):
            every, quick = (verify(candidate, f, method=m) for m in ("exhaustive", "patterns"))
            assert every.decided
            if quick.decided:
                assert quick.correct == every.correct
            if quick.correct:
                assert quick.max_error >= every.max_error - 1e-9  # rounding of the enumerated outputs
                assert quick.margin <= every.margin + 1e-9
            if quick.method == "scalar" and quick.attained:
                assert quick.max_error == pytest.approx(every.max_error, abs=1e-9)
            assert quick.leakage == pytest.approx(every.leakage)
            if quick.counterexample is not None:
                bits = quick.counterexample[None]
                assert candidate.predict(bits)[0] != f(bits)[0]


@pytest.mark.parametrize("options", BUILDS, ids=str)
def test_another_function_gets_a_counterexample_never_a_certificate(options):
    rng = stream(2, "wrong", str(options))
    f, g = parity((1, 30, 55), T=60), conjunction((1, 30, 55), T=60)
    assert verify(build(f, **options | ({"d": 200} if "d" in options else {})), f).exact
    for other in (g, parity((1, 30, 54), T=60), random_function(T=60, s=4, rng=rng)):
        found = verify(build(f, **options | ({"d": 200} if "d" in options else {})), other)
        assert found.correct is False
        assert not found.exact
        bits = found.counterexample[None]
        assert build(f, **options | ({"d": 200} if "d" in options else {})).predict(bits)[0] != other(bits)[0]


def test_a_model_wrong_on_one_input_in_a_million_is_caught():
    f = from_table(T=40, support=(3, 7), table=(0, 0, 0, 1))
    g = conjunction((3, 7, *range(20, 30)), T=40)  # differs where x3 = x7 = 1 alone
    model = build(f)
    assert verify(model, g).correct is False
    rare = build(disjunction(range(14), T=40))  # 1 except on 2^-14 of the inputs
    found = verify(rare, parse("x0 | !x0", T=40))
    assert found.correct is False
    assert not found.counterexample[:14].any()


def test_an_approximation_is_correct_but_not_exact():
    f = conjunction((1, 5, 9), T=30)
    found = verify(build(f, epsilon=0.1), f)
    assert found.correct
    assert not found.exact
    assert 0.01 < found.max_error <= 0.1
    assert found.margin == pytest.approx(0.5 - found.max_error)
    bits = found.worst_input[None]
    error = abs(build(f, epsilon=0.1)(bits)[0] - f(bits)[0])
    assert error == pytest.approx(found.max_error, rel=1e-9)  # attained


def practical(rng, T, *, quiet=1.0):
    """A pre-LN block with random weights, as training would make it."""
    d, k, width = 8, 4, 16
    norm = LayerNorm(1 + 0.1 * rng.normal(size=d), 0.1 * rng.normal(size=d))
    mlp = Mlp(
        0.3 * rng.normal(size=(d, width)),
        rng.normal(size=width),
        0.3 * rng.normal(size=(width, d)),
        rng.normal(size=d),
    )
    draw = lambda *shape: rng.normal(size=shape) / 2  # noqa: E731
    layer = Layer(
        W_Q=draw(1, d, k), W_K=draw(1, d, k), W_V=quiet * draw(1, d, k), W_C=draw(1, k, d),
        b_Q=draw(1, k), b_K=draw(1, k), b_V=draw(1, k), b_C=draw(d),
        temperature=2.0, residual=True, norm_attention=norm, norm_mlp=norm, mlp=mlp,
    )  # fmt: skip
    encoding = trainable(rng.normal(size=(T, d)), rng.normal(size=(2, d)), rng.normal(size=d))
    return Model(encoding, (layer,), w=rng.normal(size=d), final_norm=norm, threshold=0.0)


def test_intervals_hold_every_output_of_a_practical_block():
    rng = stream(3, "interval")
    decided = 0
    for _ in range(12):
        model = practical(rng, 8, quiet=0.003)  # little of the input comes through
        labels = from_table(T=8, support=(0, 1), table=(1, 1, 1, 1))
        every, quick = (verify(model, labels, method=m) for m in ("exhaustive", "patterns"))
        assert quick.method in ("interval", "search")
        assert quick.correct in (every.correct, None)
        if quick.correct:
            decided += 1
            assert quick.margin <= every.margin
        if every.correct is False:
            assert quick.correct is not True
    assert decided >= 1  # the bounds are not empty words: some random blocks are constant, and it is proved


def test_what_cannot_be_decided_is_said():
    rng = stream(4, "undecided")
    models = [practical(rng, 30) for _ in range(12)]
    outcomes = [verify(model, parse("x0 | !x0", T=30), method="patterns") for model in models]
    undecided = [c for c in outcomes if c.correct is None]
    assert undecided
    assert all(c.note.startswith("undecided") and not c.exact and c.counterexample is None for c in undecided)


def test_deeper_models_are_enumerated_or_searched():
    f = conjunction((0, 2), T=6)
    one = build(f)
    layer = one.layers[0]
    still = replace(layer, W_V=0 * layer.W_V, W_C=0 * layer.W_C, residual=True, sigma="identity", b_V=None)
    two = replace(one, layers=(still, layer))
    assert verify(two, f).exact
    assert verify(two, f).method == "exhaustive"
    searched = verify(two, parity((0, 2), T=6), method="search")
    assert searched.correct is False
    assert verify(two, f, method="search").correct is None


def test_breakpoints_hold_every_kink_of_a_relu_chain():
    rng = stream(5, "kinks")
    dense = tuple(Dense(rng.normal(size=(9, 9)), rng.normal(size=9)) for _ in range(3))
    zero = np.zeros((1, 9, 1))
    layer = Layer(W_Q=zero, W_K=zero, W_V=rng.normal(size=(1, 9, 1)), W_C=rng.normal(size=(1, 1, 9)))
    model = Model(positional(6), (layer,), w=rng.normal(size=9), decoder=dense)
    chain = relu_chain(model)
    points = kinks(chain, np.zeros(1), np.ones(1), -2.0, 2.0)
    values = run(chain, points[:, None])[:, 0]
    o = np.linspace(-2, 2, 4001)
    outputs = tail(model, o[:, None, None])
    np.testing.assert_allclose(np.interp(o, points, values), outputs, atol=1e-9)
    low, high, _ = output_range(chain, Box(np.array([-2.0]), np.array([2.0])))
    assert low <= outputs.min()
    assert outputs.max() <= high


def test_a_zonotope_knows_its_range_exactly():
    rng = stream(6, "zonotope")
    base, steps, A = rng.normal(size=3), rng.normal(size=(6, 3)), rng.normal(size=(3, 2))
    corners = base + assignments(6) @ steps
    np.testing.assert_allclose(
        Zonotope(base, steps, np.zeros(3)).lowest(A), (corners @ A).min(axis=0), atol=1e-12
    )


def test_methods_and_lengths_are_checked():
    model = build(parity((0, 1), T=30))
    with pytest.raises(DomainError, match="T=30 bits, the function T=29"):
        verify(model, parity((0, 1), T=29))
    with pytest.raises(
        DomainError, match="method is one of exhaustive, patterns, branches, search; got 'guess'"
    ):
        verify(model, parity((0, 1), T=30), method="guess")
    with pytest.raises(DomainError, match="up to T=20"):
        verify(model, parity((0, 1), T=30), method="exhaustive")


def test_certificates_become_json():
    import json

    f = parity((0, 99), T=100)
    text = json.dumps(verify(build(f), f).to_dict(), allow_nan=False)
    assert '"decided": true' in text
    assert spell_bits(np.array([1] * 3)) == "111"
    assert spell_bits(np.array([1, *[0] * 80])) == "1 0*80"
