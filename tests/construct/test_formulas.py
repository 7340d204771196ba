"""What a written head reads, computed token by token from its weights, against the formulas of the theory."""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.construct import build, lens_weights
from sparsehead.construct.attention import (
    TooNarrow,
    additive_selection,
    bag_selection,
    default_leak,
    scale_for_leak,
    trainable_positions,
    trainable_selection,
)
from sparsehead.construct.candidates import threshold_weights
from sparsehead.construct.code import Code, best_code, count_changes
from sparsehead.construct.decoder import plateaus
from sparsehead.construct.linear import _log_ratio, linear_head
from sparsehead.construct.multi import of_clean_bits
from sparsehead.construct.norm_report import paper_norms
from sparsehead.construct.paper import paper_model
from sparsehead.functions import assignments, conjunction, from_table, parity, parse
from sparsehead.heads.block import Layer
from sparsehead.heads.encoding import bag, positional, random_bag, random_positions
from sparsehead.heads.model import Model

T, SUPPORT = 6, (1, 4)
BITS = assignments(T).astype(np.int64)
CODES = [Code((1, 1), 1), Code((3, 2), 1), Code((2, -1), 1)]


def reading(encoding, selection, bits, attends_cls):
    """(o, share of attention outside the support): one input, softmax over tokens as defined."""
    X = encoding(bits)
    X = X if attends_cls else X[:-1]
    weights = np.exp(X @ selection.key)
    shares = weights / weights.sum()
    return float(shares @ (X @ selection.value)), 1 - float(shares[list(SUPPORT)].sum())


def predicted(code, bits, leak, attends_cls):
    """o and the share outside, from C, m, eps and beta alone: the docstring of `additive_selection`."""
    c, C = np.array(code.weights), sum(map(abs, code.weights))
    inside, outside = bits[list(SUPPORT)], np.delete(bits, SUPPORT)
    n = T - len(SUPPORT) + attends_cls
    eps, m = (1 / (8 * C), c.sum() / C) if min(c) < 0 < max(c) else (0.0, 1.0)
    most = (T - len(SUPPORT)) * (1 + eps) + attends_cls if eps else n
    scale = (
        most * (1 - leak) / (leak * C)
    )  # e^beta: outside tokens hold `leak` at their most against C e^beta
    weight_in = scale * (np.abs(c) * (1 + eps * inside)).sum()
    weight_out = (1 + eps * outside).sum() + attends_cls
    o = (scale * (c * inside).sum() + m * outside.sum()) / (weight_in + weight_out)
    return o, weight_out / (weight_in + weight_out)


@pytest.mark.parametrize("attends_cls", [True, False])
@pytest.mark.parametrize("code", CODES)
def test_an_additive_head_reads_the_code_and_leaks_as_much_as_asked(code, attends_cls):
    leak = default_leak(code)
    assert leak == 1 / (2 * (sum(map(abs, code.weights)) + 1))
    encoding = positional(T)
    trained = trainable_selection(T, SUPPORT, code, leak=leak, attends_cls=attends_cls)
    own = trained.encoding
    written = additive_selection(encoding, SUPPORT, code, leak=leak, attends_cls=attends_cls)
    for bits in BITS:
        wanted = predicted(code, bits, leak, attends_cls)
        assert reading(encoding, written, bits, attends_cls) == pytest.approx(wanted, abs=1e-11)
        if not (code.mixed and attends_cls):  # [CLS] counts there with bit 1: a little more than it can
            assert reading(own, trained, bits, attends_cls) == pytest.approx(wanted, abs=1e-11)
    assert np.linalg.norm(own.P) <= math.sqrt(len(SUPPORT) * (1 + code.mixed))
    assert own.d == (5 if code.mixed else 4)


@pytest.mark.parametrize("attends_cls", [True, False])
@pytest.mark.parametrize("code", CODES)
def test_a_bag_head_reads_a_moebius_function_of_the_code(code, attends_cls):
    c, C = np.array(code.weights), sum(map(abs, code.weights))
    tau = 1 / (8 * C) if code.mixed else 1.0
    selection = bag_selection(bag(T), SUPPORT, code, attends_cls=attends_cls)
    for bits in BITS:
        b = bits[list(SUPPORT)]
        wanted = ((c * b).sum() / C) / (1 + tau * (abs(c) * b).sum() / C)
        assert reading(bag(T), selection, bits, attends_cls)[0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("attends_cls", [True, False])
def test_random_positions_leak_at_most_what_was_asked_and_attain_it(attends_cls):
    code, leak = Code((2, 1), 1), 0.1
    encoding = random_positions(T, 40, rng=stream(0, "leak"))
    selection = additive_selection(encoding, SUPPORT, code, leak=leak, attends_cls=attends_cls)
    found = [reading(encoding, selection, bits, attends_cls)[1] for bits in BITS]
    assert max(found) == pytest.approx(leak, rel=1e-9)
    tokens, _ = encoding.project(np.stack([selection.key], axis=1))
    inside = tokens[list(SUPPORT), :, 0]
    np.testing.assert_allclose(inside[0] - inside[1], math.log(2), atol=1e-12)  # ln c_1 - ln c_2


@pytest.mark.parametrize("case", range(6))
def test_the_scale_solves_its_equation(case):
    rng = stream(case, "scale")
    slope, offset = rng.uniform(-1, 0.9, 7), rng.normal(size=7) * (1 + 3 * (case % 2))
    total, leak = int(rng.integers(1, 9)), float(rng.uniform(0.01, 0.9))
    beta = scale_for_leak(slope, offset, total=total, leak=leak)
    outside = np.exp(beta * slope + offset).sum()
    assert outside / (outside + total * math.exp(beta)) == pytest.approx(leak, rel=1e-9)
    assert scale_for_leak(np.zeros(7), np.zeros(7), total=total, leak=leak) == pytest.approx(
        math.log(7 * (1 - leak) / (leak * total)), rel=1e-12
    )
    assert scale_for_leak(np.zeros(0), np.zeros(0), total=total, leak=leak) == 0


def test_a_scale_below_zero_is_found():
    beta = scale_for_leak(np.array([0.5]), np.array([-3.0]), total=5, leak=0.9)
    assert beta < -2
    assert math.exp(0.5 * beta - 3) / (math.exp(0.5 * beta - 3) + 5 * math.exp(beta)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("text", "decides"), [("x1 & x4", 0), ("x1 | x4", 1), ("!(x1 & x4)", 0), ("!(x1 | x4)", 1)]
)
def test_a_linear_head_has_the_scores_of_the_formula(text, decides):
    """b_2 = ln(2 (s - 1) / eps) on the bit that decides, b_1 = b_2 + ln(2 (T - s + 1) / (s eps)) on the support."""
    f, epsilon = parse(text, T=T), 0.01
    model = linear_head(f, positional(T), epsilon=epsilon, attends_cls=True)
    layer = model.layers[0]
    key = (layer.W_K[0] @ layer.W_Q[0].T @ model.encoding.cls)[None]
    tokens, cls = model.encoding.project(key.T)
    b_2 = math.log(2 / epsilon)
    b_1 = b_2 + math.log(2 * (T - 2 + 1) / (2 * epsilon))
    wanted = np.zeros((T, 2))
    wanted[:, decides] += b_2
    wanted[list(SUPPORT)] += b_1
    np.testing.assert_allclose(tokens[:, :, 0], wanted, atol=1e-9)
    assert cls[0] == pytest.approx(0, abs=1e-12)
    assert np.abs(model(BITS) - f(BITS)).max() <= epsilon


def test_plateaus_turn_a_quarter_into_each_gap():
    decoder = plateaus(np.array([0.0, 1.0, 4.0]), np.array([0.2, 2.0, 5.0]), np.array([0, 3, 1]))
    np.testing.assert_allclose(decoder.kinks, [0.4, 0.8, 2.5, 3.5])
    np.testing.assert_allclose(decoder.slopes, [3 / 0.4, -3 / 0.4, -2, 2])
    assert (decoder.start, decoder.gap) == (0.0, pytest.approx(0.8))
    np.testing.assert_allclose(decoder(np.array([-9.0, 0.6, 3.0, 99.0])), [0, 1.5, 2, 1])


def test_clean_bits_take_the_smaller_of_two_constructions():
    """Parity of four bits: four kinks against eight minterms. One input of three bits, apart: one minterm."""
    rng = stream(0, "clean")
    cases = [
        parity(range(4), T=4),
        conjunction(range(3), T=3),
        from_table(T=3, support=(0, 1, 2), table=(0, 0, 1, 0, 0, 0, 0, 0)),
    ]
    cases += [from_table(T=4, support=range(4), table=rng.integers(0, 2, 16).tolist()) for _ in range(4)]
    for f in cases:
        W, b, w, bias = of_clean_bits(f)
        np.testing.assert_allclose(np.maximum(assignments(f.s) @ W + b, 0) @ w + bias, f.values, atol=1e-12)
        ones = int(f.values.sum())
        assert len(w) <= min(ones, 2**f.s - ones)
    assert [len(of_clean_bits(f)[2]) for f in cases[:3]] == [4, 1, 1]


def test_the_papers_head_has_the_printed_scale():
    """R = ln(8 T / g): g = 2/s for symmetric functions, 2 for a bit apart, in a bag 1/s and R = ln(8 T s / g)."""
    for f, scale in ((parity(SUPPORT, T=T), math.log(8 * T)), (parse("x1 & !x4", T=T), math.log(4 * T))):
        layer = paper_model(f, positional(T)).layers[0]
        np.testing.assert_allclose(np.linalg.norm(layer.W_Q, axis=(1, 2)), scale, rtol=1e-12)
        layer = paper_model(f, bag(T)).layers[0]
        np.testing.assert_allclose(np.linalg.norm(layer.W_Q[0]), math.log(8 * T * 4), rtol=1e-12)


def test_the_papers_norms_are_those_of_its_weights_where_the_formula_says_so():
    f = parity(SUPPORT, T=T)
    for encoding in ("positional", "bag"):
        model = build(f, encoding, method="paper")
        found = paper_norms(model, f)
        layer = model.layers[0]
        for name in ("W_Q", "W_K", "W_C"):
            assert found[name] == pytest.approx(np.linalg.norm(getattr(layer, name)[0]), rel=1e-12), name
        assert found["W_QK"] == pytest.approx(np.linalg.norm(layer.W_Q[0] @ layer.W_K[0].T), rel=1e-12)
        assert found["W_V"] == pytest.approx(np.linalg.norm(layer.W_V[0]), rel=1e-12)


def test_the_best_code_of_three_bits_is_the_best_of_all_small_codes():
    """Fewest changes, then one sign, then the smallest sum: against all weights up to 5, for all 218 functions."""
    for signs in (True, False):
        either = [c for c in range(-5, 6) if c] if signs else range(1, 6)
        rivals = np.array(list(product(either, repeat=3)))
        mixed = (rivals.min(axis=1) < 0) & (rivals.max(axis=1) > 0)
        total = np.abs(rivals).sum(axis=1)
        for number in range(256):
            table = (number >> np.arange(8) & 1).astype(np.uint8)
            cube = table.reshape(2, 2, 2)
            if any((cube.take(0, i) == cube.take(1, i)).all() for i in range(3)):
                continue  # a bit that does not matter
            code = best_code(table, signs=signs)
            changes = count_changes(table, rivals)
            best = min(zip(changes.tolist(), mixed.tolist(), total.tolist(), strict=True))
            assert (code.changes, code.mixed, code.total) == best, (number, signs)
            assert signs or min(code.weights) > 0


def test_weights_are_rounded_from_the_relaxation_where_the_integer_programme_ends_early(monkeypatch):
    table = (assignments(5).astype(int) @ np.array([1, 2, 3, 4, 5]) >= 8).astype(np.uint8)
    monkeypatch.setattr("scipy.optimize.milp", lambda *a, **k: SimpleNamespace(x=None))
    weights = threshold_weights(table, 5, signs=True)
    assert count_changes(table, np.array([weights]))[0] == 1 and min(weights) >= 1


def test_trainable_positions_have_an_axis_each_and_no_more_width_than_needed():
    f = parse("x1 & !x4 ^ x2", T=T)
    every = trainable_positions(T, (1, 4), np.eye(2), d=None)
    assert every.d == 5 and every.P[1].tolist() == [0, 0, 0, 1, 0] and every.P[4].tolist() == [0, 0, 0, 0, 1]
    assert np.abs(every.P).sum() == 2
    for g, d in ((parity(SUPPORT, T=T), 4), (f, 6)):
        model = paper_model(g, None)
        assert model.d == d and model.encoding.P[list(g.support)].max() == 1
        assert model.encoding.P.min() == 0 and model.encoding.P.sum() == g.s
        assert np.abs(model(BITS) - g(BITS)).max() < 1e-9
    assert build("x1 & !x1", "trainable", T=T).d == 4
    assert build("x1 & !x1", "trainable", T=T, d=7).d == 7


def test_a_head_alone_has_a_bias_only_where_tokens_carry_no_constant():
    f = conjunction(SUPPORT, T=T)
    for attends_cls in (True, False):
        for encoding, plain in (("positional", True), ("trainable", True), ("bag", False)):
            model = build(f, encoding, readout="head", attends_cls=attends_cls)
            assert (model.layers[0].b_V is None) == plain, encoding


def test_bits_are_cleaned_between_a_quarter_and_three_quarters_of_their_gap():
    """Each of the s heads reads its bit in [0, zero] or [one, 1]; the kinks of its two units lie inside the gap."""
    f = parse("x1 & !x4 ^ x2", T=T)
    model = build(f, "random", d=60, heads="s", seed=0)
    read = model.cls_state(BITS)
    dense = model.decoder[0]
    for i, position in enumerate(f.support):
        zero, one = (read[BITS[:, position] == b, i] for b in (0, 1))
        low, high = zero.max(), one.min()
        kinks = -dense.b[2 * i : 2 * i + 2] / dense.W[i, 2 * i : 2 * i + 2]
        np.testing.assert_allclose(kinks, [low + (high - low) / 4, high - (high - low) / 4], rtol=1e-9)
        np.testing.assert_allclose(dense.W[i, 2 * i : 2 * i + 2], 2 / (high - low), rtol=1e-9)


@pytest.mark.parametrize("heads", ["one", "s", "cancel"])
@pytest.mark.parametrize("attends_cls", [True, False])
def test_functions_of_all_positions(heads, attends_cls):
    f = from_table(T=3, support=(0, 1, 2), table=(0, 1, 1, 0, 0, 1, 1, 1))
    model = build(f, heads=heads, attends_cls=attends_cls)
    assert np.abs(model(assignments(3)) - f(assignments(3))).max() < 1e-9


def test_a_position_that_equals_a_relevant_one_cannot_be_told_apart():
    rng = stream(0, "twin")
    plain = random_positions(T, 30, rng=rng)
    twin = replace(plain, P=np.vstack([plain.P[:5], plain.P[1:2]]))
    bagged = random_bag(T, 30, rng=rng)
    twin_bag = replace(bagged, P=np.vstack([bagged.P[:5], bagged.P[1:2]]))
    f = conjunction(SUPPORT, T=T)
    for encoding, options in (
        (twin, {}), (twin, {"epsilon": 0.1}), (twin, {"method": "paper"}), (twin, {"heads": "s"}),
        (twin_bag, {}), (twin_bag, {"method": "paper"}),
    ):  # fmt: skip
        with pytest.raises(TooNarrow, match="an irrelevant position scores"):
            build(f, encoding, **options)


def test_the_logarithm_of_a_ratio_beyond_the_floats():
    assert _log_ratio(6.0, 2.0) == pytest.approx(math.log(3))
    assert _log_ratio(1e200, 1e-200) == pytest.approx(400 * math.log(10))


def test_lens_weights_have_the_width_of_the_widest_matrix():
    """Queries of width 2, values of width 3: padded with zeros to 3; biases follow, [CLS] is last."""
    rng = stream(1, "lens")
    draw: Callable[..., Any] = lambda *shape: rng.normal(size=shape)  # noqa: E731
    layer = Layer(
        W_Q=draw(2, 9, 2), W_K=draw(2, 9, 2), W_V=draw(2, 9, 3), W_C=draw(2, 3, 9),
        b_Q=draw(2, 2), b_K=draw(2, 2), b_V=draw(2, 3), b_C=draw(9), temperature=2.0,
    )  # fmt: skip
    encoding = positional(T)
    model = Model(encoding, (layer,), w=draw(9))
    found = lens_weights(model)
    a = "blocks.0.attn."
    assert found[f"{a}W_Q"].shape == found[f"{a}W_K"].shape == found[f"{a}W_V"].shape == (2, 9, 3)
    assert found[f"{a}W_O"].shape == (2, 3, 9) and found[f"{a}b_Q"].shape == (2, 3)
    for bits in BITS[::7]:
        X = found["embed.W_E"][[*bits, 2]] + found["pos_embed.W_pos"]
        out = found[f"{a}b_O"].copy()
        for h in range(2):
            q, k, v = (X @ found[f"{a}W_{n}"][h] + found[f"{a}b_{n}"][h] for n in "QKV")
            weights = np.exp(k @ q[-1])
            out += (weights / weights.sum()) @ v @ found[f"{a}W_O"][h]
        np.testing.assert_allclose(out, model.cls_state(bits[None])[0], atol=1e-12)


def test_the_memory_asked_for_is_that_of_positions_heads_and_rows(monkeypatch):
    """720 bytes for each position and head, and 16 for each number in random rows."""
    asked = []
    module = sys.modules["sparsehead.construct.build"]
    monkeypatch.setattr(module, "require_memory", lambda what, need, **sizes: asked.append(need(**sizes)))
    f = conjunction(SUPPORT, T=T)
    build(f)
    build(f, heads="s")
    build(f, "random", d=60, seed=0)
    assert asked == [T * 720.0, T * 1440.0, T * (720.0 + 16 * 60)]
