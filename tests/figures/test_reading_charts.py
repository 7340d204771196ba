"""What was read from trained models, as charts."""

from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.figures.read_trained import LEARNED, READ, certificate_chart, read_trained_chart
from sparsehead_paper.studies.read_trained import ReadTrial


def trials(n, exact, *, error=0.001, broken=0, solved=True):
    return [
        ReadTrial(
            family="and", T=300, m=200, seed=i, solved=solved, planted="x1", read="x1", method="sampling", queries=9,
            found="planted" if i < exact else "other", agreement=1.0, function_error=0.0, bound=0.1, model_bound=0.1,
            model_error=0.2 if i < broken else error,
        )
        for i in range(n)
    ]  # fmt: skip


def test_the_chart_counts_only_solved_trials_as_read(shown):
    rows = trials(10, 8) + trials(10, 10, solved=False)
    chart = shown(
        read_trained_chart(
            rows, thresholds=[Threshold(300, 70.0, 60.0, 80.0), Threshold(100, None, None, 60.0)]
        )
    )
    shares = {row["what"]: row for row in chart.data["shares"]}
    assert (shares[LEARNED]["share"], shares[READ]["share"], shares[READ]["trials"]) == (0.5, 0.4, 20)
    assert chart.data["law"] == [{"family": "and", "T": 300, "m": 70.0}]
    assert "8 of 10 learned models" in chart.subtitle


def test_the_certificate_chart_says_what_is_exceeded(shown):
    fine = shown(certificate_chart(trials(10, 10, error=0.0), delta=0.05))
    assert fine.title == "Every certificate lies above the true error"
    assert {row["model_error"] for row in fine.data["certificates"]} == {2e-5}
    broken = shown(certificate_chart(trials(10, 10, broken=2), delta=0.05))
    assert broken.title == "2 certificates are exceeded"
