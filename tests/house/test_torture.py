"""The torture runner on one kill and a few damages, what its checks look for, and the summary of the last full run."""

import importlib.util
import re
import sys
from pathlib import Path
from random import Random

import pytest

from sparsehead.store import Store
from sparsehead.train.spec import spec_id

HERE = Path(__file__).parents[2] / "torture"
sys.path.insert(0, str(HERE))
import client  # noqa: E402
import ground  # noqa: E402
import scenarios  # noqa: E402

location = importlib.util.spec_from_file_location("torture_run", HERE / "run.py")
run = importlib.util.module_from_spec(location)
location.loader.exec_module(run)

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
FEW = 8  # trials


def outcome(seed):
    return {"status": "solved", "steps": seed, "restarts_used": 1, "seconds": 0.5}


@pytest.fixture
def made(tmp_path):
    """A ground whose undisturbed sweep was written by hand, and a store that holds the same."""
    for name in ("undisturbed.db", "s.db"):
        with Store(tmp_path / name) as store:
            for seed, spec in enumerate(client.specs(FEW)):
                store.add(spec, outcome(seed))
    found = ground.Ground.__new__(ground.Ground)
    found.folder, found.number, found.workers = tmp_path, FEW, 1
    found.expected = ground.numbers(ground.rows_of(tmp_path / "undisturbed.db"))
    return found


def test_the_checks_see_what_they_look_for(made):
    db = made.folder / "s.db"
    rows = made.check_part(db)
    assert len(rows) == FEW
    with pytest.raises(ground.Failed, match="was there and is lost"):
        made.check_part(db, {**rows, "another": ("x",)})
    key = next(iter(rows))
    with pytest.raises(ground.Failed, match="was there and is changed"):
        made.check_part(db, {**rows, key: ("x",)})
    spec = spec_id(client.specs(1)[0])
    made.expected[spec] = "another"
    with pytest.raises(ground.Failed, match="is not that of an undisturbed sweep"):
        made.check_part(db)
    with pytest.raises(ground.Failed, match="two outcomes"):
        ground.numbers({"a": ("s", {}, {}, 0.0, {}), "b": ("s", {}, {}, 0.0, {})})
    with pytest.raises(ground.Failed, match="a traceback"):
        ground.one_line("Traceback (most recent call last)")
    with pytest.raises(ground.Failed, match="no word"):
        ground.one_line("done 3")


def test_damage_is_named_or_without_effect(made):
    figures = scenarios.damaged(made, Random(5), flips=10, under=0)
    named = figures.get("named when opened", 0) + figures.get("named row by row", 0)
    assert named + figures.get("without effect on any row", 0) == figures["damaged files"] == 20
    assert named >= 10  # every truncation at least


def test_a_sweep_survives_a_kill(tmp_path):
    """One client is killed while it works; what it announced is there, and the sweep completes."""
    made = ground.Ground(tmp_path, FEW, workers=1)
    first = made.start("killed.db")
    ground.until(lambda: first.done >= 2 or not first.running, "outcomes come")
    first.kill()
    first.wait()
    ground.no_stray(first.db)
    rows = made.check_part(first.db)
    assert len(rows) >= first.done
    made.finish(first.db, rows)


@pytest.mark.slow
def test_a_short_torture_holds():
    rows = run.torture(seed=2, share=0.02, number=30)
    assert {name: row["failed"] for name, row in rows.items() if row["failed"]} == {}


def test_the_summary_is_that_of_a_full_run_in_which_everything_held():
    text = (HERE / "RESULT.md").read_text()
    for name in scenarios.plan(1.0):
        assert re.search(rf"^\| {re.escape(name)} \| yes \|", text, re.MULTILINE), name
    assert sum(map(int, re.findall(r"\| kills[\w ]*: (\d+)", text))) >= 200
    assert "seed" in text and "date: 20" in text
