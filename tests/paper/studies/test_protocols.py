"""Protocols of a trial, judged on the same runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsehead.laws.curves import Cell
from sparsehead.store import Store
from sparsehead.train.learn import learn_spec
from sparsehead.train.loop import origin_of
from sparsehead.train.spec import spec_id
from sparsehead_paper.studies.protocols import PROTOCOLS, collect_protocols, protocols, run_all_restarts


@pytest.mark.parametrize(
    ("runs", "verdicts"),
    [
        # passed at some check, passed at the last check, final training loss
        ([(1, 1, 0.2), (0, 0, 0.1)], (True, True, False, True)),
        ([(0, 0, 0.2), (1, 0, 0.1)], (True, False, True, False)),
        ([(0, 0, 0.2), (0, 0, 0.1)], (False, False, False, False)),
    ],
)
def test_each_protocol_looks_at_its_own_runs_and_checks(runs, verdicts):
    assert tuple(judge(np.array(runs, dtype=float)) for judge in PROTOCOLS.values()) == verdicts


def test_first_run_is_that_of_a_trial_with_one_restart():
    (spec,) = [
        replace(s, T=12, m=90, n_steps=60, restarts=2, holdout=500)
        for s in protocols(T=12, trials=1).specs[:1]
    ]
    kept: dict[str, Any] = {}
    run_all_restarts([spec], on_outcome=lambda _, outcome, arrays: kept.update(arrays, outcome=outcome))
    alone = learn_spec(replace(spec, restarts=1, keep_training=False)).outcome
    assert kept["runs"].shape == kept["same_start"].shape == (2, 3)
    assert kept["runs"][0, 0] == alone.solved
    assert kept["outcome"].solved == kept["runs"][:, 0].any()
    assert not np.array_equal(kept["runs"][:, 2], kept["same_start"][:, 2])


def test_curves_count_the_trials_in_the_store(tmp_path):
    whole = protocols(T=50, trials=2)
    with Store(tmp_path / "r.db") as store:
        for i, spec in enumerate(whole.specs):
            runs = np.array([(i % 2, 0, 0.1), (1, 1, 0.2)])
            status = {"status": "solved", "steps": 20, "seconds": 1.0}
            arrays = {"runs": runs, "same_start": np.zeros((2, 3))}
            store.add(spec, status, engine=origin_of(spec), arrays=arrays)
        record = collect_protocols(store, whole)
    curves = {curve.protocol: curve for curve in record.curves}
    assert sum(cell.trials for cell in curves["one run"].cells) == len({spec_id(s) for s in whole.specs}) == 6
    assert sum(cell.solved for cell in curves["one run"].cells) == 3
    assert all(cell == Cell(cell.m, 2, 2) for cell in curves["five runs"].cells)
    assert sum(cell.solved for cell in curves["same start"].cells) == 0
    assert all(low < value < high for value, low, high in (c.slope for c in record.curves))
    assert {m: len(counts) for m, counts in record.runs.items()} == {45: 2, 60: 2, 80: 2}
