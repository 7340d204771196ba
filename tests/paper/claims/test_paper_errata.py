"""The six errata of the paper's representation section: the printed form fails, the repaired one holds."""

import math

import numpy as np
import pytest

from sparsehead._base.rng import stream
from sparsehead.capacity.norms import matrix_norm
from sparsehead.certify import verify
from sparsehead.construct import build
from sparsehead.construct.paper import bump, bump_net, paper_model, smallest_distance
from sparsehead.functions import assignments, from_table, parity, symmetric, threshold
from sparsehead.heads.encoding import bag, positional, random_positions


@pytest.mark.claim("errata-paper-1")
def test_errata_paper_1_the_printed_bump_is_zero_at_its_centre():
    delta = 0.25
    x = np.linspace(-1, 1.5, 1001)
    assert bump(np.array([delta]), delta, printed=True)[0] == 0
    repaired = bump(x, delta)
    inside, outside = (x >= 0) & (x <= 2 * delta), (x <= -delta) | (x >= 3 * delta)
    np.testing.assert_allclose(repaired[inside], 1, atol=1e-12)
    np.testing.assert_allclose(repaired[outside], 0, atol=1e-12)
    f = parity((0, 2), T=5)
    assert verify(paper_model(f, positional(5)), f).exact
    printed = verify(paper_model(f, positional(5), printed={"bump"}), f)
    assert printed.correct is False
    assert printed.counterexample is not None


@pytest.mark.claim("errata-paper-2")
def test_errata_paper_2_delta_of_an_eighth_misses_what_the_head_delivers():
    """The head is within g/4 of its target; a bump that is flat for g/8 does not see it."""
    f = from_table(T=8, support=(1, 4), table=(0, 0, 1, 0))  # not symmetric: one head per bit, g = 2
    printed, repaired = (paper_model(f, positional(8), printed=p) for p in ({"delta"}, frozenset()))  # type: ignore[var-annotated]
    y = repaired.cls_state(assignments(8).astype(np.int64))[:, :2]
    away = np.abs(y - (1 - 2.0 * assignments(8)[:, [1, 4]])).max()
    assert 2 / 8 < away <= 2 / 4
    assert verify(repaired, f).exact
    found = verify(printed, f)
    assert found.max_error > 0.1
    assert not found.exact


@pytest.mark.claim("errata-paper-3")
@pytest.mark.parametrize("d", [128, 512])
def test_errata_paper_3_the_sum_of_positions_is_no_key_when_positions_are_not_orthogonal(d):
    support, T, s = (20, 90, 150), 200, 3
    f = symmetric(support, (0, 1, 0, 1), T=T)
    allowed = (2 / s) / 4  # 0.167
    patterns = np.repeat(assignments(s), 2, axis=0)
    bits = np.repeat(np.arange(2)[None], 2**s, axis=0).reshape(-1, 1) * np.ones((1, T), dtype=np.int64)
    bits[:, list(support)] = patterns
    target = (1 - 2.0 * patterns).mean(axis=1)
    errors = {True: 0.0, False: 0.0}
    for draw in range(5):
        encoding = random_positions(T, d, rng=stream(draw, "erratum 3", d))
        for printed in errors:
            model = paper_model(f, encoding, printed={"key"} if printed else frozenset())
            errors[printed] = max(errors[printed], float(np.abs(model.cls_state(bits)[:, 0] - target).max()))
            if not printed:
                assert verify(model, f).exact
    assert errors[True] > allowed
    assert errors[False] < 0.07  # leak <= g/8 n/(T s), twice


@pytest.mark.claim("errata-paper-4")
def test_errata_paper_4_the_first_layer_reaches_B_over_delta_plus_2():
    for B, delta in ((1.0, 0.25), (2.0, 0.1)):
        (first, _), _ = bump_net(np.array([[-B], [B]]), np.array([1, 0]), delta, 1)
        assert np.abs(first.b).max() == pytest.approx(B / delta + 2)


@pytest.mark.claim("errata-paper-5")
def test_errata_paper_5_the_target_falls_with_the_number_of_ones():
    f = threshold((1, 3, 4), 2, T=6)  # increasing in the number of ones
    model = paper_model(f, positional(6))
    bits = assignments(6).astype(np.int64)
    o, ones = model.cls_state(bits)[:, 0], bits[:, [1, 3, 4]].sum(axis=1)
    highest = [o[ones == r].max() for r in range(4)]
    lowest = [o[ones == r].min() for r in range(4)]
    assert all(lowest[r] > highest[r + 1] for r in range(3))


@pytest.mark.claim("errata-paper-6")
@pytest.mark.parametrize("s", [2, 3, 5])
def test_errata_paper_6_the_true_norms(s):
    T = 9
    f = parity(range(1, 1 + s), T=T)
    a, c = paper_model(f, positional(T)).layers[0], paper_model(f, bag(T)).layers[0]
    assert [matrix_norm(W[0], 2, 2) for W in (a.W_K, a.W_V, a.W_C)] == pytest.approx(
        [math.sqrt(s), math.sqrt(2), 1]
    )
    assert [matrix_norm(W[0], 2, 2) for W in (c.W_K, c.W_V, c.W_C)] == pytest.approx(
        [math.sqrt(s + 1), math.sqrt(2 * s), math.sqrt(s)]
    )
    R = math.log(8 * T / (2 / s))
    assert matrix_norm(a.W_Q[0], 2, 2) == pytest.approx(R)
    assert matrix_norm(a.W_K[0] @ a.W_Q[0].T, 2, 1) == pytest.approx(R * math.sqrt(s))


@pytest.mark.claim("bump")
def test_bump_nets_are_exact_within_a_quarter_of_the_smallest_distance():
    rng = stream(0, "bump")
    targets = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 2.0]])
    values, g = np.array([1, 0, 0, 1]), smallest_distance(targets)
    assert g == 1
    (one, two), w = bump_net(targets, values, g / 4, 2)
    for j, target in enumerate(targets):
        y = target + rng.uniform(-g / 4, g / 4, (200, 2))
        np.testing.assert_allclose(two(one(y)) @ w, values[j], atol=1e-12)


def test_paper_parts_to_leave_as_printed_are_named():
    with pytest.raises(ValueError, match="no erratum is called 'norms'"):
        paper_model(parity((0, 1), T=4), positional(4), printed={"norms"})
    assert build(parity((0, 1), T=4), method="paper").meta["method"] == "paper"
