"""Point counts: covers hold on as many points as the weights really meet."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsehead._base.log_math import log_ln
from sparsehead._base.rng import stream
from sparsehead.capacity import bound
from sparsehead.capacity.forms import covering, log_Lambda
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.networks import model_items
from sparsehead.capacity.pricing import Pricing
from sparsehead.heads.heads import activation, softmax

from ..paper.claims.test_depth import random_model

pytestmark = pytest.mark.usefixtures("unchecked")  # many bounds; their shapes are checked in test_bound.py
SIGMAS = ["identity", "relu", "tanh"]


def lambda_of(columns, N):
    """ln of the factor that a linear item of this form pays for N points."""
    return log_ln(math.log(N)) if columns == 1 else log_Lambda(columns, math.log(N))


def met_by_W_C(model):
    """How many different points W_C of the first head of the first layer meets, over all 2^T inputs.

    In a one-layer model it is met at [CLS] only; in a deeper one at every row.
    """
    layer = model.layers[0]
    points: list[Any] = []
    for bits in ((np.arange(2**model.T)[:, None] >> np.arange(model.T)) & 1).astype(np.int64):
        X = model.encoding(bits)
        queries = X[-1:] if model.L == 1 else X
        mixed = softmax(queries @ layer.W_Q[0] @ layer.W_K[0].T @ X.T) @ X @ layer.W_V[0]
        points.extend(activation(layer.sigma)(mixed))
    return len(np.unique(np.round(points, 9), axis=0))


@pytest.mark.parametrize("sigma", ["relu", "tanh"])
@pytest.mark.parametrize("L", [1, 2])
def test_W_C_is_covered_on_as_many_points_as_it_meets(L, sigma):
    """T = 6: 13 distinct tokens, but W_C behind sigma meets 64 points and, at depth 2, several hundred."""
    model = random_model(stream(5, "points"), L=L, mlp=False, sigma=sigma, T=6)
    first = replace(model.layers[0], W_V=np.abs(model.layers[0].W_V))  # no ReLU is always 0
    model = replace(model, layers=(first, *model.layers[1:]))
    met = met_by_W_C(model)
    assert met > 40 > 2 * model.T + 1
    items = {k.name: k for k in model_items(model, m=2**6, price=Pricing("ours"))}
    columns = 1 if L == 1 else model.d  # one layer: W_C w is one vector
    assert items["layer0.head0.C"].log_lambda >= lambda_of(columns, met)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("L", [1, 2])
def test_the_printed_capacity_depends_on_m_as_it_must(L, sigma):
    """Behind sigma every further sample is a further point; with sigma linear one layer sees 2T + 1 tokens."""
    model = random_model(stream(6, "points"), L=L, mlp=False, sigma=sigma)
    at = [bound(model, m=m, form="ours", a_posteriori=False).log_covering for m in (10**2, 10**4, 10**8)]
    if L == 1 and sigma == "identity":
        assert at[0] == at[1] == at[2]
    else:
        assert at[0] < at[1] < at[2] < at[0] * math.log(2e8) / math.log(2e2) * 3


def test_one_layer_items_have_the_counts_of_the_theorem():
    """Score: 2T + 1 tokens. W_V: the fewer of tokens and samples. W_C: samples."""
    model = random_model(stream(7, "points"), L=1, mlp=False, sigma="relu")
    D, k = 2 * model.T + 1, model.layers[0].W_V.shape[2]
    for m in (2, 10**5):
        items = {i.name: i.log_lambda for i in model_items(model, m=m, price=Pricing("ours"))}
        assert items["layer0.head0.QK"] == pytest.approx(lambda_of(1, D))
        assert items["layer0.head0.V"] == pytest.approx(lambda_of(k, min(m, D)))
        assert items["layer0.head0.C"] == pytest.approx(lambda_of(1, m))


def test_deep_items_have_the_counts_of_the_theorem():
    """n = T + 1 tokens: first layer (2T+1)^2 pairs or m n^2, W_V the tokens, W_C m n rows; last layer at [CLS]."""
    model = random_model(stream(8, "points"), L=3, mlp=True, sigma="relu")
    n, D, d = model.T + 1, 2 * model.T + 1, model.d
    k, f = model.layers[0].W_V.shape[2], model.layers[0].mlp.W_1.shape[1]
    m = 10**4
    found = {i.name: i.log_lambda for i in model_items(model, m=m, price=Pricing("ours"))}
    rows = m * n
    wanted = {
        "layer0.head0.QK": lambda_of(1, D * D),
        "layer0.head0.V": lambda_of(k, D),
        "layer0.head0.C": lambda_of(d, rows),
        "layer1.head0.QK": lambda_of(1, rows * n),
        "layer1.head0.V": lambda_of(k, rows),
        "layer1.head0.C": lambda_of(d, rows),
        "layer2.head0.QK": lambda_of(1, rows),
        "layer2.head0.V": lambda_of(k, m),
        "layer2.head0.C": lambda_of(d, m),
        "layer0.mlp.W_1": lambda_of(f, rows),
        "layer1.mlp.W_2": lambda_of(d, rows),
        "layer2.mlp.W_1": lambda_of(f, m),
        "w": lambda_of(1, m),
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_maurey_elements_leave_the_spectral_ball_and_what_follows_feels_it():
    """Why form trauger-tewari needs internal covers.

    W_V is a Hadamard matrix / sqrt n: spectral norm 1, absolute sum n^{3/2}. Maurey's coarsest element other
    than 0 has one entry n^{3/2}. W_C and its replacement differ by x_C per unit of length; behind W_V the points
    have length at most 1, behind the element far more, so an item of W_C with radius 1 is wrong by that factor.
    """
    n, x_C = 16, 0.01
    hadamard = np.array([[1.0]])
    while len(hadamard) < n:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    V = hadamard / math.sqrt(n)
    S, B = np.linalg.norm(V, 2), np.abs(V).sum()
    draws = 4
    picked = stream(1, "maurey").integers(0, n * n, size=draws)
    element = np.zeros(n * n)
    np.add.at(element, picked, np.sign(V.ravel()[picked]) * B / draws)
    V_hat = element.reshape(n, n)
    assert np.abs(V_hat).sum() <= B * (1 + 1e-12)  # inside the ball of absolute sums
    y = np.linalg.svd(V_hat)[0][:, 0]
    change = x_C * np.linalg.svd(V_hat)[2][:1].T  # ||change|| = x_C: at most x_C on points of length <= S = 1
    true_path, cover_path = (float(np.linalg.norm(y @ M @ change)) for M in (V, V_hat))
    assert true_path <= x_C * S * (1 + 1e-12) and cover_path > 10 * x_C


@pytest.mark.parametrize("draws", [1, 4, 25])
def test_trauger_tewari_items_pay_for_internal_covers(draws):
    """c/x^2 buys so many draws that twice Maurey's error, which is what an internal cover has, is within x."""
    model = random_model(stream(9, "internal"), L=2, mlp=True, sigma="relu")
    d, f, v = model.d, 5, 3
    entries = {"QK": d * d, "V": d * v, "C": v * d, "W_1": d * f, "W_2": f * d, "w": d}
    for k in model_items(model, m=100, price=Pricing("trauger-tewari")):
        factor = math.log(2 * entries[k.name.split(".")[-1]] + 1)
        x = math.exp((k.log_c - math.log(draws * factor)) / 2)
        maurey = math.exp(k.log_r) / math.sqrt(draws)
        assert 2 * maurey <= x * (1 + 1e-9)


def test_equal_heads_are_one_item_with_copies():
    """H items or one item with H copies: the same figure by every form."""
    norms = {"V21": 2.0, "V": 1.5, "QK": 7.0, "BX": 1.2, "d": 20, "k": 5, "V11": 4.0, "QK11": 30.0}
    for form in ("ours", "paper", "parametric", "trauger-tewari", "minimum"):
        grouped = head_class_items(head_class({**norms, "H": 7, "w": 2.0}), m=50, T=30, price=Pricing(form))
        spread = [replace(k, log_copies=0.0) for k in grouped for _ in range(round(math.exp(k.log_copies)))]
        assert len(grouped) == 3 and len(spread) == 15
        for eps in (0.01, 1.0, 30.0):
            one, many = (covering(x, eps=eps, form=form) for x in (grouped, spread))
            assert one.log_covering == pytest.approx(many.log_covering, rel=1e-6)  # the search's own width
            # the search knows ln mu to 2e-4, and shares move with it where the sum does not
            assert one.shares[0] == pytest.approx(math.fsum(many.shares[:7]), rel=1e-3)


@pytest.mark.parametrize("name", ["H", "d", "k"])
def test_huge_counts_answer(name):
    norms = {"V21": 1.0, "V": 1.0, "QK": 9.4, "BX": 1.42}
    for size in (10**6, 10**400):
        found = bound(norms={**norms, name: size}, T=300, m=1000, form="ours")
        assert found.vacuous and found.proven and math.isfinite(found.gap)
