"""`bound` from end to end: verdicts, forms, extremes, the union bound over norms, histories, bad input."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import DomainError
from sparsehead._base.log_math import is_number
from sparsehead._base.rng import stream
from sparsehead.capacity import bound
from sparsehead.capacity.attention_stages import token_radius
from sparsehead.capacity.forms import FORMS
from sparsehead.capacity.pricing import Pricing
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer, LayerNorm, Mlp
from sparsehead.heads.model import Model

pytestmark = pytest.mark.filterwarnings("error")
NORMS = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42}


def small_model(scale=1.0, T=6):
    """One written-style head: kappa on the first two positions, value e_1."""
    d = T + 3
    eye = np.eye(d)
    layer = Layer(
        W_Q=eye[None, :, 2:3].copy(),
        W_K=scale * (eye[3] + eye[4])[None, :, None],
        W_V=eye[None, :, 1:2].copy(),
        W_C=eye[None, :1, :].copy(),
    )
    return Model(encoding=encoding.positional(T), layers=(layer,), w=eye[0])


def practical_model(T=20, d=8, H=2):
    rng = stream(1, "practical")
    k = d // H

    def w(*shape):
        return 0.1 * rng.normal(size=shape)

    norm = LayerNorm(np.ones(d), w(d), 1e-5)
    layer = Layer(
        w(H, d, k), w(H, d, k), w(H, d, k), w(H, k, d), w(H, k), w(H, k), w(H, k), w(d),
        temperature=k**0.5, residual=True, norm_attention=norm, norm_mlp=norm,
        mlp=Mlp(w(d, 4 * d), w(4 * d), w(4 * d, d), w(d)),
    )  # fmt: skip
    X = encoding.trainable(w(T, d), w(2, d), w(d))
    return Model(encoding=X, layers=(layer,), w=w(d), final_norm=norm, threshold=0.0)


@pytest.mark.parametrize("form", ["ours", "paper", "parametric", "minimum"])
def test_every_form_gives_a_verdict(form):
    found = bound(norms=NORMS, T=300, m=1000, form=form)
    assert found.vacuous and found.vacuous_by > 100 and found.dominated_by == "QK"
    assert found.samples_needed > 1000 and found.realizable_samples < found.samples_needed
    assert sum(term.share for term in found.items) == pytest.approx(1)
    assert found.log_covering == pytest.approx(found.forms[form])
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_verdict_is_consistent_with_the_samples_it_asks_for():
    first = bound(norms=NORMS, T=300, m=1000, form="ours")
    enough = bound(norms=NORMS, T=300, m=first.samples_needed, form="ours")
    assert enough.gap <= 0.05 and not enough.vacuous and enough.vacuous_by is None
    edge = bound(norms=NORMS, T=300, m=math.ceil(1000 * first.vacuous_by), form="ours")
    assert not edge.vacuous and bound(norms=NORMS, T=300, m=int(990 * first.vacuous_by), form="ours").vacuous
    realizable = bound(norms=NORMS, T=300, m=first.realizable_samples, form="ours")
    assert realizable.realizable_error <= 0.05


def test_small_classes_are_dominated_by_confidence():
    found = bound(norms={"V21": 0, "V": 0, "QK": 0, "BX": 1}, T=10, m=100)
    assert found.dominated_by == "confidence" and found.log_covering == 0 and not found.vacuous
    assert found.gap == pytest.approx(math.sqrt(math.log(20) / 200))


@pytest.mark.parametrize("form", ["ours", "paper", "parametric", "minimum", "trauger-tewari"])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_extreme_norms_neither_overflow_nor_underflow(size, form):
    norms = {**dict.fromkeys(NORMS, size), "V11": size, "QK11": size}
    found = bound(norms=norms, T=10**6, m=10**9, form=form)
    json.dumps(found.to_dict(), allow_nan=False)
    assert math.isfinite(found.gap)
    if size > 1:
        assert found.vacuous or form in ("parametric", "minimum")
        assert found.log_log_covering > 10 and found.items[0].log_c > 3000
    else:
        assert not found.vacuous and found.items[0].log_c < -3000


def test_logs_of_extreme_products_are_exact():
    """c and p leave the floats, ln N at eps = 1e300 comes back: everything scales out."""
    large = bound(norms=dict.fromkeys(NORMS, 1e100) | {"BX": 1.0}, T=10, m=10, eps=1e100, form="ours")
    # rescale: QK 1e100 is unchanged by eps, so compare with V and eps both divided by 1e100
    unit = bound(norms={"V21": 1.0, "V": 1.0, "QK": 1e100, "BX": 1.0}, T=10, m=10, eps=1.0, form="ours")
    assert large.log_log_covering == pytest.approx(unit.log_log_covering, rel=1e-12)


def test_models_pay_for_norms_read_off_the_weights():
    model = small_model(3.0)
    paid, given = bound(model, m=1000, form="ours"), bound(model, m=1000, form="ours", a_posteriori=False)
    assert paid.union_penalty > 0 == given.union_penalty
    assert given.log_covering <= paid.log_covering <= 2**6 * given.log_covering  # each norm at most doubles
    assert paid.margin == 0.5 and paid.eps == paid.margin_used / 2


def test_union_bound_weights_add_up_to_at_most_one():
    """exp(-penalty) over every power of two and zero: half a distribution, the other half for other norms."""
    total = 0.0
    for j in range(-1000, 1001):
        price = Pricing("ours", a_posteriori=True)
        price.log_norm("x", 2.0**j)
        total += math.exp(-price.penalty)
    zero = Pricing("ours", a_posteriori=True)
    zero.log_norm("x", 0.0)
    assert 0.499 <= total + math.exp(-zero.penalty) <= 0.5


def test_declared_norms_are_the_next_power_of_two():
    price = Pricing("ours", a_posteriori=True)
    assert [math.exp(price.log_norm(str(x), x)) for x in (1.0, 1.1, 4.0, 0.3)] == pytest.approx(
        [1, 2, 4, 0.5]
    )


def test_the_practical_block_has_a_bound_with_its_verdict():
    found = bound(practical_model(), m=200, form="ours")
    assert found.vacuous and found.dominated_by in {term.name for term in found.items}
    assert found.margin == 1.0 and (found.samples_needed is None or found.samples_needed > 1e9)
    assert {"layer0.head0.QK", "layer0.mlp.W_1", "embedding", "w"} <= {term.name for term in found.items}


def test_more_norm_needs_more_samples():
    sizes = [bound(small_model(scale), m=100, form="ours").samples_needed for scale in (1, 4, 16)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2]


def test_dropping_cls_from_attention_changes_counts_only():
    model = small_model()
    without = replace(model, attends_cls=False)
    small, large = (bound(x, m=10**6, form="ours").log_covering for x in (without, model))
    assert small < large


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"norms": {**NORMS, "QK": -1.0}}, "QK bounds a norm"),
        ({"norms": {**NORMS, "QK": math.nan}}, "QK bounds a norm"),
        ({"norms": {**NORMS, "k": 2.5}}, "k counts things"),
        ({"norms": {**NORMS, "zeta": 1.0}}, "'zeta' is unknown"),
        ({"norms": {"V": 1.0}}, "missing: V21, QK, BX"),
        ({"m": 0}, "m counts things"),
        ({"m": -5}, "m counts things"),
        ({"T": None}, "give T"),
        ({"T": 0}, "T counts things"),
        ({"delta": 0.0}, "delta is a failure probability"),
        ({"delta": 1.0}, "delta is a failure probability"),
        ({"delta": math.nan}, "delta is a failure probability"),
        ({"margin": 0.0}, "margin is a finite number > 0"),
        ({"eps": -0.1}, "eps is a finite number > 0"),
        ({"accuracy": 0.0}, "accuracy is a finite number > 0"),
        ({"form": "theirs"}, "form 'theirs' is unknown"),
        ({"form": "trauger-tewari"}, "give V11 and QK11"),
        ({"norms": None}, "a model or norms"),
        ({"model": small_model()}, "a model or norms"),
        ({"model": small_model(), "norms": None}, "reads T=6 bits"),
    ],
)
def test_misuse_is_one_clear_line(arguments, match):
    with pytest.raises(DomainError, match=match) as caught:
        bound(**{"norms": NORMS, "T": 300, "m": 1000, **arguments})
    assert "\n" not in str(caught.value)


def test_the_longest_token_is_found_whatever_the_vectors_of_the_bits():
    """One-hot positions that are not written out are as long as the same written out."""
    T, d = 12, 15
    for E in (np.ones((2, d)), -np.ones((2, d)), np.eye(2, d), stream(0, "E").normal(size=(2, d))):
        short = encoding.Encoding("positional", T, E, None, encoding.positional(T).cls)
        written = replace(short, P=np.eye(T, d, k=3))
        radius = [token_radius(replace(small_model(T=T), encoding=each)) for each in (short, written)]
        assert radius[0] == pytest.approx(radius[1], rel=1e-15)


def test_a_layer_norm_without_eps_has_no_bound():
    model = small_model()
    norm = LayerNorm(np.ones(model.d), np.zeros(model.d), eps=0.0)
    with pytest.raises(DomainError, match="bounds need eps > 0"):
        bound(replace(model, layers=(replace(model.layers[0], norm_attention=norm),)), m=100)


def test_numbers_of_numpy_are_numbers():
    assert all(map(is_number, (np.int64(3), np.float32(0.5), np.float64(2), 10**400)))
    assert not any(map(is_number, (np.float32("nan"), np.bool_(True), True, "3", 1j)))


@pytest.mark.parametrize("exponent", [20, 400, 3000])
def test_a_context_beyond_floats_is_answered(exponent):
    """T enters by its logarithm, so T = 10^400 is an ordinary value."""
    small, large = (bound(norms=NORMS, T=T, m=1000, form="ours") for T in (10**5, 10**exponent))
    assert small.log_covering < large.log_covering < small.log_covering * exponent
    json.dumps(large.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "match"), [("m", "at most 1e300"), ("QK", "bounds a norm"), ("eps", "finite")]
)
def test_other_numbers_beyond_floats_are_refused(name, match):
    arguments: dict[str, Any] = {"norms": {**NORMS, "QK": 10**400}} if name == "QK" else {name: 10**400}
    with pytest.raises(DomainError, match=match):
        bound(**{"norms": NORMS, "T": 300, "m": 1000, **arguments})


def test_the_smallest_proven_form_leads():
    """A model: `minimum` (506 nats, against 4e8 by norms alone). T huge, few weights: still proven."""
    model = sh.build(sh.parse("x2&x5&x11", T=16))
    found = bound(model, m=100_000)
    assert found.form == "minimum" and found.proven and not found.vacuous and found.gap < 0.2
    assert found.log_covering == min(found.forms[form] for form in FORMS if FORMS[form].proven)
    assert found.gap == found.gaps["minimum"] == min(found.gaps[form] for form in FORMS if FORMS[form].proven)
    assert bound(model, m=100_000, form="ours").vacuous
    assert found.verdict == found.to_dict()["verdict"] and "minimum" in found.verdict


def test_a_form_that_is_not_proven_never_leads_and_says_so():
    # a class of value matrices, too large to count parameters: ln(k m T) where we prove Lambda(k, m)
    cheap = {"V21": 9.0, "V": 9.0, "QK": 1e-9, "BX": 1.0, "d": 10**6, "k": 10**6}
    found = bound(norms=cheap, T=300, m=10**9)
    assert found.forms["paper"] < found.log_covering and found.form != "paper" and found.proven
    asked = bound(norms=cheap, T=300, m=10**9, form="paper")
    assert not asked.proven and asked.verdict.startswith("not proven")


def test_the_smallest_delta_and_margin_have_an_answer():
    """1 / 5e-324 is infinite, and half of 5e-324 is 0."""
    found = bound(norms=NORMS, T=100, m=1000, delta=5e-324, form="ours")
    assert math.isfinite(found.gap) and found.samples_needed is not None
    assert found.realizable_samples is not None
    found = bound(norms=NORMS, T=100, m=1000, margin=5e-324)
    assert found.form == "minimum" and found.vacuous and found.samples_needed is not None


@pytest.mark.parametrize("form", FORMS)
def test_outputs_and_margin_scaled_together_change_nothing(form):
    norms = {**NORMS, "V11": 3.0, "QK11": 12.0}
    one = bound(norms={**norms, "w": 1.5}, T=100, m=10**6, margin=0.25, form=form)
    three = bound(norms={**norms, "w": 4.5}, T=100, m=10**6, margin=0.75, form=form)
    assert one.gap == pytest.approx(three.gap, rel=1e-9)
    assert one.realizable_error == pytest.approx(three.realizable_error, rel=1e-9)


def test_trauger_tewari_leads_where_it_is_smallest():
    """Sparse weights at a huge T: absolute sums and log d beat log T and the count of parameters."""
    sparse = {"V21": 1.0, "V": 1.0, "QK": 1.0, "BX": 1.0, "V11": 1.0, "QK11": 1.0, "d": 999, "k": 999}
    found = bound(norms=sparse, T=10**400, m=10**5)
    assert found.form == "trauger-tewari" and found.log_covering == min(
        found.forms[f] for f in FORMS if FORMS[f].proven
    )


def test_assumptions_are_named():
    model = small_model()
    paid, fixed = (
        " ".join(bound(model, m=9, form="ours", a_posteriori=x).assumptions) for x in (True, False)
    )
    assert "delta pays" in paid and "fixed before the data" in fixed and "independent draws" in paid
    assert "encoding was fixed" in paid and "threshold 0.5 was fixed" in paid and "at least 0.5" in paid
    assert "encoding" not in " ".join(bound(practical_model(), m=9, form="ours").assumptions)


def test_factors_tell_vacuous_forms_apart_whose_gaps_are_equal():
    """Each is the least number of samples, over m, at which `bound` by that form is not vacuous."""
    found = bound(norms=NORMS, T=9, m=50)
    assert len({found.gaps[name] for name in found.factors}) < len(found.factors) == len(found.gaps)
    assert found.factors[found.form] == found.vacuous_by
    for name, factor in found.factors.items():
        m = round(50 * factor)
        assert [bound(norms=NORMS, T=9, m=n, form=name).vacuous for n in (m * 99 // 100, m)] == [True, False]
    enough = bound(norms=NORMS, T=9, m=10**6)
    assert set(enough.factors) == {name for name, gap in enough.gaps.items() if gap >= 1}


def test_forms_are_described():
    assert set(bound(norms={**NORMS, "V11": 1.0, "QK11": 9.0}, T=9, m=9).forms) == set(FORMS)
