"""From ln N to error, against sums written out: chaining, gaps, the realisable rate, sample sizes."""

import math

import pytest

from sparsehead import bound, build
from sparsehead.capacity.generalization import (
    confidence,
    margin_gap,
    rademacher,
    rademacher_closed,
    realizable_error,
    samples_needed,
)
from sparsehead.capacity.linear import log_cover_maurey, log_cover_parametric
from sparsehead.errors import DomainError

CLOSE = 1e-12


@pytest.mark.parametrize("C", [0.0, 1e-9, 1e-4, 0.3, 1.0, 10.0, 1e9])
@pytest.mark.parametrize("A", [0.5, 3.0])
def test_closed_chaining_is_the_least_over_J(C, A):
    r = math.sqrt(C / 7)
    # J = 0 is A itself; the least is near J = ln(A/(sqrt 2 r))
    by_J = [(J + 1) * A * (math.sqrt(2) * r / A) ** (J / (J + 1)) for J in range(200)]
    found = rademacher_closed(log_C=math.log(C) if C else -math.inf, A=A, m=7)
    assert found == pytest.approx(min(by_J) if C else 0.0, rel=CLOSE)


@pytest.mark.parametrize("m", [1, 50, 10**6])
def test_chaining_adds_up_level_by_level(m):
    def log_covering(eps):
        return 3 * math.log(1 + 2 / eps)

    sums = []
    for q in (1 / 2, 1 / 4, 1 / 8):
        for J in range(20):
            levels = sum(
                0.5 * q ** (j - 1) * math.sqrt(2 * log_covering(0.5 * q**j)) for j in range(1, J + 1)
            )
            sums.append(0.5 * q**J + levels / math.sqrt(m))
    # levels that can lower the sum by less than a thousandth are left out
    assert min(sums) * (1 - CLOSE) <= rademacher(log_covering, A=0.5, m=m) <= min(sums) * 1.001


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


def test_most_samples_are_ten_to_the_300():
    norms = {"V21": 1, "V": 1, "QK": 1, "BX": 1}
    assert bound(norms=norms, T=2, m=10**300).m == 10**300
    with pytest.raises(DomainError, match="at most 1e300"):
        bound(norms=norms, T=2, m=10**300 + 1)


def test_covers_of_linear_classes_by_hand():
    assert log_cover_parametric(a=3, b=2, eps=0.5, d=4) == pytest.approx(4 * math.log(25), rel=CLOSE)
    assert log_cover_parametric(a=1, b=1, eps=1, d=4) == 0
    # (ceil((B b/eps)^2) - 1) ln(2 n + 1), and beyond whole numbers (B b/eps)^2 ln(2 n + 1)
    assert log_cover_maurey(B=3.1, b=1, eps=1, n_entries=5) == pytest.approx(9 * math.log(11), rel=CLOSE)
    huge = log_cover_maurey(B=1e140, b=1, eps=1, n_entries=5)
    assert huge == pytest.approx(1e280 * math.log(11), rel=1e-9)
