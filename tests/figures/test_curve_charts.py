"""Validation and loss curves: every run a line, the median, the paper's steps in the paper's style."""

import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.jsonable import json_values
from sparsehead_paper.figures import curves as module
from sparsehead_paper.figures.curves import learned, parity_curves, thin, validation_curves
from sparsehead_paper.studies.curves import AccuracyPoint
from sparsehead_paper.studies.parity import LossPoint, ParityRun, learned_step


def run(m, replicate, solved_at, last=100):
    """A curve at chance that jumps to 1 at `solved_at` and stops there."""
    steps = range(0, last + 1, 10)
    rows = [AccuracyPoint(m, replicate, s, 1.0 if solved_at and s >= solved_at else 0.5) for s in steps]
    return [r for r in rows if not solved_at or r.step <= solved_at]


RUNS = [*run(200, 0, 40), *run(200, 1, 60), *run(50, 0, 80), *run(50, 1, None)]


def test_title_counts_solved_runs_and_subtitle_gives_the_interval(shown):
    chart = shown(validation_curves(RUNS))
    assert chart.title == "T = 300. m = 200: 2 of 2 solved; m = 50: 1 of 2 solved"
    assert "0.50 [0.09, 0.91] at m = 50" in chart.subtitle
    assert "The paper: 40 of 40 at m = 200; 24 of 40 at m = 50." in chart.subtitle


def test_median_counts_a_solved_run_as_solved_after_it_stopped(shown):
    median = {
        r["step"]: r["accuracy"] for r in shown(validation_curves(RUNS)).data["median"] if r["m"] == 200
    }
    assert (median[30], median[50], median[60]) == (0.5, 0.75, 1.0)


def test_the_papers_first_steps_are_a_diamond_with_a_bar(shown):
    chart = shown(validation_curves(RUNS))
    assert chart.data["paper"][0] | {"series": ""} == {
        "m": 200, "low": 59, "step": 99, "high": 409, "accuracy": 0.99, "series": ""
    }  # fmt: skip
    point = chart.view("paper", "point")
    assert (point["mark"]["shape"], point["mark"]["filled"]) == ("diamond", False)
    assert chart.view("paper", "rule")["encoding"]["x2"]["field"] == "high"


def test_at_another_T_the_papers_numbers_are_left_out(shown):
    assert shown(validation_curves(RUNS, T=100)).data["paper"] == []


def test_no_run_solved_is_a_result(shown):
    chart = shown(validation_curves(run(50, 0, None)))
    assert chart.title == "T = 300. m = 50: 0 of 1 solved"
    assert chart.data["solved"][0]["median_step"] is None


def test_curves_are_thinned_but_keep_their_last_point(monkeypatch):
    monkeypatch.setattr(module, "POINTS", 10)
    kept = thin(json_values(run(50, 0, None, last=1000)), "m", "replicate")
    assert 10 <= len(kept) <= 12
    assert kept[-1]["step"] == 1000


def losses(T, seed, fall):
    return [LossPoint(T, seed, s, 0.69 if s < fall else 0.01) for s in range(0, 1001, 50)]


def test_parity_says_when_each_T_was_learned(shown):
    chart = shown(parity_curves([*losses(10, 0, 200), *losses(10, 1, 300), *losses(15, 0, 600)]))
    assert chart.title == "Parity of 3 bits is learned"
    assert "T = 10: after 250 steps (200 to 300); the paper's 206 (156 to 247)." in chart.subtitle
    assert "T = 15: after 600 steps (600 to 600); the paper's 538 (381 to 1029)." in chart.subtitle
    assert [(p["T"], p["low"], p["step"], p["high"]) for p in chart.data["paper"]] == [
        (10, 156, 206, 247),
        (15, 381, 538, 1029),
    ]
    assert len(chart.spec["vconcat"]) == 2


def test_a_seed_that_never_falls_has_no_first_step(shown):
    rows = [*losses(10, 0, 2000), *losses(10, 1, 100)]
    assert learned(json_values(rows), 10, 0.35)[0]["step"] is None
    assert "is learned by 1 of 2 seeds" in shown(parity_curves(rows)).title
    assert "is not learned yet" in shown(parity_curves(losses(10, 0, 2000))).title
    assert "none of 1 seeds yet" in shown(parity_curves(losses(10, 0, 2000))).subtitle


def test_a_dip_is_not_learning_and_a_spike_is_not_forgetting(shown):
    """Down for 4 steps at 1520, up again, down for good from 2156 but for one spike: learned at 2156."""
    steps = list(range(1, 3001))
    loss = [0.05 if s >= 2156 or 1520 <= s < 1524 else 0.69 for s in steps]
    loss[2500] = 0.9
    assert learned_step(steps, loss, 0.35) == 2156
    long_dip = [0.05 if s >= 2156 or 1520 <= s < 1700 else 0.69 for s in steps]
    assert learned_step(steps, long_dip, 0.35) == 2156
    rows = [LossPoint(15, 9, s, x) for s, x in zip(steps, loss)]
    assert "T = 15: after 2,156 steps" in shown(parity_curves(rows)).subtitle
    assert learned_step(steps, [*loss[:-1], 0.69], 0.35) is None  # it ends above the level
    assert learned_step([], [], 0.35) is None


def test_first_steps_that_are_known_better_are_shown(shown):
    known = [ParityRun(10, 0, first_below=150, learned=187)]
    chart = shown(parity_curves(losses(10, 0, 200), first=known))
    assert chart.data["first"] == [{"T": 10, "seed": 0, "step": 187, "loss": 0.35}]
    assert "after 187 steps" in chart.subtitle


def test_no_records_are_refused():
    with pytest.raises(DomainError, match="0 records"):
        parity_curves([])
