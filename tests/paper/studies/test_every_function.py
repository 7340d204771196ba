"""The study of all functions of two and three bits: what it would run, and its correlations on made-up thresholds."""

import math
from dataclasses import replace

import pytest

from sparsehead.functions import parse
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.studies import check_function_order
from sparsehead_paper.studies.every_function import every_function, orders, predictions, table
from sparsehead_paper.studies.folder import write_results
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


def test_a_function_that_every_trial_learned_counts_by_its_bound_and_one_without_trials_not_at_all():
    exact = record(lambda text: 10 * predictions(parse(text, T=30))["information"])
    easy, *others, last = exact.laws
    solved = replace(easy, thresholds={30: Threshold(30, None, None, 35.0, trials=8)})
    untried = replace(last, thresholds={30: Threshold(30, None, None, None, trials=0)})
    (row,) = (
        r
        for r in orders(replace(exact, laws=(solved, *others, untried)), repeats=50)
        if r.prediction == "information"
    )
    assert easy.label == "x0 & x1" and row.correlation == pytest.approx(1)


def test_the_table_has_predictions_beside_thresholds():
    rows = table(record(lambda text: 10.0 * len(text)))
    conjunction = rows[0]
    assert (conjunction["function"], conjunction["m_80 30"]) == ("x0 & x1", 70.0)
    assert conjunction["leap"] == 1 and conjunction["covariance"] > conjunction["information"]


@pytest.mark.claim("function-order")
@pytest.mark.parametrize(
    ("prediction", "complete", "verdict"),
    [
        ("single position", True, "holds"),
        ("single position", False, "undecided"),
        ("information", True, "undecided"),
        ("sensitivity", True, "undecided"),
    ],
)
def test_the_order_of_single_positions_decides_the_claim(tmp_path, prediction, complete, verdict):
    def as_predicted(text):
        m = predictions(parse(text, T=30))[prediction]
        return 10 * m if math.isfinite(m) else None

    context = Context(options={"results": tmp_path})
    assert check_function_order(context).verdict == "not run"
    write_results(tmp_path, "every-function", replace(record(as_predicted), complete=complete))
    assert check_function_order(context).verdict == verdict


@pytest.mark.claim("function-order")
def test_the_opposite_order_refutes_the_claim(tmp_path):
    def opposite(text):
        return 1000 / min(100, predictions(parse(text, T=30))["single position"])

    write_results(tmp_path, "every-function", replace(record(opposite), complete=True))
    assert check_function_order(Context(options={"results": tmp_path})).verdict == "refuted"
