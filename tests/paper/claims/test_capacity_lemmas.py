"""Lemmas behind the capacity bounds: general Norms, the entropy integral, layers, scores; errata of the paper."""

import math

import numpy as np
import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.rng import stream
from sparsehead.capacity.generalization import rademacher, uniform_gap
from sparsehead.capacity.norms import matrix_norms
from sparsehead.capacity.pricing import Pricing
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.lipschitz import _hardest_rows, _stretch
from sparsehead_paper.claims.registry import CLAIMS
from sparsehead_paper.theory.linear import log_cover_vector
from sparsehead_paper.theory.lipschitz import norm_l1_bound, softmax_l1_bound
from sparsehead_paper.theory.printed import entropy_integral


@pytest.mark.claim("norm-lipschitz")
def test_norm_lipschitz_with_the_papers_constant_is_weaker_than_ours_for_softmax():
    for delta in (1e-6, 0.1, 1.0, 5.0):
        assert softmax_l1_bound(delta) <= norm_l1_bound(delta, C_Norm=1) < norm_l1_bound(delta, C_Norm=2)
    with pytest.raises(DomainError, match="C_Norm"):
        norm_l1_bound(1.0, C_Norm=-1)


@pytest.mark.claim("entropy-integral")
def test_entropy_integral_of_a_constant_entropy_is_known():
    """int = (A/2 - alpha) sqrt(c), exactly, and the upper sum errs upwards by no more than its step."""
    for alpha in (0.4, 0.1, 1e-6):
        exact = 4 * alpha + 4 * math.sqrt(2 / 100) * (0.5 - alpha) * math.sqrt(3.0)
        assert entropy_integral(lambda eps: 3.0, A=1.0, m=100, alpha=alpha) == pytest.approx(
            min(1.0, exact), rel=1e-9
        )
    assert entropy_integral(lambda eps: 3.0, A=1.0, m=100, alpha=0.7) == 1.0


@pytest.mark.claim("entropy-integral")
def test_entropy_integral_lies_between_chaining_and_the_classical_constants():
    """ln N = C/eps^2: the chain is below the integral it is derived from, and 4 sqrt2 is below the textbook's 12."""
    C, m = 0.01, 100

    def log_covering(eps):
        return C / eps**2

    integral = min(
        entropy_integral(log_covering, A=1.0, m=m, alpha=alpha) for alpha in np.geomspace(1e-4, 0.5, 30)
    )
    r = math.sqrt(C / m)
    classical = 12 * r * (1 + math.log(1 / (3 * r)))
    assert rademacher(log_covering, A=1.0, m=m) <= integral <= 12 / 4 * classical


@pytest.mark.claim("rademacher-gap")
def test_rademacher_gap_adds_twice_the_complexity_and_the_confidence_term():
    assert uniform_gap(0.1, m=200, delta=0.05) == pytest.approx(0.2 + math.sqrt(math.log(20) / 400))
    assert uniform_gap(0.0, m=200, delta=0.05, b=3) == pytest.approx(3 * math.sqrt(math.log(20) / 400))


@pytest.mark.claim("layer-lipschitz", "multi-layer-capacity")
@pytest.mark.parametrize(("q", "share"), [(1.0, 0.5), (10.0, 0.94), (100.0, 0.99)])
def test_layer_lipschitz_constant_two_is_approached_as_scores_grow(q, share):
    layer, X, Y = _hardest_rows(q, residual=False)
    assert share < _stretch(X, Y, layer) / (1 + 2 * q) <= 1 + 1e-6  # difference quotients at 1e-6


@pytest.mark.claim("layer-parameters")
def test_layer_parameters_attain_their_weights():
    ratios = CLAIMS["layer-parameters"](Context(seed=5)).data["ratios"]
    assert ratios.pop("QK") == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert list(ratios.values()) == pytest.approx([1.0] * 6, rel=2e-3)


@pytest.mark.claim("score-cover")
def test_score_cover_charges_frobenius_and_no_dimension():
    """A score is a linear function of W on the point z x^T: the vector class, whatever d is."""
    for d in (2, 50):
        W = stream(3, "scores", d).normal(size=(d, d))
        norms = matrix_norms(W)
        c = Pricing("ours").bilinear("QK", norms, log_b=0.0, log_N=math.log(70), log_p=0.0).c
        assert c == pytest.approx(norms.frobenius**2 * math.log(141))
        assert c >= log_cover_vector(a=norms.frobenius, b=1, eps=1, N=70)
        paper = Pricing("paper").bilinear("QK", norms, log_b=0.0, log_N=math.log(70), log_p=0.0)
        assert math.exp(paper.log_r) == pytest.approx(norms.n21_T) and norms.n21_T >= norms.frobenius


def demonstrated(label):
    found = CLAIMS[label](Context(seed=3))
    assert found.verdict == "holds", found
    return found.data


@pytest.mark.claim("errata-paper-7")
def test_errata_paper_7_the_layers_above_amplify_an_error():
    assert demonstrated("errata-paper-7")["amplified"] == pytest.approx(10)


@pytest.mark.claim("errata-paper-8")
def test_errata_paper_8_the_printed_corollary_is_below_a_packing():
    data = demonstrated("errata-paper-8")
    assert data["printed"] < 0.8 * data["packed"]


@pytest.mark.claim("errata-paper-9")
def test_errata_paper_9_the_logarithm_of_the_covering_number_grows_like_eps_to_the_minus_two():
    rows = demonstrated("errata-paper-9")["rows"]
    assert [size for size, _, _ in rows] == pytest.approx([25, 100, 400])
    assert rows[-1][1] > 600
