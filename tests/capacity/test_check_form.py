"""`check_form` accepts proven forms and finds false ones; the small classes need as many balls as they say."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.rng import stream
from sparsehead.capacity.check_form import stated
from sparsehead.capacity.forms import FORMS, Charge, Form, bilinear, linear
from sparsehead.capacity.norms import matrix_norms
from sparsehead.capacity.small_classes import (
    _signs,
    exact_packing,
    interval,
    sign_heads,
    small_classes,
    volume,
)
from sparsehead.covering.cover import pack_graph

pytestmark = pytest.mark.usefixtures("unchecked")
SHIPPED = ("ours", "parametric", "trauger-tewari", "minimum")
KINDS = ("linear", "bilinear", "heads")


@pytest.mark.parametrize("form", SHIPPED)
def test_proven_forms_are_not_refuted(form):
    found = sh.check_form(form, classes=40)
    assert found.passed and not found.refuted and "no proof" in found.verdict
    assert [trial.tried for trial in found.trials] == [40] * 5


def scaled(factor):
    """`minimum`, whose prices are all multiplied by a factor."""
    make = FORMS["minimum"].covering

    def covering(items, log_eps):
        found = make(items, log_eps)
        return type(found)(found.log_covering * factor, found.log_log + math.log(factor), found.shares)

    return Form("false", linear, bilinear, covering=covering, below_capacity=False)


FALSE = {
    "paper": "paper",
    "four fifths of minimum": scaled(0.8),
    "without points": Form("x", lambda W, n: Charge("2,1", W.n21, 0.0), bilinear),
    "scores without points": Form("x", linear, lambda W, n: Charge("F", W.frobenius, 0.0)),
    "a quarter of the norm": Form("x", lambda W, n: Charge("2,1", W.n21 / 4, linear(W, n).log_lambda), bilinear),
    "spectral norm of scores": Form(
        "x", linear, lambda W, n: Charge("s", W.n11 / W.rows, bilinear(W, n).log_lambda)
    ),
    "formula without m": lambda heads, T, m, eps: heads.d * math.log(1 + heads.V * heads.BX / eps) / 10,
}  # fmt: skip


@pytest.mark.parametrize("form", FALSE.values(), ids=FALSE)
def test_false_forms_are_refuted_with_an_example(form):
    found = sh.check_form(form, classes=60)
    assert found.refuted and not found.passed
    assert "need ln N >=" in found.verdict and "it states" in found.verdict
    assert found.to_dict()["refuted"] is True and len(found.to_frame()) == len(found.trials)


def test_both_statements_of_a_form_are_compared():
    """The covering is that of `minimum`, which is proven; the charges, from which C/eps^2 follows, are nothing."""
    make = FORMS["minimum"].covering

    def covering(items, log_eps):
        return make([dataclasses.replace(item, log_r=item.log_r + 20) for item in items], log_eps)

    def tiny(W, log_N):
        return Charge("F", 1e-6 * W.n11, 0.0)

    assert sh.check_form(Form("x", tiny, tiny, covering=covering), classes=20).refuted
    assert not sh.check_form(
        Form("x", tiny, tiny, covering=covering, below_capacity=False), classes=20
    ).refuted


def test_a_form_that_falls_with_m_or_depends_on_units_is_inconsistent():
    large = lambda heads, T, m, eps: 1e9 * (1 + heads.V21 * heads.BX / eps) * (10 + 1 / m)  # noqa: E731
    found = sh.check_form(large, classes=20)
    assert not found.consistent and "falls from" in found.trials[1].example
    units = Form(
        "x", lambda W, n: Charge("2,1", 100 * (1 + W.n21), 9.0), lambda W, n: Charge("F", 100 * W.n11, 9.0)
    )
    found = sh.check_form(units, classes=20)
    assert not found.refuted and not found.consistent and "the same class with" in found.verdict


def test_packings_are_those_of_the_solver_and_of_trying_all_subsets():
    rng = stream(0, "packings")
    for n in (1, 2, 5, 9, 12):
        for share in (0.1, 0.5, 0.9):
            near = rng.uniform(size=(n, n)) < share
            near = near | near.T | np.eye(n, dtype=bool)
            found = exact_packing(~near)
            assert found == pack_graph(near, time_limit=10).lower
            if n <= 9:
                free = [c for r in range(n + 1) for c in itertools.combinations(range(n), r)
                        if all(not near[a, b] for a, b in itertools.combinations(c, 2))]  # fmt: skip
                assert found == max(map(len, free))


@pytest.mark.parametrize(("n", "c", "k"), [(1, 1, 1), (4, 1, 2), (1, 4, 1), (2, 2, 2), (3, 2, 2), (2, 3, 3)])
def test_sign_matrices_are_as_many_as_far_apart_and_as_large_as_they_say(n, c, k):
    """Enumerated: every member, its norms, every distance."""
    small = _signs("linear", n, c, N=n, k=k, rng=stream(2, "signs"))
    t = small.W.n11 / k
    members = []
    for cells in itertools.combinations(range(n * c), k):
        for signs in itertools.product((-t, t), repeat=k):
            W = np.zeros(n * c)
            W[list(cells)] = signs
            members.append(W.reshape(n, c))
    assert math.log(len(members)) == pytest.approx(small.log_lower)
    gaps = [small.b * np.linalg.norm(A - B, axis=1).max() for A, B in itertools.combinations(members, 2)]
    assert min(gaps) > 2 * small.eps
    norms = [matrix_norms(W) for W in members]
    for name in ("frobenius", "spectral", "n21", "n21_T", "n11"):
        assert max(getattr(one, name) for one in norms) <= getattr(small.W, name) * (1 + 1e-9)


def test_volumes_are_those_of_random_points():
    """The share of a cube that the (2,1) ball fills, n = c = 2, by 4e5 random points; four standard errors."""
    rng = stream(3, "volume")
    while True:
        small = volume(rng)
        if (small.W.rows, small.W.columns) == (2, 2) and small.log_lower > 5:
            break
    points = rng.uniform(-1, 1, size=(400_000, 2, 2))
    share = (np.linalg.norm(points, axis=1).sum(axis=1) <= 1).mean()
    r = small.W.n21 * small.b / small.eps
    balls = math.log(2**4 * share * r**4 / math.pi**2)
    assert small.log_lower == pytest.approx(balls, abs=4 / math.sqrt(400_000 * share))


def test_heads_with_signs_have_the_outputs_that_they_say():
    rng = stream(4, "heads")
    small = next(s for s in (sign_heads(rng) for _ in range(99)) if s.m <= 6 and s.log_lower > 1)
    m, heads = small.m, small.heads
    k = round((heads.QK11 / heads.QK) ** 2)
    t = heads.QK11 / k
    outputs = []
    for places in itertools.combinations(range(m), k):
        for signs in itertools.product((-t, t), repeat=k):
            kappa = np.zeros(m)
            kappa[list(places)] = signs
            row = []
            for i in range(m):
                X = np.array([[1, *np.eye(m)[i]], [-1, *-np.eye(m)[i]]])
                assert np.linalg.norm(X, axis=1).max() <= heads.BX * (1 + 1e-12)
                scores = X[:, 1:] @ kappa
                row.append(heads.V * (np.exp(scores) / np.exp(scores).sum()) @ X[:, 0])
            outputs.append(row)
    gaps = [np.abs(np.subtract(a, b)).max() for a, b in itertools.combinations(outputs, 2)]
    assert math.log(len(outputs)) == pytest.approx(small.log_lower) and min(gaps) > 2 * small.eps


def test_an_interval_needs_as_many_balls_as_its_length_says():
    rng = stream(5, "interval")
    for small in (interval(rng) for _ in range(50)):
        length, balls = 2 * small.W.n21 * small.b, round(math.exp(small.log_lower))
        assert (balls - 1) * 2 * small.eps < length * (1 + 1e-9) and length <= balls * 2 * small.eps * (
            1 + 1e-8
        )


def test_the_closest_class_is_close():
    """The check has little slack left: for `minimum` some class needs 90 % of what it states."""
    form = FORMS["minimum"]
    classes = small_classes(stream(0, "close"), KINDS, 300)
    ratios = [stated(form, small) / small.log_lower for small in classes if small.log_lower > 0]
    assert 1 <= min(ratios) < 1.2
