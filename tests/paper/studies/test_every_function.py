"""The study of all functions of two and three bits: what it would run, and its correlations on made-up thresholds."""

import math

import pytest

from sparsehead.functions import parse
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.studies.every_function import every_function, orders, predictions
from sparsehead_paper.studies.law_stage import LabelledLaw, LawsRecord


def record(thresholds_of) -> LawsRecord:
    """Laws of the study with the threshold `thresholds_of(formula)` at T = 30; None: above every m."""
    laws = []
    for text, law in every_function(Ts=(30,)).laws.items():
        m = thresholds_of(text)
        row = Threshold(30, m, m and m / 1.2, m and m * 1.2, trials=32)
        laws.append(
            LabelledLaw(
                label=text, group="", settings={k: str(v) for k, v in law.settings.items()}, thresholds={30: row},
                fits={}, floor={}, complete=True, cells={},
            )
        )  # fmt: skip
    return LawsRecord(tuple(laws), "made up")


def test_twelve_functions_with_uniform_bits():
    laws = every_function().laws
    assert len(laws) == 12
    assert {law.settings["p"] for law in laws.values()} == {0.5}
    assert {parse(text, T=9).s for text in laws} == {2, 3}
    assert "x0 & x1 & x2" in laws and "maj(x0, x1, x2)" in laws and "x0 ^ x1 ^ x2" in laws


def test_predictions_rank_parity_above_conjunctions_but_information_does_not():
    conjunction, parity = (predictions(parse(text, T=9)) for text in ("x0 & x1 & x2", "x0 ^ x1 ^ x2"))
    assert parity["information"] < conjunction["information"]
    assert parity["leap"] == 3 > conjunction["leap"] and math.isinf(parity["covariance"])


@pytest.mark.parametrize("name", ["information", "leap"])
def test_thresholds_in_the_order_of_a_prediction_correlate_with_it_fully(name):
    def exactly(text):
        return 10 * predictions(parse(text, T=30))[name]

    found = {row.prediction: row for row in orders(record(exactly), repeats=50)}
    assert found[name].correlation == pytest.approx(1)
    assert found[name].low == pytest.approx(1)
    others = [row for row in found.values() if row.prediction != name]
    assert all(row.correlation < 0.95 and row.low < row.high for row in others)


def test_a_threshold_above_every_m_counts_as_the_largest():
    def exactly(text):
        return None if text == "x0 ^ x1 ^ x2" else 10 * predictions(parse(text, T=30))["leap"]

    (row,) = (r for r in orders(record(exactly), repeats=50) if r.prediction == "leap")
    assert row.correlation == pytest.approx(1)
