"""benchmarks/history.json and what `make bench` prints of it."""

import copy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import history


@pytest.fixture
def line():
    return {
        "version": "0.4.0", "commit": "abc", "machine": "M", "instructions": "x86-64-v4", "torch": "2",
        "clock": "wall", "threads": 1, "busy": 0.1, "ratios": {"a over ours": 8.0, "new": 1.0},
    }  # fmt: skip


def test_every_line_says_what_was_measured_where():
    fields = {"version", "commit", "machine", "instructions", "torch", "clock", "threads", "busy", "ratios"}
    lines = history.read()
    assert lines and all(set(x) == fields and x["ratios"] for x in lines)
    keys = [tuple(x[name] for name in ("version", *history.SAME)) for x in lines]
    assert len(set(keys)) == len(keys)


def test_a_loss_is_seen_beside_the_line_before(line):
    before = line | {"version": "0.3.0", "ratios": {"a over ours": 10.0, "gone": 2.0}}
    rows = {row[:52].strip(): row[52:].split() for row in history.table(line, before)}
    assert rows["a over ours"] == ["10", "8", "-20%"]
    assert rows["new"] == ["-", "1"] and rows["gone"] == ["2", "-"]


def test_the_line_before_is_of_the_same_machine_where_there_is_one(line):
    here, elsewhere = (line | {"version": "0.3.0", "machine": name} for name in "MN")
    assert history.former(line, [here, elsewhere, line]) == here
    assert history.former(line, [elsewhere]) == elsewhere
    assert "machine N" in history.table(line, elsewhere)[-1]
    assert history.former(line, [line]) is None


def test_a_release_has_one_line_for_each_machine(line, tmp_path):
    path = tmp_path / "history.json"
    again = copy.deepcopy(line) | {"commit": "def"}
    for x in (line, line | {"machine": "N"}, again):
        history.record(x, path)
    assert history.read(path) == [line | {"machine": "N"}, again]
