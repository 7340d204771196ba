"""What the lecture notes get wrong about capacity, each shown by a computation with the library's own covers
and bounds.

Numbers are those of the list of errata; the ones that are about wording or references are not here.
"""

import itertools
import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.capacity.forms import covering
from sparsehead.capacity.generalization import rademacher_closed
from sparsehead.capacity.head_class import head_class, head_class_items
from sparsehead.capacity.pricing import Pricing
from sparsehead.covering import covering_number
from sparsehead.covering.cover import cover_graph
from sparsehead.heads.encoding import random_bag, random_positions
from sparsehead.heads.heads import softmax, tf_head
from sparsehead_paper.theory.function_classes import class_covering_number, evaluate_parameters
from sparsehead_paper.theory.linear import log_cover_lower, log_cover_vector
from sparsehead_paper.theory.lipschitz import head_error_bound
from sparsehead_paper.theory.printed import item, printed_corollary
from sparsehead_paper.theory.relations import cover_vc_printed, log_cover_fat, log_cover_vc

T_1 = [["0.5", "0.7"], ["0.2", "3"], ["0.6", "2.5"]]
T_2 = [["0.5", "0.7"], ["0.2", "0.3"], ["0.6", "0.65"]]


@pytest.mark.claim("errata-notes-1")
def test_notes_erratum_01_pseudometric_needs_d_x_x_zero():
    """d = 1 everywhere is symmetric and obeys the triangle inequality, yet at eps < 1 no point covers even
    itself.
    """
    D = np.ones((4, 4))
    assert all(D[i, j] <= D[i, k] + D[k, j] for i, j, k in itertools.product(range(4), repeat=3))
    assert not (D <= 0.5).any()  # so no cover exists: greedy would never end
    fixed = D - np.eye(4)
    found = cover_graph(fixed <= 0.5, fixed > 1.0, values=np.empty((4, 0)), deadline=math.inf)
    assert found.size == 4


@pytest.mark.claim("errata-notes-2")
def test_notes_erratum_02_the_example_is_2_for_neither_set():
    assert covering_number(T_1, eps="0.5").size == 3
    assert covering_number(T_2, eps="0.5").size == 1  # (.5, .7) and (.2, .3) are exactly .5 apart
    assert math.dist((0.5, 0.7), (0.6, 2.5)) > 1.8  # so {(.2, 3), (.6, 2.5)} does not reach (.5, .7)
    assert math.dist((0.5, 0.7), (0.2, 3)) > 0.5


@pytest.mark.claim("errata-notes-3")
def test_notes_erratum_03_covering_numbers_fall_as_eps_grows():
    assert [covering_number(T_2, eps=e).size for e in ("0.05", "0.2", "0.5")] == [3, 2, 1]


@pytest.mark.claim("errata-notes-4")
def test_notes_erratum_04_more_spread_is_not_more_covers():
    """Adding points can lower the proper number; scaling is what is true: N(cT, eps) = N(T, eps/c)."""
    assert covering_number([-1, 1], eps=1).size > covering_number([-1, 0, 1], eps=1).size
    points = stream(4, "points").integers(-9, 9, size=(12, 2))
    assert covering_number(3 * points, eps=6).size == covering_number(points, eps=2).size


@pytest.mark.claim("errata-notes-5")
def test_notes_erratum_05_functions_are_covered_jointly():
    """All +-1 functions on 4 points: two values, sixteen functions."""
    values = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    assert covering_number(np.unique(values)[:, None], eps=0.5).size == 2
    assert class_covering_number(values[:, :, None], eps=0.5).size == 16


@pytest.mark.claim("errata-notes-7")
def test_notes_erratum_07_the_hidden_logarithm_is_there():
    """R <= const sqrt(C/m) is not what chaining gives: R/sqrt(C/m) grows like ln m."""
    ratios = [rademacher_closed(log_C=0.0, A=1.0, m=m) * math.sqrt(m) for m in (10**4, 10**8, 10**16)]
    assert ratios[0] < ratios[1] / 1.8 < ratios[2] / 3.3


@pytest.mark.claim("errata-notes-8")
def test_notes_erratum_08_vc_bound_needs_m_at_least_d():
    assert cover_vc_printed(m=1, d=4) == pytest.approx(0.213, abs=1e-3)  # fewer than one function
    assert log_cover_vc(m=1, d=4, eps=0.5) == pytest.approx(math.log(2))
    assert log_cover_vc(m=10, d=4, eps=1.0) == 0  # and nothing to cover at eps = 1


@pytest.mark.claim("errata-notes-9")
def test_notes_erratum_09_fat_bound_misprints_eps_and_needs_m_at_least_d():
    """m = 1, d = 8, eps = .1, all functions into [0, 1] on one point: 5 balls are needed, the printed form
    says < 1e-40.
    """
    m, d, eps = 1, 8, 0.1
    printed = math.log(2) + math.ceil(d * math.log2(2 * math.e * m / (d * math.e))) * math.log(
        m * (2 / eps + 1) ** 2
    )
    grid = [f"{i}/100" for i in range(101)]
    assert printed < math.log(1e-40) and covering_number(grid, eps="0.1").size == 5
    assert log_cover_fat(m=m, d=1, eps=eps) >= math.log(5)


@pytest.mark.claim("errata-notes-10")
def test_notes_erratum_10_the_rademacher_factor_turns_negative():
    C, A, m = 100.0, 1.0, 4
    assert 1 + math.log(A * math.sqrt(m / C)) < 0 <= rademacher_closed(log_C=math.log(C), A=A, m=m) == A


@pytest.mark.claim("errata-notes-12")
def test_notes_erratum_12_phi_out_must_be_fixed_or_covered():
    """Score and phi_in single functions, phi_out(y; c) = c y, c in [0, 1]: the product cover has one element,
    the class needs 5.
    """
    values = evaluate_parameters(lambda z, c: c * z, np.linspace(0, 1, 101), [1.0])
    assert class_covering_number(values, eps=0.1).size == 5
    assert covering([item("score", c=0, p=1), item("in", c=0, p=1)], eps=0.1, form="ours").log_covering == 0


@pytest.mark.claim("errata-notes-13")
def test_notes_erratum_13_the_product_cover_is_an_upper_bound():
    """Scores that do not matter (all values equal): the product of the covers has more elements than the head
    needs.
    """
    thetas = [(s, v) for s in np.linspace(-1, 1, 9) for v in np.linspace(-1, 1, 9)]
    X = np.array([[1.0], [1.0]])  # two equal tokens: attention is uniform whatever the score

    def head(X, theta):
        return softmax(theta[0] * X[:, 0]) @ (theta[1] * X[:, 0])

    values = evaluate_parameters(head, thetas, [X])
    score = covering_number(np.linspace(-1, 1, 9), eps=0.26).size
    value = covering_number(np.linspace(-1, 1, 9), eps=0.26).size
    assert class_covering_number(values, eps=0.26).size == value < score * value


@pytest.mark.claim("errata-notes-14")
def test_notes_erratum_14_the_bound_is_on_the_logarithm():
    """x_i = e_i, a = b = 1, eps = .2: N grows like n^6, while the printed right side grows like log n."""
    lower = [math.exp(log_cover_lower(a=1, b=1, eps=0.2, N=n)) for n in (100, 1000)]
    assert lower[1] / lower[0] > 10**5.5  # a polynomial of degree 6
    assert lower[0] > 36 * 25 * math.log(5 * 100)  # already above the printed form with the constant 36
    assert log_cover_vector(a=1, b=1, eps=0.2, N=100) <= 25 * math.log(201) + 1e-9


@pytest.mark.claim("errata-notes-15")
def test_notes_erratum_15_W_acts_on_its_columns():
    with pytest.raises(ValueError, match="matmul"):
        np.ones((2, 3)) @ np.ones(2)  # W in R^{d1 x d2} takes x in R^{d2}


@pytest.mark.claim("errata-notes-16")
def test_notes_erratum_16_the_score_is_bilinear():
    """Doubling z doubles the score's change: no bound in W and x alone can hold."""
    X, W, W_hat = np.eye(2), np.eye(2), np.zeros((2, 2))
    moved = [np.abs(X @ (W - W_hat).T @ z).max() for z in (np.array([1.0, 0]), np.array([100.0, 0]))]
    assert moved[1] == 100 * moved[0]


@pytest.mark.claim("errata-notes-17")
def test_notes_erratum_17_the_printed_bound_breaks_under_rescaling():
    """Classes (c, q, v) and (1, c^2 q, c v) are the same functions; the printed bound forgets Q as c grows,
    ours agrees.
    """
    Q, V, m, T = 50.0, 1.0, 100, 20
    printed, ours = [], []
    for c in (1.0, 1e2, 1e4):
        given = {"V21": V / c, "V": V / c, "BX": c}
        printed.append(printed_corollary(QK21=Q / c**2, L=1, m=m, T=T, eps=0.1, **given))
        items = head_class_items(head_class({**given, "QK": Q / c**2}), m=m, T=T, price=Pricing("ours"))
        ours.append(covering(items, eps=0.1, form="ours").log_covering)
    assert ours[1] == pytest.approx(ours[0], rel=1e-9) == pytest.approx(ours[2], rel=1e-9)
    assert printed[2] == pytest.approx(100 * V**2 * math.log(m * T), rel=1e-2)  # (V21)^2 alone: Q has gone
    assert printed[0] > 100 * printed[2]


@pytest.mark.claim("errata-notes-18")
def test_notes_erratum_18_layers_amplify_where_heads_add():
    """One error in a head's scores: a second head added to it leaves the error as it was, a second layer on
    top doubles it.
    """
    X, z, two = np.array([[1.0], [-1.0]]), np.array([1.0]), np.array([[2.0]])

    def head(tokens, W_QK):
        return np.array([tf_head(tokens, x, W_QK=W_QK, W_V=two, sigma="identity") for x in tokens])

    exact, replaced = head(X, np.array([[0.0]])), head(X, np.array([[0.1]]))
    alone = np.abs(exact - replaced).max()
    assert 0 < alone <= head_error_bound(score_error=0.1, in_error=0.0, B_in=2.0)
    other = head(X, two)
    assert np.abs((exact + other) - (replaced + other)).max() == pytest.approx(alone)
    above = [tf_head(y, z, W_QK=100 * two, W_V=two, sigma="identity")[0] for y in (exact, replaced)]
    assert abs(above[0] - above[1]) > 1.9 * alone


@pytest.mark.claim("errata-notes-20")
def test_notes_erratum_20_approximately_orthonormal_is_no_basis():
    """T + 3 = 203 vectors in d = 64 dimensions with small inner products: far too many for a basis."""
    X = random_positions(200, 64, rng=stream(20, "positions"))
    rows = np.vstack([X.positions(), X.E, X.cls])
    assert len(rows) == 203 > 64 == np.linalg.matrix_rank(rows) and X.coherence() < 0.7


@pytest.mark.claim("errata-notes-21")
def test_notes_erratum_21_bag_is_diag_b_V():
    """V is T x d: V diag(b) is not even defined for T != d, diag(b) V is the encoding."""
    X, b = random_bag(5, 9, rng=stream(21, "bag")), np.array([1, 0, 1, 1, 0])
    V = X.positions()
    with pytest.raises(ValueError, match="matmul"):
        V @ np.diag(b)
    assert np.array_equal(X(b)[:-1], np.diag(b) @ V)


@pytest.mark.claim("errata-notes-24")
def test_notes_erratum_24_the_information_is_s_log_T_over_s():
    """log2 C(T, s) at s = T/2 is below T, while s log2 T is above T/2 log2 T: not of the same order."""
    ratios = [math.log2(math.comb(T, T // 2)) / (T / 2 * math.log2(T)) for T in (16, 1024, 65536)]
    assert ratios[0] > 1.7 * ratios[1] > 2.5 * ratios[2]


@pytest.mark.claim("errata-notes-25")
def test_notes_erratum_25_the_number_of_functions_is_T_to_the_s():
    assert math.comb(200, 3) / math.comb(100, 3) == pytest.approx(8, rel=0.03)  # not 2
