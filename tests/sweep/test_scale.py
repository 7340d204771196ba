"""The simulated schedule: exact where it can be computed by hand, and printed in docs/scale.md as it comes out."""

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
location = importlib.util.spec_from_file_location("scale_model", ROOT / "benchmarks" / "scale_model.py")
scale = importlib.util.module_from_spec(location)
sys.modules[location.name] = scale  # dataclasses look their module up
location.loader.exec_module(scale)

IDLE = scale.Model(step=(0.0, 0.0, 1e-8, 0.0), steps=(500.0, 0.0), unit=0.0, outcome=0.0, size=1e3)


def test_without_a_clients_time_workers_are_busy_to_the_last_round():
    found = scale.simulate([2.0] * 10, 4, IDLE, 0.5)
    assert found.seconds == pytest.approx(6.0)  # 4 + 4 + 2 trials
    assert found.busy == pytest.approx(20 / 24) and found.client == 0.0


def test_long_trials_first_end_sooner():
    trials = [1.0] * 8 + [8.0]
    assert scale.simulate(trials, 2, IDLE, 0.5).seconds == pytest.approx(12.0)
    assert scale.simulate(trials[::-1], 2, IDLE, 0.5).seconds == pytest.approx(8.0)


def test_a_client_that_is_behind_decides_the_time():
    slow = replace(IDLE, unit=0.01)
    one_by_one = scale.simulate([0.01] * 1000, 100, slow, 0.01)
    assert one_by_one.seconds == pytest.approx(10.0, rel=0.01) and one_by_one.client > 0.99
    # one worker: a thousand times (10 + 10 ms), or ten units of a hundred
    assert scale.simulate([0.01] * 1000, 1, slow, 0.01).seconds == pytest.approx(20.0)
    assert scale.simulate([0.01] * 1000, 1, slow, 1.0).seconds == pytest.approx(10.1)


def test_the_model_meets_the_committed_trials():
    """The two longest that were measured, to a factor of two: steps of a trial vary more than that."""
    model = scale.fit_model()
    for row in scale.COMMITTED:
        assert 0.5 < model.trial_seconds(row["T"], row["m"]) / row["seconds"] < 2


def test_the_document_prints_what_the_simulation_says():
    printed = re.findall(r"^```text\n(.*?)^```", (ROOT / "docs" / "scale.md").read_text(), flags=re.M | re.S)
    assert [line.rstrip() for line in scale.table(scale.fit_model())] == printed[0].splitlines()
