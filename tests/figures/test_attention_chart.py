"""Attention maps show each example's weights and the mean with its spread."""

import numpy as np
import pytest

from sparsehead._base.errors import ShapeError
from sparsehead.figures.attention import attention_weights
from sparsehead.figures.built import built_head_chart
from sparsehead_paper.published import ATTENTION_AND


def weights(n=8, T=50, support=(5, 20, 30)):
    w = np.full((n, T + 1), 1e-6)
    w[:, list(support)] = (1 - 1e-6 * (T + 1 - len(support))) / len(support)
    return w


def test_title_gives_the_share_on_the_support(shown):
    chart = shown(attention_weights(weights(), (5, 20, 30)))
    assert chart.title == "100 % of the attention lies on positions 5, 20, 30"


def test_means_carry_their_spread_and_their_kind(shown):
    w = weights()
    w[0, 5] = 0.9
    mean = shown(attention_weights(w, (5, 20, 30))).data["means"][5]
    assert mean["kind"] == "in the support"
    assert mean["low"] < mean["mean"] < mean["high"]
    assert shown(attention_weights(w, (5,))).data["means"][50]["kind"] == "[CLS]"


def test_every_example_is_a_row_of_the_map(shown):
    chart = shown(attention_weights(weights(n=3), (5, 20, 30)))
    assert len(chart.data["weights"]) == 3 * 51
    assert chart.view("weights", "rect")["encoding"]["color"]["scale"]["range"] == ["white", "#0072B2"]


def test_the_papers_means_appear_on_its_own_support_only(shown):
    printed = shown(attention_weights(weights(), (5, 20, 30), paper=ATTENTION_AND)).data["paper"]
    assert [(r["position"], r["mean"]) for r in printed] == [(5, 0.294), (20, 0.274), (30, 0.428), (50, 7e-4)]
    other = attention_weights(weights(support=(1, 2, 3)), (1, 2, 3), paper=ATTENTION_AND)
    assert shown(other).data["paper"] == []
    assert shown(attention_weights(weights(), (5, 20, 30))).data["paper"] == []


def test_a_weight_of_zero_stays_on_the_logarithmic_axis(shown):
    w = weights()
    w[:, 7] = 0.0
    chart = shown(attention_weights(w, (5, 20, 30)))
    low = chart.view("means", "point")["encoding"]["y"]["scale"]["domain"][0]
    assert 0 < low <= min(r["low"] for r in chart.data["means"])


def test_a_support_outside_the_columns_is_refused():
    with pytest.raises(ShapeError, match="T \\+ 1 columns"):
        attention_weights(weights(), (5, 50))


def test_built_head_shows_attention_bands_and_decoder(shown):
    attention = [{"position": t, "weight": 0.9 if t == 1 else 0.05, "input": "b = 10"} for t in range(3)]
    chart = shown(
        built_head_chart(
            attention,
            decoder=[{"o": 0.0, "value": 0.0}, {"o": 1.0, "value": 1.0}],
            intervals=[{"low": 0.0, "high": 0.1, "value": 0.0}],
            support=(1,),
            formula="x1",
            exact=True,
        )
    )
    assert chart.title == "One head computes x1 of T = 2 bits exactly"
    assert "At most 10 % of the attention leaves the 1 position read." in chart.subtitle
    assert [r["kind"] for r in chart.data["attention"]] == ["irrelevant", "in the support", "[CLS]"]
    assert chart.marks("intervals") == ["rect", "rule"]
    assert chart.marks("decoder") == ["line"]
