import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsehead._base.errors import DomainError
from sparsehead.construct.decoder import interpolation, plateaus


@pytest.mark.claim("exact-decoder")
@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=8))
def test_plateaus_are_exact_on_every_interval_with_two_units_per_change(pieces):
    space, width, values = (np.array(x, dtype=float) for x in zip(*pieces))
    low = np.cumsum(space) + np.cumsum(width) - width
    high = low + width
    decoder = plateaus(low, high, values)
    assert len(decoder.kinks) == 2 * int((np.diff(values) != 0).sum())
    inside = np.linspace(low, high, 5)
    # slopes reach 3 / (0.01 / 2) and outputs cancel across up to 14 units
    np.testing.assert_allclose(decoder(inside), np.broadcast_to(values, inside.shape), atol=1e-9)


def test_plateaus_stay_flat_a_quarter_into_the_gap():
    decoder = plateaus(np.array([0.0, 1.0]), np.array([0.2, 1.0]), np.array([0, 1]))
    np.testing.assert_allclose(decoder(np.array([0.2 + 0.19, 1.0 - 0.19])), [0, 1], atol=1e-12)


def test_overlapping_intervals_of_different_value_are_refused():
    with pytest.raises(DomainError, match=r"overlap by 0\.1"):
        plateaus(np.array([0.0, 0.9]), np.array([1.0, 2.0]), np.array([0, 1]))


def test_overlapping_intervals_of_equal_value_are_merged():
    decoder = plateaus(np.array([0.0, 0.5, 3.0]), np.array([1.0, 0.6, 4.0]), np.array([1, 1, 0]))
    assert decoder.gap == pytest.approx(2.0)
    np.testing.assert_allclose(decoder(np.array([0.9, 3.5])), [1, 0], atol=1e-12)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=9))
def test_interpolation_meets_its_points_with_a_kink_per_turn(values):
    points = np.arange(len(values), dtype=float)
    decoder = interpolation(points, np.array(values))
    np.testing.assert_allclose(decoder(points), values, atol=1e-12)
    assert len(decoder.kinks) <= len(values) - 1


def test_parity_of_clean_counts_takes_s_units():
    assert len(interpolation(np.arange(6.0), np.array([0, 1, 0, 1, 0, 1])).kinks) == 5
