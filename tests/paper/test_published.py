import math
from dataclasses import astuple

import numpy as np
import pytest

from sparsehead.laws.published import GRID_M, GRID_TRIALS, LAW_AND
from sparsehead_paper import published


def test_the_line_through_the_papers_points_is_least_squares():
    T, m, _ = np.array([astuple(point) for point in LAW_AND]).T
    assert T.tolist() == [*range(100, 801, 50), 900, 1000, 1100]
    (b, a), covariance = np.polyfit(np.log(T), m, 1, cov=True)
    assert pytest.approx((a, b), abs=0.006) == published.LAW_AND_FIT
    assert pytest.approx(math.sqrt(covariance[0, 0]), abs=0.006) == published.LAW_AND_SLOPE_ERROR


def test_settings_and_readings_are_those_of_the_papers_figures():
    assert (published.SOLVED, GRID_TRIALS, GRID_M[::15]) == (0.99, 40, (50, 200))
    assert astuple(published.CURVES_AND) == (300, 3, 40, 24, 40, (59, 99, 409))
    assert astuple(published.ATTENTION_AND) == (
        50, 300, (5, 20, 30), 500, 100, (0.294, 0.274, 0.428), 7e-4, 1.2e-6, 0.0034
    )  # fmt: skip
    assert [astuple(curves) for curves in published.PARITY] == [
        (10, (156, 206, 247), 3, 2048, 10, 0.35),
        (15, (381, 538, 1029), 3, 2048, 10, 0.35),
    ]
