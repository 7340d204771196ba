"""The study of predicted and measured laws: what it would run, and its simulated part in small."""

import math
from dataclasses import replace
from typing import Any

import pytest

from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.claims.laws import check_predicted_line
from sparsehead_paper.figures.side_by_side import laws_chart
from sparsehead_paper.figures.which_line import which_line_chart
from sparsehead_paper.studies.folder import read_results, write_results
from sparsehead_paper.studies.law_stage import LabelledLaw, LawsRecord
from sparsehead_paper.studies.plans import command_for
from sparsehead_paper.studies.predicted import ALONE, SIMULATED, nearness, of_size, predicted, ratios
from sparsehead_paper.studies.stage import Workplace


def test_every_size_and_share_of_ones_has_predictions_and_presets():
    laws = predicted().laws
    groups = {label.partition(": ")[2] for label in laws}
    # four p at s = 3, and four other s at balanced labels
    assert len(groups) == 8 and len(laws) == 8 * (len(SIMULATED) + 4) + 4
    for group in groups:
        assert {f"{name}: {group}" for name in (*SIMULATED, "best", ALONE, "gated", "fast")} <= set(laws)
    balanced = laws["best: AND of 3, p = 0.794"]
    assert balanced.settings["preset"] == "best" and "p" not in balanced.settings
    assert laws["comp: AND of 3, p = 0.65"].settings == {"learner": "comp", "p": 0.65}
    assert laws["best: AND of 3, p = 0.65"].settings == {"preset": "best", "p": 0.65}
    assert laws[f"{ALONE}: AND of 3, p = 0.794"].settings["unique"] is False
    assert command_for("predicted") == "sparsehead reproduce --only predicted"


def test_measured_laws_go_to_ten_thousand_for_the_papers_task_only():
    laws = predicted().laws
    far = {label for label, law in laws.items() if law.Ts[-1] == 10_000 and "learner" not in law.settings}
    assert far == {f"{name}: AND of 3, p = 0.794" for name in ("best", "gated")}


def test_the_simulated_laws_are_ordered_as_theory_has_them(tmp_path):
    """Elimination alone needs more than elimination and a cover, and so does one step of covariances."""
    every = predicted(sizes=(3,), Ts=(20, 60), simulated=80)
    small = {f"{name}: AND of 3, p = 0.794" for name in ("scomp", "comp")}
    stage = replace(every, laws={label: law for label, law in every.laws.items() if label in small})
    stage.run(Workplace(db=tmp_path / "r.db", folder=tmp_path, workers=1))
    record = of_size(read_results(tmp_path, "predicted", LawsRecord))
    found = {law.label.partition(":")[0]: law for law in record.laws}
    assert found["scomp"].thresholds[60].m80 < found["comp"].thresholds[60].m80
    assert found["scomp"].floor[60].m == pytest.approx(24, abs=2) and found["scomp"].cells
    assert laws_chart(record, title="Predicted and measured").to_dict()["datasets"]["points"]


def made_up(of_best, Ts=(100, 300, 1000)):
    """Laws whose greedy line is 10, 20, 30 and whose SCOMP line is half of it; m_80 of best is given."""
    lines = {"best": of_best, "greedy": (10.0, 20.0, 30.0), "scomp": (5.0, 10.0, 15.0)}
    empty: dict[str, Any] = {"settings": {}, "complete": True, "fits": {}, "floor": {}}
    return LawsRecord(
        tuple(
            LabelledLaw(
                label=f"{name}: AND of 3, p = 0.5",
                group="AND of 3, p = 0.5",
                thresholds={T: Threshold(T, m, None, None, 8) for T, m in zip(Ts, line, strict=True)},
                **empty,
            )
            for name, line in lines.items()
        ),
        "3 laws",
    )


def test_ratios_pair_thresholds_of_one_setting_and_leave_out_open_ones():
    rows = ratios(made_up((20.0, None, 30.0)))
    assert [(row.learner, row.T, row.ratio) for row in rows] == [
        ("scomp", 100, 4.0), ("greedy", 100, 2.0), ("scomp", 1000, 2.0), ("greedy", 1000, 1.0),
    ]  # fmt: skip


def test_nearness_is_the_root_mean_square_of_log_ratios():
    first, second = nearness(ratios(made_up((20.0, 20.0, 15.0))), "best")
    assert (first.learner, second.learner, first.settings) == ("greedy", "scomp", 3)
    assert first.distance == pytest.approx(math.log(2) * math.sqrt(2 / 3))
    assert second.distance == pytest.approx(math.log(2) * math.sqrt((4 + 1 + 0) / 3))
    assert nearness(ratios(made_up((None, None, None))), "best") == []


@pytest.mark.claim("predicted-line")
@pytest.mark.parametrize(
    ("of_best", "verdict"),
    [((11.0, 21.0, 31.0), "holds"), ((5.0, 10.0, 15.0), "refuted"), ((10.0, 10.0, 21.0), "undecided")],
)
def test_the_line_that_best_follows_decides_the_claim(tmp_path, of_best, verdict):
    write_results(tmp_path, "predicted", made_up(of_best))
    assert check_predicted_line(Context(options={"results": tmp_path})).verdict == verdict


@pytest.mark.claim("predicted-line")
@pytest.mark.parametrize(
    ("stopped", "verdict"), [("best", "undecided"), ("scomp", "undecided"), ("fast", "holds")]
)
def test_only_laws_that_are_compared_must_be_whole(tmp_path, stopped, verdict):
    found = made_up((11.0, 21.0, 31.0))
    other = replace(found.laws[0], label="fast: AND of 3, p = 0.5")
    laws = [replace(law, complete=not law.label.startswith(stopped)) for law in (*found.laws, other)]
    write_results(tmp_path, "predicted", replace(found, laws=tuple(laws), complete=False))
    assert check_predicted_line(Context(options={"results": tmp_path})).verdict == verdict


def test_the_chart_names_the_nearest_learner():
    title = which_line_chart(made_up((11.0, 21.0, 31.0))).to_dict()["title"]["text"]
    assert " ".join(title).endswith("best is nearest to greedy")
