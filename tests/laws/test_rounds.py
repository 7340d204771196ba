import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsehead._base.errors import DomainError, SparseheadError
from sparsehead._base.rng import stream
from sparsehead.laws import Adaptive, Joint, fit_laws, fitted, grid
from sparsehead.laws.published import GRID_M, GRID_TRIALS, LAW_AND
from sparsehead.laws.rounds import TrialSource, adaptive_cells, each_alone, grid_cells, trial_seed
from sparsehead.sweep import LocalSweep
from sparsehead.train.data import training_set
from sparsehead.train.spec import preset
from sparsehead.train.transformer.layout import layout
from sparsehead.train.transformer.weights import initial
from sparsehead_paper.studies.norms import norms
from sparsehead_paper.studies.parity import parity


@pytest.fixture(autouse=True)
def _find_fake_runner(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "sweep"), prepend=os.pathsep)


def make_spec(T, m, seed):
    return preset("fast", function="and", s=3, T=T, m=m, seed=seed)


POLICIES = {T: Adaptive(start=60, max_trials=96) for T in (100, 1000, 10_000)}


@pytest.mark.claim("law-and")
def test_adaptive_rounds_find_the_law_and_resume_without_a_single_trial(tmp_path):
    seen: list[Any] = []
    with LocalSweep(tmp_path / "r.db", runner="fake_runner:curve") as sweep:
        cells = adaptive_cells(TrialSource(sweep, make_spec, 1, seen.append), POLICIES, each_alone(POLICIES))
        assert len(sweep.store) == sum(cell.trials for group in cells.values() for cell in group)
    for T in POLICIES:
        found = fitted(cells[T], T=T)
        assert (found.low or 0) < 10 * math.log(T) < (found.high or math.inf)
        assert found.m80 == pytest.approx(10 * math.log(T), rel=0.2) and found.side != "none"
    # 2 x the wanted width.
    assert fit_laws(cells, laws=["log"]).fits["log"](1000) == pytest.approx(69, rel=0.15)
    assert seen[0].open_Ts == (100, 1000, 10_000) and seen[-1].round > 2
    with LocalSweep(tmp_path / "r.db", runner="no_such_module:run") as sweep:
        assert adaptive_cells(TrialSource(sweep, make_spec, 1), POLICIES, each_alone(POLICIES)) == cells


def test_joint_rounds_find_the_thresholds_and_resume_without_a_single_trial(tmp_path):
    joint = Joint(POLICIES)
    with LocalSweep(tmp_path / "r.db", runner="fake_runner:curve") as sweep:
        cells = adaptive_cells(TrialSource(sweep, make_spec, 1), POLICIES, joint.propose)
    for T, found in joint.thresholds(cells).items():
        assert found.low < 10 * math.log(T) < found.high and found.trials <= 96
    with LocalSweep(tmp_path / "r.db", runner="no_such_module:run") as sweep:
        assert adaptive_cells(TrialSource(sweep, make_spec, 1), POLICIES, joint.propose) == cells


def test_grid_runs_every_cell(tmp_path):
    with LocalSweep(tmp_path / "r.db", runner="fake_runner:curve") as sweep:
        cells = grid_cells(TrialSource(sweep, make_spec, 0), [100, 300], [40, 50, 60, 70], each=10)
    assert [cell.trials for cell in cells[300]] == [10] * 4
    assert 40 <= grid(cells[100], T=100, rng=stream(0, "boot")).m80 <= 60


def test_trials_that_cannot_be_run_are_named(tmp_path):
    bad = trial_seed(0, T=100, m=50, trial=1)
    with (
        LocalSweep(tmp_path / "r.db", runner="fake_runner:run", options={"bad": [bad]}) as sweep,
        pytest.raises(
            SparseheadError, match=f"1 of 3 trials could not be run; the first, T=100, m=50, seed={bad}"
        ),
    ):
        grid_cells(TrialSource(sweep, make_spec, 0), [100], [50], each=3)


def test_no_two_trials_of_the_papers_grid_share_a_seed():
    Ts = [point.T for point in LAW_AND] + [3000, 10_000, 30_000, 100_000]
    cells = [
        (base, T, m, trial) for base in (0, 1) for T in Ts for m in GRID_M for trial in range(GRID_TRIALS)
    ]
    seeds = {trial_seed(base, T=T, m=m, trial=trial) for base, T, m, trial in cells}
    assert len(seeds) == len(cells) == 28_160
    assert max(seeds) < 2**53


def test_trials_at_two_context_lengths_are_independent():
    """Equal (m, trial), T = 100 and 1100: other support, other bits, other initial matrices."""
    specs = [make_spec(T, 50, trial_seed(0, T=T, m=50, trial=0)) for T in (100, 1100)]
    short, long = (training_set(spec)[0] for spec in specs)
    assert 0.3 < (short == long[:, :100]).mean() < 0.8  # p = 2^(-1/3): .67 agree by chance, 1 if shared
    shapes = [layout(spec.architecture) for spec in specs]
    weights = [shape.views(initial(spec, 0)) for shape, spec in zip(shapes, specs, strict=True)]
    matrices = [s.name for s in shapes[0].segments if s.kind in ("linear", "embedding") and not s.is_bias]
    assert len(matrices) >= 8
    for name in matrices:
        one, other = (w[name].flatten()[:64] for w in weights)
        assert not np.isclose(one, other).any()


def test_a_plan_shares_no_seed_between_context_lengths():
    for experiment in (parity(), norms((30, 100, 300), 5)):
        assert len({spec.seed for spec in experiment.specs}) == len(experiment.specs)


@pytest.mark.parametrize("call", [dict(base=-1, trial=0), dict(base=0, trial=-1)])
def test_negative_seeds_are_refused(call):
    with pytest.raises(DomainError, match=">= 0"):
        trial_seed(call["base"], T=100, m=50, trial=call["trial"])


def test_the_engine_is_the_default_runner(tmp_path):
    with LocalSweep(tmp_path / "r.db", workers=1) as sweep:
        specs = [
            preset("fast", function="and", s=2, T=12, m=60, seed=i, n_steps=20, restarts=1) for i in range(2)
        ]
        result = sweep.run(specs)
    assert len(result.records) == 2 and not result.errors
    assert all(record.outcome["steps"] <= 20 for record in result.records.values())
