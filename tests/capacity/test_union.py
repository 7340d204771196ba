"""What was chosen after training is paid for, and the margin is one that models have."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sparsehead as sh
from sparsehead.capacity import bound
from sparsehead.capacity.networks import model_items
from sparsehead.capacity.pricing import Pricing, _penalty, declared_margin
from sparsehead.heads.block import Mlp
from sparsehead.heads.model import Dense

from .test_bound import practical_model, small_model

pytestmark = pytest.mark.usefixtures("unchecked")  # many bounds; their shapes are checked in test_bound.py


def structure_weight(model):
    """The prior weight of everything that was chosen but the sizes of norms, whose own weights add up to 1."""
    price = Pricing("ours", a_posteriori=True)
    model_items(model, m=100, price=price)
    return math.exp(math.fsum(_penalty(size) for size in price.declared.values()) - price.penalty)


def patterns(model, names):
    """The model with every subset of its biases set to zero; a name is a path of attributes."""
    for zeros in itertools.product([False, True], repeat=len(names)):
        changed = model
        for name, zero in zip(names, zeros, strict=True):
            changed = zeroed(changed, name) if zero else changed
        yield changed


def zeroed(model, name):
    layer = model.layers[0]
    if name == "bias":
        return replace(model, bias=0.0)
    if name == "decoder":
        dense = model.decoder[0]
        return replace(model, decoder=(replace(dense, b=0 * dense.b), *model.decoder[1:]))
    if name.startswith("mlp"):
        part = name.split(".")[1]
        mlp = replace(layer.mlp, **{part: 0 * getattr(layer.mlp, part)})
        return replace(model, layers=(replace(layer, mlp=mlp), *model.layers[1:]))
    return replace(model, layers=(replace(layer, **{name: 0 * getattr(layer, name)}), *model.layers[1:]))


def bare_with_biases(L):
    """A model with every bias that the architecture knows, none of them zero, and no LayerNorm to move them."""
    model = small_model()
    one = np.ones
    layer = replace(
        model.layers[0], b_Q=one((1, 1)), b_V=one((1, 1)), b_C=one(9), mlp=Mlp(np.eye(9), one(9), np.eye(9), one(9))
    )  # fmt: skip
    dense = Dense(np.eye(9), one(9))
    return replace(model, layers=(layer,) * L, bias=1.0, decoder=(dense,))


@pytest.mark.parametrize("L", [1, 2])
def test_dropping_a_zero_bias_is_paid_for(L):
    """All patterns of zero biases together have prior weight at most 1/2 (the other half is for other norms).

    Before zeros were paid for, each of the 2^n patterns had weight 1 of its own.
    """
    names = ["b_V", "b_C", "mlp.b_1", "mlp.b_2", "decoder", "bias"] + ["b_Q"] * (L > 1)
    model = bare_with_biases(L)
    weights = [structure_weight(found) for found in patterns(model, names)]
    assert max(weights) == pytest.approx(min(weights))  # every pattern costs the same
    assert math.fsum(weights) <= 0.5 + 1e-9


def test_what_the_architecture_lacks_costs_nothing():
    without = replace(small_model(), bias=0.0)
    with_zeros = replace(without, layers=(replace(without.layers[0], b_V=np.zeros((1, 1))),))
    penalties = [bound(x, m=100, form="ours").union_penalty for x in (without, with_zeros)]
    assert penalties[1] == pytest.approx(penalties[0] + math.log(2))


@pytest.mark.parametrize("make", [small_model, practical_model])
def test_a_margin_chosen_after_training_is_paid_for(make):
    """The declared margins are 2^j (1 - 2^-20) with weights that add up to at most 3/4."""
    asked = {margin: bound(make(), m=1000, margin=margin, form="ours") for margin in (1.0, 0.5, 0.3, 2.0**-9)}
    for margin, found in asked.items():
        assert margin / 2 < found.margin_used < margin
        assert found.union_penalty - asked[1.0].union_penalty == pytest.approx(
            declared_margin(margin, chosen=True)[1] - math.log(4)
        )
    weights = [math.exp(-declared_margin(2.0**j, chosen=True)[1]) for j in range(-1000, 1001)]
    assert len({declared_margin(x, chosen=True) for x in (0.5, 0.7, 0.9999)}) == 1
    assert math.fsum(weights) <= 0.75


def test_a_margin_fixed_beforehand_is_free_and_given_norms_keep_it():
    fixed = bound(small_model(), m=1000, margin=0.3, form="ours", a_posteriori=False)
    assert fixed.union_penalty == 0 and 0.29999 < fixed.margin_used < 0.3
    norms = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42}
    assert bound(norms=norms, T=9, m=9, margin=0.3, form="ours").margin_used == 0.3


@pytest.mark.parametrize("text", ["x2&x5&x11", "maj(x0,x3,x7)", "x1^x4"])
@pytest.mark.parametrize("a_posteriori", [True, False])
def test_written_models_exceed_the_declared_margin(text, a_posteriori):
    """Their outputs are 0 and 1, exactly 1/2 from the threshold, up to rounding of about 1e-13."""
    f = sh.parse(text, T=12)
    model = sh.build(f)
    bits = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    signed = (2 * f(bits) - 1) * (model(bits) - model.threshold)
    used = bound(model, m=1000, form="ours", a_posteriori=a_posteriori).margin_used
    assert signed.min() > used > 0.499999


@pytest.mark.parametrize("value", [1.0, 2.0, 0.125, 1e-200, 3.0, np.nextafter(4.0, 5), np.nextafter(4.0, 3)])
def test_declared_norms_are_never_below_the_norm(value):
    price = Pricing("ours", a_posteriori=True)
    declared = math.exp(price.log_norm("x", float(value)))
    assert value <= declared < 2 * value * (1 + 2e-9)
