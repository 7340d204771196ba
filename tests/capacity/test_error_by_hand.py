"""From ln N to error, against sums written out: chaining, gaps, the realisable rate, sample sizes."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from sparsehead import bound, build
from sparsehead._base.errors import DomainError
from sparsehead.capacity.generalization import (
    confidence,
    margin_gap,
    rademacher,
    rademacher_closed,
    realizable_error,
    samples_needed,
)

location = importlib.util.spec_from_file_location("by_hand", Path(__file__).parent / "by_hand.py")
by_hand = importlib.util.module_from_spec(location)
location.loader.exec_module(by_hand)

CLOSE = 1e-12


@pytest.mark.parametrize("C", [0.0, 1e-9, 1e-4, 0.3, 1.0, 10.0, 1e9])
@pytest.mark.parametrize("A", [0.5, 3.0])
def test_closed_chaining_is_the_least_over_J(C, A):
    r = math.sqrt(C / 7)
    # J = 0 is A itself; the least is near J = ln(A/(sqrt 2 r))
    by_J = [(J + 1) * A * (math.sqrt(2) * r / A) ** (J / (J + 1)) for J in range(200)]
    found = rademacher_closed(log_C=math.log(C) if C else -math.inf, A=A, m=7)
    assert found == pytest.approx(min(by_J) if C else 0.0, rel=CLOSE)


def chained(log_covering, m):
    """The least of .5 q^J + sum_j .5 q^(j-1) sqrt(2 ln N(.5 q^j)/m), without levels finer than 1/1000 of the sum."""
    found = [0.5]
    for q in (1 / 2, 1 / 4, 1 / 8):
        levels, J = 0.0, 0
        while J == 0 or 0.5 * q**J >= levels / 1000:
            J += 1
            levels += 0.5 * q ** (J - 1) * math.sqrt(2 * log_covering(0.5 * q**J) / m)
            found.append(0.5 * q**J + levels)
    return min(found)


@pytest.mark.parametrize("m", [1, 20, 50, 1000, 10**6])
def test_chaining_adds_up_level_by_level(m):
    def log_covering(eps):
        return 3 * math.log(1 + 2 / eps)

    assert rademacher(log_covering, A=0.5, m=m) == pytest.approx(chained(log_covering, m), rel=CLOSE)


def test_gap_and_realizable_error_have_the_terms_of_the_theory():
    certain = math.sqrt((math.log(1 / 0.02) + 3) / (2 * 40))
    assert confidence(m=40, delta=0.02, penalty=3.0) == pytest.approx(certain, rel=CLOSE)
    # C/eps^2 with eps in margins of .3: C becomes C/.3^2
    expected = 2 * rademacher_closed(log_C=math.log(0.8 / 0.09), A=0.5, m=40) + certain
    found = margin_gap(m=40, delta=0.02, margin=0.3, log_C=math.log(0.8), penalty=3.0)
    assert found == pytest.approx(expected, rel=CLOSE)
    fast = 2 / 40 * ((5 + 3) / math.log(2) + math.log2(2 / 0.02))
    assert realizable_error(log_covering_2m=5.0, m=40, delta=0.02, penalty=3.0) == pytest.approx(
        fast, rel=CLOSE
    )


def power_of_two_above(size):
    return 2.0 ** math.ceil(math.log2(size))


@pytest.mark.parametrize("m", [1000, 10**6])
def test_a_bound_by_hand_from_weights_to_gap(m):
    """One head with a ReLU, norms read off the weights: penalty, ln N by the cheaper prices, chaining, gap."""
    model = build("x1 & x2", T=4)
    layer = model.layers[0]
    kappa = layer.W_K[0] @ (model.encoding.cls @ layer.W_Q[0])
    V, C = layer.W_V[0], layer.W_C[0] @ model.w
    lengths = [sum(np.linalg.norm(V, axis=0)), np.linalg.norm(V, 2), np.linalg.norm(C), np.linalg.norm(kappa)]
    V21, V2, c, k = (power_of_two_above(size) for size in lengths)
    # a column has two norms, its sum of lengths and its spectral norm; each of six norms is a choice of j
    j = [abs(math.log2(size)) for size in (V21, V2, c, c, k, k)]
    penalty = sum(math.log(2 * (i + 1) * (i + 2)) for i in j)
    penalty += math.log(2 * 2 * 3) + 2 * math.log(
        2
    )  # the margin 2^-1; the constant is zero; the kind of norms
    x, more = math.sqrt(2), 1 + 1e-9  # tokens are two-hot; declared norms are larger by `more`
    Lambda = (math.log(3) ** (1 / 3) + math.log(2 * 9 * 2 + 1) ** (1 / 3)) ** 3  # 2 rows on 9 tokens
    terms = [  # r, lambda, dimension, p of the scores, the values, and the read-out behind the ReLU
        (k * more * x, math.log(2 * 9 + 1), 7, V2 * c * more**2 * x),
        (V21 * more * x, Lambda, 7 * 2, c * more),
        (c * V2 * more**2 * x, math.log(2 * m + 1), 2, 1.0),
    ]
    margin = 0.5 * (1 - 2**-20)
    chain = chained(lambda eps: by_hand.least(terms, eps * margin, parametric_only=False), m)
    found = bound(model, m=m, form="minimum")
    assert found.union_penalty == pytest.approx(penalty, rel=1e-9)
    assert found.log_covering == pytest.approx(
        by_hand.least(terms, margin / 2, parametric_only=False), rel=1e-9
    )
    gap = 2 * chain + math.sqrt((math.log(20) + penalty) / (2 * m))
    assert found.gap == pytest.approx(gap, rel=1e-9)  # C/eps^2 gives more


@pytest.mark.parametrize("form", ["ours", "minimum"])
def test_a_bound_says_what_its_own_figures_give(form):
    found = bound(build("x1 & x2", T=4), m=10**6, form=form)
    certain = math.sqrt((math.log(1 / 0.05) + found.union_penalty) / (2 * 10**6))
    if form == "ours":  # ln N = C/eps^2
        C = found.log_covering * found.eps**2 / found.margin_used**2
        chained = rademacher_closed(log_C=math.log(C), A=0.5, m=10**6)
        assert found.gap == pytest.approx(2 * chained + certain, rel=1e-9)
    shares = sum(item.share for item in found.items)
    assert shares == pytest.approx(1.0)
    largest = max(found.items, key=lambda item: item.share).name
    assert found.dominated_by == ("confidence" if certain > found.gap / 2 else largest)


def test_the_confidence_term_dominates_where_it_is_larger_or_nothing_is_paid():
    norms = {"V21": 1e-3, "V": 1e-3, "QK": 1e-3, "BX": 1.0}
    unsure = bound(norms=norms, T=2, m=1000, delta=1e-300, eps=1e-5)
    assert sum(item.share for item in unsure.items) == pytest.approx(1.0)
    assert unsure.dominated_by == "confidence"
    free = bound(norms={"V21": 9, "V": 9, "QK": 9, "BX": 1}, T=2, m=10, eps=1e6, form="minimum")
    assert free.log_covering == 0 and max(item.share for item in free.items) == 0
    assert free.dominated_by == "confidence"


@pytest.mark.parametrize("needed", [1, 2, 3, 7, 64, 65, 999])
def test_samples_needed_is_the_smallest_number(needed):
    asked = []

    def gap(m):
        asked.append(m)
        return 0.05 if m >= needed else 0.06

    assert samples_needed(gap, accuracy=0.05) == needed
    assert len(asked) <= 2 * math.log2(needed) + 4  # doubling, then bisection between the last two


@pytest.mark.parametrize("needed", [1001, 2**40 + 1, 3 * 10**15, 10**100])
def test_many_samples_are_found_to_a_thousandth_and_counted_in_whole_numbers(needed):
    asked = []

    def gap(m):
        asked.append(m)
        return 0.05 if m >= needed else 0.06

    assert needed <= samples_needed(gap, accuracy=0.05) <= needed * 1.001
    assert {type(m) for m in asked} == {int}


def test_widths_that_norms_leave_out_are_noted():
    norms = {"V21": 1, "V": 1, "QK": 1, "BX": 1}
    noted = [bound(norms=norms | given, T=2, m=10).notes[0] for given in ({}, {"k": 4}, {"d": 4, "k": 4})]
    assert noted[:2] == ["assumed d=64 and k=64", "assumed d=64"]
    assert "assumed" not in noted[2]


def test_most_samples_are_ten_to_the_300():
    norms = {"V21": 1, "V": 1, "QK": 1, "BX": 1}
    assert bound(norms=norms, T=2, m=10**300).m == 10**300
    with pytest.raises(DomainError, match="at most 1e300"):
        bound(norms=norms, T=2, m=10**300 + 1)
