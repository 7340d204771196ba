"""The study of predicted and measured laws: what it would run, and its simulated part in small."""

from dataclasses import replace

import pytest

from sparsehead_paper.figures.side_by_side import laws_chart
from sparsehead_paper.studies.folder import read_results
from sparsehead_paper.studies.law_stage import LawsRecord
from sparsehead_paper.studies.plans import command_for
from sparsehead_paper.studies.predicted import SIMULATED, of_size, predicted
from sparsehead_paper.studies.stage import Workplace


def test_every_size_and_share_of_ones_has_predictions_and_presets():
    laws = predicted().laws
    groups = {label.partition(": ")[2] for label in laws}
    assert len(groups) == 5 * 4 and len(laws) == 5 * 4 * (len(SIMULATED) + 2) + 4 * 3
    for group in groups:
        assert {f"{name}: {group}" for name in (*SIMULATED, "best", "fast")} <= set(laws)
    balanced = laws["best: AND of 3, p = 0.794"]
    assert balanced.settings["preset"] == "best" and "p" not in balanced.settings
    assert laws["comp: AND of 6, p = 0.65"].settings == {"learner": "comp", "p": 0.65}
    assert laws["fast: AND of 2, p = 0.5"].settings["p"] == 0.5
    assert laws["best, one run, no redraw: AND of 3, p = 0.9"].settings["unique"] is False
    assert command_for("predicted") == "sparsehead reproduce --only predicted"


def test_the_simulated_laws_are_ordered_as_theory_has_them(tmp_path):
    """Elimination alone needs more than elimination and a cover, and so does one step of covariances."""
    every = predicted(sizes=(3,), Ts=(20, 60), trials=8)
    small = {f"{name}: AND of 3, p = 0.794" for name in ("scomp", "comp")}
    stage = replace(every, laws={label: law for label, law in every.laws.items() if label in small})
    stage.run(Workplace(db=tmp_path / "r.db", folder=tmp_path, workers=1))
    record = of_size(read_results(tmp_path, "predicted", LawsRecord))
    found = {law.label.partition(":")[0]: law for law in record.laws}
    assert found["scomp"].thresholds[60].m80 < found["comp"].thresholds[60].m80
    assert found["scomp"].floor[60].m == pytest.approx(24, abs=2) and found["scomp"].cells
    assert laws_chart(record, title="Predicted and measured").to_dict()["datasets"]["points"]
