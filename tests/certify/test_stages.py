"""What each stage of a certificate adds for rounding, against a second computation in exact rationals.

The second computation follows the derivation at the head of each file, entry by entry, in `Fraction`s. A radius must
lie between the formula and the formula raised by 2^-18 (radii are rounded up by 1 + 2^-20 a few times) plus underflow.
"""

import sys
from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.certify import balls as ball
from sparsehead.certify import chain as chains
from sparsehead.certify import verify
from sparsehead.certify.balls import Ball, exact
from sparsehead.certify.brackets import mixing_error, never_exceeds, weight_bounds
from sparsehead.certify.chain import Step, line_ranges, relu_chain, segments
from sparsehead.certify.patterns import _zonotopes, prove_by_patterns
from sparsehead.certify.regions import Box, Zonotope, _ends, output_range
from sparsehead.certify.search import gradient
from sparsehead.functions import assignments, parse
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import trainable
from sparsehead.heads.heads import additions
from sparsehead.heads.model import Model
from sparsehead.heads.ranges import Choices

U = F(1, 2**52)  # one rounding here and one in the model
RAISED, LOST = 1 + F(1, 2**18), F(1, 2**900)


def rational(x):
    """The same array of Fractions."""
    return np.vectorize(lambda y: F(float(y)), otypes=[object])(np.asarray(x))


def tight(found, wanted, raised=RAISED):
    """wanted <= found <= wanted (1 + 2^-18) + underflow, entry by entry."""
    found, wanted = rational(found), np.asarray(wanted, dtype=object)
    assert found.shape == wanted.shape
    for a, b in zip(found.flat, wanted.flat):
        assert b <= a <= b * raised + LOST


def balls_of(rng, *shape):
    mid = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6, shape) * (rng.random(shape) < 0.8)
    return Ball(mid, np.abs(mid) * 10.0 ** rng.uniform(-16, -3) * (rng.random(shape) < 0.8))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_radius_of_a_matrix_product_is_its_formula(n):
    rng = stream(41, "matmul", n)
    for _ in range(5):
        x, W = balls_of(rng, 3, n), balls_of(rng, n, 2)
        X, RX, M, RM = (rational(a) for a in (x.mid, x.rad, W.mid, W.rad))
        rows = max(np.count_nonzero(np.abs(x.mid) + x.rad, axis=1))
        columns = max(np.count_nonzero(np.abs(W.mid) + W.rad, axis=0))
        terms = min(rows, columns)
        spread = RX @ (abs(M) + RM) + abs(X) @ RM
        rounded = (terms + 1) * U * ((abs(X) + RX) @ (abs(M) + RM))
        tight((x @ W).rad, spread + rounded)
        # without any spread, rounding is all there is
        tight((exact(x.mid) @ exact(W.mid)).rad, _terms(x.mid, W.mid) * U * (abs(X) @ abs(M)))
    # raised by more than a sum of radii rounds
    wide = Ball(np.zeros((n, 1)), np.full((n, 1), 1 / n))
    assert (exact(np.ones((1, n))) @ wide).rad[0, 0] >= 1 + 2.0**-20
    assert (exact(np.ones((0, n))) @ np.ones((n, 2))).rad.shape == (0, 2)


def _terms(x, W):
    rows, columns = np.count_nonzero(x, axis=1), np.count_nonzero(W, axis=0)
    return int(min(rows.max(), columns.max())) + 1


def test_the_radii_of_sums_products_and_quotients_are_their_formulas():
    rng = stream(42, "entries")
    for _ in range(10):
        x, y = balls_of(rng, 4, 5), balls_of(rng, 4, 5)
        y = Ball(y.mid + 1e7, y.rad)
        X, RX, Y, RY = (rational(a) for a in (x.mid, x.rad, y.mid, y.rad))
        mid = rational(x.mid + y.mid)
        tight((x + y).rad, RX + RY + U * (abs(mid) + RX + RY))
        product = RX * (abs(Y) + RY) + abs(X) * RY + U * (abs(X) + RX) * (abs(Y) + RY)
        tight((x * y).rad, product)
        quotient = abs(rational(x.mid / y.mid))
        spread = (RX + quotient * RY) / (abs(Y) - RY)
        tight((x / y).rad, spread + U * (quotient + spread))
        total = (RX.sum(axis=1) + 7 * U * (abs(X) + RX).sum(axis=1)) / 5
        tight(ball.mean(x).rad[:, 0], total)


def test_the_radius_of_a_softmax_is_its_formula():
    """rho = rad + U (|s - max| + max rad) + 8 U; the shares move by (e^rho - 1 + M + r) / (1 - M), M with r added."""
    rng = stream(43, "softmax")
    for n in (3, 20, 700):
        s = Ball(rng.normal(size=(2, n)), np.full((2, n), 1e-9) * rng.random((2, n)))
        shifted = s.mid - s.mid.max(axis=1, keepdims=True)
        rho = s.rad + 2.0**-52 * (np.abs(shifted) + s.rad.max(axis=1, keepdims=True)) + 8 * 2.0**-52
        weights, found = ball.exponentials(s)
        np.testing.assert_allclose(found, rho, rtol=2e-6)
        assert (found >= rho).all()
        share = weights / weights.sum(axis=1, keepdims=True)
        r = (additions(n) + 4) * 2.0**-52
        M = (share * np.expm1(rho)).sum(axis=1, keepdims=True) + r
        np.testing.assert_allclose(ball.softmax(s).rad, share * (np.expm1(rho) + M + r) / (1 - M), rtol=1e-5)


def test_the_radii_of_a_projection_and_a_root_are_their_formulas():
    rng = stream(44, "norms")
    for n in (2, 9):
        x = Ball(3 + rng.random((4, n)), 1e-8 * rng.random((4, n)))
        total, moved, most = (np.linalg.norm(a, axis=1) for a in (x.mid, x.rad, x.mid + x.rad))
        norm = moved + (n + 4) * 2.0**-52 * most
        quotient = np.abs(x.mid) / total[:, None]
        spread = (x.rad + quotient * norm[:, None]) / (total - norm)[:, None]
        np.testing.assert_allclose(
            ball.project_rows(x).rad, spread + 2.0**-52 * (quotient + spread), rtol=1e-4
        )
        narrow = exact(x.mid)
        norm = (n + 4) * 2.0**-52 * total[:, None]
        wanted = quotient * norm / total[:, None] + 2.0**-52 * quotient
        np.testing.assert_allclose(ball.project_rows(narrow).rad, wanted, rtol=0.25)
        root = ball.sqrt(exact(x.mid))
        np.testing.assert_allclose(root.rad, 2 * 2.0**-52 * np.sqrt(x.mid), rtol=1e-5)


@pytest.mark.parametrize("name", ["tanh", "gelu", "gelu_tanh"])
def test_activations_of_exact_numbers_have_the_error_of_the_library(name):
    x = np.linspace(-4, 4, 41)
    found = ball.activate(exact(x), name)
    own = 8 * 2.0**-52 * np.abs(np.tanh(x)) if name == "tanh" else 16 * 2.0**-52 * np.abs(x)
    assert (found.rad >= own).all()
    assert (found.rad <= own * (1 + 1e-5) + 4e-15 * 2.0**-2 + 1e-300).all()


def test_the_mixing_error_is_its_formula():
    for n in (3, 100, 5000):
        sizes = np.array([0.5, 3.0, 1e200])
        tight(mixing_error(n, sizes), [(additions(n) + 4) * U * F(s) for s in (0.5, 3.0, 1e200)])


def test_weights_are_bounded_by_their_relative_error():
    """e^(+-rho) around exp(s - max), 16 U for the products; underflow below and above."""
    s = Ball(np.array([[0.0, -1.0], [-30.0, 2.0]]), np.array([[1e-9, 0.0], [1e-3, 0.0]]))
    light, heavy = weight_bounds(s)
    plain = np.exp(s.mid - 2.0)
    rho = s.rad + 2.0**-52 * (np.abs(s.mid - 2.0) + 1e-3) + 8 * 2.0**-52
    np.testing.assert_allclose(np.log(heavy / plain), rho + 16 * 2.0**-52, rtol=2e-6, atol=3e-16)
    np.testing.assert_allclose(np.log(plain / light), rho + 16 * 2.0**-52, rtol=2e-6, atol=3e-16)
    assert weight_bounds(exact(np.array([[0.0, -2000.0]])))[1][0, 1] == 2.0**-1021


@pytest.mark.parametrize("n", [4, 30, 600])
def test_a_bound_is_proved_only_beyond_the_rounding_of_its_sum(n):
    """Equal weights and values +-1: F(U) = -n U; proved iff n U > (additions + 4) UNIT n (and U rounding), tightly."""
    values = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None] * np.ones((1, 2))
    choices = Choices(np.ones((n, 2)), values, ())
    nothing = np.zeros((1, 0), dtype=np.uint8)
    edge = (additions(n) + 4) * 2.0**-52
    assert not never_exceeds(choices, nothing, np.array([edge * 0.98]))[0]
    assert never_exceeds(choices, nothing, np.array([edge * 1.02 + 2.0**-52]))[0]


def steps(rng, widths):
    return [(rng.normal(size=(a, b)), rng.normal(size=b)) for a, b in pairwise(widths)]


def test_the_allowance_of_steps_and_of_their_product_is_its_formula():
    """units (|x||A||B| + |a||B| + |b|), units = (terms + 4) U each, and (inner + rows + 4) U for forming AB."""
    rng = stream(45, "steps")
    (A, a), (B, b) = steps(rng, (4, 3, 2))
    size = np.abs(rng.normal(size=(1, 4)))
    first, second = Step.of(A, a, False), Step.of(B, b, True)
    S, RA, Ra, RB, Rb = (rational(np.abs(x)) for x in (size, A, a, B, b))
    tight(first.allowance(size), (4 + 4) * U * (S @ RA + Ra))
    merged = second.after(first)
    units = ((4 + 4) + (3 + 4) + (3 + 4 + 4)) * U
    tight(merged.allowance(size), units * (S @ RA @ RB + Ra @ RB + Rb))
    np.testing.assert_allclose(merged.W, A @ B, rtol=1e-12)


def test_what_the_residual_and_a_bias_cancel_still_rounds():
    """b_C + cls is nearly zero, and rounds by the size of both."""
    rng = stream(52, "cancel")
    b_C, w = 10 * rng.normal(size=4), rng.normal(size=4)
    cls = 1e-9 - b_C
    none, W_C = np.zeros((2, 4, 3)), rng.normal(size=(2, 3, 4))
    layer = Layer(none, none, none, W_C, b_C=b_C, residual=True)
    encoding = trainable(np.zeros((3, 4)), np.zeros((2, 4)), cls)
    (step,) = relu_chain(Model(encoding, (layer,), w=w, bias=0.5))
    B, C, W = (abs(rational(x)) for x in (b_C, cls, w))
    tight(step.b_size, [(B + C) @ W + F(1, 2)])


def test_the_deviation_along_a_line_is_its_formula():
    """No bend: D = D_0 |W| + allowance, twice; D_0 = aside + 4 U (|start| + |o||direction|)."""
    rng = stream(46, "line")
    (A, a), (B, b) = steps(rng, (2, 3, 1))
    a = np.abs(a) + 50.0
    start, direction, aside = rng.normal(size=2), rng.normal(size=2), np.array([1e-12, 0.0])
    points = np.array([0.25, 0.5])
    chain = (Step.of(A, a, True), Step.of(B, b, False))
    _, found = segments(chain, start, direction, aside, points)
    P, Q, C, d = (rational(x) for x in (start, direction, aside, points))
    D = C + 4 * U * (abs(P) + d[1] * abs(Q))
    ends = [start + p * direction for p in points]
    for W, c, relu in ((A, a, True), (B, b, False)):
        size = np.maximum(*(abs(rational(x)) for x in ends)) + D
        D = D @ abs(rational(W)) + (len(W) + 4) * U * (size @ abs(rational(W)) + abs(rational(c)))
        ends = [np.maximum(x @ W + c, 0) if relu else x @ W + c for x in ends]
    tight(found, D)


def test_the_slack_of_linear_bounds_is_its_formula():
    rng = stream(47, "slack")
    W, b = steps(rng, (3, 2))[0]
    low, high = np.array([0.1, -2.0, 0.3]), np.array([0.2, 1.0, 0.4])
    _, _, slack = output_range((Step.of(W[:, :1], b[:1], False),), Box(low, high))
    size = rational(np.maximum(np.abs(low), np.abs(high)))
    reach = (size @ abs(rational(W[:, :1])))[0]
    # the step's own allowance, and that of the new bounds, whose sizes are counted twice
    wanted = (3 + 4) * U * (reach + abs(F(float(b[0])))) + (3 + 4) * U * (2 * reach + abs(F(float(b[0]))))
    tight(np.array(slack), np.array(wanted, dtype=object))


def test_the_ends_are_the_slack_and_its_rounding_where_all_else_is_zero():
    zero, one = np.zeros(1), np.ones(1)
    low, high = _ends(Box(zero, zero), np.eye(1), np.eye(1), zero, zero, one)
    assert (low[0], high[0]) == (-1 - 2.0**-51, 1 + 2.0**-51)


@pytest.mark.parametrize("far", [0, 1])
def test_the_error_of_a_zonotope_holds_the_wider_of_both_bits(far):
    """Five tokens of equal weight, values 0 up to 1 for one of the bits: the mix is 0 up to 1."""
    wide = np.zeros((5, 2, 2, 1))
    wide[:, far] = 1.0
    scores, values = exact(np.zeros((5, 2, 2))), Ball(np.zeros(wide.shape), wide)
    for zonotope in _zonotopes(parse("x0 & x3", T=4), scores, values):
        assert (zonotope.error >= 1).all() and (zonotope.error <= 1 + 1e-5).all()
    # exact values of 1: the balls of five products, their two sums over tokens, and one over the pattern
    share = ball.softmax(exact(np.zeros((1, 5))))
    a, rad = F(float(share.mid[0, 0])), F(float(share.rad[0, 0]))
    wanted = (2 * additions(5) + 2 + 8) * U * 5 * a + 5 * (rad + U * (a + rad))
    for zonotope in _zonotopes(parse("x0 & x3", T=4), scores, exact(np.ones(wide.shape))):
        tight(zonotope.error, [wanted, wanted])


def unmoved(T):
    """Three heads, no bit moves attention, no [CLS]: every output is a sum over the bits' values."""
    rng = stream(49, "whole")
    encoding = trainable(rng.normal(size=(T, 4)), rng.normal(size=(2, 4)), rng.normal(size=4))
    none, W_V = np.zeros((3, 4, 1)), rng.normal(size=(3, 4, 1))
    layer = Layer(none, none, W_V, rng.normal(size=(3, 1, 4)))
    return Model(encoding, (layer,), w=rng.normal(size=4), attends_cls=False)


def test_patterns_of_all_positions_leave_nothing_free():
    model, f = unmoved(3), parse("x0 & x1 & x2", T=3)
    proof = prove_by_patterns(model, f)
    every = assignments(3)
    assert proof.method == "affine"
    assert proof.max_error == pytest.approx(np.abs(model(every) - f(every)).max(), rel=1e-9)


@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_the_worst_input_is_named_whichever_chunk_holds_it(chunk, monkeypatch):
    """Outputs beyond the label have the largest error on one input, the least margin on another."""
    monkeypatch.setattr(sys.modules["sparsehead.certify.verify"], "INPUTS_AT_ONCE", chunk)
    every = assignments(6)
    for text, bias in (("0", -20.0), ("1", 20.0), ("x5", -20.0), ("!x5", 20.0), ("x0 ^ x3", 0.0)):
        model, f = replace(unmoved(6), bias=bias), parse(text, T=6)
        errors = np.abs(model(every) - f(every))
        signed = (model(every) - model.threshold) * np.where(f(every) == 1, 1, -1)
        found = verify(model, f)
        assert found.worst_input.tolist() == every[errors.argmax()].tolist()
        if signed.min() > 0:
            assert found.counterexample is None
        else:
            assert found.counterexample.tolist() == every[signed.argmin()].tolist()


def test_a_proof_by_patterns_takes_2_to_the_20_patterns_of_8192_tokens_and_no_more():
    assert sys.modules["sparsehead.certify.verify"].MOST_PATTERN_TOKENS == 2**20 * 8192


def test_a_chain_bends_at_its_relus_alone():
    """relu(o - 1/4) - 1/8 bends at 1/4, and is zero without a bend at 3/8."""
    one = np.ones((1, 1))
    chain = (Step.of(one, np.array([-0.25]), True), Step.of(one, np.array([-0.125]), False))
    assert chains.kinks(chain, np.zeros(1), np.ones(1), 0.0, 1.0).tolist() == [0.0, 0.25, 1.0]


def test_ranges_along_a_line_do_not_depend_on_how_many_points_are_held_at_once(monkeypatch):
    rng = stream(51, "points")
    maps = steps(rng, (1, 6, 6, 1))
    chain = tuple(Step.of(W, b, relu) for (W, b), relu in zip(maps, (True, True, False)))
    low = rng.normal(size=7)
    high = low + rng.random(7)
    asked = (chain, np.zeros(1), np.ones(1), np.full(1, 1e-12), low, high)
    whole = line_ranges(*asked)
    for numbers in (6, 18, 60):
        monkeypatch.setattr(chains, "HIDDEN_AT_ONCE", numbers)
        for a, b in zip(line_ranges(*asked), whole):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_slope_of_a_linear_tail_is_its_weights():
    rng = stream(50, "slope")
    W_C, w = rng.normal(size=(2, 3, 4)), rng.normal(size=4)
    none = np.zeros((2, 4, 3))
    encoding = trainable(np.zeros((3, 4)), np.zeros((2, 4)), np.zeros(4))
    model = Model(encoding, (Layer(none, none, none, W_C),), w=w, bias=7.0)
    np.testing.assert_allclose(gradient(model, rng.normal(size=(2, 3))), W_C @ w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [1, 5, 60])
def test_the_lowest_value_over_a_box_or_zonotope_is_its_formula(n):
    rng = stream(48, "regions", n)
    A = rng.normal(size=(3, 2))
    base, moves, error = rng.normal(size=3), rng.normal(size=(n, 3)), np.array([1e-13, 0.0, 2e-13])
    zonotope = Zonotope(base, moves, error)
    R, B, S, E = (rational(x) for x in (A, base, moves, error))
    size = abs(B) + abs(S).sum(axis=0) + E
    exact_low = B @ R + np.minimum(S @ R, F(0)).sum(axis=0)  # type: ignore[call-overload]
    lost = (additions(n) + 3 + 4) * U * (size @ abs(R)) + E @ abs(R)
    below = exact_low - rational(zonotope.lowest(A))
    # the value itself rounds by at most half of what is allowed for
    assert all(0.4 * w < x < 1.6 * w for x, w in zip(below, lost))
    # whole numbers whose lowest value is 0: what is left is the allowance alone
    moves, first = rng.integers(-8, 9, (n, 3)).astype(float), np.eye(3)[:, :1]
    base = -np.minimum(moves, 0).sum(axis=0)
    size = F(base[0]) + F(np.abs(moves[:, 0]).sum()) + E[0]
    lowest = Zonotope(base, moves, error).lowest(first)
    tight(-lowest, [(additions(n) + 3 + 4) * U * size + E[0]])
    box = Box(base - 0.5, base + 0.5)
    low, high = rational(box.low), rational(box.high)
    exact_low = low @ np.maximum(R, F(0)) + high @ np.minimum(R, F(0))  # type: ignore[call-overload]
    lost = (3 + 3) * U * (np.maximum(abs(low), abs(high)) @ abs(R))
    below = exact_low - rational(box.lowest(A))
    assert all(0.5 * w < x < 1.5 * w for x, w in zip(below, lost))
