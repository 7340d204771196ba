"""Proofs on almost all inputs and by splitting bits: each bound against enumeration, or an exact computation."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.certify import share, verify
from sparsehead.certify.activation_lines import lines_around
from sparsehead.certify.branches import bound_parts, decide, patterns_of
from sparsehead.certify.certificate import rounded_up
from sparsehead.certify.mixtures import FREE, AllInputs, Tokens
from sparsehead.certify.relaxation import Attended, Normed, applies, largest_output, norm_rounding
from sparsehead.certify.share import bound_parts as bound_shares
from sparsehead.certify.share import enumerated_share, proved_share
from sparsehead.certify.sums import Sums, tail_variance
from sparsehead.certify.tails import MostInputs, log_chernoff, tail_chances
from sparsehead.functions import assignments, from_table
from sparsehead.heads.block import LayerNorm
from sparsehead.heads.heads import activation, gelu
from sparsehead.heads.model import Model

from .share_models import learned, random_block, run
from .test_verify import practical


def mixed(model: Model, bits) -> np.ndarray:
    """What the heads mix on each input, (n, H, k)."""
    weights, values = model.cls_weights(bits), model.cls_tables()[1]
    on = np.pad(bits, ((0, 0), (0, 1)))
    chosen = values[np.arange(model.T + 1), on]
    return np.einsum("nht,nthk->nhk", weights, chosen)


def a_part(rng, T):
    state = rng.choice([0, 1, FREE, FREE], size=T)
    bits = assignments(T).astype(int)
    inside = ((state == FREE) | (bits == state)).all(axis=1)
    return state, bits[inside]


def test_statements_about_a_few_dozen_models_are_true():
    tally = run(20, seed=5, T=(3, 6), seconds=0.02)
    assert tally.false == []
    assert tally.counts["proved"] > 2
    assert tally.counts["refuted"] > 2
    assert tally.counts["share known"] > 5


@pytest.mark.slow
def test_statements_about_two_thousand_models_are_true():
    assert run(2000, seed=6, T=(3, 14), seconds=0.1).false == []


# what heads mix


def test_ranges_of_linear_forms_hold_all_mixed_values_and_are_nearly_attained_by_one_head():
    for number in range(20):
        rng = stream(number, "ranges")
        model = random_block(rng, 7)
        state, bits = a_part(rng, 7)
        mixture = AllInputs(Tokens.of(model), state[None], np.full(7, 0.5))
        g = rng.normal(size=(1, *mixture.c.shape[1:], 5))
        low, high = mixture.ranges(g)
        forms = np.einsum("nhk,hkf->nf", mixed(model, bits) - mixture.c[0], g[0])
        assert (forms >= low[0]).all() and (forms <= high[0]).all()
        assert (
            (high - low < 30 * np.ptp(forms, axis=0) + 1e-6).all() or model.H > 1 or mixture.D_low.min() < 0.2
        )


def test_a_part_without_free_bits_has_ranges_of_one_point():
    rng = stream(1, "point")
    model, bits = random_block(rng, 6), rng.integers(0, 2, (4, 6))
    mixture = AllInputs(Tokens.of(model), bits, np.full(6, 0.5))
    low, high = mixture.ranges(rng.normal(size=(4, *mixture.c.shape[1:], 3)))
    assert (np.abs(low) < 1e-9).all() and (np.abs(high) < 1e-9).all()
    assert (low <= 0).all() and (high >= 0).all()


def test_tail_bounds_are_broken_no_more_often_than_they_say():
    """All inputs are enumerated, with their probabilities, at a share of 1/50 for each bound."""
    sharp = 0
    for number in range(12):
        rng = stream(number, "tails")
        model, chance = random_block(rng, 9), rng.uniform(0.1, 0.9, 9)
        state, bits = a_part(rng, 9)
        mixture = MostInputs(Tokens.of(model), state[None], chance, 0.02)
        g = rng.normal(size=(1, *mixture.c.shape[1:], 4))
        low, high = mixture.ranges(g)
        forms = np.einsum("nhk,hkf->nf", mixed(model, bits) - mixture.c[0], g[0])
        weight = np.where(state == FREE, np.where(bits == 1, chance, 1 - chance), 1.0).prod(axis=1)
        assert weight.sum() == pytest.approx(1)
        broken = ((forms < low[0]) | (forms > high[0])).any(axis=1)
        assert weight[broken].sum() <= mixture.spent
        every = AllInputs(Tokens.of(model), state[None], chance).ranges(g)
        sharp += int((low > every[0] + 1e-9).sum() + (high < every[1] - 1e-9).sum())
    assert sharp > 5  # they say more than the bounds over all inputs


def weighed(first, moves, p, G):
    """All values of the forms G of the sum over tokens, (2^n, f), and their probabilities."""
    bits = assignments(len(p))
    sums = first.sum(axis=0) + bits @ moves
    return sums @ G, np.where(bits == 1, p, 1 - p).prod(axis=1)


@pytest.mark.parametrize("log_inverse", [0.5, 3.0, 9.0])
def test_one_tail_bound_is_broken_no_more_often_than_it_says(log_inverse):
    """Equal terms of one sign come closest to the bound; terms of all sizes try the blocks of heavy ones."""
    seen = 0.0
    for number in range(12):
        rng = stream(number, "one tail")
        p = rng.uniform(0.02, 0.98, 12) if number % 2 else np.full(12, float(rng.choice([0.1, 0.5, 0.9])))
        scale = 1.0 if number % 3 else 10.0 ** rng.uniform(-3, 1, (12, 1))
        first, moves = rng.normal(size=(12, 2)), np.abs(rng.normal(1, 0.1, size=(12, 2))) * scale
        G = np.concatenate([np.eye(2), -np.eye(2), rng.normal(size=(2, 3))], axis=1)
        sums = Sums.of(first[None], moves[None], p)
        middle = sums.middle(G[None])[0]
        forms, weight = weighed(first, moves, p, G)
        assert weight @ forms == pytest.approx(middle)
        for sign, beyond in zip((-1.0, 1.0), sums.beyond(G[None], log_inverse, (-1.0, 1.0))):
            broken = (sign * (forms - middle) > beyond[0]).astype(float)
            share = weight @ broken / np.exp(-log_inverse)
            assert (share <= 1).all()
            seen = max(seen, float(share.max()))
    assert seen > 0.01  # they are broken at all, and not much less often than they say


def test_few_terms_are_bounded_by_their_largest_values():
    first, moves = np.zeros((1, 40, 1)), np.concatenate([np.full(3, 1.0), np.full(37, 1e-6)])[None, :, None]
    above = Sums.of(first, moves, np.full(40, 0.25)).beyond(np.ones((1, 1, 1)), 30.0, (1.0,))[0]
    assert 3 * 0.75 < above[0, 0] < 3 * 0.75 + 1e-4


def test_light_terms_count_as_a_normal_variable():
    n = 1000
    first, moves = np.zeros((1, n, 1)), np.ones((1, n, 1))
    above = Sums.of(first, moves, np.full(n, 0.5)).beyond(np.ones((1, 1, 1)), 8.0, (1.0,))[0]
    assert above[0, 0] == pytest.approx(np.sqrt(2 * 8.0 * n / 4), rel=1e-6)


def test_the_tails_of_a_bit_are_lighter_than_normal_ones():
    """E exp(x (b - p)) <= exp(w x^2 / 2), with equality at x = 2 ln((1 - p) / p)."""
    chances = np.array([1e-12, 0.01, 0.3, 0.4999, 0.5, 0.500499, 0.8, 1 - 1e-9])
    with mpmath.workdps(40):
        for p, w in zip(chances, tail_variance(chances)):
            q = mpmath.mpf(1) - mpmath.mpf(float(p))
            touching = 2 * mpmath.log(q / float(p))
            for x in (-30, -3, -0.1, 0.01, 1, 7, 200, touching):
                log = mpmath.log(q * mpmath.exp(-float(p) * x) + float(p) * mpmath.exp(q * x))
                assert log <= mpmath.mpf(float(w)) * x * x / 2
            if abs(touching) > 0.1:
                assert float(log) == pytest.approx(float(w * x * x / 2), rel=1e-6)
    assert tail_variance(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_every_use_of_a_tail_bound_is_counted():
    model = random_block(stream(3, "count"), 6)
    mixture = MostInputs(Tokens.of(model), np.full((1, 6), FREE), np.full(6, 0.5), 1e-6)
    assert mixture.events == 2 * model.H
    mixture.ranges(np.ones((1, *mixture.c.shape[1:], 5)))
    assert mixture.events == 2 * model.H + 2 * 5 * (
        2 * model.H + 1
    )  # two sides; heads from both ends, and their sum
    assert mixture.spent >= mixture.events * 1e-6


# chances


def exact_chance(terms, p, level):
    """P(S >= level) in fractions."""
    total = Fraction(0)
    for bits in product((0, 1), repeat=len(p)):
        if sum(Fraction(terms[t, b]) for t, b in enumerate(bits)) >= Fraction(level):
            weight = Fraction(1)
            for t, b in enumerate(bits):
                weight *= Fraction(p[t]) if b else 1 - Fraction(p[t])
            total += weight
    return total


def test_chances_of_large_sums_are_bounded():
    informative = 0
    for number in range(60):
        rng = stream(number, "chance")
        terms, p = rng.normal(size=(7, 2)) * 10.0 ** rng.uniform(-3, 3), rng.choice([0.01, 0.3, 0.9], size=7)
        level = float(rng.uniform(terms.min(axis=1).sum(), terms.max(axis=1).sum() * 1.01))
        bound = tail_chances(terms[None], p, np.array([level]))[0]
        true = exact_chance(terms, p, level)
        assert bound >= true
        informative += bound < 0.5
    assert informative > 10


def test_a_chance_is_that_of_ones_not_of_zeros():
    terms = np.tile([0.0, 1.0], (20, 1))
    assert tail_chances(terms[None], np.full(20, 0.05), np.array([10.0]))[0] < 1e-4
    assert tail_chances(terms[None], np.full(20, 0.95), np.array([10.0]))[0] == 1.0


def test_chances_of_several_sums_are_those_of_each_alone():
    rng = stream(3, "several")
    terms, p, level = rng.normal(size=(4, 9, 2)), rng.uniform(0.1, 0.9, 9), np.array([-50.0, 3.0, 6.0, 50.0])
    together = tail_chances(terms, p, level)
    assert together.tolist() == [tail_chances(terms[[i]], p, level[[i]])[0] for i in range(4)]
    assert together[0] == 1
    assert together[3] == 0


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0, 500.0])
def test_the_logarithm_of_chernoffs_bound_is_rounded_up(rate):
    rng = stream(int(rate * 100), "chernoff")
    for _ in range(10):
        terms, p, level = rng.normal(size=(30, 2)), rng.uniform(1e-9, 1 - 1e-9, 30), float(rng.normal())
        with mpmath.workdps(60):
            true = -mpmath.mpf(rate) * level
            for (a, b), q in zip(terms, p):
                q = mpmath.mpf(float(q))
                true += mpmath.log(
                    (1 - q) * mpmath.exp(rate * mpmath.mpf(float(a)))
                    + q * mpmath.exp(rate * mpmath.mpf(float(b)))
                )
            found = float(log_chernoff(terms[None], p, np.array([level]), np.array([rate]))[0])
            assert found >= true
            assert found - true < 1e-9 * (1 + abs(true))


def test_a_chance_that_underflows_is_not_zero():
    terms = np.tile([0.0, 1.0], (20_000, 1))
    assert 0 < tail_chances(terms[None], np.full(20_000, 1e-6), np.array([19_000.0]))[0] < 1e-300


# what follows the attention


@pytest.mark.parametrize("name", ["gelu", "relu", "tanh", "identity"])
def test_lines_lie_below_and_above_an_activation(name):
    rng = stream(0, "lines", name)
    low = rng.normal(size=200) * 10.0 ** rng.uniform(-3, 1.3, 200)
    high = low + np.abs(rng.normal(size=200)) * 10.0 ** rng.uniform(-3, 1.3, 200)
    at = rng.uniform(low, high)
    (a, b), (c, d) = lines_around(name, low, high, at)
    x = low + np.linspace(0, 1, 2001)[:, None] * (high - low)
    y = activation(name)(x)
    assert (a * x + b <= y).all() and (y <= c * x + d).all()
    narrow = high - low < 0.5
    assert (((c - a) * at + d - b)[narrow] < 0.3).all()


def test_gelu_bends_by_no_more_than_is_assumed():
    x = np.linspace(-9, 9, 200_001)
    second = np.diff(gelu(x), 2) / (x[1] - x[0]) ** 2
    assert 0.79 < np.abs(second).max() < 0.8
    assert np.abs(np.diff(gelu(x)) / np.diff(x)).max() < 1.13


def test_forms_of_a_layer_norm_hold_and_narrow_with_the_region():
    rng = stream(2, "normed")
    for number in range(15):
        model = practical(stream(number, "normed"), 6, quiet=float(10 ** rng.uniform(-2, 0.3)))
        state, bits = a_part(rng, 6)
        U = Attended(model, AllInputs(Tokens.of(model), state[None], np.full(6, 0.5)))
        norm = model.layers[0].norm_mlp
        view = Normed(U, norm)
        rows = mixed(model, bits).reshape(len(bits), -1) @ U.W + model.encoding.cls + model.layers[0].b_C
        plain = LayerNorm(np.ones(model.d), np.zeros(model.d), eps=norm.eps)(rows)
        kappa = rng.normal(size=(1, model.d, 6))
        _, (low, high) = view.ranges(kappa)
        forms = plain @ kappa[0]
        assert (forms >= low[0]).all() and (forms <= high[0]).all()
        constant, slope = view.lower_form(kappa[..., 0])
        assert (forms[:, 0] >= constant[0] + (rows - U.u0[0]) @ slope[0] - 1e-9).all()
        spread = np.sqrt(((rows - rows.mean(axis=1, keepdims=True)) ** 2).mean(axis=1) + norm.eps)
        assert (view.s_low[0] <= spread).all() and (spread <= view.s_high[0]).all()


def test_a_layer_norm_rounds_by_no_more_than_its_bound():
    from .adversarial import LONG

    rng = stream(3, "rounding")
    for _ in range(50):
        rows = rng.normal(size=(1, 16)) * 10.0 ** rng.uniform(-6, 6) + rng.normal() * 10.0 ** rng.uniform(
            -6, 6
        )
        norm = LayerNorm(rng.normal(size=16), rng.normal(size=16))
        exact_rows = rows.astype(LONG)
        centred = exact_rows - exact_rows.mean(axis=1, keepdims=True)
        s = np.sqrt((centred**2).mean(axis=1, keepdims=True) + LONG(norm.eps))
        error = np.abs(norm(rows) - (norm.gain * centred / s + norm.bias))
        allowed = norm_rounding(norm, np.abs(rows).max(axis=1), s[0].astype(float) * (1 - 1e-15))
        assert (error <= allowed).all()


def test_the_bound_over_a_part_is_below_its_outputs_and_close_at_a_point():
    for number in range(25):
        rng = stream(number, "parts")
        model = random_block(rng, 7)
        state, bits = a_part(rng, 7)
        for sign in (1.0, -1.0):
            found = bound_parts(model, Tokens.of(model), state[None], np.array([sign]))
            signed = sign * (model(bits) - model.threshold)
            assert not found.low[0] > 0 or found.low[0] <= signed.min()
            point = bound_parts(model, Tokens.of(model), bits[:1], np.array([sign]))
            if signed[0] > 1e-3:
                assert signed[0] * (1 - 1e-4) < point.low[0] <= signed[0]


def test_outputs_that_may_overflow_have_no_bound():
    model = practical(stream(0, "large"), 5)
    assert np.isfinite(largest_output(model))
    for changed in (
        replace(model, w=model.w * 1e307),
        replace(model, final_norm=replace(model.final_norm, eps=0.0)),
        replace(model, layers=(replace(model.layers[0], W_C=model.layers[0].W_C * 1e200),)),
    ):
        with np.errstate(all="ignore"):
            assert not np.isfinite(largest_output(changed))


def test_models_of_another_form_are_left_to_other_methods():
    model = sh.build("x1 & x3", T=30)
    assert not applies(model)
    assert verify(model, "x1 & x3", p=0.5).share == 0.0


# verify


def a_learned_model():
    model = learned("best", "and", 24, 1)
    assert model is not None
    return model


def test_a_learned_model_is_proved_on_all_inputs_by_splitting_bits():
    model = sh.learn("or", T=20, s=3, m=200, seed=0, preset="best").model
    assert model is not None
    found = verify(model, model.meta["function"], p=0.8)
    assert found.correct
    assert found.method == "branches"
    assert found.share == 0.0
    assert found.mostly is None
    seen = []
    again = verify(model, model.meta["function"], method="branches", progress=lambda *args: seen.append(args))
    assert again.margin == found.margin
    assert seen[-1][0] == pytest.approx(1)
    bits = stream(0, "sampled").integers(0, 2, (500, 20))
    signs = 2 * sh.parse(model.meta["function"], T=20)(bits) - 1
    assert ((model(bits) - model.threshold) * signs).min() >= found.margin


def test_without_time_nothing_is_decided():
    model = a_learned_model()
    f = sh.parse(model.meta["function"], T=24)
    tokens = Tokens.of(model)
    hard = practical(stream(4, "undecided"), 24)
    found = decide(hard, f, Tokens.of(hard), limit_seconds=1e-9)
    assert found.margin is None
    assert 0 <= found.covered < 1
    assert proved_share(model, f, tokens, np.full(24, 0.8), limit_seconds=1e-9) <= 1


def test_the_share_is_that_of_an_enumeration_where_there_is_one():
    model = learned("fast", "and", 8, 2)
    assert model is not None
    f = from_table(T=8, support=(0, 1), table=(0, 0, 0, 1))
    chance = np.array([0.9, 0.8, 0.1, 0.5, 0.5, 0.5, 0.99, 0.2])
    bits = assignments(8)
    weight = np.where(bits == 1, chance, 1 - chance).prod(axis=1)
    true = weight[model.predict(bits) != f(bits)].sum()
    found = verify(model, f, p=chance.tolist())
    assert found.share == pytest.approx(true, rel=1e-6)
    assert found.share >= true * (1 - 1e-12)
    assert found.p == tuple(chance)
    assert enumerated_share(model, f, 1 - chance) != pytest.approx(true, rel=1e-3)
    assert proved_share(model, f, Tokens.of(model), chance, limit_seconds=0.5) >= true * (1 - 1e-12)


@pytest.mark.parametrize("rare", [1e-200, 1e-300, 5e-324])
def test_a_wrong_input_that_is_possible_has_a_share_above_zero(rare):
    """Also where its probability, here the square of `rare`, is smaller than any float64 number."""
    model, f = sh.build("x1 & x2", T=4), from_table(T=4, support=(), table=(0,))
    found = verify(model, f, p=[0.5, rare, rare, 0.5])
    assert found.correct is False
    assert found.share > 0
    bound = proved_share(model, f, Tokens.of(model), np.array([0.5, rare, rare, 0.5]), limit_seconds=0.3)
    assert bound > 0
    assert verify(model, f, p=[0.5, 0.0, rare, 0.5]).share == 0


def test_bits_that_are_hardly_ever_one_are_fixed_and_their_probability_is_added():
    model, f = sh.build("x1", T=4), from_table(T=4, support=(), table=(0,))
    rare = 2.0**-901
    found = proved_share(model, f, Tokens.of(model), np.array([0.5, rare, 0.5, 0.5]), limit_seconds=0.3)
    assert found >= rare


def test_hopeless_shares_are_given_up_after_a_fifth_of_the_time():
    model = random_block(stream(4, "hopeless"), 40)
    f = from_table(T=40, support=(), table=(1,))
    start = time.process_time()
    bound = proved_share(model, f, Tokens.of(model), np.full(40, 0.5), limit_seconds=5.0)
    assert bound > 0.9
    assert time.process_time() - start < 2.5


def test_a_part_weighs_its_probability_and_bits_that_are_certain_are_fixed():
    model = a_learned_model()
    f = sh.parse(model.meta["function"], T=24)
    chance = np.full(24, 0.75)
    state, signs = patterns_of(f)
    parts = bound_shares(model, Tokens.of(model), state, chance, signs)
    assert sum(part.chance for part in parts) == pytest.approx(1)
    ones = np.array([part.chance for part in parts])[[0, -1]]
    assert ones == pytest.approx([0.25**f.s, 0.75**f.s])
    certain = np.where(np.isin(np.arange(24), f.support), 1.0, 0.5)
    assert proved_share(model, f, Tokens.of(model), certain, limit_seconds=0.3) <= 1
    bits = np.where(stream(1, "certain").random((400, 24)) < 0.5, 1, 0)
    fixed = proved_share(model, f, Tokens.of(model), bits[0].astype(float), limit_seconds=0.3)
    assert fixed >= float(model.predict(bits[:1])[0] != f(bits[:1])[0])


def test_parts_are_bounded_alone_as_in_a_batch_and_split_by_the_bit_that_moves_most():
    model = a_learned_model()
    f = sh.parse(model.meta["function"], T=24)
    chance, tokens = np.full(24, 0.75), Tokens.of(model)
    state, signs = patterns_of(f)
    together = bound_shares(model, tokens, state, chance, signs)
    for i, part in enumerate(together):
        alone = bound_shares(model, tokens, state[[i]], chance, signs[[i]])[0]
        assert (alone.chance, alone.split) == (part.chance, part.split)
        assert alone.share == pytest.approx(part.share, rel=1e-3)
        assert part.split >= 0
        assert part.state[part.split] == FREE
    fixed = bound_shares(model, tokens, np.zeros((1, 24), dtype=int), chance, -np.ones(1))[0]
    assert fixed.split == -1


def test_batches_of_parts_give_what_single_parts_give(monkeypatch):
    """The parts cover all inputs exactly once, however many are split together."""
    model = random_block(stream(2, "batches"), 5)
    f = from_table(T=5, support=(0, 1), table=(0, 0, 0, 1))
    chance = np.array([0.9, 0.8, 0.1, 0.5, 0.99])
    covered: list[share.Part] = []
    real = share.bound_parts

    def counting(model, tokens, state, *rest):
        parts = real(model, tokens, state, *rest)
        covered.extend(part for part in parts if part.split < 0)
        return parts

    monkeypatch.setattr(share, "bound_parts", counting)
    monkeypatch.setattr(share, "TARGET", -1.0)
    for batch in (1, 3, 64):
        covered.clear()
        monkeypatch.setattr(share, "parts_at_once", lambda tokens, batch=batch: batch)
        found = proved_share(model, f, Tokens.of(model), chance, limit_seconds=60.0)
        assert len({tuple(part.state) for part in covered}) == len(covered) == 2**5
        assert found == pytest.approx(enumerated_share(model, f, chance), rel=1e-6)


def test_a_token_that_outweighs_all_others_is_split_first():
    """Its value is near the mean, so that only the denominator shows it."""
    model = random_block(stream(5, "outweighs"), 6)
    tokens = Tokens.of(model)
    weight = np.full_like(tokens.weight, 1e-6)
    weight[3, 0] = 1.0
    tokens = replace(tokens, weight=weight, light=weight, heavy=weight)
    mixture = MostInputs(tokens, np.full((1, 6), FREE), np.full(6, 0.5), 1e-6)
    assert share.most_moving(model, mixture, np.full((1, 6), FREE)).tolist() == [3]


def test_the_sentence_rounds_up_and_names_p():
    assert rounded_up(3.01e-10) == "3.1e-10"
    for x in np.exp(np.random.default_rng(0).uniform(-40, 0, 300)):
        assert x <= float(rounded_up(x)) <= x * 1.11
    model = learned("best", "and", 24, 1)
    wrong = verify(model, "x0", p=0.25, limit_seconds=0.3)
    assert wrong.correct is False
    assert wrong.share is not None
    if wrong.share < 1:
        assert "(p = 0.25), proved; wrong on" in wrong.verdict


@pytest.mark.parametrize("p", [-0.1, 1.5, [0.5] * 7, [0.5] * 7 + [2.0], float("nan")])
def test_probabilities_are_checked(p):
    with pytest.raises(DomainError, match="p is a"):
        verify(sh.build("x1 & x3", T=8), "x1 & x3", p=p)
