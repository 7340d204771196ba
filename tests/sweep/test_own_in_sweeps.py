"""Learners of the user's own in sweeps: workers, kills, resuming, clusters, failures, other code of the same name."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsehead as sh
from sparsehead._base.errors import SparseheadError
from sparsehead.laws.adaptive import Adaptive
from sparsehead.store import Store
from sparsehead.sweep import LocalSweep
from sparsehead.sweep.worker import run_unit
from sparsehead.train.loop import run_trials
from sparsehead.train.spec import preset, spec_id

ROOT = Path(__file__).parents[2]
# A script as a user writes one: the module has fifteen lines, and lives in __main__.
SCRIPT = """
import sys, time
import torch
from torch import nn
import sparsehead as sh
from sparsehead.laws.adaptive import Adaptive

class Sigmoid(nn.Module):
    def __init__(self, T, d=8):
        super().__init__()
        self.token, self.place = nn.Embedding(2, d), nn.Parameter(torch.randn(T, d) / 4)
        self.query, self.out = nn.Parameter(torch.randn(d) / 4), nn.Linear(d, 1)

    def forward(self, bits):
        x = self.token(bits.long()) + self.place
        weights = torch.sigmoid(x @ self.query)
        return self.out((weights[:, :, None] * x).sum(1))

if __name__ == "__main__":
    where = {"workers": int(sys.argv[2])} if sys.argv[2].isdigit() else {"cluster": sys.argv[2]}
    found = sh.law(
        "and", s=1, T=[4, 5, 6], db=sys.argv[1], method="adaptive", holdout=200, **where, say=print,
        learner=sh.module(lambda T: Sigmoid(T), steps=60, learning_rate=0.05, restarts=2),
        policy=Adaptive(start=10, max_trials=int(sys.argv[3]), width=2.0),
    )
    print(found.cells)
"""


def started(folder, *arguments):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def rows(db):
    """All outcomes without what depends on the moment."""
    with Store(db, readonly=True) as store:
        return {
            record.spec_id: (record.spec, {**record.outcome, "seconds": 0}, store.history(record.id))
            for record in store.records()
        }


def test_a_module_of_a_script_has_the_same_rows_with_one_worker_and_after_a_kill_with_two(tmp_path):
    alone = started(tmp_path, tmp_path / "one.db", 1, 8)
    killed = started(tmp_path, tmp_path / "two.db", 2, 8)
    for _ in range(600):
        with suppress(SparseheadError):  # the store is not there yet
            if len(rows(tmp_path / "two.db")) >= 3:
                break
        time.sleep(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    time.sleep(0.6)  # workers end within half a second after their parent
    before = rows(tmp_path / "two.db")
    resumed = started(tmp_path, tmp_path / "two.db", 2, 8).communicate()[0]
    said = alone.communicate()[0]
    one, two = rows(tmp_path / "one.db"), rows(tmp_path / "two.db")
    assert before.items() <= two.items() and one == two and len(one) > len(before) >= 3
    assert resumed.splitlines()[-1] == said.splitlines()[-1] != ""
    assert {spec["learner"].partition("@")[0] for spec, *_ in one.values()} == {"Sigmoid"}


def cell(text, name="f"):
    """What a cell of a notebook defines: no file has its source."""
    names = {"__name__": "__main__", "np": np}
    exec(compile(text, "<cell>", "exec"), names)
    return names[name]


def of_main(function):
    """The function as if a script had defined it: workers cannot import the modules of tests."""
    function.__module__ = "__main__"
    return function


FIRST = "def f(bits, labels, rng):\n    return lambda b: b[:, 0]"
POLICY = Adaptive(start=10, max_trials=8, width=2.0)


def measure(learner, db, **more):
    said: list[str] = []
    asked = {"T": 4, "workers": 1, "policy": POLICY, "holdout": 200, "restarts": 1, **more}
    return sh.law("x0", db=db, learner=learner, say=said.append, **asked), said


def test_a_cell_of_a_notebook_resumes_and_other_code_is_another_experiment(tmp_path):
    db = tmp_path / "r.db"
    first, said = measure(cell(FIRST), db)
    count = len(rows(db))
    again, _ = measure(cell(f"# a comment\n{FIRST}"), db, workers=2)
    assert again.cells == first.cells and len(rows(db)) == count and said == [] and first.note == again.note
    other, said = measure(cell(FIRST.replace("0]", "0] > 0")), db)
    assert other.cells == first.cells and len(rows(db)) == 2 * count
    assert len(said) == 1 and "the store has outcomes of f@" in said[0] and "different experiments" in said[0]


def test_a_cell_of_a_notebook_on_a_cluster_of_this_machine(tmp_path):
    pytest.importorskip("distributed")
    here, _ = measure(cell(FIRST), tmp_path / "here.db")
    there, _ = measure(cell(FIRST), tmp_path / "there.db", cluster="local:1")
    assert here.cells == there.cells and rows(tmp_path / "here.db") == rows(tmp_path / "there.db")


@of_main
def moody(bits, labels, rng):
    """Fails in four ways, one after the other, and works in the others."""
    mood = len(bits) % 8 if len(bits) < 30 else 7
    if mood == 1:
        raise ValueError("no")
    if mood == 2:
        while True:
            pass
    if mood == 3:
        print("hello")
    return lambda b: np.full(len(b), np.nan) if mood == 4 else b[:, 0]


def specs(learner, ms):
    return [
        preset("fast", function="x0", T=4, m=m, seed=m, learner=learner, holdout=200, unique=False)
        for m in ms
    ]


def test_a_learner_that_fails_is_a_failed_trial_and_the_others_run(tmp_path):
    name = sh.Learner.of(moody, limit_seconds=3.0).register()
    said: list[str] = []
    with LocalSweep(tmp_path / "r.db", workers=2, say=said.append) as sweep:
        wanted = specs(name, range(8, 16))
        result = sweep.run(wanted)
        assert (
            result.errors == {}
            and len(result.records) == 5
            and all(r.solved for r in result.records.values())
        )
        reasons = sorted(result.failed.values())
        assert [reason.partition(":")[0] for reason in reasons] == [
            "the learner predicted nan; labels are 0 or 1", "the learner raised ValueError",
            "the learner took longer than its limit of 3 s (limit_seconds)",
        ]  # fmt: skip
        stored = {r.outcome.get("reason") for r in sweep.store.records() if r.outcome["status"] == "failed"}
        assert stored == {*reasons}
        assert [text for text in said if "'hello'" in text]


def test_trials_behind_one_that_failed_are_run(unchecked):
    name = sh.Learner.of(often_fails).register()
    unit = [preset("fast", function="x0", T=4, m=20, seed=i, learner=name, holdout=200) for i in range(8)]
    kept: list[str] = []
    said: list[dict[str, Any]] = []
    run_unit(
        [asdict(spec) for spec in unit],
        run_trials,
        {},
        lambda spec, *_: kept.append(spec_id(spec)),
        said.append,
    )
    failed = [message["error"] for message in said if message.get("failed")]
    assert sorted([*kept, *failed]) == sorted(map(spec_id, unit)) and kept and failed


@of_main
def dying(bits, labels, rng):
    if len(bits) == 9:
        import os

        os._exit(7)
    return lambda b: b[:, 0]


def test_a_learner_that_ends_its_worker_is_a_failed_trial(tmp_path):
    with LocalSweep(tmp_path / "r.db", workers=1, say=lambda _: None) as sweep:
        result = sweep.run(specs(sh.Learner.of(dying).register(), (8, 9, 10)))
    assert len(result.records) == 2 and result.errors == {}
    assert [reason.partition(" (")[0] for reason in result.failed.values()] == ["its worker ended 3 times"]


@of_main
def often_fails(bits, labels, rng):
    if rng.random() < 0.3:
        raise ValueError("no luck")
    return lambda b: b[:, 0]


def test_a_law_counts_failed_trials_as_not_learned_and_ends_when_all_fail(tmp_path):
    found, _ = measure(often_fails, tmp_path / "r.db", T=4, method="adaptive")
    assert "trials failed and count as not learned; the first, T=4, m=" in found.note
    assert found.note.endswith("the learner raised ValueError: no luck.")
    cells = found.cells[4]
    stored = [outcome["status"] for _, outcome, _ in rows(tmp_path / "r.db").values()]
    assert sum(c.trials for c in cells) == len(stored) >= 8  # each trial once, those that failed too
    assert sum(c.solved for c in cells) == stored.count("solved") > 0 < stored.count("failed")
    always = cell("def f(bits, labels, rng):\n    raise KeyError('x')")
    with pytest.raises(
        SparseheadError, match=r"all \d+ trials of the first round failed; the first: the learner raised Key"
    ):
        measure(always, tmp_path / "s.db")


def test_a_learner_of_a_module_beside_the_script_is_found_by_workers(tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("def fit(bits, labels, rng):\n    return lambda b: b[:, 0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import beside

    found, said = measure(beside.fit, tmp_path / "r.db")
    assert found.thresholds and said == []
    assert {spec["learner"].partition("@")[0] for spec, *_ in rows(tmp_path / "r.db").values()} == {
        "beside:fit"
    }
    part, _ = measure("beside:fit", tmp_path / "part.db", T=[4, 5], shard="1/2")
    assert part.cells == found.cells
