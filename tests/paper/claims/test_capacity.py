"""Capacity of heads: the split lemma, the single-layer bound, its symmetries, and a packing of real heads
below it.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsehead._base.rng import stream
from sparsehead.capacity.forms import FORMS, covering, log_Lambda
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.items import log_capacity
from sparsehead.capacity.networks import model_items
from sparsehead.capacity.pricing import Pricing
from sparsehead.heads import encoding
from sparsehead.heads.block import Layer
from sparsehead.heads.heads import softmax
from sparsehead.heads.model import Model
from sparsehead_paper.theory.function_classes import class_packing_number
from sparsehead_paper.theory.printed import item, printed_corollary, split
from sparsehead_paper.theory.shattering import shattered_inputs, shattering_head, shatters

sizes = st.floats(1e-3, 1e3)
NORMS = {"V21": 2.0, "V": 1.5, "QK": 7.0, "BX": 1.2, "d": 20, "k": 5, "V11": 4.0, "QK11": 30.0}


def ln_N(norms=NORMS, *, form="ours", m=500, T=100, eps=0.1, **more):
    items = head_class_items(head_class({**norms, **more}), m=m, T=T, price=Pricing(form))
    return covering(items, eps=eps, form=form).log_covering


@pytest.mark.claim("split-lemma")
@settings(deadline=None)
@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=6), sizes, st.integers(0, 10**6))
def test_split_lemma_closed_form_is_the_minimum(pairs, eps, seed):
    """The split meets its constraint and its value g^3/eps^2; 50 random splits are never better."""
    items = [item(f"{i}", c=c, p=p) for i, (c, p) in enumerate(pairs)]
    x = np.array(split(items, eps))
    c, p = np.array(pairs).T
    value = math.exp(log_capacity(items)) / eps**2
    assert p @ x == pytest.approx(eps, rel=1e-9) and (c / x**2).sum() == pytest.approx(value, rel=1e-9)
    for shares in stream(seed, "shares").dirichlet(np.ones(len(pairs)), size=50):
        assert (c / np.maximum(shares * eps / p, 1e-200) ** 2).sum() >= value * (1 - 1e-9)


def test_split_lemma_shares_add_up_and_name_the_dominant_item():
    found = covering([item("a", c=1, p=1), item("b", c=8, p=1), item("zero", c=0, p=1)], eps=1, form="ours")
    assert found.shares == pytest.approx((1 / 3, 2 / 3, 0)) and found.log_covering == pytest.approx(27)


@pytest.mark.claim("single-layer-capacity")
def test_single_layer_capacity_is_the_displayed_formula():
    V21, V, QK, B, L, m, T, k, eps = 2.0, 1.5, 7.0, 1.2, 1.13, 500, 100, 5, 0.1
    inner = V21 ** (2 / 3) * math.exp(log_Lambda(k, math.log(m)) / 3)
    inner += (QK * B * B * V) ** (2 / 3) * math.log(2 * m * T + 1) ** (1 / 3)
    assert ln_N(L=L) == pytest.approx((L * B / eps) ** 2 * inner**3, rel=1e-12)


@pytest.mark.claim("single-layer-capacity")
@settings(deadline=None)
@given(st.floats(1e-3, 1e3), st.sampled_from(sorted(FORMS)))
def test_single_layer_capacity_is_invariant_under_rescaling(c, form):
    """c X with W_QK, W_V computes what X with c^2 W_QK, c W_V computes: the bound must not tell them apart."""
    scaled = {**NORMS, "BX": NORMS["BX"] * c}
    moved = {**NORMS, "QK": NORMS["QK"] * c * c, "V": NORMS["V"] * c, "V21": NORMS["V21"] * c}
    moved |= {"V11": NORMS["V11"] * c, "QK11": NORMS["QK11"] * c * c}
    assert ln_N(scaled, form=form) == pytest.approx(ln_N(moved, form=form), rel=1e-6)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(FORMS)), st.floats(1.01, 20), st.sampled_from(["eps", "m", "T", "V21", "QK", "BX"])
)
def test_single_layer_capacity_is_monotone(form, factor, what):
    base = {"eps": 0.1, "m": 500, "T": 100}
    if what in NORMS:
        assert ln_N({**NORMS, what: NORMS[what] * factor}, form=form, **base) >= ln_N(form=form, **base) * (
            1 - 1e-9
        )
    else:
        grown = {**base, what: base[what] * factor if what == "eps" else math.ceil(base[what] * factor)}
        small, large = ln_N(form=form, **base), ln_N(form=form, **grown)
        assert large <= small * (1 + 1e-9) if what == "eps" else large >= small * (1 - 1e-9)


def test_single_layer_capacity_grows_like_log_T_and_not_at_all_without_it():
    """ours: ln N is a cube of a sum with ln^{1/3} T in it, so its ratio to ln T settles; trauger-tewari: no
    T.
    """
    Ts = [10**k for k in (3, 6, 12, 24, 48)]
    ours = [ln_N(T=T, m=10) for T in Ts]
    assert max(ours) / min(ours) < math.log(Ts[-1]) / math.log(Ts[0])
    assert len({ln_N(T=T, form="trauger-tewari") for T in Ts}) == 1


@pytest.mark.claim("multi-head-capacity")
def test_multi_head_capacity_adds_under_the_cube_and_a_zero_head_adds_nothing():
    """H equal heads: H^3 times one. A head of norm zero: exactly nothing."""
    assert ln_N(H=3) == pytest.approx(27 * ln_N(), rel=1e-12)
    one = head_class_items(head_class(NORMS), m=500, T=100, price=Pricing("ours"))
    zero = {"V21": 0, "V": 0, "QK": 0, "BX": NORMS["BX"]}
    nothing = head_class_items(head_class(zero), m=500, T=100, price=Pricing("ours"))
    for form in ("ours", "minimum", "parametric"):
        assert covering(one + nothing, eps=0.1, form=form) == replace(
            covering(one, eps=0.1, form=form), shares=covering(one, eps=0.1, form=form).shares + (0.0, 0.0)
        )


@pytest.mark.claim("positional-capacity")
def test_positional_capacity_adds_the_positions_length():
    assert ln_N({**NORMS, "BX": 0.9, "BP": 0.3}) == pytest.approx(ln_N({**NORMS, "BX": 1.2}), rel=1e-12)


def test_single_layer_capacity_minimum_is_below_its_parts():
    for eps in (0.01, 0.1, 1.0, 3.0):
        best = ln_N(form="minimum", eps=eps)
        assert best <= min(ln_N(eps=eps), ln_N(form="parametric", eps=eps)) * (1 + 1e-12)


def scalar_model(T, kappa, nu):
    """One head without residual whose score vector is kappa and whose value vector is nu, d = T + 3."""
    X = encoding.positional(T)
    one = np.ones((1, 1, 1))
    layer = Layer(
        W_Q=X.cls[None, :, None].copy(),
        W_K=kappa[None, :, None],
        W_V=nu[None, :, None],
        W_C=np.concatenate([one, np.zeros((1, 1, T + 2))], axis=2),
    )
    return Model(encoding=X, layers=(layer,), w=np.eye(T + 3)[0])


@pytest.mark.claim("token-aggregation", "head-capacity")
def test_head_capacity_packing_of_real_heads_stays_below_the_bound():
    """ln P(F_n, 2 eps) <= ln N(F, eps) <= the bound, F_n sampled heads with |kappa| = 3, |nu| = 1, evaluated
    by definition.

    Seen: ln P 2.7 against 48 (minimum) and 1.7e3 (closed form) at eps = .4; 7.0, 76 and 1.1e5 at .05. With
    1500 sampled heads ln P cannot pass 7.3, so most of the distance is the sample's.
    """
    T, m, n = 4, 12, 1500
    rng = stream(11, "heads")
    X = encoding.positional(T)
    bits = rng.integers(0, 2, size=(m, T))
    tokens = np.array([X(b) for b in bits])
    kappa, nu = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.normal(size=(2, n, T + 3)))
    values = np.einsum(
        "nmt,nmt->nm",
        softmax(np.einsum("mtd,nd->nmt", tokens, 3 * kappa)),
        np.einsum("mtd,nd->nmt", tokens, nu),
    )
    model = scalar_model(T, 3 * kappa[0], nu[0])
    assert model(bits) == pytest.approx(values[0], abs=1e-12)
    items = model_items(model, m=m, price=Pricing("minimum"))
    assert [k.name for k in items] == ["layer0.head0.QK", "layer0.head0.V"]
    for eps in (0.4, 0.2, 0.05):
        packed = class_packing_number(values[:, :, None], r=2 * eps, time_limit=0.5)
        best = covering(items, eps=eps, form="minimum").log_covering
        assert 1 < math.log(packed.lower) < best < 80
        assert best < covering(items, eps=eps, form="ours").log_covering


def test_single_layer_capacity_scalar_head_formula():
    """(|nu| B)^2 ( ln^{1/3}(2 min(m,D)+1) + (|kappa| B)^{2/3} ln^{1/3}(2D+1) )^3 / eps^2, B = sqrt 2, D = 2T
    + 1 tokens.
    """
    T, m, eps = 5, 40, 0.3
    kappa, nu = 3 * np.eye(T + 3)[4], 2 * np.eye(T + 3)[1]
    items = model_items(scalar_model(T, kappa, nu), m=m, price=Pricing("ours"))
    D, B = 2 * T + 1, math.sqrt(2)
    inner = math.log(2 * min(m, D) + 1) ** (1 / 3) + (3 * B) ** (2 / 3) * math.log(2 * D + 1) ** (1 / 3)
    assert covering(items, eps=eps, form="ours").log_covering == pytest.approx(
        (2 * B / eps) ** 2 * inner**3, rel=1e-9
    )


def test_single_layer_capacity_stops_growing_with_m_on_boolean_data():
    """Fixed embeddings have 2T + 1 distinct tokens, so beyond that many samples ln N stands still."""
    model = scalar_model(5, np.ones(8), np.ones(8))
    at = [
        covering(model_items(model, m=m, price=Pricing("ours")), eps=0.1, form="ours") for m in (5, 11, 10**6)
    ]
    assert at[0].log_covering < at[1].log_covering == at[2].log_covering


@pytest.mark.claim("pseudo-dimension")
@pytest.mark.parametrize("T", [4, 8, 16, 32, 100])
def test_pseudo_dimension_is_at_least_log2_T(T):
    assert shatters(T)
    X = shattered_inputs(T)
    assert X.shape == (int(math.log2(T)), T, 3) and np.linalg.norm(X, axis=2).max() <= math.sqrt(2) + 1e-12


@pytest.mark.claim("pseudo-dimension")
def test_pseudo_dimension_margin_needs_large_norms():
    """At |w_QK| = T^2 outputs are within 3e-7 of the bits; at norm 1 the patterns are still there, within .3
    of 1/2.
    """
    T = 16
    X = shattered_inputs(T)
    for scale, low, high in ((None, 0.4999, 0.5), (1.0, 0.0, 0.3)):
        outputs = np.array(
            [
                (softmax(X @ w) * (X @ v)).sum(axis=1)
                for w, v in (shattering_head(T, b, scale=scale) for b in range(T))
            ]
        )
        assert low <= np.abs(outputs - 0.5).min() <= high


def test_printed_corollary_agrees_with_itself_at_unit_tokens_only():
    given = {"V21": 2.0, "V": 1.0, "QK21": 3.0, "L": 1.0, "m": 50, "T": 10, "eps": 0.5}
    assert printed_corollary(BX=1, **given) == pytest.approx(
        4 * (2 ** (2 / 3) + 3 ** (2 / 3)) ** 3 * math.log(500)
    )
