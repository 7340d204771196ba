"""The one-screen story, the plan of `reproduce` and its time to go."""

from pathlib import Path

import pytest

from sparsehead.sweep import Progress
from sparsehead.train.spec import preset
from sparsehead_paper.claims.claim import Finding
from sparsehead_paper.claims.registry import CLAIMS
from sparsehead_paper.report.catalogue import FIGURES
from sparsehead_paper.report.reproduce import Reproduction, _line, minutes, plan_text, reproduce
from sparsehead_paper.report.story import LONGEST, TOPICS, story
from sparsehead_paper.studies import plans
from sparsehead_paper.studies.stage import trial_seconds
from sparsehead_paper.studies.times import REPORT_SECONDS, TimeToGo


def test_every_chapter_has_a_claim_and_a_figure():
    for _, _, claims, figure in TOPICS:
        assert set(claims) <= set(CLAIMS)
        assert figure in FIGURES


def test_the_law_is_told_by_its_slope_with_an_interval():
    log = {"params": {"a": 1.0, "b": 10.1}, "intervals": {"b": [7.83, None]}}
    finding = Finding(
        "law-and", "differs", "long", "longer", data={"fits": {"log": log}, "agree": [100, 300]}
    )
    law = story([finding])[0]
    assert (law.verdict, law.mark) == ("differs", "≈ differs")
    assert law.paper.startswith("29.65 ± 4.5")
    assert law.ours == "10.1 [7.8, …]; 2 of the paper's 18 points are met"


def test_the_law_of_the_papers_reading_comes_before_ours_once_it_was_run():
    ours = Finding("law-and", "differs", "1", "2", data={"agree": [], "fits": {}})
    for verdict, told in (("holds", "law-matched"), ("not run", "law-and")):
        matched = Finding(
            "law-matched", verdict, "1", "2", data={"agree": [], "fits": {}, "figure": "law-matched"}
        )
        law = story([ours, matched])[0]
        assert law.claim == told
        assert law.figure == {"law-matched": "law-matched", "law-and": "law"}[told]


def test_parity_is_told_by_the_papers_reading_once_it_was_run():
    ours = Finding("parity-curves", "differs", "1", "ours")
    data = {"matched": "matched", "figure": "parity-settings"}
    for verdict, told in (
        ("holds", ("parity-settings", "parity-settings", "matched")),
        ("not run", ("parity-curves", "parity", "ours")),
    ):
        studied = Finding("parity-settings", verdict, "1", "all seven settings", data=data)
        parity = story([ours, studied])[3]
        assert (parity.claim, parity.figure, parity.ours) == told


def test_what_was_not_checked_is_not_run_and_long_numbers_are_cut_at_a_part():
    chapters = story([Finding("curves-and", "holds", "1", "; ".join(["m=200: 40/40"] * 40))])
    assert chapters[0].verdict == "not run"
    assert len(chapters[1].ours) <= LONGEST
    assert chapters[1].ours.endswith("40/40 …")


def test_the_terminal_gets_one_line_for_a_finding_and_for_a_verdict():
    long = Finding("law-and", "differs", "1", "; ".join(f"T={T}: 52 [47, 60]" for T in range(100, 1200, 50)))
    assert len(_line(long)) <= 79
    assert _line(long).endswith("…")
    found = (long, Finding("law-grid", "differs", "1", "2"), Finding("tf-head", "holds", "1", "1"))
    lines = Reproduction(found, Path("r.html"), 312.0).summary().splitlines()
    assert lines[-2:] == ["differs: law-and, law-grid", "5.2 min; the report is r.html"]


def test_the_time_told_at_the_end_has_the_drawing_in_it(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("sparsehead_paper.report.reproduce.time.monotonic", clock)
    monkeypatch.setattr("sparsehead_paper.report.reproduce.run_checks", lambda **_: [])

    def slow(folder, fresh):
        clock.now += 90.0
        return []

    monkeypatch.setattr("sparsehead_paper.report.reproduce.draw_all", slow)
    done = reproduce(
        "quick",
        db=tmp_path / "none.db",
        folder=tmp_path,
        workers=1,
        report=lambda *_: None,
        say=str,  # type: ignore[arg-type]
        train=False,
    )
    assert done.seconds == 90.0


def test_the_plan_names_every_stage_with_its_time_and_adds_up(tmp_path):
    stages = plans.plan("default")
    expected = [stage.seconds(tmp_path / "none.db") / 2 for stage in stages]
    text = plan_text(stages, expected, 2)
    for stage in stages:
        assert getattr(stage, "title", stage.name) in text
    assert min(expected) > 0
    assert minutes(sum(expected) + REPORT_SECONDS) in text.splitlines()[-1]
    assert 120 < sum(expected) + REPORT_SECONDS < 600  # minutes, not hours: what the command promises


def test_a_trial_takes_longer_with_more_samples_positions_and_steps():
    base = {"function": "and", "s": 3, "T": 300, "m": 200, "seed": 0, "n_steps": 500, "keep_training": True}
    seconds = trial_seconds(preset("fast", **base))
    for change in ({"T": 3000}, {"m": 2000}, {"n_steps": 1000}, {"dropout": 0.1}):
        assert trial_seconds(preset("fast", **{**base, **change})) > seconds


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_time_to_go_is_that_of_all_stages_and_learns_the_machines_speed():
    clock = Clock()
    to_go = TimeToGo([10.0, 20.0, 5.0], clock=clock)
    assert to_go.seconds() == 35
    clock.now = 4.0
    assert to_go.seconds() == 31
    to_go.see(Progress(1, 10, 4.0, 36.0))  # the stage itself says that it needs longer
    assert to_go.seconds() == 36 + 25
    clock.now = 30.0
    to_go.next_stage()  # three times as long as expected
    assert to_go.speed == 3
    assert to_go.seconds() == pytest.approx(3 * 25)
    clock.now = 100.0  # longer than expected: what is left of this stage is not negative
    assert to_go.seconds() == pytest.approx(3 * 5)
    to_go.next_stage()
    to_go.next_stage()
    assert to_go.seconds() == 0
