"""The README's picture shows what was computed and measured, and nothing that was not."""

import numpy as np

from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.figures.story import OURS, PAPER, story_chart

WEIGHTS = np.array([0.0, 0.5, 0.1, 0.4, 0.0])
ROWS = [
    Threshold(T=100, m80=50.0, low=45.0, high=60.0),
    Threshold(T=1000, m80=None, low=70.0, high=None),
]


def test_bars_are_the_weights_and_mark_the_support(shown):
    chart = shown(story_chart(WEIGHTS, (1, 3), ROWS, formula="x1 & x3"))
    bars = chart.data["attention"]
    assert [bar["weight"] for bar in bars] == WEIGHTS.tolist()
    assert [bar["position"] for bar in bars if bar["kind"] == "read"] == [1, 3]


def test_points_are_the_known_thresholds_beside_the_papers(shown):
    chart = shown(story_chart(WEIGHTS, (1, 3), ROWS, formula="x1 & x3"))
    ours = [row for row in chart.data["law"] if row["series"] == OURS]
    assert ours == [{"T": 100, "m": 50.0, "low": 45.0, "high": 60.0, "series": OURS}]
    assert len([row for row in chart.data["law"] if row["series"] == PAPER]) == 18
    assert "x1 & x3" in chart.subtitle
