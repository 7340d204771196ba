"""No certificate where a value of the float64 model overflows, or where a product of weights underflows, on the way."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sparsehead.certify import balls as ball
from sparsehead.certify import verify
from sparsehead.certify.balls import Ball, exact
from sparsehead.certify.forward import outputs
from sparsehead.certify.patterns import prove_by_patterns, worst
from sparsehead.construct import build
from sparsehead.functions import assignments, conjunction, parity, parse
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.encoding import positional, trainable
from sparsehead.heads.model import Dense, Model

from .adversarial import exact_output, run
from .test_soundness import constant, one_head


def swallowing(T=20, **changes):
    """Heads of 0.8e308 and -0.8e308, a bias of 1.3e308, and a decoder whose ReLUs turn infinity into a wrong number.

    Inputs with b0 = 1 and b1 = 0 overflow; those with all other bits 0 or 1 do not.
    """
    P, K, V, C = np.zeros((T, 3)), np.zeros((2, 3, 1)), np.zeros((2, 3, 1)), np.zeros((2, 1, 3))
    P[0, 1] = P[1, 2] = 1
    K[0, 1] = K[1, 2] = 40
    V[:, 0] = 1
    C[0, 0, 0], C[1, 0, 0] = 0.8e308, -0.8e308
    E = np.array([[0.0, 0, 0], [1, 0, 0]])
    parts = {"W_C": C, "b_Q": np.ones((2, 1)), "b_C": np.array([1.3e308, 0, 0]), **changes}
    layer = Layer(np.zeros((2, 3, 1)), K, V, **parts)
    decoder = (
        Dense(np.array([[-1e-308], [0], [0]]), np.array([3.0])),
        Dense(np.array([[-4.0]]), np.array([2.0])),
    )
    return Model(trainable(P, E, np.zeros(3)), (layer,), w=np.array([-1.0]), bias=1.0, decoder=decoder,
                 attends_cls=False)  # fmt: skip


def fooled(model, f, input_):
    """Whether float64 is wrong on this input while exact arithmetic is right."""
    with np.errstate(all="ignore"):
        right = model.predict(input_[None])[0] == f(input_[None])[0] and np.isfinite(model(input_[None])[0])
    true = exact_output(model, input_, 700)
    return not right and (true > model.threshold) == bool(f(input_[None])[0])


def bits(T, *ones):
    found = np.zeros(T, dtype=np.uint8)
    found[list(ones)] = 1
    return found


def refused(model, f, input_):
    """The input fools float64, and no method says that the model computes f."""
    assert fooled(model, f, input_)
    found = verify(model, f, method="patterns")
    assert found.correct is not True
    assert not found.exact
    assert found.max_error == np.inf


def test_a_sum_of_heads_that_overflows_is_not_certified():
    """The reproduction of review A1."""
    model, f = swallowing(), parse("1", T=20)
    refused(model, f, bits(20, 0))
    harmless = replace(model, layers=(replace(model.layers[0], W_C=model.layers[0].W_C / 2, b_C=None),))
    assert verify(harmless, f).exact


def test_a_large_map_before_a_small_one_is_not_certified():
    """A chain on a line: o is 1 only if every bit is; 1e308 times 2, then 1e-308, overflows for it alone."""
    T = 24
    d = T + 3
    decoder = (
        Dense(np.eye(d)[:, :1] * 1e308, np.zeros(1)),
        Dense(np.array([[-1e-308]]), np.array([3.0])),
        Dense(np.array([[-4.0]]), np.array([2.0])),
    )
    model = one_head(T, one=2.0, decoder=decoder, w=np.array([-1.0]), bias=1.0)
    refused(model, constant(T, 1), np.ones(T, dtype=np.uint8))
    assert verify(
        replace(model, decoder=(replace(decoder[0], W=decoder[0].W / 4), *decoder[1:])), constant(T, 1)
    ).exact


def test_maps_are_bounded_before_they_are_multiplied_out():
    """W_C of 1e308, 1e-308 behind it: no ReLU between the two, so the chain sees 1."""
    T = 24
    decoder = (
        Dense(np.eye(T + 3)[:, :1] * -1e-308, np.array([3.0])),
        Dense(np.array([[-4.0]]), np.array([2.0])),
    )
    model = one_head(T, one=2.0, decoder=decoder, w=np.array([-1.0]), bias=1.0)
    layer = model.layers[0]
    refused(
        replace(model, layers=(replace(layer, W_C=layer.W_C * 1e308),)),
        constant(T, 1),
        np.ones(T, dtype=np.uint8),
    )


def single(T, **parts):
    """A head that mixes its positions' bits into coordinate 0, no [CLS], read as 1 - the coordinate, or by `parts`."""
    encoding = positional(T)
    d = encoding.d
    W_V = np.zeros((1, d, 1))
    W_V[0, 1] = 1.0
    none = np.zeros((1, d, 1))
    read = {k: parts.pop(k) for k in ("w", "bias", "final_norm", "decoder", "threshold") if k in parts}
    layer = Layer(none, none, W_V, parts.pop("W_C", np.eye(1, d)[None]), **parts)
    return Model(encoding, (layer,), attends_cls=False, **{"w": np.eye(1, d)[0], **read})


def differing(middle, half, **changes):
    """`swallowing` with rows (middle + half (b0 - b1), 0, 0)."""
    C = np.zeros((2, 1, 3))
    C[0, 0, 0], C[1, 0, 0] = half, -half
    layer = {"W_C": C, "b_C": np.array([middle, 0, 0]), "project": changes.pop("project", False)}
    return replace(swallowing(**layer), **changes)


def test_a_norm_that_overflows_in_a_projection_is_not_certified():
    """Rows of more than 1.34e154 are divided by infinity; exact arithmetic projects them to the unit sphere."""
    plain = {"decoder": (), "w": np.eye(3)[0], "bias": 0.0}
    f = constant(20, 1)
    refused(differing(1.25e154, 0.15e154, project=True, **plain), f, bits(20, 0))
    for size in (1e150, 1.0):
        assert verify(differing(1.25 * size, 0.15 * size, project=True, **plain), f).correct


def test_a_gain_that_overflows_in_a_layer_norm_is_not_certified():
    """gain * centred is formed before it is divided by 100: 1e308 times 2/3 of 1.9 + 0.95."""
    norm = LayerNorm(np.full(3, 1e308), np.zeros(3), eps=1e4)
    f = constant(20, 1)
    refused(differing(1.9, 0.95, final_norm=norm), f, bits(20, 0))
    assert verify(differing(0.95, 0.4, final_norm=norm), f).exact


def test_squares_that_overflow_in_a_layer_norm_are_not_certified():
    """The squares of (2, -1, -1) / 3 times 1.73e154 add up to more than the largest number."""
    plain = {"decoder": (), "w": np.eye(3)[0], "bias": 0.0, "final_norm": LayerNorm(np.ones(3), np.zeros(3))}
    f = constant(20, 1)
    refused(differing(1.6e154, 0.13e154, **plain), f, bits(20, 0))
    assert verify(differing(1.6e150, 0.13e150, **plain), f).correct


def test_balls_whose_members_overflow_are_not_finite():
    """Each operation, on balls with a finite middle and radius, of which some members overflow."""
    big, wide = np.array([[1.5e308, 1.0]]), np.array([[0.5e308, 0.0]])
    two, half = exact(np.full((1, 2), 2.0)), exact(np.full((1, 2), 0.5))
    root = Ball(np.array([[1.2e154, 0.0]]), np.array([[0.2e154, 0.0]]))
    norm = LayerNorm(np.full(2, 1.7e308), np.zeros(2), eps=1.0)
    with np.errstate(all="ignore"):
        assert Ball(big, wide / 4).finite.all()
        assert not Ball(big, wide).finite[0, 0]
        for found in (
            (Ball(big, wide / 4) + Ball(wide, 0 * wide)),
            (Ball(big, 0 * big) * two),
            (Ball(big, wide / 4) / half),
            ball.mean(Ball(np.full((1, 2), 1e308), 0 * big)),
            ball.project_rows(root),
            ball.project_rows(exact(np.array([[1.4e154, 0.0]]))),
            ball.layer_norm(Ball(2 * root.mid, 2 * root.rad), LayerNorm(np.ones(2), np.zeros(2))),
            ball.layer_norm(exact(np.array([[3.0, -3.0]])), norm),
            (Ball(big, wide / 4) @ exact(np.array([[1.0], [1e308]]))),
            *(ball.activate(Ball(big, wide), name) for name in ("relu", "tanh", "gelu")),
        ):
            assert not found.finite.flat[0]


def test_a_product_of_sizes_overflows_before_it_is_scaled():
    """Members of the product reach 1.92e308; divided by 10 they would look harmless, as in LayerNorm."""
    y, ten = exact(np.array([1.6e148])), exact(np.array([10.0]))
    with np.errstate(all="ignore"):
        for rad, fits in ((0.2e160, False), (0.05e160, True)):
            product = Ball(np.array([1e160]), np.array([rad])) * y
            assert (product / ten).finite.all() == fits


@pytest.mark.parametrize("depth", [1, 2])
def test_a_cls_token_that_gets_no_weight_still_overflows(depth):
    """The model multiplies the value of [CLS] by 0: infinity gives NaN, on every input."""
    f = conjunction((0, 2), T=5)
    model = build(f, attends_cls=False)
    layer = model.layers[0]
    encoding = replace(model.encoding, cls=model.encoding.cls * 1e200)
    W_V = layer.W_V.copy()
    W_V[0, 2] = 1e200
    model = replace(
        model, encoding=encoding, layers=(replace(layer, W_Q=layer.W_Q * 1e-200, W_V=W_V),) * depth
    )
    every = assignments(5)
    with np.errstate(all="ignore"):
        assert np.isnan(model(every)).all()
        assert not outputs(model, every).finite.any()
        assert depth > 1 or prove_by_patterns(model, f).max_error == np.inf


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_weights_that_underflow_when_multiplied_out_do_not_vanish(relu, heads):
    """Values of 1e300, two maps of 1e-200 (one merged product, or two linear bounds) and a read-out of 1e100."""
    T = 20
    encoding = positional(T)
    d = encoding.d
    W_V, none = np.zeros((heads, d, 1)), np.zeros((heads, d, 1))
    W_V[:, 1] = 1e300
    W_C = np.repeat(np.eye(1, d)[None], heads, axis=0) * (1.0 if relu else 1e-200)
    small = Dense(1e-200 * np.eye(d)[:, :1], np.zeros(1))
    decoder = (small, Dense(np.array([[1e-200]]), np.zeros(1))) if relu else (small,)
    layer = Layer(none, none, W_V, W_C)
    model = Model(encoding, (layer,), w=np.array([1e100]), decoder=decoder, attends_cls=False)
    every = np.ones((1, T), dtype=np.uint8)
    assert model(every)[0] == pytest.approx(heads)
    assert prove_by_patterns(model, constant(T)).max_error >= heads


def test_scores_that_are_further_apart_than_the_largest_number_prove_nothing():
    T = 24
    model = one_head(T, zero_key=-1.2e308, one_key=1.2e308, one=0.1)
    with np.errstate(all="ignore"):
        assert prove_by_patterns(model, constant(T)).max_error == np.inf
    assert verify(one_head(T, zero_key=-1.2e300, one_key=1.2e300, one=0.1), constant(T)).correct


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_mlp_that_overflows_inside_is_not_certified(activation):
    T = 20
    d = T + 3
    mlp = Mlp(1.5e308 * np.eye(d)[:, :1], np.zeros(1), -1e-308 * np.eye(1, d), np.zeros(d), activation)
    model = single(T, W_C=1.5 * np.eye(1, d)[None], mlp=mlp, bias=1.0, threshold=-3.0)
    refused(model, constant(T, 1), np.ones(T, dtype=np.uint8))
    smaller = replace(mlp, W_1=mlp.W_1 * 1e-108, W_2=mlp.W_2 * 1e108)
    assert verify(replace(model, layers=(replace(model.layers[0], mlp=smaller),)), constant(T, 1)).correct


def test_an_mlp_that_overflows_between_the_ends_of_a_line_is_not_certified():
    """1.2e308 + 1.5e308 (relu(o) - relu(2 o - 1)) is largest at o = 1/2; no ReLU follows before 1e-308."""
    T = 20
    d = T + 3
    W_1, W_2 = np.zeros((d, 2)), np.zeros((2, d))
    W_1[0], W_2[:, 0] = (1, 2), (1.5e308, -1.5e308)
    mlp = Mlp(W_1, np.array([0.0, -1]), W_2, 1.2e308 * np.eye(d)[0], "relu")
    decoder = (
        Dense(np.eye(d)[:, :1] * -1e-308, np.array([3.0])),
        Dense(np.array([[-4.0]]), np.array([2.0])),
    )
    model = single(T, mlp=mlp, decoder=decoder, w=np.array([-1.0]), bias=1.0)
    refused(model, constant(T, 1), bits(T, *range(10)))
    smaller = replace(mlp, W_2=W_2 / 4, b_2=mlp.b_2 / 4)
    assert verify(replace(model, layers=(replace(model.layers[0], mlp=smaller),)), constant(T, 1)).exact


# bounds are rounded up


def test_errors_and_margins_of_ranges_are_rounded_outwards():
    f = parity((0,), T=3)
    rng = np.random.default_rng(5)
    for _ in range(200):
        ranges = np.sort(rng.normal(size=(2, 2)) * 10.0 ** rng.integers(-17, 3), axis=1)
        threshold = float(rng.normal())
        error, margin = worst(ranges, f, threshold)
        true = [[Fraction(float(x)) for x in row] for row in ranges]
        largest = max(abs(x - label) for row, label in zip(true, (0, 1)) for x in row)
        least = min(Fraction(threshold) - true[0][1], true[1][0] - Fraction(threshold))
        assert largest <= Fraction(error) <= largest + 2 * Fraction(np.spacing(float(largest)))
        assert least - 2 * Fraction(np.spacing(abs(float(least)))) <= Fraction(margin) <= least


@pytest.mark.parametrize("method", ["exhaustive", "patterns"])
def test_the_margin_beside_a_counterexample_is_its_own(method):
    f = parity((0, 2), T=6)
    model = build(conjunction((0, 2), T=6))
    found = verify(model, f, method=method)
    output = model(found.counterexample[None])[0]
    label = f(found.counterexample[None])[0]
    assert found.margin == (output - model.threshold) * (2 * int(label) - 1)
    assert run(30, 11, overflow=(3, 4)).false == []


# the attack


def test_no_model_that_may_overflow_gets_a_false_certificate():
    assert run(25, 3, overflow=(19, 24)).false == []
